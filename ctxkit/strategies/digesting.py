"""Digests: JSON values cut down to some of their leaves, and which leaves those are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ctxkit.literals import LONGEST_KEY, as_json, telling, words_of

__all__ = ["Leaf", "fields_of", "leaves", "normal", "pruned", "values_of"]

MAX_DEPTH = 40
"""Levels of nesting below which nothing is kept."""

LONGEST_TEXT = 600
"""Characters to which a long string inside a result is cut, after it was reduced to its telling sentences."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A string, number or flag in a JSON value: its value, and the name of its field."""

    field: str
    value: Any

    @property
    def key(self) -> str:
        """What two leaves that say the same have in common."""
        return f"{' '.join(words_of(self.field))}={self.value}"


def normal(value: Any, depth: int = 0) -> Any:
    """A JSON value as digests take it: JSON inside strings read, tables of records that name their own key turned
    into lists, long strings reduced to their telling sentences."""
    if depth > MAX_DEPTH:
        return None
    match value:
        case dict():
            table = _keyed(value)
            if table is not None:
                return [normal(each, depth + 1) for each in table]
            return {key: normal(each, depth + 1) for key, each in value.items()}
        case list():
            return [normal(each, depth + 1) for each in value]
        case str():
            inner = as_json(value)
            return _shortened(value) if inner is None else normal(inner, depth + 1)
        case _:
            return value


def _keyed(value: dict[str, Any]) -> list[Any] | None:
    """The records of a table that is keyed by their ids, when each names its own: `{"a1": {"id": "a1"}}`."""
    records = list(value.values())
    if not records or not all(isinstance(each, dict) for each in records):
        return None
    for key, record in value.items():
        if not any(isinstance(each, str | int) and str(each) == key for each in record.values()):
            return None
    return records


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_KEY:
        return text
    told = "\n".join(dict.fromkeys(telling(text))) or text
    return told if len(told) <= LONGEST_TEXT else told[:LONGEST_TEXT].rstrip() + " …"


def leaves(value: Any, field: str = "") -> Iterator[Leaf]:
    """The leaves of a normal value, in order. A field is named by its nearest key."""
    match value:
        case dict():
            for key, each in value.items():
                yield from leaves(each, key)
        case list():
            for each in value:
                yield from leaves(each, field)
        case _:
            yield Leaf(field, value)


def pruned(value: Any, keep: Iterator[bool]) -> Any:
    """The value with those leaves alone for which `keep` says so, in the order of `leaves`; None without any."""
    match value:
        case dict():
            kept = {key: pruned(each, keep) for key, each in value.items()}
            return {key: each for key, each in kept.items() if each is not None} or None
        case list():
            return [each for each in [pruned(each, keep) for each in value] if each is not None] or None
        case _:
            return value if next(keep) else None


def fields_of(value: Any) -> Iterator[str]:
    """The field names in call arguments, as words in lower case."""
    stack = [value]
    while stack:
        each = stack.pop()
        if isinstance(each, dict):
            yield from (" ".join(words_of(key)) for key in each)
            stack.extend(each.values())
        elif isinstance(each, list):
            stack.extend(each)


def values_of(value: Any) -> Iterator[str]:
    """The strings and numbers in call arguments, as text."""
    stack = [value]
    while stack:
        each = stack.pop()
        if isinstance(each, dict):
            stack.extend(each.values())
        elif isinstance(each, list):
            stack.extend(each)
        elif isinstance(each, str | int | float) and not isinstance(each, bool):
            yield str(each)
