"""Outgoing: what a request holds that is not, or not only, what its session holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ctxkit.archive import Handles
from ctxkit.core.items import Item
from ctxkit.core.provider import Entry
from ctxkit.preparation import Done

if TYPE_CHECKING:
    from ctxkit.core.edits import Failure

__all__ = ["ASIDE", "FRESH", "Beside", "Going", "Outgoing", "Ready", "tokens_of"]

FRESH = "fresh"
"""What an entry is made as that comes into the session only later, or never."""

ASIDE = "aside"
"""What an entry is made as that was made for this request alone, from what a run holds."""


@dataclass(frozen=True, slots=True)
class Beside:
    """An entry that the session does not hold.

    Attributes:
        id: that it would have as the next to arrive, below 0 for what nobody will add.
        raw: the entry.
        made: `FRESH` or `ASIDE`.
        tokens: its size.
        stands_for: items of the session that it may have been made of: with one of them it is erased.
        key: what it will be recognised by when it comes into the session, "" for what never will.
    """

    id: int
    raw: Entry
    made: str
    tokens: int
    stands_for: tuple[range, ...] = ()
    key: str = ""
    region: str = "recent"
    edited: str = ""


Going = tuple[Entry, int, Item | Beside | None]
"""An entry, the id of the item that it is, and that item as it goes out; None for the stand-in of a result."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What goes out instead of all that the session holds.

    Attributes:
        entries: in wire order.
        system, tools: what goes along with them.
        tokens: sizes by region.
        kept: what handles stand for that a compaction of these entries alone wrote.
    """

    entries: Sequence[Going]
    system: Any = None
    tools: Any = None
    tokens: Mapping[str, int] = field(default_factory=dict)
    kept: Handles = ()


@dataclass(frozen=True, slots=True)
class Ready:
    """A request that may go out, and is not on record yet.

    Attributes:
        done: the conversation that it is made from.
        wrong: what is wrong with it.
        erased_at: `Book.erased_at` when the conversation was read.
    """

    done: Done
    wrong: tuple[Failure, ...]
    erased_at: int


def tokens_of(entries: Iterable[Going], **beside: int) -> dict[str, int]:
    """Sizes by region of what goes out, with those of what goes along."""
    sizes = dict(beside)
    for _, _, item in entries:
        if item is not None:
            sizes[item.region] = sizes.get(item.region, 0) + item.tokens
    return {region: tokens for region, tokens in sizes.items() if tokens}
