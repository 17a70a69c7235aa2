"""Book: what a session's log says beside its conversation, folded record by record."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ctxkit.core.items import Item
from ctxkit.core.provider import Entry, Provider
from ctxkit.history import ERASES
from ctxkit.sessions.ahead import Ahead
from ctxkit.sessions.changes import Json
from ctxkit.sessions.records import Record
from ctxkit.sessions.shown import Shown

__all__ = ["Book"]

ANSWERED = 2_000
"""Answered calls whose ids are remembered, to know a result that arrives a second time."""


@dataclass
class Book:
    """What is known of a session beside its conversation.

    Attributes:
        format: the wire format of its entries, "" before the first record.
        created: when it began, in seconds since 1970.
        names: positions that were given a name.
        drafts: answers that were made and not delivered yet, by their id.
        children: sessions under this one, by id, with what they were begun for and whether they returned.
        answered: ids of the calls that were answered last, the newest last.
        index: where items lie: from an item on, from a position on, so many items a record.
        shown: what the last requests held, for the record of the next one.
        ahead: what requests held that has not come in yet.
        erased_at: position of the last record that took something out for good, 0 for none.
        parent: the session that this one was begun for, "" for none.
    """

    format: str = ""
    created: float = 0.0
    names: dict[str, int] = field(default_factory=dict)
    drafts: dict[str, list[Entry]] = field(default_factory=dict)
    children: dict[str, Json] = field(default_factory=dict)
    answered: dict[str, None] = field(default_factory=dict)
    index: list[tuple[int, int, int]] = field(default_factory=list)
    shown: Shown = field(default_factory=Shown)
    ahead: Ahead = field(default_factory=Ahead)
    erased_at: int = 0
    parent: str = ""

    def fold(self, record: Record, position: int, provider: Provider) -> None:
        """Take in one more record."""
        data = record.data
        match record.kind:
            case kind if kind in ERASES:
                self._emptied(data, position)
            case "session":
                self.format, self.created, self.parent = data["format"], record.at, data.get("parent", "")
            case "name":
                self.names[data["name"]] = data["position"]
            case "draft":
                self.drafts[data["draft"]] = data["entries"]
            case "items" | "discarded" if "draft" in data:
                self.drafts.pop(data["draft"], None)
            case "fork":
                self.children, self.parent, self.drafts = {}, "", {}
            case "child":
                self.children[data["child"]] = {"purpose": data["purpose"], "returned": False}
            case "pop":
                for call in data["reopened"]:
                    self.answered.pop(call, None)
                self._popped(record, position)
            case "request" if "entries" in data:
                self.shown.fold(data, position)
                self.ahead.sent(data, position)
        if "returned" in data:
            self.children[data["returned"]] = {**self.children.get(data["returned"], {}), "returned": True}
        self.ahead.came(data)
        if record.step is not None and record.step.arrived:
            self._arrived(record.step.arrived, position, provider)

    def left(self) -> Json:
        """What the record of a step that takes everything out has to say, so that what belongs to the session can still
        be found: its children, and whether they returned."""
        returned = {id: child["returned"] for id, child in self.children.items()}
        return {"children": returned} if returned else {}

    def _emptied(self, data: Json, position: int) -> None:
        children = {id: {"purpose": "", "returned": done} for id, done in data.get("children", {}).items()}
        left = Book(self.format, self.created, children=children, erased_at=position, parent=self.parent)
        vars(self).update(vars(left))

    def _popped(self, record: Record, position: int) -> None:
        self.erased_at = position
        if record.step is not None and record.step.popped is not None:
            self.shown.forget(self.position_of(record.step.popped))
            self.ahead.erased(record.step.popped)

    def _arrived(self, items: tuple[Item, ...], position: int, provider: Provider) -> None:
        first, count = items[0].id, len(items)
        if not self.index or self.index[-1][2] != count or self.position_of(first) != position:
            self.index.append((first, position, count))
        for item in items:
            if item.shape.results:
                ids = (result.id for result in provider.shape(item.raw).results)
                self.answered.update((id, None) for id in ids if id is not None)
        while len(self.answered) > ANSWERED:
            del self.answered[next(iter(self.answered))]

    def position_of(self, id: int) -> int:
        """The position of the record that an item arrived with."""
        first, position, count = self.index[bisect_right(self.index, id, key=lambda run: run[0]) - 1]
        return position + (id - first) // count

    def to_json(self) -> Json:
        """The book as JSON, for a checkpoint."""
        return {**vars(self), "answered": list(self.answered), "shown": self.shown.to_json()}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Book:
        """The book that `to_json` wrote.

        Raises:
            KeyError, ValueError, TypeError: it is none.
        """
        runs = [(first, position, count) for first, position, count in told["index"]]
        answered, shown = dict.fromkeys(told["answered"]), Shown(**told["shown"])
        ahead = Ahead(told.get("ahead", {}))
        book = cls(**{**told, "answered": answered, "index": runs, "shown": shown, "ahead": ahead})
        for name, usual in vars(cls()).items():
            expected = (int, float) if isinstance(usual, float) else type(usual)
            if not isinstance(getattr(book, name), expected):
                raise TypeError
        return book
