"""Archive: everything a conversation ever held, by id and by handle, and what its compactions did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ctxkit.core.edits import Drop, Edit, Replace, Strip
from ctxkit.core.items import Item
from ctxkit.core.kernel import Applied
from ctxkit.core.provider import Entry
from ctxkit.core.view import Past
from ctxkit.errors import UnknownHandleError

__all__ = ["Archive", "Kept"]


@dataclass(frozen=True, slots=True)
class Kept:
    """Originals behind a handle, and why they are not shown as they were: what was done, by whom, the reason."""

    ids: tuple[range, ...]
    fate: str = ""
    by: str = ""
    why: str = ""


@dataclass
class Archive:
    """Originals in the order in which they arrived; only ever added to.

    Attributes:
        log: the items as they arrived; an item's id is its position.
        kept: what each handle stands for, the newest change last.
        past: each compaction in figures.
    """

    log: list[Item] = field(default_factory=list)
    kept: dict[str, Kept] = field(default_factory=dict)
    past: list[Past] = field(default_factory=list)

    def original(self, id: int) -> Entry:
        """The entry that an item arrived as. Do not change it."""
        return self.log[id].raw

    def taken(self, handle: str, ids: tuple[range, ...]) -> bool:
        """Whether a handle stands for other originals than these."""
        held = self.kept.get(handle)
        return held is not None and held.ids != ids

    def positions(self, handle: str) -> list[int]:
        """Where the originals of a handle stand in the input, counted from 0.

        Raises:
            UnknownHandleError: nothing is kept under that handle.
        """
        if handle not in self.kept:
            raise UnknownHandleError(f"no original is kept under the handle {handle!r}")
        return [id for span in self.kept[handle].ids for id in span]

    def commit(self, applied: Iterable[Applied], named: Mapping[str, tuple[range, ...]], past: Past) -> None:
        """Keep what a compaction did, and the originals behind the handles that its stand-ins name."""
        self.kept.update({handle: Kept(ids) for handle, ids in named.items() if handle not in self.kept})
        for each in applied:
            if each.handle and each.ids:
                self.kept.pop(each.handle, None)
                self.kept[each.handle] = Kept(each.ids, _fate(each.edit), each.edit.by, each.edit.why)
        self.past.append(past)


def _fate(edit: Edit) -> str:
    match edit:
        case Drop():
            return "dropped"
        case Replace():
            return "summarised"
        case Strip():
            return "stripped"
        case _:
            return "shortened"
