"""Units and turns: the conversation as a strategy sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

from ctxkit.core.items import SHOWN, Item, Part, PartKind, Role

__all__ = ["Turn", "Unit", "units_of"]


@dataclass(frozen=True)
class Unit:
    """The smallest thing that may be dropped: a lone message, or a step with all its calls and results.

    Attributes:
        id: id of its first item.
        turn: number of its turn.
        items: in wire order; in Responses other units' items may stand between them.
    """

    id: int
    turn: int
    items: tuple[Item, ...]
    read: Callable[[Item], tuple[Part, ...]] = field(repr=False, compare=False)

    @cached_property
    def tokens(self) -> int:
        """Its size."""
        return sum(item.tokens for item in self.items)

    @property
    def said_by_user(self) -> bool:
        """Whether it is a user's message: not a tool step, not a document, not written by ctxkit."""
        first = self.items[0]
        spoken = first.shape.role is Role.USER and first.shape.words
        return spoken and not first.synthetic and not first.document

    @property
    def thinks(self) -> bool:
        """Whether it begins with reasoning, or holds nothing that could be read."""
        return not self.parts or self.parts[0].kind is PartKind.REASONING

    @property
    def is_stand_in(self) -> bool:
        """Whether it marks a gap; such a unit is the kernel's to write and to take away."""
        return self.items[0].made == "gap"

    @property
    def synthetic(self) -> bool:
        """Whether ctxkit wrote it: a summary, a stand-in, the profile, a note."""
        return self.items[0].synthetic

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The parts of all its items."""
        return tuple(part for item in self.items for part in self.read(item))

    @cached_property
    def text(self) -> str:
        """What a reader sees of it: texts, arguments and results, a line break between them."""
        return "\n".join(part.text for part in self.parts if part.reads_as in SHOWN and part.text)


@dataclass(frozen=True)
class Turn:
    """A user message and every unit up to the next one; turn 0 is what stands before the first."""

    number: int
    units: tuple[Unit, ...]

    @property
    def tokens(self) -> int:
        """Its size."""
        return sum(unit.tokens for unit in self.units)


def units_of(items: Iterable[Item], read: Callable[[Item], tuple[Part, ...]]) -> tuple[Unit, ...]:
    """Items grouped into their units, in the order of their first items; `read` gives the parts of an item."""
    groups: dict[int, list[Item]] = {}
    for item in items:
        groups.setdefault(item.unit, []).append(item)
    return tuple(Unit(id, group[0].turn, tuple(group), read) for id, group in groups.items())
