"""Book: what a session's log says beside its conversation, folded record by record."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ctxkit.core.items import Item
from ctxkit.core.provider import Entry, Provider
from ctxkit.history import ERASES
from ctxkit.sessions.changes import Json
from ctxkit.sessions.records import Record

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
        shown: contents that the last request held and that are not originals, by hash: the position that has them.
    """

    format: str = ""
    created: float = 0.0
    names: dict[str, int] = field(default_factory=dict)
    drafts: dict[str, list[Entry]] = field(default_factory=dict)
    children: dict[str, Json] = field(default_factory=dict)
    answered: dict[str, None] = field(default_factory=dict)
    index: list[tuple[int, int, int]] = field(default_factory=list)
    shown: dict[str, int] = field(default_factory=dict)

    def fold(self, record: Record, position: int, provider: Provider) -> None:
        """Take in one more record."""
        data = record.data
        match record.kind:
            case kind if kind in ERASES:
                vars(self).update(vars(Book(self.format, self.created)))
            case "session":
                self.format, self.created = data["format"], record.at
            case "name":
                self.names[data["name"]] = data["position"]
            case "draft":
                self.drafts[data["draft"]] = data["entries"]
            case "items" | "discarded" if "draft" in data:
                self.drafts.pop(data["draft"], None)
            case "child":
                self.children[data["child"]] = {"purpose": data["purpose"], "returned": False}
            case "pop":
                for call in data["reopened"]:
                    self.answered.pop(call, None)
            case "request":
                self.shown = {
                    sha: position if at is None else at for sha, at in data.get("shown", {}).items()
                }
        if "returned" in data:
            self.children[data["returned"]] = {**self.children.get(data["returned"], {}), "returned": True}
        if record.step is not None and record.step.arrived:
            self._arrived(record.step.arrived, position, provider)

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
        return {**vars(self), "answered": list(self.answered)}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Book:
        """The book that `to_json` wrote."""
        runs = [(first, position, count) for first, position, count in told["index"]]
        return cls(**{**told, "answered": dict.fromkeys(told["answered"]), "index": runs})

    def repeated(self, entry: Entry, waiting: Iterable[str | None], provider: Provider) -> str:
        """The id of the call to which an entry is a second result, "" for one that is none."""
        results = provider.shape(entry).results
        ids = [result.id for result in results]
        open_ids = set(waiting)
        if not ids or any(id is None or id in open_ids or id not in self.answered for id in ids):
            return ""
        return ", ".join(str(id) for id in ids)
