"""Archive: everything a conversation ever held, by id and by handle, and what its compactions did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ctxkit.core.items import Item
from ctxkit.core.kernel import Applied
from ctxkit.core.provider import Entry
from ctxkit.core.view import Past
from ctxkit.errors import UnknownHandleError

__all__ = ["Archive"]


@dataclass
class Archive:
    """Originals in the order in which they arrived; only ever added to.

    Attributes:
        log: the items as they arrived; an item's id is its position.
        handles: the ids that each handle stands for.
        applied: each committed edit, by compaction.
        past: each compaction in figures.
    """

    log: list[Item] = field(default_factory=list)
    handles: dict[str, tuple[range, ...]] = field(default_factory=dict)
    applied: list[tuple[Applied, ...]] = field(default_factory=list)
    past: list[Past] = field(default_factory=list)

    def original(self, id: int) -> Entry:
        """The entry that an item arrived as. Do not change it."""
        return self.log[id].raw

    def taken(self, handle: str, ids: tuple[range, ...]) -> bool:
        """Whether a handle stands for other originals than these."""
        return self.handles.get(handle, ids) != ids

    def positions(self, handle: str) -> list[int]:
        """Where the originals of a handle stand in the input, counted from 0.

        Raises:
            UnknownHandleError: nothing is kept under that handle.
        """
        if handle not in self.handles:
            raise UnknownHandleError(f"no original is kept under the handle {handle!r}")
        return [id for span in self.handles[handle] for id in span]

    def commit(
        self, applied: Iterable[Applied], named: Mapping[str, tuple[range, ...]], past: Past
    ) -> None:
        """Keep what a compaction did, and the originals behind the handles that it named."""
        edits = tuple(applied)
        self.handles.update(named)
        self.handles.update({each.handle: each.ids for each in edits if each.handle and each.ids})
        self.applied.append(edits)
        self.past.append(past)
