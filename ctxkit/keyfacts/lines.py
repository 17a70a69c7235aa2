"""Lines: what each line of a text is, an item of a list, a heading, code, without bullets and marks of quotation."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

from ctxkit.literals import HAN_CHARACTER
from ctxkit.summaries.prose import fenced_lines

__all__ = ["Kind", "Line", "fenced", "is_next", "placed_lines"]

LONGEST_HALF = 3
"""Chinese characters of a word that stand on one side of the end of a line."""

_QUOTED = re.compile(r"(?:[ \t]{0,3}>){1,9}")
_MARK = re.compile(
    r"(?P<heading>#{1,6})[ \t]+|(?:[-*+•·‣▪▫●○◦■□–—✓✔✗✘>]|\d{1,3}[.)]|[a-z][.)]|[（(]?[A-Za-z][)）])[ \t]+"
    r"|[（(]?\d{1,3}[)）、]|[（(]?[一二三四五六七八九十]{1,3}[)）、]|[①-⑳]"
)
"""What stands before an item of a list, or a heading."""


class Kind(Enum):
    PLAIN, ITEM, HEADING, CODE = range(4)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of prose without its bullet and the marks of a quotation: where it begins and ends, how many lines stand
    before it, what it is, how many blanks stand before it and its bullet, the level of a heading, and whether a word that
    is wanted goes on in the next."""

    text: str
    start: int
    end: int
    number: int
    kind: Kind
    indent: int
    level: int
    breaks: bool = False


def placed_lines(text: str, wanted: Callable[[str], bool]) -> list[Line]:
    """The lines of a text that are not blank."""
    found: list[Line] = []
    lines = text.splitlines(keepends=True)
    quoted = [match.end() if (match := _QUOTED.match(line)) else 0 for line in lines]
    code = fenced_lines([line[skip:] for line, skip in zip(lines, quoted, strict=True)])
    begins = 0
    for number, (line, skip) in enumerate(zip(lines, quoted, strict=True)):
        said = line[skip:].strip()
        if said:
            start = line.index(said, skip)
            mark = _MARK.match(said) if number not in code else None
            level = len(mark["heading"] or "") if mark else 0
            plain = Kind.HEADING if level else Kind.ITEM if mark else Kind.PLAIN
            kind = Kind.CODE if number in code else plain
            inner = said[mark.end() :].strip() if mark else said
            end = begins + start + len(said)
            found.append(Line(inner, end - len(inner), end, number, kind, start - skip, level))
        begins += len(line)
    for at, (before, after) in enumerate(pairwise(found)):
        if is_next(before, after) and _breaks(before.text, after.text, wanted):
            found[at] = replace(before, breaks=True)
    return found


def fenced(text: str) -> list[str]:
    """The lines of fenced code in a text, fences included."""
    return [line.text for line in placed_lines(text, lambda sentence: False) if line.kind is Kind.CODE]


def is_next(line: Line, following: Line) -> bool:
    return following.number == line.number + 1


def _breaks(line: str, following: str, wanted: Callable[[str], bool]) -> bool:
    """Whether a word of Chinese characters that is wanted begins in one line and ends in the next."""
    if not (HAN_CHARACTER.match(line[-1:]) and HAN_CHARACTER.match(following[:1])):
        return False
    ends = ((line[-many:], following[:many]) for many in range(1, LONGEST_HALF + 1))
    return any(wanted(head + tail) and not (wanted(head) or wanted(tail)) for head, tail in ends)
