"""Covering: which units a summary stands for next, and what it is made from."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from ctxkit.core.conversation import Unit
from ctxkit.core.gaps import inside
from ctxkit.core.items import Item, PartKind
from ctxkit.core.marks import is_marked
from ctxkit.core.provider import Entry
from ctxkit.core.view import View

__all__ = ["ENVELOPE", "Covering", "cover", "max_summary_tokens", "summary_text"]

ENVELOPE = 32
"""Tokens of a summary beside its text, give or take a few: mark, title, fence, the entry around it."""

DEFAULT_SHARE = 0.2
"""Of the limit: the longest summary when neither a number nor the budget's summary region says."""

FRESH_SHARE = 0.35
"""Of what is summarised for the first time: what its part of a summary takes at most, or it gains too little."""


@dataclass(frozen=True)
class Covering:
    """What one `Replace` covers.

    Attributes:
        view: the view that the units are of.
        earlier: units that hold earlier summaries of the same strategy, oldest first.
        fresh: the units that are summarised for the first time, oldest first.
        complete: whether no further unit could have been taken.
    """

    view: View
    earlier: tuple[Unit, ...]
    fresh: tuple[Unit, ...]
    complete: bool

    @property
    def units(self) -> tuple[int, ...]:
        """The ids for `Replace`, in wire order."""
        ids = {unit.id for unit in (*self.earlier, *self.fresh)}
        return tuple(unit.id for unit in self.view.units if unit.id in ids)

    @property
    def tokens(self) -> int:
        """What all of them take now."""
        return sum(unit.tokens for unit in (*self.earlier, *self.fresh))

    @property
    def room(self) -> int:
        """What a summary of them may take to be worth it: as much as earlier ones, and a share of what is fresh."""
        return _room(sum(unit.tokens for unit in self.earlier), sum(unit.tokens for unit in self.fresh))

    @property
    def earlier_text(self) -> str:
        """The texts of the earlier summaries, without mark and fence; "" when there is none."""
        return "\n".join(summary_text(self.view, item) for unit in self.earlier for item in unit.items)

    @property
    def originals(self) -> tuple[Entry, ...]:
        """The entries of the fresh units alone, as they arrived."""
        return tuple(
            entry for unit in self.fresh for item in unit.items for entry in self.view.originals(item)
        )


def cover(view: View, *, kind: str, expected_tokens: int, keep_turns: int, least: int = 1) -> Covering | None:
    """The oldest free units, as many as have to go for the target to be met, with the earlier summaries.

    A past turn goes whole, as far as it is free. Other strategies' summaries stay.

    Args:
        kind: the strategy's kind; summaries that bear it are covered again.
        expected_tokens: what the text that will stand for them takes at most.
        keep_turns: the newest turns, whose units are taken only when all others are not enough.
        least: fresh units to take at least: after a covering that was not enough, one more than it had.

    Returns:
        None when there is nothing fresh to cover.
    """
    free = view.free()
    earlier = tuple(unit for unit in free if _is_earlier(unit, kind))
    fresh = _worth_taking(view, [unit for unit in free if not unit.synthetic])
    if not fresh:
        return None
    spared = {turn.number for turn in view.turns[-keep_turns:]} if keep_turns else set[int]()
    enough = max(_enough(view, earlier, fresh, expected_tokens), _surplus(view, fresh), least)
    taken = fresh[: view.cut(fresh, min(enough, len(fresh)))]
    last = taken[-1].turn
    if last != view.current_turn and last not in spared:
        taken += [unit for unit in fresh[len(taken) :] if unit.turn == last]
    return Covering(view, earlier, tuple(taken), len(taken) == len(fresh))


def _worth_taking(view: View, fresh: Sequence[Unit]) -> list[Unit]:
    """The units of turns that are too many, of past turns with anything in a region of which something has to go, and
    the steps of the current turn with that; as far as they may go."""
    pressed = view.targets(item for unit in fresh for item in unit.items).pressed(view.regions)
    going = _surplus_turns(view)
    going |= {unit.turn for unit in fresh if unit.turn != view.current_turn and _is_in(unit, pressed)}
    wanted = [unit for unit in fresh if unit.turn in going or _is_in(unit, pressed)]
    return wanted[: view.cut(wanted, len(wanted))]


def _is_in(unit: Unit, regions: Set[str]) -> bool:
    return any(item.region in regions for item in unit.items)


def _is_earlier(unit: Unit, kind: str) -> bool:
    return unit.items[0].made == "summary" and unit.items[0].edited == kind


def _enough(view: View, earlier: Sequence[Unit], fresh: Sequence[Unit], expected: int) -> int:
    """How many fresh units have to go with the earlier summaries for every target to be met."""
    targets = view.targets(item for unit in fresh for item in unit.items)
    left, held = dict(view.regions), sum(unit.tokens for unit in earlier)
    rest = left.get("summary", 0) - held
    gone = 0
    for at, unit in enumerate(fresh):
        for item in unit.items:
            left[item.region] -= item.tokens
        gone += unit.tokens
        left["summary"] = rest + min(expected, _room(held, gone)) + ENVELOPE
        if not targets.over(left):
            return at + 1
    return len(fresh)


def _room(earlier: int, fresh: int) -> int:
    return max(0, earlier - ENVELOPE) + int(FRESH_SHARE * fresh)


def _surplus(view: View, fresh: Sequence[Unit]) -> int:
    """How many fresh units have to go for the turns to be as few as the budget says."""
    going = _surplus_turns(view)
    return max((at + 1 for at, unit in enumerate(fresh) if unit.turn in going), default=0)


def _surplus_turns(view: View) -> set[int]:
    """The oldest turns that have to go for the turns to be as few as the budget says; a summary counts as one."""
    if not view.surplus_turns:
        return set()
    live = [
        turn.number
        for turn in view.turns
        if turn.number and any(unit.items[0].made != "summary" for unit in turn.units)
    ]
    surplus = len(live) - max(0, (view.budget.context_limit or 0) - 1)
    return set(live[:surplus])


def max_summary_tokens(view: View, *, kind: str, max_tokens: int | None = None) -> int:
    """How long the text of a summary may be, in tokens, its envelope taken off; 0 where there is no room.

    The cap of the budget's summary region less what others wrote in it, and no more than `max_tokens`; without
    either a fifth of the limit.
    """
    caps = view.budget.caps(view.regions)
    if "summary" not in caps:
        return max_tokens if max_tokens is not None else int(view.budget.limit * DEFAULT_SHARE)
    mine = sum(item.tokens for unit in view.units if _is_earlier(unit, kind) for item in unit.items)
    room = max(0, caps["summary"] - view.regions.get("summary", 0) + mine - ENVELOPE)
    return room if max_tokens is None else min(room, max_tokens)


def summary_text(view: View, item: Item) -> str:
    """The text inside the fence of a summary that the kernel wrote; "" for any other item."""
    if item.made != "summary":
        return ""
    text = next((part.text for part in view.parts(item) if part.kind is PartKind.TEXT), "")
    return inside(text) if is_marked(text) else ""
