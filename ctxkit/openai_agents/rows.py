"""Rows: what a session gives a model to read, entry by entry, with what is known of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ctxkit.core.items import Item, Role
from ctxkit.core.marks import is_marked
from ctxkit.core.provider import Entry, Provider
from ctxkit.core.state import State, wire
from ctxkit.errors import ConfigError
from ctxkit.sessions.outgoing import Going

__all__ = ["Row", "checked_limit", "dangling", "is_ours", "newest", "newest_rows", "rows_of", "without_tail"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
    """One entry that a model is given.

    Attributes:
        raw: the entry.
        id: of the item that it is; of the call's unit for a result that stands in for one.
        unit: what it may not be parted from.
        item: the item that it is, None for a result that stands in for one.
        told: what else is told of it, or otherwise.
    """

    raw: Entry
    id: int
    unit: int
    item: Item | None
    told: Mapping[str, Any] = field(default_factory=dict)

    @property
    def going(self) -> Going:
        """The same for the record of a request."""
        return self.raw, self.id, self.item

    @property
    def metadata(self) -> dict[str, Any]:
        """What is told of it."""
        if self.item is None:
            return {"synthetic": True, "kind": "result"}
        if self.item.synthetic:
            stands_for = [id for span in self.item.stands_for for id in span]
            return {"synthetic": True, "kind": self.item.made, "stands_for": stands_for, **self.told}
        edited = {"edited_by": self.item.edited} if self.item.edited else {}
        return {"synthetic": False, "position": self.item.id, "turn": self.item.turn, **edited}


def rows_of(state: State, provider: Provider) -> list[Row]:
    """Everything that a request with a state would hold."""
    items = {item.id: item for item in state.items}
    rows = []
    for raw, id in zip(*wire(state, provider), strict=True):
        item = items.get(id)
        unit = item.unit if item is not None else id
        rows.append(Row(raw, id, unit, item if item is not None and item.raw is raw else None))
    return rows


def newest_rows(rows: Sequence[Row], limit: int) -> list[Row]:
    """The newest rows: at most so many, and of each unit all or none."""
    first = {row.unit: at for at, row in reversed([*enumerate(rows)])}
    start = reach = len(rows)
    for at in range(len(rows) - 1, max(0, len(rows) - limit) - 1, -1):
        reach = min(reach, first[rows[at].unit])
        start = at if reach == at else start
    return list(rows[start:])


def checked_limit(limit: int | None) -> int | None:
    """A limit as it is.

    Raises:
        ConfigError: it is no whole number.
    """
    if limit is not None and not isinstance(limit, int):
        raise ConfigError(f"a limit is a whole number of items, not {limit!r:.60}", path="limit")
    return limit


def newest(told: Sequence[T], limit: int | None) -> Sequence[T]:
    """The newest so many, all without a limit."""
    wanted = checked_limit(limit)
    return told if wanted is None else told[max(0, len(told) - max(0, wanted)) :]


def without_tail(rows: Sequence[Row]) -> list[Row]:
    """The rows without reasoning at their end: what it belongs to was taken back, or has yet to come."""
    end = len(rows)
    while end and _is_reasoning(rows[end - 1].item):
        end -= 1
    return list(rows[:end])


def dangling(state: State) -> tuple[int, ...]:
    """The units of reasoning that is followed by what the model did not make, so that what it belongs to cannot come any
    more: it was taken back."""
    found: dict[int, None] = {}
    held: list[int] = []
    for item in state.items:
        if _is_reasoning(item):
            held.append(item.unit)
            continue
        if item.shape.role not in (Role.MODEL, Role.COMPACTION):
            found.update(dict.fromkeys(held))
        held = []
    return tuple(found)


def _is_reasoning(item: Item | None) -> bool:
    return item is not None and item.shape.role is Role.REASONING


def is_ours(entry: Entry) -> bool:
    """Whether ctxkit wrote a message."""
    match entry.get("content"):
        case [{"text": str(text)}] | str(text):
            return is_marked(text)
        case _:
            return False
