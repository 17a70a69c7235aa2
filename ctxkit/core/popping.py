"""Popping: the newest entry taken back, as if it had never arrived."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ctxkit.core.items import Call, Item
from ctxkit.core.pairing import OpenCalls
from ctxkit.core.provider import Entry
from ctxkit.core.state import Meter, OpenCall, State, ledger_of, opens_turn

__all__ = ["newest", "without", "without_erased"]


def newest(state: State) -> Item | None:
    """The newest entry that arrived and is still there (or the one it was merged into), None when there is none."""
    there = (item for item in state.items if not item.synthetic)
    return max(there, key=_last_id, default=None)


def _last_id(item: Item) -> int:
    return max(item.id, *(span.stop - 1 for span in item.stands_for), item.id)


def without(state: State, item: Item, meter: Meter, original: Entry) -> State:
    """The state without its newest entry: calls that it made are gone, calls that it answered are open again, those that
    had been dropped are lost again.

    Args:
        original: what the entry arrived as.
    """
    items = tuple(each for each in state.items if each is not item)
    unit = [each for each in items if each.unit == item.unit]
    others = tuple(call for call in state.open if call.unit != item.unit)
    closed = {each.call: each.closed for each in state.open if each.unit == item.unit}
    its_own = (replace(each, closed=closed.get(each.call, "")) for each in _open_in(unit, meter))
    return replace(
        state,
        items=items,
        ledger=ledger_of(items),
        turn=item.turn - 1 if opens_turn(item) else state.turn,
        open=tuple(sorted((*others, *its_own), key=lambda call: call.unit)),
        lost=(*state.lost, *_dropped_before(item, original, meter)),
        pins=tuple(pin for pin in state.pins if unit or pin.unit != item.unit),
    )


def without_erased(state: State, is_erased: Callable[[int], bool], meter: Meter) -> State:
    """The state without entries that were erased since, by their ids; with one that makes calls go their results."""
    erased = {item.id for item in state.items if not item.synthetic and is_erased(item.id)}
    units = {item.unit for item in state.items if item.id in erased and item.shape.calls}
    gone = [item for item in state.items if item.id in erased or item.unit in units]
    for item in reversed(gone):
        state = without(state, item, meter, item.raw)
    return state


def _dropped_before(item: Item, original: Entry, meter: Meter) -> list[Call]:
    """The calls that an entry answers, when they had been dropped before it came: it stands alone then, as a note."""
    alone = item.unit == item.id
    return [Call(each.id, each.name) for each in meter.provider.shape(original).results] if alone else []


def _open_in(unit: list[Item], meter: Meter) -> list[OpenCall]:
    """The calls of a unit that nothing in it answers."""
    calls = OpenCalls([OpenCall(call, each.unit, each.turn) for each in unit for call in each.shape.calls])
    for each in unit:
        if each.shape.results:
            calls.take_all(meter.read(each.raw)[0].results)
    return list(calls)
