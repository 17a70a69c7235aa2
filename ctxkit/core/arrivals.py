"""Arrivals: how new entries come into a state, each into its unit and its turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ctxkit.core.items import NOBODY, Item, PartKind, Result, Role, Shape, Writer
from ctxkit.core.marks import fence, is_marked
from ctxkit.core.pairing import OpenCalls, ids_first
from ctxkit.core.provider import Entry
from ctxkit.core.state import Meter, OpenCall, State, ledger_of
from ctxkit.errors import ProviderFormatError

__all__ = ["Arrival", "append", "waiting_with"]


@dataclass(frozen=True, slots=True)
class Arrival:
    """An entry that comes in: as received, its region if the caller names one, its size if it is known, who wrote it."""

    raw: Entry
    region: str = ""
    tokens: int | None = None
    writer: Writer = NOBODY

    @classmethod
    def again(cls, item: Item) -> Arrival:
        """What an item arrived as."""
        return cls(item.raw, "" if item.returned else item.region, item.tokens, item.writer)


def append(
    state: State, arrivals: Iterable[Arrival], meter: Meter, *, lenient: bool = False, first: int = 0
) -> tuple[State, list[Item], list[str]]:
    """The state with entries added, each as the item it arrived as, and what had to be normalised.

    An entry is added at the end, except a late result where the format wants it beside its call. With `lenient`,
    one that cannot be added is left out, and that is told among what was normalised. Errors count the arrivals from
    `first` on.

    Raises:
        ProviderFormatError: an entry is malformed, or answers no call that waits; nothing is added.
    """
    desk = _Desk(state, meter, lenient=lenient)
    for at, arrival in enumerate(arrivals, first):
        try:
            desk.add(arrival, at)
        except ProviderFormatError as error:
            if not lenient:
                raise
            desk.normalised.append(f"entry {at} was left out: {error}")
    return desk.state(), desk.arrived, desk.normalised


def waiting_with(
    before: State, after: State, arrived: Iterable[Item], named: Iterable[str]
) -> frozenset[str]:
    """The ids of calls that wait however many turns they take, when items came in and the caller named some of them.

    The id of a call that was answered stays, for when its result is taken back; it is not that of a later call.
    """
    again = {call.id for item in arrived for call in item.shape.calls} & before.waiting
    again -= {call.call.id for call in after.open if call.unit < before.next_id}
    if again:
        again &= {call.id for item in before.items for call in item.shape.calls}
    return before.waiting - again | frozenset(named)


class _Desk:
    """The next state in the making."""

    def __init__(self, state: State, meter: Meter, *, lenient: bool) -> None:
        self._before = state
        self._lenient = lenient
        self._meter = meter
        self._provider = meter.provider
        self._items = list(state.items)
        self._open = OpenCalls(state.open)
        self._lost = OpenCalls(OpenCall(call, -1, -1) for call in state.lost)
        self._turn = state.turn
        self._next_id = state.next_id
        self._call_ids: set[str | None] | None = None
        self._merges = False
        self._at = 0
        self._added: list[Item] = []
        self.arrived: list[Item] = []
        self.normalised: list[str] = []

    def state(self) -> State:
        return replace(
            self._before,
            items=tuple(self._items),
            open=tuple(self._open),
            lost=tuple(open_call.call for open_call in self._lost),
            turn=self._turn,
            next_id=self._next_id,
            ledger=self._ledger(),
        )

    def _ledger(self) -> Mapping[str, int]:
        """Tokens by region: those of before and what came, or counted anew where something was merged."""
        if self._merges:
            return ledger_of(self._items)
        ledger = dict(self._before.ledger)
        for region, tokens in ledger_of(self._added).items():
            ledger[region] = ledger.get(region, 0) + tokens
        return ledger

    def add(self, arrival: Arrival, at: int) -> None:
        self._at = at
        shape = self._shape(arrival)
        self._check_ids(shape)
        if shape.results and all(map(self._is_of_lost, shape.results)):
            self._add_result_of_lost(arrival, shape)
            return
        owner = self._owner(shape) if shape.results else None
        if shape.words and shape.role is Role.USER:
            self._turn += 1
        unit, turn = (self._unit(shape), self._turn) if owner is None else (owner.unit, owner.turn)
        item = self._arrive(arrival, shape, unit, turn)
        if owner is not None and self._provider.results_adjacent and self._items[-1].unit != unit:
            self._insert(item, "the late result in messages[{}] was moved to its call")
        elif owner is not None and self._provider.one_result_entry and self._items[-1].shape.results:
            self._insert(item, "the result in messages[{}] was put beside the others of its step")
        else:
            self._items.append(item)
            self._added.append(item)
        for call in shape.calls:
            self._open.add(OpenCall(call, unit, turn))

    def _is_of_lost(self, result: Result) -> bool:
        """Whether a result answers a call that was dropped, and none that is still there."""
        return self._open.find(result) is None and self._lost.find(result) is not None

    def _check_ids(self, shape: Shape) -> None:
        ids = [call.id for call in shape.calls if call.id is not None]
        if len(set(ids)) < len(ids):
            raise ProviderFormatError(
                "two calls of one message have one id, so that nobody can tell whose a result is; give each its own",
                format=self._provider.name,
                path=self._path,
            )
        if not shape.calls or not self._provider.unique_call_ids:
            return
        if self._call_ids is None:
            self._call_ids = {call.id for item in self._items for call in item.shape.calls}
        fresh: set[str | None] = set()
        for call in shape.calls:
            if call.id in self._call_ids or call.id in fresh:
                raise self._error(f"call id {call.id!r} is used twice")
            fresh.add(call.id)
        self._call_ids |= fresh

    def _arrive(self, arrival: Arrival, shape: Shape, unit: int, turn: int) -> Item:
        tokens = self._meter.entry(arrival.raw) if arrival.tokens is None else arrival.tokens
        own = self._region(shape)
        region = own if own == "system" else arrival.region or own
        item = Item(
            self._next_id,
            arrival.raw,
            _slim(shape),
            unit,
            turn,
            tokens,
            region,
            writer=arrival.writer,
        )
        self._next_id += 1
        self.arrived.append(item)
        return item

    def _shape(self, arrival: Arrival) -> Shape:
        """The shape of an entry; a text of ctxkit's own that comes back opens no turn. What is put into a region is no
        such text, whatever mark it has."""
        shape = self._provider.shape(arrival.raw, index=self._at)
        if shape.role is Role.USER and shape.words and not arrival.region:
            parts = self._provider.parts(arrival.raw)
            if len(parts) == 1 and parts[0].kind is PartKind.TEXT and is_marked(parts[0].text):
                return replace(shape, words=False)
        return shape

    def _unit(self, shape: Shape) -> int:
        """The unit of an entry without results: the last one's, where the two belong together."""
        if not self._items or self._items[-1].synthetic or shape.keep:
            return self._next_id
        last = self._items[-1]
        if shape.binds == "previous" or (last.shape.binds == "next" and shape.role in _MODEL_MADE):
            return last.unit
        if self._provider.joins_runs and shape.role in _MODEL_MADE and last.shape.role in _MODEL_MADE:
            return last.unit
        return self._next_id

    def _region(self, shape: Shape) -> str:
        match shape.role:
            case Role.SYSTEM if all(item.in_front for item in self._items):
                return "system"
            case Role.TOOL:
                return "tool_results"
            case Role.COMPACTION:
                return "summary"
            case Role.USER if not shape.words:
                return "summary"
            case _:
                return "recent"

    def _owner(self, shape: Shape) -> OpenCall:
        """The call that an entry answers (one of them); the calls it answers are no longer open."""
        taken: dict[int, OpenCall] = {}
        try:
            for at in ids_first(shape.results):
                result = shape.results[at]
                key = self._open.find(result)
                if key is None:
                    name = result.id or result.name
                    raise self._error(f"result for {name!r}, which answers no call that waits")
                taken[key] = self._open.pop(key)
            if len({owner.unit for owner in taken.values()}) > 1:
                raise self._error("answers calls of different steps; give each step its own message")
        except ProviderFormatError:
            self._open.put_back(taken)
            raise
        return next(iter(taken.values()))

    @property
    def _path(self) -> str:
        return f"{self._provider.field}[{self._at}]"

    def _error(self, message: str) -> ProviderFormatError:
        hint = "" if self._lenient else " (with repair=True it is mended, and the mending reported)"
        return ProviderFormatError(f"{message}{hint}", format=self._provider.name, path=self._path)

    def _add_result_of_lost(self, arrival: Arrival, shape: Shape) -> None:
        """Keep a result whose call was dropped: as a note, before a step that is still open."""
        self._lost.take_all(shape.results)
        item = self._arrive(arrival, shape, self._next_id, self._turn)
        texts = [part.text for part in self._provider.parts(item.raw) if part.reads_as is not PartKind.OPAQUE]
        names = ", ".join(result.name or str(result.id) for result in shape.results)
        body = f"Result of an earlier call ({names}) that is no longer shown:\n{fence('result', chr(10).join(texts))}"
        raw, plain, tokens = self._meter.note(body)
        note = replace(item, raw=raw, shape=plain, tokens=tokens, edited="late-result")
        waiting = {call.unit for call in self._open}
        at = len(self._items)
        while at and self._items[at - 1].unit in waiting:
            at -= 1
        self._items.insert(at, note)
        self._added.append(note)
        self.normalised.append(
            f"the result in messages[{item.id}] answers a dropped call; it is kept as a note"
        )

    def _insert(self, late: Item, told: str) -> None:
        """Put a result to its call, among or into the items that are there."""
        self._merges = True
        at = self._places(late.unit)
        unit = [self._items[index] for index in at]
        placed = self._provider.place([item.raw for item in unit], late.raw)
        held = {id(item.raw): item for item in unit} | {id(late.raw): late}
        self._items[at[0] : at[-1] + 1] = [
            held.get(id(raw)) or self._merged(raw, unit[min(k, len(unit) - 1)], late)
            for k, raw in enumerate(placed)
        ]
        self.normalised.append(told.format(late.id))

    def _places(self, unit: int) -> list[int]:
        """Where the items of a unit stand; what stands before its first one is not looked at."""
        places = []
        for at in range(len(self._items) - 1, -1, -1):
            if self._items[at].unit == unit:
                places.append(at)
            if self._items[at].id == unit:
                break
        return places[::-1]

    def _merged(self, raw: Entry, into: Item, late: Item) -> Item:
        return replace(
            into,
            raw=raw,
            shape=self._provider.shape(raw),
            tokens=self._meter.entry(raw),
            edited="late-result",
            stands_for=(*into.stands_for, range(late.id, late.id + 1)),
        )


def _slim(shape: Shape) -> Shape:
    """A shape that many items share: which calls a result answers matters only while it arrives."""
    if shape.calls:
        return shape
    shape = replace(shape, results=_SOME_RESULT) if shape.results else shape
    return _SHAPES.setdefault(shape, shape)


_SOME_RESULT = (Result(None),)

_SHAPES: dict[Shape, Shape] = {}
"""The few shapes that most entries have, one object each: an item then costs a reference."""

_MODEL_MADE = (Role.MODEL, Role.REASONING)
