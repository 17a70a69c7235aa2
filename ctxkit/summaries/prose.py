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
    "normal",
    "one_line",
    "pieces_of",
    "placed",
    "sentences",
    "sentences_of",
    "stems",
]

LONGEST = 280
"""Characters of a sentence above which it is given in clauses; a clause that is longer still is no prose."""

STEM = 4
"""Letters of a word that count: "book", "booked" and "booking" are the same."""

_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_BULLET = re.compile(r"(?:[-*+•·>]|#{1,6}|\d{1,2}[.)])[ \t]+|[（(]?\d{1,2}[)）、]")
_END = re.compile(
    rf"""(?<![.!?])[.!?]++["'”’)\]*]{{0,3}}(?=[\s{HAN}])|[。！？；]+[”’」』）)]{{0,3}}|…{{1,6}}(?=\s)"""
)
_CLAUSE = re.compile(r"[,;:](?=\s)|[，；：]|\s[-–—](?=\s)|——")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[A-Za-z]|Dr|Mr|Mrs|Ms|Prof|St|No|Nr|vs|etc|approx|Fig|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov"
    r"|Dec|Inc|Ltd|Co|Corp|e\.g|i\.e|cf|al|a\.m|p\.m|o\.k|O\.K|U\.S)\.\Z|^\s*\d{1,2}\.\Z"
)
_OF_A_NUMBER = re.compile(r"(?:^|[\s(])(?:no|nos|nr|art|sec|para|ch|vol|pp?)\.\Z")
"""Abbreviations that end no sentence when a number follows."""

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
    """The lines of fenced code, fences included; a fence that nothing closes opens none."""
    fences = [at for at, line in enumerate(lines) if _FENCE.match(line)]
    return {at for start, end in zip(fences[::2], fences[1::2], strict=False) for at in range(start, end + 1)}


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
