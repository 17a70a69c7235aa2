"""Carrying: what ctxkit wrote in a session comes into an aside as what it is, with the originals that it stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ctxkit.core.arrivals import Arrival, append
from ctxkit.core.facts import Fact
from ctxkit.core.items import Item, Role
from ctxkit.core.profile import FRONT, TELLING
from ctxkit.core.state import Meter, State, ledger_of, opens_turn
from ctxkit.history import Step
from ctxkit.openai_agents.rows import is_ours
from ctxkit.providers.openai_responses_keys import Key, key_of

__all__ = ["Carried", "Written", "carrying"]


@dataclass(frozen=True, slots=True)
class Carried:
    """What ctxkit wrote in a session, and what it stands for there, as it arrived."""

    item: Item
    originals: Sequence[Item] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """What ctxkit wrote in a session, as far as a run may hold it.

    Attributes:
        items: by the keys of the entries that each is given to a model as.
        facts: those of the session.
    """

    items: Mapping[tuple[Key, ...], Carried] = field(default_factory=dict)
    facts: tuple[Fact, ...] = ()

    def at(self, keys: Sequence[Key], place: int) -> tuple[Carried, int] | None:
        """What stands at a place of a run, and of how many entries it is."""
        for size in {len(each) for each in self.items}:
            found = self.items.get(tuple(keys[place : place + size]))
            if found is not None:
                return found, size
        return None


def carrying(step: Step, before: State, written: Written, meter: Meter) -> Step:
    """The step by which items of a run come into an aside, with what ctxkit wrote among them as such.

    Else it would come in as messages, be summarised a second time, and be told as somebody's words (P11). What it
    stands for comes into the archive of the aside, as if it had been said there and folded away. Marked text that the
    session does not know is ctxkit's all the same: it stays as it is, or goes.

    Args:
        step: in which all come in as messages.
        before: the aside before it.
        written: what ctxkit wrote in the session.
    """
    desk = _Desk(step.state, before, meter)
    keys, place = [key_of(item.raw) for item in step.arrived], 0
    while place < len(keys):
        item, found = step.arrived[place], written.at(keys, place)
        if found is not None:
            desk.carry(*_whole(found[0], item))
        elif item.shape.role is Role.USER and is_ours(item.raw):
            alone = replace(item, id=-1, region="summary", made="summary")
            desk.carry(alone, (item,))
        else:
            desk.add(item)
        place += found[1] if found is not None else 1
    state = desk.state()
    told = _told(written.facts, [item for item in state.items[len(before.items) :] if item.synthetic], meter)
    facts = state.facts + tuple(fact for fact in told if fact not in state.facts)
    return replace(step, state=replace(state, facts=facts, noted=len(facts)), arrived=tuple(desk.arrived))


def _whole(carried: Carried, arrived: Item) -> tuple[Item, Sequence[Item]]:
    """The same; what stands for nothing that is left stands for itself, so that what is made of it does too."""
    alone = not carried.originals and carried.item.made not in TELLING
    return carried.item, (arrived,) if alone else carried.originals


class _Desk:
    """The aside in the making."""

    def __init__(self, after: State, before: State, meter: Meter) -> None:
        there = ("items", "ledger", "turn", "next_id", "next_synthetic", "open", "lost")
        self._state = replace(after, **{name: getattr(before, name) for name in there})
        self._meter = meter
        self._waiting: list[Arrival] = []
        self.arrived: list[Item] = []

    def add(self, item: Item) -> None:
        """A message comes in."""
        self._waiting.append(Arrival.again(item))

    def state(self) -> State:
        """The aside with all that came in so far."""
        self._state, arrived, _ = append(self._state, self._waiting, self._meter, lenient=True)
        self._waiting = []
        self.arrived += arrived
        return self._state

    def carry(self, item: Item, originals: Sequence[Item]) -> None:
        """What ctxkit wrote comes in, and into the archive what it stands for."""
        state = self.state()
        turn, first = state.turn, state.next_id
        adopted = []
        for id, each in enumerate(originals, first):
            turn += opens_turn(each)
            adopted.append(replace(each, id=id, unit=id, turn=turn))
        self.arrived += adopted
        stands_for = (range(first, first + len(adopted)),) if adopted else ()
        own = 0 if item.in_front else adopted[0].turn if adopted else turn
        id = state.next_synthetic
        items = (*state.items, replace(item, id=id, unit=id, turn=own, stands_for=stands_for))
        self._state = replace(
            state,
            items=items,
            ledger=ledger_of(items),
            turn=turn,
            next_id=first + len(adopted),
            next_synthetic=id - 1,
        )


def _told(facts: tuple[Fact, ...], items: Sequence[Item], meter: Meter) -> tuple[Fact, ...]:
    """The facts that these items tell, with all that is known of each: those in front tell all that there are."""
    notes = "\n".join(part.text for item in items if item.made == "note" for part in meter.read(item.raw)[1])
    if not any(item.made in FRONT for item in items):
        names = {fact.name for fact in facts if notes and fact.line in notes}
        facts = tuple(fact for fact in facts if fact.name in names)
    return tuple(replace(fact, source=()) for fact in facts)  # its sources are no items of the aside
