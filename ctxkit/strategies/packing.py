"""Packing: the facts of old steps, the likeliest to be needed first, as texts of a given size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple

from ctxkit.literals import Rank, words_of
from ctxkit.strategies.steps import ASSISTANT, USER, Place, Step, name_size

__all__ = ["Known", "Scored", "chosen", "estimated", "is_whole", "kept", "ranked"]

ARGUMENT = {Rank.DETAIL: 0.0, Rank.FACT: 0.5, Rank.KEY: 0.5, Rank.ID: 0.5}
RESULT = {Rank.DETAIL: -1.6, Rank.FACT: -1.9, Rank.KEY: -0.1, Rank.ID: 0.7}
SAID = {USER: 0.0, ASSISTANT: -0.8}
TOLD = -1.5
"""What a value in arguments, one in a result, and a sentence of somebody or in a result start from. All that follows
is added to that. The unit is the logarithm of odds; see `docs/decisions/0010`."""

PLAIN = -0.5
"""For a sentence without a literal."""

NEWEST_OF_FIELD = 0.75
"""For the newest value that calls were given for a field."""

TAKEN_AGAIN = 0.8
"""For a value that calls were given twice."""

SOURCE = 1.0
"""For a value in a result that no call was given yet, of a field from which others were taken."""

ASKED, TOPICAL = 0.5, 0.4
"""For a value in a result whose field calls were given of late, and of one that names a thing calls are about
(`orders` when a call was given `order_id`)."""

MENTIONED = 1.0
"""For a value that somebody spoke of."""

AMONG = -0.3
"""For each doubling of the values of one field in a step, or of the sentences of one message."""

FRESH = 4.0
"""For what the model has not seen yet."""

LATER = -0.4
"""For each doubling of the steps of its kind that came since."""

GROWS = 0.3
"""For each unit of the logarithm of its tokens: what is longer says more, though less for each token."""

REPEATED, LIVE = -5.0, -3.0
"""For a value that a newer step says too, and for one that stays in a live step."""

FREE_TOKENS = 600
"""Up to this many tokens everything is taken; beyond, only what is worth its share of the budget."""

FREE_SHARE, WORTHLESS, STEEP = 0.2, -4.0, 3.0
"""What scores `WORTHLESS` may fill `FREE_SHARE` of the budget, what scores `WORTHLESS + STEEP` all of it. A digest
that is not filled to the brim leaves room for what comes, and the prompt cache lasts longer."""

HOPELESS = -5.0
"""The score below which a fact is left out whatever room there is."""

NEEDED = -1.5
"""The score from which on a value that was left out is missed."""

LONGER = 1.6
"""Times the budget: as many tokens of facts are brought into order."""

_GENERIC = frozenset(("id", "ids", "key", "code", "number", "no", "name", "names", "list", "type"))


@dataclass(frozen=True)
class Known:
    """What scoring goes by.

    Attributes:
        asked: the field names that calls were given, as words.
        recent: those of the newest calls.
        taken: how often calls were given a value.
        sources: names of fields in results from which calls took a value.
        live: the values that stay in sight.
        talk: what was said, in lower case.
    """

    asked: frozenset[str]
    recent: frozenset[str]
    taken: Mapping[str, int]
    sources: frozenset[str]
    live: frozenset[str]
    talk: str


class Scored(NamedTuple):
    """A fact of a step: what it lacks in worth for its size, its step counted from the newest, its number in the step,
    and the tokens that it adds to those before it."""

    lack: float
    age: int
    fact: int
    tokens: int


def ranked(steps: Sequence[Step], known: Known, budget: int, fresh: int = 0) -> list[Scored]:
    """The facts of steps, best first: each adds most for its tokens to those before it, as a line that is there and
    a field that is named take no more.

    Args:
        budget: tokens; of what could not be among them the rest is left out.
        fresh: how many steps, the last ones, the model has not seen yet.
    """
    lacking = enumerate(_lacks(steps[::-1], known, fresh))
    queues = [_Queue(step, age, lacks) for age, (step, lacks) in lacking]
    heap = [first for queue in queues if (first := queue.next()) is not None]
    heapify(heap)
    order: list[Scored] = []
    left = budget * LONGER
    while heap and left > 0:
        best = heap[0]
        order.append(best)
        left -= best.tokens
        following = queues[best.age].next()
        if following is None:
            heappop(heap)
        else:
            heapreplace(heap, following)
    return order


class _Queue:
    """The facts of one step in the order of their worth for their tokens, the best first."""

    def __init__(self, step: Step, age: int, lacks: Sequence[float]) -> None:
        self._step = step
        self._age = age
        self._lacks = lacks
        self._left = [
            (lack + ln(fact.size), number)
            for number, (lack, fact) in enumerate(zip(lacks, step.facts, strict=True))
        ]
        self._left.sort(reverse=True)
        self._names: set[tuple[str, bool]] = set()
        self._head = step.head

    def next(self) -> Scored | None:
        """The next fact, None when none that is worth a token is left."""
        bound, number = self._left.pop() if self._left else (math.inf, 0)
        if bound > -HOPELESS:
            return None
        fact = self._step.facts[number]
        tokens, name = fact.size + self._head, (fact.field, fact.asked)
        self._head = 0
        if name not in self._names:
            self._names.add(name)
            tokens += name_size(fact.field)
        return Scored(self._lacks[number] + ln(tokens), self._age, number, tokens)


def chosen(facts: Sequence[Scored], budget: int, ratio: float = 1.0) -> int:
    """How many of the ranked facts are worth their place in `budget` tokens; `ratio` is that of real to estimated
    tokens."""
    used = 0
    free = min(budget, FREE_TOKENS)
    for taken, (lack, _, _, tokens) in enumerate(facts):
        used += tokens
        size = used * ratio
        if size > free and size > budget * min(1.0, max(FREE_SHARE, (-lack - WORTHLESS) / STEEP)):
            return taken
    return len(facts)


def is_whole(facts: Sequence[Scored], taken: int) -> bool:
    """Whether all that is likely to be needed is among the `taken` best."""
    return taken == len(facts) or facts[taken].lack > -NEEDED


def estimated(facts: Sequence[Scored]) -> int:
    """Tokens of these facts as lines, about."""
    return sum(each.tokens for each in facts)


def kept(steps: Sequence[Step], facts: Sequence[Scored]) -> list[Step | None]:
    """The steps with these facts alone, None for those without any."""
    numbers: dict[int, list[int]] = {}
    for each in facts:
        numbers.setdefault(len(steps) - 1 - each.age, []).append(each.fact)
    return [step.only(sorted(numbers[at])) if at in numbers else None for at, step in enumerate(steps)]


def _lacks(newest: Sequence[Step], known: Known, fresh: int) -> Iterator[tuple[Step, list[float]]]:
    """Each step, newest first, with what each of its facts lacks in worth, its size left aside."""
    seen: set[str] = set()
    names = _Names(known)
    said = called = 0
    for age, step in enumerate(newest):
        later = LATER * log2(1 + (said if step.said else called)) + FRESH * (age < fresh)
        said, called = said + step.said, called + (not step.said)
        lacks = [0.0] * len(step.facts)
        for place in step.places:
            base = later + AMONG * log2(len(place.numbers)) + names.worth(step, place)
            source = SOURCE * (not place.asked and place.field in known.sources)
            levels = ARGUMENT if place.asked else RESULT
            for number in place.numbers:
                _, text, level, size, _, _ = step.facts[number]
                score = base + GROWS * ln(size)
                if level < Rank.KEY and not place.field:
                    score += PLAIN
                elif place.field:
                    taken = known.taken.get(text, 0)
                    score += levels[level] + (source if not taken else TAKEN_AGAIN * (taken > 1))
                    score += MENTIONED * (text.lower() in known.talk) + LIVE * (text in known.live)
                key = step.keys[number]
                if key in seen:
                    score += REPEATED
                seen.add(key)
                lacks[number] = -score
        yield step, lacks


class _Names:
    """What facts are worth for the names under which they stand."""

    def __init__(self, known: Known) -> None:
        self._recent = known.recent
        self._topics = {_singular(word) for name in known.asked for word in name.split()} - _GENERIC
        self._given: set[str] = set()
        self._fields: dict[str, float] = {}

    def worth(self, step: Step, place: Place) -> float:
        """What all facts under a name are worth more. Steps are asked about newest first."""
        if not place.field:
            return SAID[step.name] if step.said else TOLD
        if place.asked:
            new = place.field not in self._given
            self._given.add(place.field)
            return NEWEST_OF_FIELD * new
        if place.field not in self._fields:
            words = words_of(place.field)
            topical = not self._topics.isdisjoint(map(_singular, words))
            self._fields[place.field] = ASKED * (" ".join(words) in self._recent) + TOPICAL * topical
        return self._fields[place.field]


@lru_cache(maxsize=1024)
def ln(number: int) -> float:
    """The natural logarithm."""
    return math.log(number)


@lru_cache(maxsize=1024)
def log2(number: int) -> float:
    """The binary logarithm."""
    return math.log2(number)


@lru_cache(maxsize=1024)
def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word
