"""`drop-oldest`: drop what is oldest until the target is met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ctxkit.core.conversation import Unit
from ctxkit.core.edits import Drop, Plan
from ctxkit.core.gaps import is_of_turn
from ctxkit.core.view import View
from ctxkit.errors import PlanRejected
from ctxkit.strategy import CompressionStrategy, Services

__all__ = ["DropOldest"]

ATTEMPTS = 8
"""Cuts that are tried when the first one is refused, or not enough with its stand-ins."""


STAND_IN = 48
"""Tokens that the stand-in of a gap takes, at most."""


class DropOldest(CompressionStrategy):
    """Drop the oldest turns, then the oldest steps of the current turn, until the target is met.

    Turns go whole. In the current turn steps go one by one, the user's message stays, and one stand-in marks
    the gap. Pinned units are stepped over; what is in a region of a priority below 0 goes first, summaries last.
    """

    kind: Literal["drop-oldest"] = "drop-oldest"

    def plan(self, view: View, services: Services) -> Plan:
        chunks = list(_chunks(view))
        cut = max(_enough(chunks, view, 0, view.regions), _surplus(chunks, view))
        best, reasons = Plan(), []
        for _ in range(ATTEMPTS):
            if not 0 < cut <= len(chunks):
                break
            units = tuple(unit.id for chunk in chunks[:cut] for unit in chunk.units)
            plan = Plan.of(Drop(units, "the oldest, until the target is met", self.kind))
            try:
                after = view.after(plan)
            except PlanRejected as error:
                reasons.append(str(error))
                cut += 1
                continue
            best = plan
            if not after.over or cut == len(chunks):
                break
            cut = max(cut + 1, _enough(chunks, view, cut, after.regions))
        return best if best or not reasons else Plan.failed(self.kind, reasons[0])


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Units that go together, and whether they leave a gap that is marked."""

    units: tuple[Unit, ...]
    leaves_gap: bool

    @property
    def gains(self) -> bool:
        """Whether it is more than what stands in for it."""
        return not self.leaves_gap or sum(unit.tokens for unit in self.units) > STAND_IN


def _chunks(view: View) -> Iterator[_Chunk]:
    """What goes together: what has a low priority, then all that may go of a past turn, oldest first, then steps of
    the current one one by one, then summaries. What is smaller than its stand-in stays."""
    regions = view.budget.regions
    low = {name for name, region in regions.items() if region.priority < 0}
    yield from (_Chunk((unit,), True) for unit in view.free() if unit.items[0].region in low)
    free = [unit for unit in view.free() if unit.items[0].region not in low]
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
            yield from (_Chunk((unit,), at == 0) for at, unit in enumerate(units))
    yield from (_Chunk((unit,), False) for unit in free if unit.synthetic)


def _surplus(chunks: Sequence[_Chunk], view: View) -> int:
    """How many chunks have to go for the turns to be as few as the budget says."""
    numbers = [turn.number for turn in view.turns if turn.number][: view.surplus_turns]
    return max((at + 1 for at, chunk in enumerate(chunks) if chunk.units[0].turn in numbers), default=0)


def _enough(chunks: Sequence[_Chunk], view: View, start: int, regions: Mapping[str, int]) -> int:
    """How many chunks have to go in all, when `regions` are the sizes without the first `start` of them."""
    left = dict(regions)
    for at in range(start, len(chunks)):
        if not view.over_with(left):
            return at
        for item in (item for unit in chunks[at].units for item in unit.items):
            left[item.region] -= item.tokens
        if chunks[at].leaves_gap:
            left["summary"] = left.get("summary", 0) + STAND_IN
    return len(chunks)
