"""Archive: everything a conversation ever held, by id and by handle, and what its compactions did."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ctxkit.core.edits import Drop, Edit, Replace, Strip
from ctxkit.core.items import NOBODY, Item
from ctxkit.core.kernel import Applied
from ctxkit.core.marks import HANDLE_PREFIX
from ctxkit.core.provider import Entry
from ctxkit.core.view import Past
from ctxkit.errors import UnknownHandleError

__all__ = ["Archive", "Handles", "Kept", "NotLoaded", "handles_of"]


@dataclass(frozen=True, slots=True)
class Kept:
    """Originals behind a handle, and why they are not shown as they were: what was done, by whom, the reason, in which
    turn."""

    ids: tuple[range, ...]
    fate: str = ""
    by: str = ""
    why: str = ""
    turn: int = 0


Handles = tuple[tuple[str, Kept], ...]
"""What handles stand for, the newest last."""

PAST = 256
"""Compactions and failed attempts that are remembered in figures."""


class NotLoaded(UnknownHandleError):
    """Originals that lie in a store and have not been read yet.

    Attributes:
        ids: the items.
    """

    def __init__(self, ids: Iterable[int]) -> None:
        super().__init__(
            "the original is in the store and was not read yet; `await session.original(...)` reads it"
        )
        self.ids = tuple(ids)


@dataclass
class Archive:
    """Originals, by id and by handle; only ever added to.

    Attributes:
        first: id of the first item in `log`; those of a session that was opened from a store come before it.
        log: the items as they arrived, one after the other.
        read: items before `first` that were read from the store since.
        erased: ids whose originals were taken out for good, one by one.
        erased_to: all originals with ids below it were taken out.
        kept: what each handle stands for, the newest change last.
        past: the newest compactions in figures.
        missed: ids that were asked for and had not been read.
    """

    first: int = 0
    log: list[Item] = field(default_factory=list)
    read: dict[int, Item] = field(default_factory=dict)
    erased: set[int] = field(default_factory=set)
    erased_to: int = 0
    kept: dict[str, Kept] = field(default_factory=dict)
    past: deque[Past] = field(default_factory=lambda: deque(maxlen=PAST))
    missed: set[int] = field(default_factory=set)

    def items(self, ids: Iterable[int]) -> list[Item]:
        """Items as they arrived, without those that were erased.

        Raises:
            NotLoaded: some of them have not been read from the store.
        """
        wanted = [id for id in ids if not self.is_erased(id)]
        absent = [id for id in wanted if id < self.first and id not in self.read]
        if absent:
            self.missed.update(absent)
            raise NotLoaded(absent)
        return [self.log[id - self.first] if id >= self.first else self.read[id] for id in wanted]

    def gone(self, ids: Iterable[int]) -> bool:
        """Whether an original among these was erased."""
        return any(id >= 0 and self.is_erased(id) for id in ids)

    def is_erased(self, id: int) -> bool:
        """Whether the original with an id was taken out for good."""
        return id < self.erased_to or id in self.erased

    def is_popped(self, id: int) -> bool:
        """Whether it was taken out by itself, and not with all that was there."""
        return id in self.erased

    def original(self, id: int) -> Entry:
        """The entry that an item arrived as. Do not change it.

        Raises:
            NotLoaded: it has not been read from the store.
            UnknownHandleError: it was erased.
        """
        if self.is_erased(id):
            raise UnknownHandleError("the original was erased")
        return self.items((id,))[0].raw

    def taken(self, handle: str, ids: tuple[range, ...]) -> bool:
        """Whether a handle stands for other originals than these."""
        held = self.kept.get(handle)
        return held is not None and held.ids != ids

    def positions(self, handle: str) -> list[int]:
        """Where the originals of a handle stand in the input, counted from 0.

        Raises:
            UnknownHandleError: nothing is kept under that handle.
        """
        if not isinstance(handle, str) or handle not in self.kept:
            hint = (
                f"; a handle begins with {HANDLE_PREFIX!r}" if HANDLE_PREFIX not in str(handle)[:80] else ""
            )
            raise UnknownHandleError(f"no original is kept under the handle {handle!r:.200}{hint}")
        return [id for span in self.kept[handle].ids for id in span]

    def arrive(self, items: Iterable[Item]) -> None:
        """Keep items as they arrived."""
        self.log.extend(items)

    def erase(self, ids: Iterable[int]) -> None:
        """Forget originals for good, who wrote them, and why they were changed, which may quote them; their places stay."""
        for id in ids:
            self.erased.add(id)
            self.read.pop(id, None)
            if id >= self.first:
                self.log[id - self.first] = replace(self.log[id - self.first], raw={}, writer=NOBODY)
            for handle, kept in self.kept.items():
                if kept.why and any(id in span for span in kept.ids):
                    self.kept[handle] = replace(kept, why="")

    def forget_reasons(self, turn: int) -> None:
        """Forget why compactions did what they did, or failed, from a turn on: that may quote what was erased."""
        for handle, kept in self.kept.items():
            if kept.why and kept.turn >= turn:
                self.kept[handle] = replace(kept, why="")
        for at, past in enumerate(self.past):
            if past.turn >= turn and past.failures:
                failures = tuple(replace(each, why="") for each in past.failures)
                self.past[at] = replace(past, failures=failures)

    def erase_below(self, id: int) -> None:
        """Forget all originals before an item for good, with the handles that they had and what
        compactions did."""
        self.first = self.erased_to = id
        self.log.clear()
        self.read.clear()
        self.erased.clear()
        self.kept.clear()
        self.past.clear()

    def keep(self, handles: Handles) -> None:
        """Keep what handles stand for; the newest change of one counts."""
        for handle, kept in handles:
            if kept.fate:
                self.kept.pop(handle, None)
                self.kept[handle] = kept
            else:
                self.kept.setdefault(handle, kept)


def handles_of(applied: Iterable[Applied], named: Mapping[str, tuple[range, ...]], turn: int) -> Handles:
    """What the handles of a compaction in a turn stand for: those that its stand-ins name, and those of its edits."""
    named_ones = tuple((handle, Kept(ids)) for handle, ids in named.items())
    edits = (each for each in applied if each.handle and each.ids)
    return named_ones + tuple(
        (each.handle, Kept(each.ids, _fate(each.edit), each.edit.by, each.edit.why, turn)) for each in edits
    )


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
