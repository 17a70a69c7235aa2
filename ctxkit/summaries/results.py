"""Results: what of a tool's answer goes into one line of a summary."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from ctxkit.literals import Rank, as_json, rank, telling
from ctxkit.summaries.cues import commands
from ctxkit.summaries.prose import one_line, sentences
from ctxkit.summaries.specifics import carried

__all__ = ["LONGEST_LINE", "result_pieces"]

LONGEST_LINE = 360
"""Characters of a line about one result."""

LONGEST_VALUE = 80
"""Characters of a value in it, and of the arguments that are repeated."""

MOST_FIELDS = 6
"""Fields of one record."""

MOST_RECORDS = 200
"""Records of one result that are looked at, and lines of one that is no JSON."""

_TAG = re.compile(r"</?[\w-]{1,40}>")

READ = 20_000
"""Characters at either end of a text that are read."""

MAX_DEPTH = 20
"""Levels of nesting below which nothing is read."""


def result_pieces(
    text: str, call: str, said: Callable[[str], bool], longest: int = LONGEST_LINE
) -> tuple[str, list[str]]:
    """What a result was asked for, as far as it does not say so, and its records or telling lines, as many as fit.

    A record is the fields of one object, `name=value`, the likeliest to be needed; fields of two objects are never
    mixed. What tells its reader what to do is left out.

    Args:
        text: the result.
        call: the arguments that the tool was given, as JSON text.
        said: whether a record or line was given before.
        longest: characters that the records or lines may have together.
    """
    value = as_json(text)
    found = _lines(text) if value is None else _records(value)
    pieces = (piece for piece in islice(found, MOST_RECORDS) if not said(piece) and not commands(piece))
    told = _fitting(list(dict.fromkeys(pieces)), longest)
    arguments = as_json(call)
    given = _fields(arguments) if isinstance(arguments, dict) else []
    named = "".join(f" {piece}," for piece in told)
    asked = ", ".join(_fitting([each for each in given if f" {each}," not in named], LONGEST_VALUE))
    return f"({asked}) " if asked else "", told


def _lines(text: str) -> Iterator[str]:
    """The sentences of a text that carry a value; of a long one, those of its head and tail."""
    read = text if len(text) <= 2 * READ else f"{text[:READ]}\n{text[-READ:]}"
    for sentence in sentences(read):
        tells = next(telling(sentence), None) is not None or carried(sentence)
        if tells and not _TAG.fullmatch(sentence):
            yield one_line(sentence)


def _records(value: Any, key: str = "", depth: int = 0) -> Iterator[str]:
    """The records in a JSON value, outer ones first."""
    if depth > MAX_DEPTH:
        return
    match value:
        case dict():
            inner = _inner(value)
            yield from _record(value, key, inner.values())
            for name, each in value.items():
                if isinstance(each, dict | list) and name not in inner:
                    yield from _records(each, _name(name), depth + 1)
        case list():
            plain = [each for each in value if not isinstance(each, dict | list)]
            yield from _record(
                {key: ", ".join(_fitting([_shown(each) for each in plain], LONGEST_VALUE))}, ""
            )
            for each in value:
                if isinstance(each, dict):
                    yield from _records(each, "", depth + 1)
                elif isinstance(each, list):
                    yield from _records(each, key, depth + 1)
        case _:
            yield from _record({key: value}, "")


def _inner(record: dict[str, Any]) -> dict[str, str]:
    """The objects in a record that are part of it, by name: flat, short, and not one of many by their keys."""
    inner = {}
    for name, each in record.items():
        flat = isinstance(each, dict) and not any(isinstance(value, dict | list) for value in each.values())
        if flat and not any(map(str.isdigit, name)):
            shown = f"{_name(name)}({', '.join(_fields(each))})"
            if len(shown) <= LONGEST_VALUE:
                inner[name] = shown
    return inner


def _record(record: dict[str, Any], key: str, inner: Iterable[str] = ()) -> Iterator[str]:
    """The fields of one object behind its key, which they may not name themselves."""
    fields = [*_fields(record), *(each for each in inner if not each.endswith("()"))]
    if fields:
        named = not key or any(_shown(each) == key for each in record.values())
        yield ("" if named else f"{key}: ") + ", ".join(fields)


def _fields(record: dict[str, Any]) -> list[str]:
    """The likeliest fields of a record, in their order."""
    weighed = []
    for at, (name, value) in enumerate(record.items()):
        if isinstance(value, dict | list | bool) or value is None:
            continue
        shown, level = _shown(value), rank(name, value)
        if level >= Rank.FACT and 0 < len(shown) <= LONGEST_VALUE and not commands(shown):
            weighed.append((-level, at, f"{_name(name)}={shown}" if name else shown))
    return [pair for _, pair in sorted((at, pair) for _, at, pair in sorted(weighed)[:MOST_FIELDS])]


def _name(name: str) -> str:
    return one_line(name)[:LONGEST_VALUE]


def _shown(value: Any) -> str:
    return one_line(str(value))


def _fitting(pieces: Sequence[str], room: int) -> list[str]:
    """The first pieces, as many as fit; one that is too long is stepped over."""
    kept = []
    for piece in pieces:
        if len(piece) + 2 <= room:
            kept.append(piece)
            room -= len(piece) + 2
    return kept
