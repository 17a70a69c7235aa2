"""Listing: the telling sentences of a text, record by record."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ctxkit.literals import telling

__all__ = ["told_in"]

LONGEST_NAME = 60
"""Characters of the name in a `name: value` line, with what marks it."""

LONGEST_RECORD = 60
"""Lines of a record that are looked through for the one with which it begins."""

_COLON = re.compile("[:：]")
_BULLETS = ("- ", "* ", "• ")
_MARKUP = re.compile(r"^\d{1,3}[.)] |[-*•_`\"']")
_NUMBERED = re.compile(r"\w*\d\w*")


def told_in(text: str) -> list[list[str]]:
    """The telling sentences of a text, each once, in lists: one for each record where the text is of records, so that
    what is said of one is not taken for another's. In a record no name of a `name: value` line comes twice."""
    lines = text.splitlines()
    starts = frozenset(_starts(lines)) if len(lines) > 1 and len(_COLON.findall(text)) > 1 else frozenset()
    if not starts:
        told = list(dict.fromkeys(telling(text)))
        return [told] if told else []
    records, seen = list[list[str]]([[]]), set[str]()
    for at, line in enumerate(lines):
        if at in starts:
            records.append([])
        for sentence in telling(line):
            if sentence not in seen:
                seen.add(sentence)
                records[-1].append(sentence)
    return [record for record in records if record]


def _starts(lines: Sequence[str]) -> Iterator[int]:
    """The lines with which another record begins: the paragraph of a name that was said before, or its heading; within
    a paragraph the line that the name belongs to."""
    names = [_name(line) for line in lines]
    said, start, heading = dict[str, int](), 0, -1
    for first, last in _paragraphs(lines):
        paragraph = range(first, last)
        if not any(names[first:last]):
            heading = first if heading < 0 else heading
            continue
        if any(said.get(names[at], -1) >= start for at in paragraph):
            start = first if heading < 0 else heading
            yield start
        for at in paragraph:
            before = said.get(names[at], -1)
            if before >= start:
                start = _beginning(lines, names, max(before + 1, at - LONGEST_RECORD), at)
                yield start
            if names[at]:
                said[names[at]] = at
        heading = -1


def _beginning(lines: Sequence[str], names: Sequence[str], first: int, at: int) -> int:
    """The line that a line belongs to: the first before it that stands further out, or else those without a name."""
    outermost = min(range(first, at + 1), key=lambda each: _indent(lines[each]))
    if _indent(lines[outermost]) < _indent(lines[at]):
        return outermost
    while at > first and not names[at - 1]:
        at -= 1
    return at


def _paragraphs(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The first line of each paragraph, and the one behind its last."""
    first = -1
    for at, line in enumerate((*lines, "")):
        if line.strip():
            first = at if first < 0 else first
        elif first >= 0:
            yield first, at
            first = -1


def _indent(line: str) -> int:
    text = line.lstrip()
    return len(line) - len(text) + text.startswith(_BULLETS)


def _name(line: str) -> str:
    """The name in a `name: value` line, whatever number is in it; "" without one."""
    text = line.strip()
    colon = _COLON.search(text, 0, LONGEST_NAME)
    if colon is None or not text[colon.end() :].strip(" *_"):
        return ""
    return _NUMBERED.sub("#", _MARKUP.sub("", text[: colon.start()])).strip().lower()
