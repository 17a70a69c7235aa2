"""Results: the facts in what a tool was given and what it gave, which stay data whatever they say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ctxkit.core.facts import Fact, Speaker
from ctxkit.keyfacts.finding import READ, TOLD, Found, name_of
from ctxkit.literals import Rank, as_json, rank, telling
from ctxkit.summaries.specifics import Kind, carried

__all__ = ["given_in", "told_by_tool"]

MOST_OF_RESULT = 12
"""Facts of one result, of one call; the likeliest ones."""

LONGEST_VALUE = 80
"""Characters of a value; what is longer is prose."""

LONGEST_TEXT = 20_000
"""Characters of a result that are read, from its beginning."""

MAX_DEPTH = 20

_EXACT = frozenset(
    {Kind.IDENTIFIER, Kind.EMAIL, Kind.PHONE, Kind.URL, Kind.PATH, Kind.HOST, Kind.VERSION, Kind.CODE}
)


class _AsWritten(float):
    """A number of a JSON text that is written as it stood there: 12.50 stays 12.50."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> _AsWritten:
        made = super().__new__(cls, text)
        made.text = text
        return made

    def __str__(self) -> str:
        return self.text


def told_by_tool(text: str) -> list[Found]:
    """The likeliest values of a tool result: of JSON, beside their field names, behind the identifier of their object
    if it has one; of text, those that are exact, beside the names before them. Whole sentences are never taken."""
    value = as_json(text, _AsWritten)
    found = list(_in_lines(text[:LONGEST_TEXT])) if value is None else list(_in_objects(value))
    return _likeliest(found)


def given_in(arguments: str) -> list[Found]:
    """The identifiers and names that a call was given."""
    value = as_json(arguments, _AsWritten)
    leaves = _scalars(value) if isinstance(value, dict) else ()
    ranked = [(rank(field, each), field, str(each)) for field, each in leaves]
    return _likeliest(
        [
            (level, _found(field, each, "assistant", TOLD))
            for level, field, each in ranked
            if level >= Rank.KEY
        ]
    )


def _likeliest(found: list[tuple[Rank, Found]]) -> list[Found]:
    """The best few, in the order in which they stand."""
    best = sorted(range(len(found)), key=lambda at: (-found[at][0], at))[:MOST_OF_RESULT]
    return [found[at][1] for at in sorted(best) if 0 < len(found[at][1].fact.value) <= LONGEST_VALUE]


def _found(field: str, value: str, said_by: Speaker, priority: int, *, subject: str = "") -> Found:
    fact = Fact(
        field.strip()[:LONGEST_VALUE] or "value",
        value.strip(),
        said_by=said_by,
        priority=priority,
        subject=subject,
    )
    return Found(fact, single=bool(subject))


def _in_objects(value: Any, depth: int = 0) -> Iterator[tuple[Rank, Found]]:
    """The values of each object; those beside an identifier are about that."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, str):
        inner = as_json(value, _AsWritten)
        yield from _in_lines(value[:LONGEST_TEXT]) if inner is None else _in_objects(inner, depth + 1)
        return
    if isinstance(value, dict):
        yield from _in_object(value)
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if isinstance(each, dict | list) or (isinstance(each, str) and len(each) > LONGEST_VALUE):
            yield from _in_objects(each, depth + 1)


def _in_object(value: dict[str, Any]) -> Iterator[tuple[Rank, Found]]:
    fields = [(rank(field, each), field, str(each)) for field, each in _scalars(value)]
    own = next(
        ((field, each) for level, field, each in fields if level is Rank.ID and len(each) <= LONGEST_VALUE),
        None,
    )
    for level, field, each in fields:
        if (field, each) == own or level is Rank.ID:
            yield level, _found(field, each, "tool", TOLD)
        elif level >= (Rank.FACT if own else Rank.KEY):
            yield level, _found(field, each, "tool", READ, subject=own[1] if own else "")


def _scalars(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for field, each in value.items():
        many = each if isinstance(each, list) else [each]
        yield from (
            (field, one) for one in many if isinstance(one, str | int | float) and not isinstance(one, bool)
        )


def _in_lines(text: str) -> Iterator[tuple[Rank, Found]]:
    for line in telling(text):
        name, colon, value = line.partition(":")
        level = rank(name, value.strip())
        if colon and len(name) <= 40 and 0 < len(value.strip()) <= LONGEST_VALUE and level >= Rank.KEY:
            yield level, _found(name, value, "tool", TOLD if level is Rank.ID else READ)
            continue
        for each in carried(line):
            if each.kind in _EXACT:
                key = name_of(each, line) or each.kind.value
                yield Rank.KEY, _found(key, each.text, "tool", READ)
