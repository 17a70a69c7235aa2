"""`drop-oldest`: drop what is oldest until the target is met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from ctxkit.core.conversation import Unit
from ctxkit.core.edits import Drop, Plan
from ctxkit.core.gaps import is_of_turn
from ctxkit.core.items import Item
from ctxkit.core.view import View
from ctxkit.errors import PlanRejected
from ctxkit.strategy import CompressionStrategy, Services

__all__ = ["DropOldest"]

ATTEMPTS = 8
"""Plans that are tried when the first one is refused, or not enough with its stand-ins."""
STAND_IN = 48
"""Tokens that the stand-in of a gap takes, at most."""


class DropOldest(CompressionStrategy):
    """Drop the oldest turns, then the oldest steps of the current turn, until the target is met.

    Turns go whole. In the current turn steps go one by one, the user's message stays, and one stand-in marks
    the gap. Pinned units are stepped over; what is in a region of a priority below 0 goes first, summaries last.
    While the whole meets its target and a region does not, turns and steps without anything in that region stay.
    """

    kind: Literal["drop-oldest"] = "drop-oldest"

    def plan(self, view: View, services: Services) -> Plan:
        chunks = list(_chunks(view))
        going = _more(chunks, _surplus(chunks, view), view)
        best, reasons = Plan(), []
        for _ in range(ATTEMPTS):
            if not going:
                break
            units = tuple(unit.id for at in sorted(going) for unit in chunks[at].units)
            plan = Plan.of(Drop(units, "the oldest, until the target is met", self.kind))
            try:
                after = view.after(plan)
            except PlanRejected as error:
                reasons.append(str(error))
                more = going | {at for at in _left(chunks, going)[:1] if not chunks[at].kept_for_min}
            else:
                best, more = plan, _more(chunks, going, after)
            if more == going:
                break
            going = more
        return best if best or not reasons else Plan.failed(self.kind, reasons[0])


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Units that go together, whether they leave a gap that is marked, and whether a region's `min` keeps them, as long
    as the request fits."""

    units: tuple[Unit, ...]
    leaves_gap: bool
    kept_for_min: bool = False

    @property
    def items(self) -> Iterator[Item]:
        """All items of its units."""
        return (item for unit in self.units for item in unit.items)

    @property
    def gains(self) -> bool:
        """Whether it is more than what stands in for it."""
        return not self.leaves_gap or sum(unit.tokens for unit in self.units) > STAND_IN


def _chunks(view: View) -> Iterator[_Chunk]:
    """What goes together: what has a low priority, then all that may go of a past turn, oldest first, then steps of
    the current one one by one, then summaries, then what a region's `min` keeps. What is smaller than its stand-in stays.
    The steps of a loop that has to begin with thinking go in order, whatever their priority."""
    regions = view.budget.regions
    low = {name for name, region in regions.items() if region.priority < 0}
    in_order = {unit.id for unit in view.tool_loop} if view.thinks_first else set[int]()
    first = {unit.id for unit in view.free() if unit.items[0].region in low} - in_order
    yield from (_Chunk((unit,), True) for unit in view.free() if unit.id in first)
    free = [unit for unit in view.free() if unit.id not in first]
    sizes = Counter(unit.turn for unit in view.units if is_of_turn(unit.items[0]))
    turns: dict[int, list[Unit]] = {}
    for unit in free:
        if not unit.synthetic:
            turns.setdefault(unit.turn, []).append(unit)
    for number, units in sorted(turns.items()):
        if number < view.current_turn:
            chunk = _Chunk(tuple(units), len(units) < sizes[number])
            if chunk.gains:
                yield chunk
        else:
            yield from (_Chunk(run, at == 0) for at, run in enumerate(_runs(units, view)))
    yield from (_Chunk((unit,), False) for unit in free if unit.synthetic)
    yield from (_Chunk((unit,), sizes[unit.turn] > 1, kept_for_min=True) for unit in view.kept_for_min())


def _runs(units: Sequence[Unit], view: View) -> Iterator[tuple[Unit, ...]]:
    """Steps of the current turn, as few at a time as may go; behind the last run none may."""
    for start, end in pairwise((0, *view.ends(units))):
        yield tuple(units[start:end])


def _surplus(chunks: Sequence[_Chunk], view: View) -> frozenset[int]:
    """The chunks that have to go for the turns to be as few as the budget says."""
    turns = (chunk.units[0].turn for chunk in chunks)
    numbers = dict.fromkeys(turn for turn in turns if view.surplus_turns and turn in view.free_turns)
    going = list(numbers)[: view.surplus_turns]
    return frozenset(at for at, chunk in enumerate(chunks) if chunk.units[0].turn in going)


def _left(chunks: Sequence[_Chunk], going: Set[int]) -> list[int]:
    """The chunks that stay when those go."""
    return [at for at in range(len(chunks)) if at not in going]


def _more(chunks: Sequence[_Chunk], going: Set[int], view: View) -> frozenset[int]:
    """The chunks that go for the targets to be met: `going`, which may have left the view, and the oldest others.

    No summary goes for the sake of its region: it is as long as the region had room, and stand-ins came beside it.
    """
    left = _left(chunks, going)
    items = (item for at in left if not chunks[at].kept_for_min for item in chunks[at].items)
    targets = view.targets(item for item in items if not item.synthetic)
    there, more, sizes = {unit.id for unit in view.units}, set(going), dict(view.regions)
    for at in going:
        if chunks[at].units[0].id in there:
            _leave_out(chunks[at], sizes)
    for at in left:
        pressed = targets.pressed(sizes)
        if not pressed or (chunks[at].kept_for_min and sum(sizes.values()) <= view.budget.limit):
            break
        if any(item.region in pressed for item in chunks[at].items):
            more.add(at)
            _leave_out(chunks[at], sizes)
    return frozenset(more)


def _leave_out(chunk: _Chunk, sizes: dict[str, int]) -> None:
    for item in chunk.items:
        sizes[item.region] -= item.tokens
    if chunk.leaves_gap:
        sizes["summary"] = sizes.get("summary", 0) + STAND_IN
