"""`keep-key-facts`: what must outlast its message goes to the facts before the message goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from ctxkit.core.conversation import Unit
from ctxkit.core.edits import Edit, Failure, Pin, Plan, Remember, Retract
from ctxkit.core.facts import Fact, active_facts
from ctxkit.core.state import ledger_of
from ctxkit.core.view import View
from ctxkit.keyfacts.ledger import Ledger, Settled
from ctxkit.keyfacts.reading import Reader
from ctxkit.strategy import CompressionStrategy, Services
from ctxkit.summaries.specifics import specifics

__all__ = ["KeepKeyFacts"]

SHARE = 0.1
"""Of the limit: what key facts may take when neither a number nor the budget's profile region says."""

LEAST = 160
"""Tokens that they may take all the same, as far as that is no more than `MOST_SHARE` of the limit."""

MOST_SHARE = 0.25

MARGIN = 0.25
"""More than has to go: the steps that come next take whole turns."""

ENVELOPES = 128
"""Tokens of the two entries that hold facts (what was said, what tools told) beside their lines: mark, title, fence."""

FACTS = ("profile", "ledger", "note")
"""What facts are written as."""


SHORTEST = 3
"""Characters of the shortest value whose use can be told."""

MOST_TOLD = 8
"""Positions that a sentence in the report names."""


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
            `profile` region has left, or 10 % of the limit.
        must_keep: more words that make a user's sentence one that must be kept, whatever their case; beginnings of
            words, as in "budget" or "预算".
        specifics: keep identifiers, amounts, statements and the like too, and not only what binds.
    """

    kind: Literal["keep-key-facts"] = "keep-key-facts"
    max_tokens: Annotated[int, Field(ge=1)] | Annotated[float, Field(gt=0, le=1)] | None = None
    must_keep: tuple[Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)], ...] = ()
    specifics: bool = True

    def plan(self, view: View, services: Services) -> Plan:
        if not (view.over or view.surplus_turns):
            return Plan()
        bare = _without_own(view, self.kind)
        going = _going(view, bare, least=self._cap(view))
        reader = Reader(view, services.hooks, self.must_keep, self.specifics)
        ledger = Ledger(view.state.facts, by=self.kind, cap=self._cap(view), count=view.count)
        withdrawn = ledger.withdraw()
        most = _most(bare, self.kind)
        bound = ledger.bind(reader.bound(_speaking(view.free(), going)), most // 2)
        pinned, left = self._pinned(view, bare, going, {*_sources(bound.left), *reader.secret})
        unread = self._unread(view, [unit for unit in going if unit not in pinned])
        stated = ledger.settle(reader.stated(unread), most, _used_in(view, going))
        edits = [edit for settled in (withdrawn, bound, stated) for edit in _edits(settled)]
        if pinned:
            edits.append(
                Pin(tuple(unit.id for unit in pinned), why="it must be kept, and has no room among the facts")
            )
        return Plan(Plan.of(*edits).stages, tuple(self._told(view, left, stated, reader)))

    def _cap(self, view: View) -> int:
        """Tokens that the facts of this strategy may take together."""
        limit = view.budget.limit
        if isinstance(self.max_tokens, int):
            return self.max_tokens
        if self.max_tokens is not None:
            return int(self.max_tokens * limit)
        profile = view.budget.regions.get("profile")
        if profile is None:
            return max(int(limit * SHARE), min(LEAST, int(limit * MOST_SHARE)))
        others = (fact for fact in active_facts(view.state.facts).values() if fact.by != self.kind)
        return max(0, profile.cap(view.budget.window) - sum(view.count(fact.line) + 1 for fact in others))

    def _unread(self, view: View, units: Sequence[Unit]) -> list[Unit]:
        """Units that no fact was taken from yet, but for what must be kept."""
        mine = (fact for fact in view.state.facts if fact.by == self.kind and not fact.must_keep)
        read = {id for fact in mine for id in fact.source}
        return [unit for unit in units if read.isdisjoint(item.id for item in unit.items)]

    def _pinned(
        self, view: View, bare: View, going: Sequence[Unit], items: set[int]
    ) -> tuple[list[Unit], list[Unit]]:
        """Of the units about to go, those with any of some items: which are pinned, oldest first, as far as there is
        room, and which are not."""
        mine = {pin.unit for pin in view.state.pins if pin.by == self.kind}
        room = min(self._cap(view), _reducible(bare) // 2) - sum(u.tokens for u in view.units if u.id in mine)
        chosen: list[Unit] = []
        left: list[Unit] = []
        for unit in going:
            if items.isdisjoint(item.id for item in unit.items):
                continue
            if unit.tokens <= room:
                room -= unit.tokens
                chosen.append(unit)
            else:
                left.append(unit)
        return chosen, left

    def _told(self, view: View, left: Sequence[Unit], stated: Settled, reader: Reader) -> Iterator[Failure]:
        """What could not be kept, for the report."""
        if left:
            size = sum(unit.tokens for unit in left)
            where = _positions(item.id for unit in left for item in unit.items)
            why = f"what has to be kept of {where} has no room, neither as facts (of {self._cap(view)} tokens) nor pinned"
            yield Failure(self.kind, f"{why} ({size} tokens)")
        if reader.secret:
            count, where = sum(reader.secret.values()), _positions(reader.secret)
            yield Failure(self.kind, f"{count} facts of {where} hold a secret and are not kept as facts")
        of_users = [fact for fact in stated.left if fact.said_by == "user"]
        if of_users:
            where = _positions(_sources(of_users))
            why = f"{len(of_users)} facts that users stated in {where} are not kept"
            yield Failure(self.kind, f"{why}: key facts may take {self._cap(view)} tokens")


def _without_own(view: View, kind: str) -> View:
    """The view without facts and without the pins of the strategy itself: what it finds must not depend on what it
    found before, so that looking twice finds the same."""
    items = tuple(item for item in view.state.items if item.made not in FACTS)
    pins = tuple(pin for pin in view.state.pins if pin.by != kind)
    return replace(view, state=replace(view.state, items=items, pins=pins, ledger=ledger_of(items)))


def _going(view: View, bare: View, *, least: int) -> list[Unit]:
    """The free units that are likely to go, oldest first: as many tokens as are over without the facts, a margin, and
    `least` for the facts, in whole turns."""
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


def _speaking(free: Sequence[Unit], going: Sequence[Unit]) -> Iterator[Unit]:
    """Units that may say what has to be kept: all that users said, and whatever else is about to go."""
    ids = {unit.id for unit in going}
    return (unit for unit in free if unit.id in ids or any(item.shape.words for item in unit.items))


def _most(bare: View, kind: str) -> int:
    """Tokens that the facts of the strategy may have without the next compaction being due at once."""
    others = (fact for fact in active_facts(bare.state.facts).values() if fact.by != kind)
    taken = ENVELOPES + sum(bare.count(fact.line) + 1 for fact in others)
    return max(0, bare.budget.start - bare.target - taken)


def _reducible(bare: View) -> int:
    """Tokens of the budget that are not taken by what no edit may touch."""
    held = sum(unit.tokens for unit in bare.units if unit.id in bare.fixed)
    return max(0, bare.budget.start - held - bare.state.system_tokens - bare.state.tools_tokens)


def _used_in(view: View, going: Sequence[Unit]) -> Callable[[Fact], bool]:
    """Whether the exact values of a fact stand in what is not about to go."""
    ids = {unit.id for unit in going}
    text = "\n".join(unit.text for unit in view.units if unit.id not in ids and not unit.synthetic)

    def used(fact: Fact) -> bool:
        exact = [each.text for each in specifics(fact.value)] or [fact.value]
        return any(len(value) >= SHORTEST and value in text for value in exact)

    return used


def _edits(settled: Settled) -> Iterator[Edit]:
    for fact, why in settled.evicted:
        yield Retract(fact.key, subject=fact.subject, why=why)
    for fact in settled.remembered:
        yield Remember(fact, "its message may go")


def _sources(facts: Iterable[Fact]) -> Iterator[int]:
    return (id for fact in facts for id in fact.source)


def _positions(ids: Iterable[int]) -> str:
    """Where something was said, for people: the first few."""
    found = sorted(set(ids))
    more = f" and {len(found) - MOST_TOLD} more" if len(found) > MOST_TOLD else ""
    return f"messages[{', '.join(map(str, found[:MOST_TOLD]))}]{more}"
