"""`keep-key-facts`: what must outlast its message goes to the facts before the message goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator

from ctxkit.core.conversation import Unit
from ctxkit.core.edits import Edit, Failure, Pin, Plan, Remember, Retract, Unpin
from ctxkit.core.facts import Fact
from ctxkit.core.items import PartKind, Role
from ctxkit.core.view import View
from ctxkit.keyfacts.answering import answers, asks_for_vital
from ctxkit.keyfacts.finding import MOST_RULES, is_users
from ctxkit.keyfacts.ledger import Ledger, Settled
from ctxkit.keyfacts.reading import LONGEST_TEXT, MOST_OF_MESSAGE, Reader
from ctxkit.keyfacts.room import Room, about_to_go, room_of
from ctxkit.keyfacts.words import is_legible
from ctxkit.strategy import CompressionStrategy, Services
from ctxkit.summaries.specifics import specifics

__all__ = ["KeepKeyFacts"]

SHORTEST = 3
"""Characters of the shortest value whose use can be told."""

MOST_TOLD = 8
"""Positions that a sentence in the report names."""

GAP = 24
"""Tokens of the mark that stands before a pinned message when what was there goes."""


@dataclass
class _Places:
    """Messages that must be kept and have no room among the facts: pinned now, unpinned again, without any room."""

    pinned: list[Unit] = field(default_factory=list)
    unpinned: list[Unit] = field(default_factory=list)
    left: list[Unit] = field(default_factory=list)

    def edits(self) -> Iterator[Edit]:
        if self.pinned:
            why = "it must be kept, and is not whole among the facts"
            yield Pin(tuple(unit.id for unit in self.pinned), why=why)
        if self.unpinned:
            why = "it should be kept, and what cannot shrink needs the room"
            yield Unpin(tuple(unit.id for unit in self.unpinned), why=why)


class KeepKeyFacts(CompressionStrategy):
    """Remember, word for word, what must outlast the messages that are about to go.

    Put it before the steps that make room. What users said that binds is kept first: sentences with a must, a
    prohibition or an allergy in them, in every request from then on; what has no room among the facts is pinned where
    it stands, and reported. Then identifiers, paths, addresses, versions, error codes, amounts, dates, decisions,
    limits and preferences, what users said before what the assistant said and tools told. A newer "my address is ..."
    supersedes the older one. When there is no room for all, the lowest priority goes first, of it what newer steps did
    not use, of it the oldest; each is named in the report. Facts that hold a key, a password or a card number are not
    kept, and neither is anything that users took back.

    Attributes:
        max_tokens: what its facts may take, in tokens or as a share of the limit. By default what the budget's
            `profile` region has left, or 10 % of what `compact_at` leaves beside system text and tools.
        must_keep: more words that make a user's sentence one that must be kept, whatever their case; beginnings of
            words, as in "budget" or "预算".
        specifics: keep identifiers, amounts, statements and the like too, and not only what binds.
    """

    kind: Literal["keep-key-facts"] = "keep-key-facts"
    max_tokens: Annotated[int, Field(ge=1)] | Annotated[float, Field(gt=0, le=1)] | None = None
    must_keep: tuple[Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)], ...] = ()
    specifics: bool = True

    @field_validator("must_keep")
    @classmethod
    def _are_legible(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        if not all(map(is_legible, words)):
            raise ValueError("there is nothing to be read in one of the words")
        return words

    def plan(self, view: View, services: Services) -> Plan:
        if not (view.over or view.surplus_turns):
            return Plan()
        room = room_of(view, self.kind, self.max_tokens)
        going = about_to_go(view, self.kind, least=room.cap)
        reader = Reader(view, services.hooks, self.must_keep, self.specifics)
        ledger = Ledger(view.state.facts, by=self.kind, cap=room.cap, count=view.count)
        withdrawn = ledger.withdraw()
        speaking = _speaking(view.free(), going)
        bound = ledger.bind(
            chain(reader.told_again(going, rules=True), reader.bound(speaking)), room.grow_to // 2
        )
        of_users = _sources(fact for fact in bound.left if is_users(fact))
        wanted = (
            _of_items(speaking, {*of_users, *reader.partial, *reader.secret}),
            _of_items(speaking, set(_sources(bound.left))),
            _answered(view, self.must_keep),
        )
        places = self._places(view, wanted, room.shrink_to - ledger.bound_tokens)
        unpinned = (unit for unit in going if unit not in places.pinned)
        found = chain(reader.told_again(going, rules=False), reader.stated(unpinned))
        stated = ledger.settle(found, room, _used_in(view, going, self.kind))
        edits = [edit for settled in (withdrawn, bound, stated) for edit in _edits(settled, ledger)]
        failures = self._told(room, places.left, stated, reader)
        return Plan(Plan.of(*edits, *places.edits()).stages, tuple(failures))

    def _places(self, view: View, wanted: Sequence[set[int]], most: int) -> _Places:
        """What becomes of units, whether or not they are about to go (the steps that come next may take more), and of
        those that it pinned before: as many are pinned as there is room, those of the first set first, of each set
        the oldest."""
        mine = {pin.unit for pin in view.state.pins if pin.by == self.kind}
        rank = {id: at for at, ids in reversed(list(enumerate(wanted))) for id in ids}
        places = _Places()
        fresh = rank.keys() & {unit.id for unit in view.free()}
        units = [unit for unit in view.units if unit.id in fresh | mine]
        for unit in sorted(units, key=lambda unit: rank.get(unit.id, int(not _has_words(unit)))):
            cost = unit.tokens + GAP
            if cost <= most:
                most -= cost
                if unit.id not in mine:
                    places.pinned.append(unit)
            else:
                places.left.append(unit)
                if unit.id in mine:
                    places.unpinned.append(unit)
        return places

    def _told(self, room: Room, left: Sequence[Unit], stated: Settled, reader: Reader) -> Iterator[Failure]:
        """What could not be kept, for the report."""
        if left:
            size = sum(unit.tokens for unit in left)
            where = _positions(item.id for unit in left for item in unit.items)
            why = f"what has to be kept of {where} has no room, neither as facts (of {room.cap} tokens) nor pinned"
            yield Failure(self.kind, f"{why} ({size} tokens)", note=True)
        if reader.unread:
            where = _positions(reader.unread)
            why = f"of {where} the first and the last {LONGEST_TEXT // 2} characters were read for facts"
            yield Failure(self.kind, f"{why}, and whole for what must be kept", note=True)
        if reader.surplus:
            count, where = sum(reader.surplus.values()), _positions(reader.surplus)
            why = f"{_facts(count)} of plugins in {where} not kept: of one text at most {MOST_OF_MESSAGE} are"
            yield Failure(self.kind, f"{why}, and {MOST_RULES} that must be", note=True)
        if reader.secret:
            count, where = sum(reader.secret.values()), _positions(reader.secret)
            yield Failure(
                self.kind, f"{_facts(count)} of {where} not kept: a secret is in what they say", note=True
            )
        of_users = [fact for fact in stated.left if fact.said_by == "user"]
        if of_users:
            told = f"{_facts(len(of_users))} that users stated in {_positions(_sources(of_users))} not kept"
            yield Failure(self.kind, f"{told}: key facts may take {room.cap} tokens", note=True)


def _speaking(free: Sequence[Unit], going: Sequence[Unit]) -> list[Unit]:
    """Units that may say what has to be kept: all that users said, and whatever else is about to go."""
    ids = {unit.id for unit in going}
    return [unit for unit in free if unit.id in ids or _has_words(unit)]


def _has_words(unit: Unit) -> bool:
    """Whether anything in a unit is in a user's own words."""
    return any(item.shape.words for item in unit.items)


def _of_items(units: Sequence[Unit], items: set[int]) -> set[int]:
    """The ids of the units with any of these items."""
    return {unit.id for unit in units if not items.isdisjoint(item.id for item in unit.items)}


def _answered(view: View, own: tuple[str, ...]) -> set[int]:
    """The ids of units in which the assistant asks for what is vital, and of those that answer; the answer alone says
    nothing."""
    found: set[int] = set()
    asking: list[Unit] = []
    for unit in (unit for unit in view.units if not unit.synthetic):
        if unit.items[0].shape.role is Role.MODEL:
            asking.append(unit)
        elif unit.said_by_user:
            asked = [each.id for each in asking if asks_for_vital(_told_by_model(view, each), own)]
            if asked and answers(unit.text, own):
                found.update([*asked, unit.id])
            asking = []
    return found


def _told_by_model(view: View, unit: Unit) -> str:
    """What the model says in a unit, without calls and their results."""
    items = (item for item in unit.items if item.shape.role is Role.MODEL)
    return "\n".join(
        part.text for item in items for part in view.parts(item) if part.reads_as is PartKind.TEXT
    )


def _used_in(view: View, going: Sequence[Unit], kind: str) -> Callable[[Fact], bool]:
    """Whether the exact values of a fact stand in what is not about to go, and is not merely pinned by the strategy."""
    ids = {unit.id for unit in going} | {pin.unit for pin in view.state.pins if pin.by == kind}
    text = "\n".join(unit.text for unit in view.units if unit.id not in ids and not unit.synthetic)

    def used(fact: Fact) -> bool:
        return any(len(value) >= SHORTEST and value in text for value in _exact(fact.value))

    return used


@lru_cache(maxsize=1024)
def _exact(value: str) -> tuple[str, ...]:
    """The exact values in what a fact says; those that are kept are asked about at each compaction."""
    return tuple(each.text for each in specifics(value)) or (value,)


def _edits(settled: Settled, ledger: Ledger) -> Iterator[Edit]:
    for fact, why in settled.evicted:
        yield Retract(fact.key, subject=fact.subject, why=why)
    for fact in settled.remembered:
        finder = ledger.finder_of(fact)
        yield Remember(fact, f"its message may go; found by {finder}" if finder else "its message may go")


def _sources(facts: Iterable[Fact]) -> Iterator[int]:
    return (id for fact in facts for id in fact.source)


def _facts(count: int) -> str:
    return "1 fact" if count == 1 else f"{count} facts"


def _positions(ids: Iterable[int]) -> str:
    """Where something was said, for people: the first few."""
    found = sorted(set(ids))
    more = f" and {len(found) - MOST_TOLD} more" if len(found) > MOST_TOLD else ""
    return f"messages[{', '.join(map(str, found[:MOST_TOLD]))}]{more}"
