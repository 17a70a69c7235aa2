"""Prose: sentences and clauses of English and Chinese text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from ctxkit.literals import tokens_of, word_set

__all__ = [
    "LONGEST",
    "content",
    "is_prose",
    "normal",
    "one_line",
    "passages",
    "placed",
    "sentences",
    "stems",
]

LONGEST = 280
"""Characters of a sentence above which it is given in clauses; a clause that is longer still is no prose."""

STEM = 4
"""Letters of a word that count: "book", "booked" and "booking" are the same."""

_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_BULLET = re.compile(r"(?:[-*+•·>]|#{1,6}|\d{1,2}[.)])[ \t]+|[（(]?\d{1,2}[)）、]")
_END = re.compile(
    r"""(?<![.!?])[.!?]++["'”’)\]*]{0,3}(?=[\s一-鿿])|[。！？；]+[”’」』）)]{0,3}|…{1,6}(?=\s)"""
)
_CLAUSE = re.compile(r"[,;:](?=\s)|[，；：]|\s[-–—](?=\s)|——")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[A-Za-z]|Dr|Mr|Mrs|Ms|Prof|St|No|Nr|vs|etc|approx|Fig|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov"
    r"|Dec|Inc|Ltd|Co|Corp|e\.g|i\.e|cf|al|a\.m|p\.m|o\.k|O\.K|U\.S)\.\Z|^\s*\d{1,2}\.\Z"
)
_OF_A_NUMBER = re.compile(r"(?:^|[\s(])(?:no|nos|nr|art|sec|para|ch|vol|pp?)\.\Z")
"""Abbreviations that end no sentence when a number follows."""

_ENDED = re.compile(r"""[.!?。！？…;；:：]["'”’」』）)\]*]*\Z""")
_OF_CODE = re.compile(r"[>|{}\\]\Z|\A[<|{}@$]")
"""Lines of markup, tables and code, whose ends are ends."""

_INTRODUCES = re.compile(r"[:：][*_]*\Z")
_JOINS = re.compile(
    r"(?:[,，、(（/]|(?:^|\s)(?:to|of|the|an?|and|or|nor|with|without|for|in|on|at|by|from|before|after|until|till|unless|if|when"
    r"|that|which|than|any|all|my|our|your|their|not|no|never|must|is|are|be|do|don['’]t|please)|[对對和与與及或在把给給被于於是的为為向从從跟])\Z",
    re.IGNORECASE,
)
"""How a line ends whose sentence goes on in the next."""

WRAPPED, WRAPPED_HAN = 60, 30
"""Characters of a line from which on it was wrapped, when nothing ends it."""

MOST_LISTED = 64
"""Lines of a list that are taken along with what introduces it."""

LISTED = 80
"""Characters of the longest line of a list without bullets."""

_HAN_RUN = re.compile(r"[㐀-䶿一-鿿]+")
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
    for _, line, _ in _numbered_lines(text):
        yield from _whole_sentences(line)


def passages(text: str) -> Iterator[tuple[int, str, str]]:
    """The sentences of prose, those that go over the ends of lines whole: where each begins, the sentence, and the
    sentence with the list that it introduces, all as they stand. Items of lists come by themselves too."""
    lines = _placed_lines(text)
    at = 0
    while at < len(lines):
        last = _end_of_paragraph(lines, at)
        end = lines[last].end
        whole = text[lines[at].start : end]
        listed = _end_of_list(lines, last)
        place = lines[at].start
        for sentence in _whole_sentences(whole):
            place = text.index(sentence, place)
            is_last = place + len(sentence) == end
            yield place, sentence, text[place:listed] if is_last and listed else sentence
            place += len(sentence)
        at = last + 1


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


def _numbered_lines(text: str) -> Iterator[tuple[int, str, bool]]:
    """The lines of a text without bullets, and without fenced code, with their numbers, and whether each had a bullet;
    a fence that nothing closes opens none."""
    lines = text.splitlines()
    fences = [at for at, line in enumerate(lines) if _FENCE.match(line)]
    code = {at for start, end in zip(fences[::2], fences[1::2], strict=False) for at in range(start, end + 1)}
    for at, line in enumerate(lines):
        line = line.strip()
        if line and at not in code:
            found = _BULLET.match(line)
            yield at, line[found.end() :].strip() if found else line, found is not None


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of prose without its bullet: where it begins and ends, how many lines stand before it, and whether it had
    a bullet."""

    text: str
    start: int
    end: int
    number: int
    is_item: bool


def _placed_lines(text: str) -> list[_Line]:
    found: list[_Line] = []
    end = 0
    for number, line, is_item in _numbered_lines(text):
        start = text.index(line, end)
        end = start + len(line)
        found.append(_Line(line, start, end, number, is_item))
    return found


def _end_of_paragraph(lines: Sequence[_Line], at: int) -> int:
    """The last of the lines over which sentences go on from one; no sentence grows above `LONGEST` by it."""
    opened, last = lines[at].start, at
    while last + 1 < len(lines) and _goes_on(lines[last], lines[last + 1]):
        last += 1
        first, *more = _sentences(lines[last].text)
        if lines[last].start + len(first) - opened > LONGEST:
            return last - 1
        if more:
            opened = lines[last].end - len(more[-1])
    return last


def _goes_on(line: _Line, following: _Line) -> bool:
    """Whether the sentence at the end of a line goes on in the next."""
    if following.number != line.number + 1 or following.is_item:
        return False
    if _ENDED.search(line.text) or _OF_CODE.search(line.text) or following.text[:1] in "<{}[|#@$=&/\\":
        return False
    if following.text[:1].islower() or _JOINS.search(line.text):
        return True
    return len(line.text) >= (WRAPPED_HAN if _HAN_RUN.search(line.text) else WRAPPED)


def _end_of_list(lines: Sequence[_Line], at: int) -> int:
    """Where the list ends that a line introduces; 0 for none."""
    introduces = _INTRODUCES.search(lines[at].text) is not None
    if not (introduces or _JOINS.search(lines[at].text)):
        return 0
    following = lines[at + 1 : at + 1 + MOST_LISTED]
    listed = list(takewhile(lambda line: line.is_item, following))
    if introduces and not listed:
        short = takewhile(
            lambda line: len(line.text) <= LISTED and not _INTRODUCES.search(line.text), following
        )
        listed = [line for k, line in enumerate(short, 1) if line.number == lines[at].number + k]
    return listed[-1].end if listed else 0


def _whole_sentences(text: str) -> Iterator[str]:
    for sentence in _sentences(text):
        yield from _in_clauses(sentence) if len(sentence) > LONGEST else (sentence,)


def _sentences(line: str) -> Iterator[str]:
    start = 0
    for match in _END.finditer(line):
        if match.group() == "." and _abbreviates(line, start, match.end()):
            continue
        yield from _cut(line, start, match.end())
        start = match.end()
    yield from _cut(line, start, len(line))


def _abbreviates(line: str, start: int, end: int) -> bool:
    """Whether the dot before `end` is that of an abbreviation."""
    place = max(start, end - 12)
    if _ABBREVIATION.search(line, place, end):
        return True
    return _OF_A_NUMBER.search(line, place, end) is not None and line[end : end + 2].strip()[:1].isdigit()


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
