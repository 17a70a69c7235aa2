"""Rebase: a compaction that was planned on an older state, carried over to what there is now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ctxkit.archive import Archive
from ctxkit.core.arrivals import Arrival, append
from ctxkit.core.facts import Fact, active_facts, displaced
from ctxkit.core.state import Meter, State
from ctxkit.engine import Outcome
from ctxkit.withdrawn import mentions_withdrawn

__all__ = ["beside", "given_up_in", "rebase", "since"]


def since(state: State, archive: Archive, next_id: int) -> list[Arrival]:
    """What has arrived since a state, up to the item `next_id`."""
    came = archive.items(range(state.next_id, next_id))
    return [Arrival.again(item) for item in came]


def beside(now: State) -> dict[str, Any]:
    """What no compaction changes, and no older state brings back: the fields of a state that go on as they are now."""
    return {
        "waiting": now.waiting,
        "system": now.system,
        "tools": now.tools,
        "system_tokens": now.system_tokens,
        "tools_tokens": now.tools_tokens,
    }


def given_up_in(state: State, now: State) -> State:
    """A state in which those calls are given up that are now."""
    closed = {(each.unit, each.call): each.closed for each in now.open if each.closed}
    calls = (replace(each, closed=closed.get((each.unit, each.call), "")) for each in state.open)
    return replace(state, open=tuple(calls))


def rebase(outcome: Outcome, now: State, archive: Archive, meter: Meter) -> State | None:
    """The outcome's state with what came in while it was planned: messages, facts, pins.

    None when the two cannot go together: something was pinned that the plan left out or changed, or taken back that it
    goes on telling.
    """
    before, after = outcome.before.state, outcome.after.state
    if now is before:
        return after
    if mentions_withdrawn(outcome, now):
        return None
    there = {item.unit: item for item in after.items}
    untouched = {item.id: item.raw for item in after.items}
    new_pins = tuple(pin for pin in now.pins if pin not in before.pins)
    pinned = {pin.unit for pin in new_pins}
    if any(item.unit in pinned and untouched.get(item.id) is not item.raw for item in before.items):
        return None
    kept_pins = tuple(pin for pin in after.pins if pin in now.pins or pin not in before.pins)
    state = replace(
        after,
        facts=_with(after.facts, now.facts[len(before.facts) :]),
        pins=(*kept_pins, *(pin for pin in new_pins if pin.unit in there or pin.unit >= before.next_id)),
        **beside(now),
    )
    return given_up_in(append(state, since(before, archive, now.next_id), meter)[0], now)


def _with(facts: tuple[Fact, ...], more: Sequence[Fact]) -> tuple[Fact, ...]:
    """Facts with those that came meanwhile, for which what must be kept under their names makes way."""
    for fact in more:
        moved = displaced(active_facts(facts), fact)
        facts = facts + ((moved, fact) if moved is not None else (fact,))
    return facts
