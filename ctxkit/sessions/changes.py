"""Changes: what a step changed in a state, as JSON, and the state after it.

A record holds the outcome of a step, not how to come to it: a log reads the same however the grouping of entries or the
kernel may change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from ctxkit.core.facts import Fact
from ctxkit.core.items import Call, Item, Result, Role, Shape, Writer
from ctxkit.core.state import OpenCall, Pinned, State

__all__ = [
    "Json",
    "change",
    "changed",
    "facts_from",
    "facts_json",
    "holds",
    "item_from",
    "item_json",
    "span_from",
    "state_from",
    "state_json",
]

Json = dict[str, Any]

PLAIN = (
    "system",
    "tools",
    "system_tokens",
    "tools_tokens",
    "turn",
    "next_id",
    "next_synthetic",
    "noted",
    "compactions",
)
"""Fields of a state that are JSON as they are."""

WHOLE = PLAIN[2:]
"""Those that are whole numbers."""


def change(before: State, after: State) -> Json:
    """What makes `after` out of `before`: the fields that differ; items that stay are named by their place."""
    told: Json = {
        name: getattr(after, name) for name in PLAIN if getattr(after, name) != getattr(before, name)
    }
    if after.items is not before.items:
        told["items"] = _items_change(before.items, after.items)
    for name, (write, _) in _LISTS.items():
        if getattr(after, name) != getattr(before, name):
            told[name] = [write(each) for each in _in_order(getattr(after, name))]
    if after.facts is not before.facts:
        told |= _facts_change(before.facts, after.facts)
    if after.ledger != before.ledger:
        told["ledger"] = dict(after.ledger)
    return told


def changed(state: State, told: Mapping[str, Any]) -> State:
    """The state after a change.

    Raises:
        KeyError, ValueError, TypeError, IndexError: it is no change of this state.
    """
    values: Json = {name: told[name] for name in PLAIN if name in told}
    _check(all(isinstance(values.get(name, 0), int) for name in WHOLE))
    _check(values.get("next_id", 0) - state.next_id <= LONGEST_SPAN)
    if "items" in told:
        values["items"] = _items_from(state.items, told["items"])
    for name, (_, read) in _LISTS.items():
        if name in told:
            values[name] = _SETS.get(name, tuple)(read(each) for each in told[name])
    if "ledger" in told:
        values["ledger"] = dict(told["ledger"])
        _check(all(isinstance(tokens, int) for tokens in values["ledger"].values()))
    if "facts" in told:
        held = state.facts[: told["facts_kept"]] if "facts_kept" in told else state.facts
        values["facts"] = held + facts_from(told["facts"])
    return replace(state, **values)


def _check(right: bool) -> None:
    if not right:
        raise ValueError


def state_json(state: State, place: Callable[[Item], int]) -> Json:
    """A state without its facts; its items are written by whoever gives each its `place` in a table."""
    told: Json = {name: getattr(state, name) for name in PLAIN}
    told["items"] = [place(item) for item in state.items]
    told["ledger"] = dict(state.ledger)
    for name, (write, _) in _LISTS.items():
        told[name] = [write(each) for each in _in_order(getattr(state, name))]
    return told


def facts_json(facts: Iterable[Fact]) -> list[Json]:
    """Facts, without what is as usual."""
    return [_plain(fact) for fact in facts]


def facts_from(told: Iterable[Mapping[str, Any]]) -> tuple[Fact, ...]:
    """The facts that `facts_json` wrote; raises what `changed` raises."""
    return tuple(map(_fact, told))


def state_from(told: Mapping[str, Any], table: Sequence[Item]) -> State:
    """The state that `state_json` wrote; raises what `changed` raises."""
    items = tuple(table[place] for place in told["items"])
    return replace(changed(State(), {**told, "items": [0]}), items=items)


def _items_change(before: Sequence[Item], after: Sequence[Item]) -> list[Any]:
    """How many items stay in front, then those behind them: new ones whole, old ones by their place before."""
    shared = min(len(before), len(after))
    front = next((at for at in range(shared) if before[at] is not after[at]), shared)
    places = {id(item): at for at, item in enumerate(before[front:], front)}
    rest = [places.get(id(item), -1) for item in after[front:]]
    return [front, *_in_runs(rest, after[front:])]


def _facts_change(before: Sequence[Fact], after: Sequence[Fact]) -> Json:
    """The facts that came, behind as many of the old ones as stay: all of them, but when a session goes back, or
    something is taken back."""
    if len(after) >= len(before) and after[: len(before)] == before:
        return {"facts": facts_json(after[len(before) :])} if len(after) > len(before) else {}
    both = zip(before, after, strict=False)
    kept = next((at for at, (one, other) in enumerate(both) if one != other), min(len(before), len(after)))
    return {"facts_kept": kept, "facts": facts_json(after[kept:])}


def _in_runs(places: Sequence[int], items: Sequence[Item]) -> Iterable[Any]:
    """Neighbours that stay as `[from, to]`, new items as objects."""
    run: list[int] | None = None
    for place, item in zip(places, items, strict=True):
        if run is not None and place == run[1]:
            run[1] += 1
            continue
        if run is not None:
            yield run
        run = None if place < 0 else [place, place + 1]
        if place < 0:
            yield item_json(item)
    if run is not None:
        yield run


def _items_from(before: Sequence[Item], told: Sequence[Any]) -> tuple[Item, ...]:
    front, *rest = told
    items = list(before[:front])
    for each in rest:
        if isinstance(each, Mapping):
            items.append(item_from(each))
        else:
            items.extend(before[each[0] : each[1]])
    return tuple(items)


def span_from(told: Sequence[int]) -> range:
    """A run of ids or places; raises what `changed` raises, and takes none that nobody could go through."""
    start, stop = told
    _check(stop - start <= LONGEST_SPAN)
    return range(start, stop)


LONGEST_SPAN = 10_000_000
"""More messages than any session has."""

LARGEST_ID = 2**53


def item_json(item: Item) -> Json:
    """An item, without what is as usual."""
    told: Json = {"id": item.id, "raw": item.raw, "shape": _shape_json(item.shape)}
    told |= {"turn": item.turn, "tokens": item.tokens, "region": item.region}
    if item.unit != item.id:
        told["unit"] = item.unit
    told |= {name: getattr(item, name) for name in _WHERE_SET if getattr(item, name)}
    told |= {name: value for name, value in item.writer._asdict().items() if value}
    if item.stands_for:
        told["stands_for"] = [[span.start, span.stop] for span in item.stands_for]
    return told


def item_from(told: Mapping[str, Any]) -> Item:
    """The item that `item_json` wrote; raises what `changed` raises."""
    _check(all(isinstance(told.get(name, 0), int) for name in ("id", "unit", "turn", "tokens")))
    _check(isinstance(told["region"], str) and abs(told["id"]) <= LARGEST_ID)
    return Item(
        id=told["id"],
        raw=told["raw"],
        shape=_shape_from(told["shape"]),
        unit=told.get("unit", told["id"]),
        turn=told["turn"],
        tokens=told["tokens"],
        region=told["region"],
        stands_for=tuple(map(span_from, told.get("stands_for", ()))),
        **{name: told[name] for name in _WHERE_SET if name in told},
        writer=Writer(**{name: told[name] for name in Writer._fields if name in told}),
    )


def holds(told: Json, id: int) -> bool:
    """Whether JSON is the item with an id, or stands for it."""
    return told.get("id") == id or any(id in range(*span) for span in told.get("stands_for", ()))


_WHERE_SET = ("edited", "made")
"""Fields of an item that are texts, most of them "" and then not written."""


def _shape_json(shape: Shape) -> Json:
    told: Json = {"role": shape.role.value}
    if shape.calls:
        told["calls"] = [_plain(call) for call in shape.calls]
    if shape.results:
        told["results"] = [_plain(result) for result in shape.results]
    return told | {name: getattr(shape, name) for name in ("words", "binds", "keep") if getattr(shape, name)}


def _shape_from(told: Mapping[str, Any]) -> Shape:
    return Shape(
        role=Role(told["role"]),
        calls=tuple(Call(**call) for call in told.get("calls", ())),
        results=tuple(Result(**result) for result in told.get("results", ())),
        words=told.get("words", False),
        binds=told.get("binds", ""),
        keep=told.get("keep", False),
    )


def _plain(value: Any) -> Json:
    """A flat dataclass without what is as usual."""
    return {
        each.name: getattr(value, each.name)
        for each in fields(value)
        if getattr(value, each.name) != each.default
    }


def _fact(told: Mapping[str, Any]) -> Fact:
    _check(all(isinstance(told.get(name, ""), str) for name in ("key", "value", "subject", "by")))
    return Fact(**{**told, "source": tuple(told.get("source", ()))})


def _call_json(call: OpenCall) -> Json:
    return {**_plain(call), "call": _plain(call.call)}


def _call_from(told: Mapping[str, Any]) -> OpenCall:
    return OpenCall(**{**told, "call": Call(**told["call"])})


def _in_order(values: Iterable[Any]) -> Iterable[Any]:
    return sorted(values) if isinstance(values, frozenset) else values


def _same(value: Any) -> Any:
    return value


_LISTS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "open": (_call_json, _call_from),
    "lost": (_plain, lambda told: Call(**told)),
    "pins": (_plain, lambda told: Pinned(**told)),
    "waiting": (_same, _same),
}
"""Fields of a state that are short lists: how one entry is written and read."""

_SETS: dict[str, Callable[[Iterable[Any]], Any]] = {"waiting": frozenset}
