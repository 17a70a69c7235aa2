"""`drop-oldest`: drop what is oldest until the target is met."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from ctxkit.core.conversation import Unit
from ctxkit.core.edits import Drop, Plan
from ctxkit.core.view import View
from ctxkit.errors import PlanRejected
from ctxkit.strategy import CompressionStrategy, Services

__all__ = ["DropOldest"]

ATTEMPTS = 8
"""Cuts that are tried when a provider would refuse what follows the first one."""


class DropOldest(CompressionStrategy):
    """Drop the oldest turns, then the oldest steps of the current turn, until the target is met.

    Turns go whole. In the current turn steps go one by one, the user's message stays, and one stand-in marks
    the gap. Pinned units are stepped over.
    """

    kind: Literal["drop-oldest"] = "drop-oldest"

    def plan(self, view: View, services: Services) -> Plan:
        chunks = list(_chunks(view))
        cut = _enough(chunks, view)
        reasons: list[str] = []
        for more in range(ATTEMPTS):
            if not 0 < cut + more <= len(chunks):
                break
            units = tuple(unit.id for chunk in chunks[: cut + more] for unit in chunk)
            plan = Plan.of(Drop(units, "the oldest, until the target is met"))
            try:
                view.after(plan)
            except PlanRejected as error:
                reasons.append(str(error))
            else:
                return plan
        return Plan.failed(self.kind, reasons[0]) if reasons else Plan()


def _chunks(view: View) -> Iterator[Sequence[Unit]]:
    """What goes together, oldest first: all that may go of a past turn; of the current one, one step."""
    turns: dict[int, list[Unit]] = {}
    for unit in view.free():
        turns.setdefault(unit.turn, []).append(unit)
    for number, units in sorted(turns.items()):
        if number < view.current_turn:
            yield units
        else:
            yield from ([unit] for unit in units)


def _enough(chunks: Sequence[Sequence[Unit]], view: View) -> int:
    """How many chunks have to go, all of them when that is not enough."""
    regions = dict(view.regions)
    for count, chunk in enumerate(chunks):
        if not view.over_with(regions):
            return count
        for item in (item for unit in chunk for item in unit.items):
            regions[item.region] -= item.tokens
    return len(chunks)
