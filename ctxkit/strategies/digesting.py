"""Digests: JSON values and texts cut down to some of their values, each beside its field name."""

from __future__ import annotations

import json
import math
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ctxkit.jsons import json_text
from ctxkit.literals import LONGEST_KEY, Rank, as_json, rank, words_of
from ctxkit.strategies.listing import told_in

__all__ = [
    "MARK",
    "MAX_DEPTH",
    "NAMELESS",
    "Leaf",
    "digest",
    "fields_of",
    "leaves",
    "normal",
    "picked",
    "pruned",
    "records_of",
    "text_of",
    "written",
]

MARK = "_ctxkit"
"""The key of the mark in a digest that is JSON."""

NAMELESS = "result"
"""The field of a value that has none."""

MAX_DEPTH = 40
"""Levels of nesting below which nothing is kept."""

LONGEST_TEXT = 600
"""Characters to which a long string in a result is cut after it was reduced to its telling sentences."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A string, number or flag in a JSON value, and the name of its field: the nearest key."""

    field: str
    value: Any

    @property
    def key(self) -> str:
        """What two leaves that say the same have in common."""
        return f"{' '.join(words_of(self.field))}={self.value}"


def normal(value: Any, depth: int = 0) -> Any:
    """A JSON value as digests take it: JSON inside strings read, tables of records that name their own key turned
    into lists, long strings reduced to their telling sentences, NaN and infinity (no JSON) to text."""
    if depth > MAX_DEPTH:
        return None
    match value:
        case dict():
            table = records_of(value)
            if table is not None:
                return [normal(each, depth + 1) for each in table]
            return {key: normal(each, depth + 1) for key, each in value.items() if key != MARK}
        case list():
            return [normal(each, depth + 1) for each in value]
        case str():
            inner = as_json(value)
            return _shortened(value) if inner is None else normal(inner, depth + 1)
        case float() if not math.isfinite(value):
            return str(value)
        case _:
            return value


def records_of(value: dict[str, Any]) -> list[Any] | None:
    """The records of a table that is keyed by their ids, when each names its own: `{"a1": {"id": "a1"}}`."""
    for record in value.values():
        if not isinstance(record, dict):
            return None
    records = list(value.values())
    if not records:
        return None
    for key, record in value.items():
        if not any(isinstance(each, str | int) and str(each) == key for each in record.values()):
            return None
    return records


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_KEY:
        return text
    told = _as_text(told_in(text)) or text
    return told if len(told) <= LONGEST_TEXT else told[:LONGEST_TEXT].rstrip() + " …"


def _as_text(told: Iterable[Sequence[str]]) -> str:
    """Sentences as lines, with an empty line between those of two records."""
    return "\n\n".join("\n".join(record) for record in told if record)


def leaves(value: Any, field: str = "") -> Iterator[Leaf]:
    """The leaves of a normal value, in order."""
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
    """A normal value with those leaves alone for which `keep` says so, in the order of `leaves`; None without any."""
    match value:
        case dict():
            fields = {key: pruned(each, keep) for key, each in value.items()}
            return {key: each for key, each in fields.items() if each is not None} or None
        case list():
            return [each for each in [pruned(each, keep) for each in value] if each is not None] or None
        case _:
            return value if next(keep) else None


def digest(text: str, mark: str, *, least: Rank, asked: frozenset[str], seen: set[str]) -> Any:
    """A tool result reduced to what ranks `least` and higher, behind a mark.

    Args:
        text: the result as its tool wrote it.
        mark: the marked text that says that it is a digest.
        asked: field names that calls were given.
        seen: what newer results say; names, dates and addresses among it are left out, for a state or an amount of
            one record says nothing of another. What this one says is added.

    Returns:
        An object for a result that is a JSON object or list, with the mark under `_ctxkit`; else text.
    """
    value = as_json(text)
    if value is None:
        told = [[line for line in record if line not in seen] for record in told_in(text)]
        seen.update(line for record in told for line in record)
        return f"{mark}\n{_as_text(told)}".rstrip("\n")
    whole = normal(value)
    facts = list(leaves(whole))
    ranks = [rank(leaf.field, leaf.value, asked) for leaf in facts]
    keep = [
        each >= least and not (each is Rank.KEY and leaf.key in seen)
        for leaf, each in zip(facts, ranks, strict=True)
    ]
    seen.update(leaf.key for leaf in facts)
    return _behind(mark, pruned(whole, iter(keep)))


def picked(text: str, mark: str, wanted: Container[tuple[str, str]]) -> Any:
    """A tool result in JSON reduced to the values that are `wanted`, as field and text, behind a mark; None for a
    result that is no object or list."""
    value = as_json(text)
    if value is None:
        return None
    whole = normal(value)
    return _behind(mark, pruned(whole, (_is_wanted(leaf, wanted) for leaf in leaves(whole))))


def _is_wanted(leaf: Leaf, wanted: Container[tuple[str, str]]) -> bool:
    """Whether a value is wanted, or one of the sentences that are left of it."""
    texts = {text_of(leaf.value), *(leaf.value.split("\n") if isinstance(leaf.value, str) else ())}
    return any((leaf.field or NAMELESS, text) in wanted for text in texts)


def text_of(leaf: Any) -> str:
    """A leaf of a JSON value as text."""
    if isinstance(leaf, str):
        return leaf
    return json.dumps(leaf) if isinstance(leaf, bool) or leaf is None else repr(leaf)


def _behind(mark: str, kept: Any) -> dict[str, Any]:
    fields = kept if isinstance(kept, dict) else {} if kept is None else {"items": kept}
    return {MARK: mark, **fields}


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


def written(content: Any) -> str:
    """A digest as text."""
    return content if isinstance(content, str) else json_text(content)
