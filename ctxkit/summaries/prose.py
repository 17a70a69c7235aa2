"""Prose: sentences and clauses of English and Chinese text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ctxkit.literals import HAN, tokens_of, word_set

__all__ = [
    "LONGEST",
    "content",
    "fenced_lines",
    "is_prose",
    "legible",
    "normal",
    "one_line",
    "pieces_of",
    "placed",
    "places_of",
    "sentences",
    "sentences_of",
    "stems",
]

LONGEST_ASIDE = 160
"""Characters on each side of a mark within which brackets hold it."""

LONGEST = 280
"""Characters of a sentence above which it is given in clauses; a clause that is longer still is no prose."""

STEM = 4
"""Letters of a word that count: "book", "booked" and "booking" are the same."""

_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*\Z)|~{3,})(.*)\Z", re.DOTALL)
"""A fence; what opens and closes in one line is a span of code in a line of prose."""

_BULLET = re.compile(r"(?:[-*+•·>]|#{1,6}|\d{1,2}[.)])[ \t]+|[（(]?\d{1,2}[)）、]")
_END = re.compile(
    rf"""(?<![.!?])[.!?]++["'”’)\]*]{{0,3}}(?=[\s{HAN}])|[。！？；]+[”’」』）)]{{0,3}}|…{{1,6}}(?=\s)"""
)
_CLAUSE = re.compile(r"[,;:](?=\s)|[，；：]|\s[-–—](?=\s)|——")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(（\"“‘]|(?<![A-Za-z])')(?:(?:[A-Za-z]\.)*[A-Za-z]|(?i:Dr|Mr|Mrs|Ms|Prof|St|vs|etc|approx|Fig|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?"
    r"|Oct|Nov|Dec|Inc|Ltd|Co|Corp|cf|al|Ph\.D))\.\Z|(?:^|[\s(（])(?:No|Nr)\.\Z|^\s*\d{1,2}\.\Z"
)
_OF_A_NUMBER = re.compile(r"(?:^|[\s(（])(?:no|nos|nr|art|sec|para|ch|vol|pp?)\.\Z")
"""Abbreviations that end no sentence when a number follows."""

_OF_MORE = re.compile(
    r"(?:^|[\s\d(（])(?i:max|min|ca|pcs?|qty|tel|ext|dept|apt|ave|blvd|bldg|rd|rm|est|incl|excl|esp|resp|misc|temp|tbsp?|tsp|oz"
    r"|lbs?|kg|mg|ml|ft|hrs?|mins?|secs?|yrs?|wks?|mos?|tabs?|caps?|inj|ref|req|Jr|Sr|Mon|Tues?|Wed|Thurs?|Fri|Sat|Sun)\.\Z"
)
"""Abbreviations that end no sentence when a number or a small letter follows."""

_NUMBER = re.compile(r"\s*\d{1,2}\.\Z")
_FIRST, _SECOND = re.compile(r"[:：\s]1\.\Z"), re.compile(rf"[\s。；]2\.(?=[\s{HAN}])")
"""The numbers of a list that stands in one line."""

_BRACKETS = "(（", ")）"
_PAUSE = re.compile(r"\.{2,}|…")

_INVISIBLE = r"\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
"""Soft hyphens, blanks without a width and marks of direction, for use in the class of a regular expression."""

_WIDE_BLANK = r"\t-\r\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u2800\u3000\u3164"
"""Blanks of any width, and line ends, for the same use."""

_ODD = re.compile(f"[{_WIDE_BLANK}{_INVISIBLE}`´ʹʼ‘’′＇０-９Ａ-Ｚａ-ｚ]")
_BLANKS = re.compile("  +")
_BETWEEN_HAN = re.compile(f" (?<=[{HAN}] )(?=[{HAN}])")
_LEGIBLE = re.compile(f"[ {_WIDE_BLANK}][ {_WIDE_BLANK}{_INVISIBLE}]*|[^{_INVISIBLE}]")
_IS_BLANK = re.compile(f"[{_WIDE_BLANK}]")
_IS_INVISIBLE = re.compile(f"[{_INVISIBLE}]")
_WIDER = ord("Ａ") - ord("A")

_HAN_RUN = re.compile(f"[{HAN}]+")
_LATIN = re.compile(r"[A-Za-z]{4,40}")
_DIGIT = re.compile(r"\d")
_PLAIN = re.compile(r"[(\"'“‘*_]*[A-Za-z]+(?:['’-][A-Za-z]+)*[.,;:!?)\"'”’*_]*")
_CODE = re.compile(
    r"[{}<>|\\=;]|\A(?:at|import|from|return|def|class|const|let|var) |::|->|\(\)|\A\S+\Z", re.ASCII
)
_COMMON = word_set(
    "about after again also been before being cannot come could does doing done down each even every from gonna "
    "gotta have having here into just keep kind know like little look make many maybe mean more most much need "
    "okay only other over really right said same should some still such sure take than thank thanks that their "
    "them then there these they thing things think this those through time until very want well were what when "
    "where which while will with would yeah your you're it's i'm that's don't doesn't"
)
_EDGES = " \t.。!！;；,，:：*_-"


def sentences(text: str) -> Iterator[str]:
    """The sentences of prose, English or Chinese, as they stand; those above `LONGEST` characters in runs of
    clauses. Fenced code is left out, and so is what has no boundary in `LONGEST` characters. Linear time."""
    for line in _lines_of_prose(text):
        yield from (sentence for sentence, _ in pieces_of(line, LONGEST))


def placed(text: str) -> Iterator[tuple[int, int, str]]:
    """The sentences of a text, each with the characters at which it begins and ends."""
    end = 0
    for sentence in sentences(text):
        start = text.index(sentence, end)
        end = start + len(sentence)
        yield start, end, sentence


def one_line(text: str) -> str:
    """A text without line breaks and without blanks at its ends."""
    return " ".join(line.strip() for line in text.splitlines() if line.strip()).strip()


def normal(text: str) -> str:
    """What two sentences that say the very same have in common, whatever their case, blanks and last mark."""
    return " ".join(text.casefold().split()).strip(_EDGES)


def legible(text: str) -> str:
    """A text as its words are looked for: one blank where there are several or a line end, none between Chinese
    characters, no invisible characters, straight apostrophes, letters and digits of one width."""
    read = _spaced(text)
    return _BETWEEN_HAN.sub("", read) if " " in read and not read.isascii() else read


def places_of(text: str) -> list[int]:
    """Where in a text each character of its legible form stands."""
    unread = {found.start() for found in _BETWEEN_HAN.finditer(_spaced(text))}
    return [found.start() for at, found in enumerate(_LEGIBLE.finditer(text)) if at not in unread]


def _spaced(text: str) -> str:
    """A text as its words are looked for, with one blank wherever there are any."""
    read = _ODD.sub(_as_read, text)
    return _BLANKS.sub(" ", read) if "  " in read else read


def _as_read(found: re.Match[str]) -> str:
    odd = found.group()
    if _IS_BLANK.match(odd):
        return " "
    if _IS_INVISIBLE.match(odd):
        return ""
    return chr(ord(odd) - _WIDER) if "０" <= odd <= "ｚ" else "'"


def is_prose(sentence: str) -> bool:
    """Whether a sentence is made of words: not code, JSON, a stack trace, a row of a table."""
    if sentence.startswith("|"):
        return False
    if _HAN_RUN.search(sentence) or not _CODE.search(sentence):
        return True
    if sentence.endswith((";", "{", "}")):
        return False
    words = sentence.split()
    return sum(1 for word in words if _PLAIN.fullmatch(word)) * 2 > len(words)


def content(text: str) -> set[str]:
    """What a text is about: its words of four letters and more but for the commonest, its tokens with a digit, its
    pairs of Chinese characters."""
    words = {word.casefold() for word in _LATIN.findall(text)} - _COMMON
    words.update(token.casefold() for token in tokens_of(text) if _DIGIT.search(token))
    for run in _HAN_RUN.findall(text):
        words.update(run[at : at + 2] for at in range(len(run) - 1))
    return words


def stems(text: str) -> frozenset[str]:
    """What a text is about, words by their first letters; what has a digit, and pairs of Chinese characters, whole."""
    return frozenset(
        word if not word.isascii() or any(map(str.isdigit, word)) else word[:STEM] for word in content(text)
    )


def _lines_of_prose(text: str) -> Iterator[str]:
    """The lines of a text without bullets, and without fenced code."""
    lines = text.splitlines()
    code = fenced_lines(lines)
    for at, line in enumerate(lines):
        line = line.strip()
        if line and at not in code:
            found = _BULLET.match(line)
            yield line[found.end() :].strip() if found else line


def fenced_lines(lines: Sequence[str]) -> set[int]:
    """The lines of fenced code, fences included, as readers of Markdown see them; but a fence that nothing closes opens
    none, and words behind the mark that closes one are prose."""
    code: set[int] = set()
    opened: tuple[int, str] | None = None
    for at, found in ((at, _FENCE.match(line)) for at, line in enumerate(lines)):
        if found is None:
            continue
        mark, behind = found[1], found[2].split()
        if opened is None:
            opened = at, mark
        elif mark.startswith(opened[1]) and len(behind) != 1:
            code.update(range(opened[0], at if behind else at + 1))
            opened = None
    return code


def pieces_of(text: str, longest: int) -> Iterator[tuple[str, bool]]:
    """The sentences of a text, those above `longest` characters in clauses, and whether each is but a part of one."""
    for sentence in sentences_of(text):
        if len(sentence) > longest:
            yield from ((piece, True) for piece in _in_clauses(sentence))
        else:
            yield sentence, False


def sentences_of(line: str) -> Iterator[str]:
    """The sentences of a line, however long."""
    start = 0
    for mark in _END.finditer(line):
        if not _is_in_a_sentence(line, start, mark):
            yield from _cut(line, start, mark.end())
            start = mark.end()
    yield from _cut(line, start, len(line))


def _is_in_a_sentence(line: str, start: int, mark: re.Match[str]) -> bool:
    """Whether the sentence goes on behind a mark: it abbreviates, it stands in brackets, or a small letter follows on
    a pause, a closing bracket or a quotation."""
    after = line[mark.end() : mark.end() + 2].strip()[:1]
    marks = mark.group().rstrip("*")
    closes = marks[-1:] not in ".!?。！？；…"
    if marks.rstrip("\"'”’)]") == "." and _abbreviates(line, start, mark.start() + 1, after):
        return True
    if after.islower() and (closes or _PAUSE.match(marks)):
        return True
    return not (closes and after.isupper()) and _is_aside(line, start, mark.start())


def _abbreviates(line: str, start: int, end: int, after: str) -> bool:
    """Whether the dot before `end` is that of an abbreviation."""
    place = max(start, end - 12)
    if _ABBREVIATION.search(line, place, end) or _numbers(line, start, end):
        return True
    if after.isdigit() and _OF_A_NUMBER.search(line, place, end):
        return True
    return (after.isdigit() or after.islower()) and _OF_MORE.search(line, place, end) is not None


def _numbers(line: str, start: int, end: int) -> bool:
    """Whether the dot before `end` stands behind a number of a list in one line."""
    if end - start < 12 and _NUMBER.match(line[start:end]):
        return True
    first = _FIRST.search(line, max(start, end - 12), end)
    return first is not None and _SECOND.search(line, end, end + LONGEST) is not None


def _is_aside(line: str, start: int, at: int) -> bool:
    """Whether a mark stands in brackets that were opened in the middle of its sentence."""
    before, behind = line[max(start, at - LONGEST_ASIDE) : at], line[at : at + LONGEST_ASIDE]
    opens, closes = _BRACKETS
    opened = max(map(before.rfind, opens))
    if opened < max(0, *map(before.rfind, closes)) or not any(each in behind for each in closes):
        return False
    place = at - len(before) + opened
    return line[max(start, place - 2) : place].strip() != ""


def _in_clauses(sentence: str) -> Iterator[str]:
    """A long sentence in runs of clauses, each as long as fits."""
    start = end = 0
    for stop in (*(match.end() for match in _CLAUSE.finditer(sentence)), len(sentence)):
        if stop - start > LONGEST:
            if end > start:
                yield from _cut(sentence, start, end)
            start = end
        end = stop
        if end - start > LONGEST:
            start = end
    yield from _cut(sentence, start, end)


def _cut(text: str, start: int, end: int) -> Iterator[str]:
    piece = text[start:end].strip()
    if piece:
        yield piece
