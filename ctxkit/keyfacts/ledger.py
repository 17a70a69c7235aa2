"""Ledger: which facts are kept when there is no room for all, which are evicted, and by what right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ctxkit.core.facts import (
    REPEATS,
    SHORTEST,
    TRUST,
    USER,
    Fact,
    active_facts,
    frames_of,
    taken_back,
    unnumbered,
    unused_number,
)
from ctxkit.keyfacts.finding import VITAL, Found, is_users
from ctxkit.keyfacts.room import Room

__all__ = ["Ledger", "Settled"]

RULES_SHARE = 0.75
"""Of the cap: what musts and prohibitions may take; what is vital (allergies, the user's own words) may take all of
it."""

MESSAGE_SHARE = 0.5
"""Of that share: what the musts and prohibitions of a single message may take, so that none fills it alone."""

OTHERS_SHARE = 0.25
"""Of the cap: what must be kept of what others than users said may take, promises of an agent that a plugin found."""

LONGEST_SHARE = 0.25
"""Of the cap: the longest fact that does not have to be kept."""

CROWD = 4
"""Facts under one key that rank as high as their priority; as many more rank one lower each, so that what is said
again and again of other things pushes out nothing that is said once."""

LINE = 3
"""Tokens of a line beside its text: its end, and the number before its key."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What came of facts that were found.

    Attributes:
        remembered: facts that are new, or new again, in order.
        evicted: facts of before that are not kept any longer, and why.
        left: facts that were found and not kept for want of room.
    """

    remembered: tuple[Fact, ...] = ()
    evicted: tuple[tuple[Fact, str], ...] = ()
    left: tuple[Fact, ...] = ()


class Ledger:
    """The facts of one strategy, and the room that they have.

    Args:
        facts: all that were ever remembered, of everybody, oldest first.
        by: the strategy's kind.
        cap: tokens that its facts may take together.
        count: tokens of a text.
    """

    def __init__(self, facts: Sequence[Fact], *, by: str, cap: int, count: Callable[[str], int]) -> None:
        self._by, self._cap, self._count = by, cap, count
        self._active = active_facts(facts)
        self._said = {sense: fact for fact in self._active.values() for sense in _senses(fact)}
        self._taken_back = {
            value: turn for value, turn in taken_back(facts).items() if len(value) >= SHORTEST
        }
        self._mentioned: dict[tuple[bool, str, str], int] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        self._finders: dict[tuple[bool, str, str], str] = {}
        self._costs: dict[str, int] = {}

    @property
    def tokens(self) -> int:
        """What its facts take."""
        return self._cost(self._held())

    @property
    def bound_tokens(self) -> int:
        """What those of them take that must be kept."""
        return self._cost(fact for fact in self._held() if fact.must_keep)

    def bind(self, found: Iterable[Found], most: int) -> Settled:
        """Settle what must be kept. Nothing of it is ever evicted: who comes first stays, users before all others, and
        what is said twice is kept once, in the words that came first. What has no room is left, for others to keep in
        place.

        Args:
            most: tokens up to which what must be kept may grow, whatever the cap.
        """
        remembered: list[Fact] = []
        left: list[Fact] = []
        taken, of_others = self.bound_tokens, 0
        of_message: Counter[tuple[int, ...]] = Counter()
        for held in (fact for fact in self._held() if fact.must_keep):
            of_message[held.source] += self._cost([held])
            of_others += 0 if is_users(held) else self._cost([held])
        for fact in map(self._named, self._fresh(sorted(found, key=lambda each: not is_users(each.fact)))):
            vital = is_users(fact) and fact.priority >= VITAL
            share = self._cap * (1 if vital else RULES_SHARE)
            of_one = share * (1 if vital else MESSAGE_SHARE)
            cost = self._cost([fact])
            fits = taken + cost <= min(share, most) and of_message[fact.source] + cost <= of_one
            if fits and (is_users(fact) or of_others + cost <= self._cap * OTHERS_SHARE):
                self._keep(fact)
                remembered.append(fact)
                taken += cost
                of_message[fact.source] += cost
                of_others += 0 if is_users(fact) else cost
            else:
                left.append(fact)
        return Settled(tuple(remembered), left=tuple(left))

    def settle(self, found: Iterable[Found], room: Room, used: Callable[[Fact], bool]) -> Settled:
        """Settle all others: those of higher priority are kept before lower ones, of these what newer steps used, of
        these the one said last, a few under each key; what does not fit beside them is stepped over.

        Args:
            room: how far all facts together may grow, and how far they have to shrink.
            used: whether newer steps used the value of a fact.
        """
        left_over = min(self._cap, room.shrink_to, max(room.grow_to, self.tokens)) - self.bound_tokens
        before = {fact.name: fact for fact in self._held() if not fact.must_keep}
        fresh, left = self._admitted(found)
        values = [fact.value for fact in self._held() if fact.must_keep]
        kept: set[tuple[str, str]] = set()
        frames: Counter[str] = Counter()
        for fact in self._ranked({**before, **fresh}.values(), used):
            cost = self._cost_among(fact, frames)
            if fact.name not in before and _contained(fact, values):
                del fresh[fact.name]
            elif cost <= left_over:
                left_over -= cost
                kept.add(fact.name)
                frames.update(frames_of(fact).keys())
                values.append(fact.value)
        evicted = tuple((fact, self._why(fact)) for name, fact in before.items() if name not in kept)
        remembered = tuple(fact for name, fact in fresh.items() if name in kept)
        left += [fact for name, fact in fresh.items() if name not in kept]
        return Settled(remembered, evicted, tuple(left))

    def _admitted(self, found: Iterable[Found]) -> tuple[dict[tuple[str, str], Fact], list[Fact]]:
        """What was found and is new, by name; and what is too long."""
        fresh: dict[tuple[str, str], Fact] = {}
        left: list[Fact] = []
        for each in self._fresh(found):
            fact = self._named(each)
            if self._cost([fact]) > self._cap * LONGEST_SHARE:
                left.append(fact)
            else:
                self._keep(fact)
                fresh[fact.name] = fact
        return fresh, left

    def withdraw(self) -> Settled:
        """Settle those that hold a value which a user took back under another key."""
        gone = [fact for fact in self._held() if self._is_taken_back(fact)]
        for fact in gone:
            del self._active[fact.name]
        return Settled(evicted=tuple((fact, "a user took back what it says") for fact in gone))

    def finder_of(self, fact: Fact) -> str:
        """The hook that found a fact which is new, "" for those that are found by rule."""
        return self._finders.get(_sense(fact), "")

    def _why(self, fact: Fact) -> str:
        said = f", last said in messages[{_said_last(fact)}]" if fact.source else ""
        return f"evicted: key facts may take {self._cap} tokens, and it has the lowest priority, {fact.priority}{said}"

    def _held(self) -> list[Fact]:
        return [fact for fact in self._active.values() if fact.by == self._by]

    def _keep(self, fact: Fact) -> None:
        self._active[fact.name] = fact
        self._said |= dict.fromkeys(_senses(fact), fact)

    def _fresh(self, found: Iterable[Found]) -> Iterator[Found]:
        """What is not kept already, not part of what is, and was not taken back since it was said."""
        for each in found:
            fact, held = each.fact, self._said.get(_sense(each.fact))
            if self._is_taken_back(fact):
                continue
            self._mentioned[_sense(fact)] = max(_said_last(fact), self._mentioned.get(_sense(fact), -1))
            finder, fact = fact.by, replace(fact, by=self._by)
            if held is None or (fact.must_keep and not held.must_keep):
                self._finders[_sense(fact)] = finder if finder != USER else ""
                yield replace(each, fact=fact)
            elif held.by == self._by and not held.must_keep and _newer(fact, held):
                yield Found(
                    replace(fact, key=held.key, priority=max(fact.priority, held.priority)), single=True
                )

    def _ranked(self, facts: Iterable[Fact], used: Callable[[Fact], bool]) -> list[Fact]:
        """Facts in the order in which they are kept."""
        ranked = sorted(facts, key=lambda fact: self._rank(fact, used(fact)), reverse=True)
        under: Counter[tuple[int, str, str]] = Counter()
        lowered: dict[tuple[str, str], int] = {}
        for fact in ranked:
            key = fact.priority, fact.subject, unnumbered(fact.key)
            lowered[fact.name] = under[key] // CROWD
            under[key] += 1
        return sorted(ranked, key=lambda fact: (lowered[fact.name] - fact.priority, lowered[fact.name] > 0))

    def _rank(self, fact: Fact, used: bool) -> tuple[int, bool, int, str]:
        """What is kept before what; a value counts as said when anybody mentions it."""
        return fact.priority, used, max(_said_last(fact), self._mentioned.get(_sense(fact), -1)), fact.value

    def _is_taken_back(self, fact: Fact) -> bool:
        """A rule goes only when all of it was taken back: a word of it may be in something else that was."""
        return any(
            (value == fact.value if fact.must_keep else value in fact.value) and fact.turn <= turn
            for value, turn in self._taken_back.items()
        )

    def _named(self, found: Found) -> Fact:
        """The fact under a key of its own, unless it supersedes the one that has its key: with its number before."""
        fact = found.fact
        held = self._active.get(fact.name)
        gives_way = held is not None and held.by == self._by and not held.must_keep and _trusted(fact, held)
        if held is None or (found.single and gives_way):
            return fact
        number = unused_number(fact.name, self._active, self._numbers.get(fact.name, 2))
        self._numbers[fact.name] = number
        return replace(fact, key=f"{number}. {fact.key}")

    def _cost(self, facts: Iterable[Fact]) -> int:
        return sum(self._cost_of(fact.line) for fact in facts)

    def _cost_among(self, fact: Fact, frames: Counter[str]) -> int:
        """What a fact takes beside others with these frames: of those that say the same only the name is written."""
        named = [name for frame, name in frames_of(fact).items() if frames[frame] >= REPEATS - 1]
        return self._cost_of(named[0]) if named else self._cost([fact])

    def _cost_of(self, line: str) -> int:
        """Tokens of a line, the same whichever number stands before its key."""
        if line not in self._costs:
            self._costs[line] = self._count(unnumbered(line)) + LINE
        return self._costs[line]


def _sense(fact: Fact) -> tuple[bool, str, str]:
    """What two facts have in common that say the same: of what must be kept all but white space and the last full stop
    counts, of all else the words do."""
    words = " ".join(fact.value.split())
    said = words.rstrip(".。") if fact.must_keep else words.casefold().rstrip(".。!！")
    return fact.must_keep, fact.subject, said


def _senses(fact: Fact) -> tuple[tuple[bool, str, str], ...]:
    """A fact as it is looked for; what must be kept also says what does not have to be."""
    return _sense(fact), _sense(replace(fact, must_keep=False))


def _contained(fact: Fact, values: Iterable[str]) -> bool:
    """Whether a value without blanks stands inside longer ones, which say what it is."""
    if fact.subject or " " in fact.value or len(fact.value) < SHORTEST:
        return False
    return any(fact.value in other and len(other) > len(fact.value) + SHORTEST for other in values)


def _said_last(fact: Fact) -> int:
    return max(fact.source, default=-1)


def _newer(fact: Fact, held: Fact) -> bool:
    """Whether a fact is said anew, by somebody no less trusted."""
    return _said_last(fact) > _said_last(held) and _trusted(fact, held)


def _trusted(fact: Fact, held: Fact) -> bool:
    return TRUST.index(fact.said_by) <= TRUST.index(held.said_by)
