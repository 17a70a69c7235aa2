"""State: a conversation at one moment; what a request made from it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ctxkit.core.facts import Fact, Facts
from ctxkit.core.items import Call, Item, Part, Role, Shape, Weight
from ctxkit.core.marks import marked
from ctxkit.core.provider import Entry, Provider

__all__ = [
    "PENDING",
    "Meter",
    "OpenCall",
    "Pinned",
    "State",
    "fixed_units",
    "ledger_of",
    "newest_unit",
    "open_tail",
    "opens_turn",
    "pending_tokens",
    "stand_ins",
    "wire",
]

PENDING = marked("No result has been received for this call yet.")
"""What stands on the wire for a result that is not there."""

READINGS = 448
"""Entries whose parts are remembered."""

NOTES = 8
"""Texts whose entries are remembered."""

PENDING_OVERHEAD = 16
"""Tokens beside the text of a stand-in result: ids, keys, envelope. Generous: it only delays."""


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call without a result: the unit and turn it stands in, and the text that closed it, if any did."""

    call: Call
    unit: int
    turn: int
    closed: str = ""


@dataclass(frozen=True, slots=True)
class Pinned:
    """A pin on a unit; it holds until a turn above `until` begins, for good when that is None. `why` is what whoever set
    it said of it."""

    unit: int
    until: int | None
    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Meter:
    """How the core counts and reads: `count` a text, by the counter of the model; an entry, by its provider."""

    provider: Provider
    count: Callable[[str], int]
    _read: dict[int, tuple[Entry, Shape, tuple[Part, ...]]] = field(
        default_factory=dict, compare=False, repr=False
    )
    _notes: dict[str, tuple[Entry, Shape, int]] = field(default_factory=dict, compare=False, repr=False)

    def read(self, entry: Entry) -> tuple[Shape, tuple[Part, ...]]:
        """The shape and the parts of an entry that is not changed any more; read once while it is in use."""
        known = self._read.get(id(entry))
        if known is None or known[0] is not entry:
            if len(self._read) >= READINGS:
                self._read.clear()
            known = self._read[id(entry)] = (entry, self.provider.shape(entry), self.provider.parts(entry))
        return known[1], known[2]

    def note(self, text: str) -> tuple[Entry, Shape, int]:
        """`text` as an entry that ctxkit writes: marked, no user's words, with its shape and its size. Steps that weigh
        the same facts again and again get the same entry."""
        if text not in self._notes:
            if len(self._notes) >= NOTES:
                self._notes.clear()
            raw = self.provider.stand_in(marked(text))
            self._notes[text] = raw, replace(self.provider.shape(raw), words=False), self.entry(raw)
        return self._notes[text]

    def weight(self, weight: Weight) -> int:
        """Tokens of a weight."""
        return weight.fixed + sum(map(self.count, weight.texts))

    def entry(self, entry: Entry) -> int:
        """Tokens of an entry."""
        return self.weight(self.provider.weigh(entry))


@dataclass(frozen=True, slots=True, repr=False)
class State:
    """A conversation at one moment; never changed, only succeeded by another.

    Attributes:
        items: in wire order, as edited.
        system: system text that stands beside the list, in the provider's own JSON; None where there is none.
        tools: the tool schemas that go along, in the provider's own JSON; None without any.
        system_tokens, tools_tokens: sizes of what goes along with the items in each request.
        ledger: tokens of the items by region.
        turn: number of the current turn.
        next_id, next_synthetic: ids of the next entry that arrives, and of the next one that ctxkit writes.
        open: calls without result, oldest first.
        waiting: ids of calls that the caller knows to be waiting, however many turns they take, or knew to be until
            they were answered.
        lost: calls that were dropped before their result came.
        pins: see `Pinned`.
        facts: all that were ever remembered, as `Facts`, whatever they are given as: `state.facts + more` settles which
            are in force without looking at the old ones again.
        noted: how many of `facts` have been written into the items.
        compactions: how many there have been.
    """

    items: tuple[Item, ...] = ()
    system: Any = None
    tools: Any = None
    system_tokens: int = 0
    tools_tokens: int = 0
    ledger: Mapping[str, int] = field(default_factory=dict)
    turn: int = 0
    next_id: int = 0
    next_synthetic: int = -1
    open: tuple[OpenCall, ...] = ()
    waiting: frozenset[str] = frozenset()
    lost: tuple[Call, ...] = ()
    pins: tuple[Pinned, ...] = ()
    facts: tuple[Fact, ...] = Facts()
    noted: int = 0
    compactions: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.facts, Facts):
            object.__setattr__(self, "facts", Facts(self.facts))

    def __repr__(self) -> str:
        return f"<State of {len(self.items)} items, turn {self.turn}>"

    def waits(self, call: OpenCall) -> bool:
        """Whether an open call may still be answered; one that may not is dead and blocks nothing."""
        if call.closed:
            return False
        return call.turn == self.turn or call.call.deferred or call.call.id in self.waiting


def ledger_of(items: Iterable[Item]) -> dict[str, int]:
    """Tokens by region."""
    ledger: dict[str, int] = {}
    for item in items:
        ledger[item.region] = ledger.get(item.region, 0) + item.tokens
    return ledger


def pending_tokens(state: State, meter: Meter) -> int:
    """Tokens of the stand-in results that the wire will hold, from above."""
    return sum(meter.count(call.closed or PENDING) + PENDING_OVERHEAD for call in state.open)


def fixed_units(state: State) -> frozenset[int]:
    """Units that no edit may touch: leading system text, the profile, what must stay for good, the newest
    provider compaction, the current user message, waiting calls, and whatever was pinned."""
    fixed = {item.unit for item in state.items if item.in_front or item.shape.keep}
    fixed.update(call.unit for call in state.open if state.waits(call))
    fixed.update(pin.unit for pin in state.pins if pin.until is None or state.turn <= pin.until)
    fixed.update(_newest(state, lambda item: item.shape.role is Role.COMPACTION))
    fixed.update(_newest(state, lambda item: item.shape.words and not item.synthetic))
    fixed.update(_newest(state, opens_turn))
    fixed.update(_newest(state, lambda item: item.shape.role is Role.USER and not item.synthetic))
    return frozenset(fixed)


def newest_unit(state: State) -> int | None:
    """The unit of the newest entry that came from outside; it may be shortened but not left out."""
    return next((item.unit for item in reversed(state.items) if not item.synthetic), None)


def opens_turn(item: Item) -> bool:
    """Whether a turn begins with this item."""
    return item.shape.role is Role.USER and item.shape.words and not item.synthetic


def _newest(state: State, wanted: Callable[[Item], bool]) -> tuple[int, ...]:
    return next(((item.unit,) for item in reversed(state.items) if wanted(item)), ())


def open_tail(state: State) -> tuple[OpenCall, ...]:
    """The waiting calls on which a request would end."""
    if not state.items or not state.open:
        return ()
    last = state.items[-1].unit
    return tuple(call for call in state.open if call.unit == last and not call.closed)


def stand_ins(state: State) -> list[str]:
    """One line for each call whose missing result is stood for on the wire."""
    return [
        f"no result has come for the call {call.call.id or call.call.name!r}: a stand-in is sent"
        for call in _stood_for(state)
    ]


def _stood_for(state: State) -> list[OpenCall]:
    """The calls without result that something follows, and those that were closed."""
    tail = state.items[-1].unit if state.items else None
    return [call for call in state.open if call.closed or not (call.unit == tail or call.call.deferred)]


def wire(state: State, provider: Provider) -> tuple[list[Entry], list[int]]:
    """What a provider is sent: the raw entries in order (not copies), and the id of the item that each is.

    A call without result that something follows gets a marked stand-in result, whose id is that of its unit. What stands
    for left out entries stands where the format takes it.
    """
    entries, ids = _answered(state, provider)
    marks = {item.id for item in state.items if item.marks_gap}
    if not marks:
        return entries, ids
    arranged = provider.arranged(entries, [id in marks for id in ids])
    return [entry for _, entry in arranged], [ids[at] for at, _ in arranged]


def _answered(state: State, provider: Provider) -> tuple[list[Entry], list[int]]:
    """The entries in the order of the items, with results for calls that wait or were closed; and their ids."""
    calls = _stood_for(state)
    if not calls:
        return [item.raw for item in state.items], [item.id for item in state.items]
    written = [[(item.raw, item.id)] for item in state.items]
    units: dict[int, list[list[tuple[Entry, int]]]] = {call.unit: [] for call in calls}
    for item, place in zip(state.items, written, strict=True):
        if item.unit in units:
            units[item.unit].append(place)
    for call in calls:
        _answer(units[call.unit], call, provider)
    return [entry for place in written for entry, _ in place], [id for place in written for _, id in place]


def _answer(unit: Sequence[list[tuple[Entry, int]]], call: OpenCall, provider: Provider) -> None:
    """Write the stand-in result of a call into its unit: one entry changed, or one more, which stands behind another.

    Args:
        unit: what is written in the place of each of its items, with ids: its entry, and what came in behind that.
    """
    there = [(written, at) for written in unit for at in range(len(written))]
    answered = provider.answer([written[at][0] for written, at in there], call.call, call.closed or PENDING)
    if len(answered) == len(there):
        for (written, at), entry in zip(there, answered, strict=True):
            written[at] = (entry, written[at][1])
        return
    kept = next((k for k, (written, at) in enumerate(there) if answered[k] is not written[at][0]), len(there))
    written, at = there[kept - 1]
    written.insert(at + 1, (answered[kept], call.unit))
