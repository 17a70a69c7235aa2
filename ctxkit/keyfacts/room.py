"""Room: how much of a budget facts may take, and which messages are about to go."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ctxkit.core.conversation import Unit
from ctxkit.core.facts import active_facts
from ctxkit.core.profile import TELLING
from ctxkit.core.state import ledger_of, newest_unit
from ctxkit.core.view import View

__all__ = ["Room", "about_to_go", "room_of"]

SHARE = 0.1
"""Of `compact_at` less system text and tools: what facts may take when neither a number nor the budget's profile region
says."""

LEAST = 160
"""Tokens that they may take all the same, as far as that is no more than `MOST_SHARE` of it."""

MOST_SHARE = 0.25

MARGIN = 0.25
"""More than has to go: the steps that come next take whole turns."""

ENVELOPES = 128
"""Tokens of the two entries that hold facts (what was said, what tools told) beside their lines: mark, title, fence."""


@dataclass(frozen=True, slots=True)
class Room:
    """Tokens for the facts of one strategy, and for what it pins.

    Attributes:
        cap: what its facts may take.
        grow_to: up to this they may grow without the next compaction being due at once.
        shrink_to: down to this they and the pins go, since what cannot shrink needs the rest.
    """

    cap: int
    grow_to: int
    shrink_to: int


def room_of(view: View, kind: str, max_tokens: int | float | None) -> Room:
    """The room for the facts and pins of a strategy. It does not depend on those that it has, so that looking twice
    finds the same."""
    bare = _without_own(view, kind)
    others = sum(
        bare.count(each.line) + 1 for each in active_facts(view.state.facts).values() if each.by != kind
    )
    free = bare.budget.start - bare.regions.get("system", 0) - bare.regions.get("tools", 0)
    cap = _cap(view, max_tokens, free=max(0, free), others=others)
    grow_to = max(0, bare.budget.start - bare.target - ENVELOPES - others)
    return Room(cap, grow_to, max(0, _reducible(bare) - others) // 2)


def about_to_go(view: View, kind: str, *, least: int) -> list[Unit]:
    """The free units that are likely to go, oldest first: as many tokens as are over without the facts, a margin, and
    `least` for the facts, in whole turns."""
    bare = _without_own(view, kind)
    free = {unit.id for unit in view.free()}
    surplus = {turn.number for turn in [turn for turn in bare.turns if turn.number][: bare.surplus_turns]}
    left, turn = int(bare.over * (1 + MARGIN)) + least, -1
    going: list[Unit] = []
    for unit in bare.free():
        if unit.synthetic:
            continue
        if left <= 0 and unit.turn not in surplus and (unit.turn != turn or turn == view.current_turn):
            break
        left, turn = left - unit.tokens, unit.turn
        if unit.id in free:
            going.append(unit)
    return going


def _without_own(view: View, kind: str) -> View:
    """The view without facts, and without the pins of the strategy itself."""
    items = tuple(item for item in view.state.items if item.made not in TELLING)
    pins = tuple(pin for pin in view.state.pins if pin.by != kind)
    return replace(view, state=replace(view.state, items=items, pins=pins, ledger=ledger_of(items)))


def _cap(view: View, max_tokens: int | float | None, *, free: int, others: int) -> int:
    if isinstance(max_tokens, int):
        return max_tokens
    if max_tokens is not None:
        return int(max_tokens * view.budget.limit)
    profile = view.budget.regions.get("profile")
    if profile is not None:
        return max(0, profile.cap(view.budget.window) - others)
    return max(int(free * SHARE), min(LEAST, int(free * MOST_SHARE)))


def _reducible(bare: View) -> int:
    """Tokens of the budget that are not taken by what no edit may touch. The newest unit may be shortened: it counts
    for no more than half of them."""
    newest = newest_unit(bare.state)
    fixed = sum(unit.tokens for unit in bare.units if unit.id in bare.fixed)
    left = bare.budget.start - fixed - bare.state.system_tokens - bare.state.tools_tokens
    last = sum(unit.tokens for unit in bare.units if unit.id == newest and unit.id not in bare.fixed)
    return max(0, left - min(last, left // 2))
