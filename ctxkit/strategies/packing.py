"""Packing: the facts of old steps, the likeliest to be needed first, as texts of a given size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heapify, heappop, heapreplace
from math import log, log2
from typing import NamedTuple

from ctxkit.literals import Rank, words_of
from ctxkit.strategies.steps import ASSISTANT, USER, Fact, Place, Step

__all__ = ["Known", "Scored", "chosen", "estimated", "is_whole", "kept", "ranked"]

ARGUMENT = {Rank.DETAIL: -1.0, Rank.FACT: 0.0, Rank.KEY: 0.6, Rank.ID: 0.6}
RESULT = {Rank.DETAIL: -1.6, Rank.FACT: -1.9, Rank.KEY: -0.1, Rank.ID: 0.7}
SAID = {USER: 0.4, ASSISTANT: 0.0}
TOLD = -1.5
"""What a value in arguments, one in a result, and a sentence of somebody or in a result start from. All that follows
is added to that. The unit is the logarithm of odds; see `docs/decisions/0007`."""

NEWEST_OF_FIELD = 0.75
"""For the newest value that calls were given for a field."""

TAKEN, TAKEN_AGAIN = 0.5, 0.8
"""For a value in a result that a call was given before, and for any that two calls were given."""

SOURCE = 1.0
"""For a value in a result that no call was given yet, of a field from which others were taken."""

ASKED, TOPICAL = 0.5, 0.4
"""For a value in a result whose field calls were given of late, and of one that names a thing calls are about
(`orders` when a call was given `order_id`)."""

MENTIONED = 1.3
"""For a value that somebody spoke of."""

TOPIC, TOPIC_SAID = 0.2, -0.4
"""For a value in a result, or a sentence, with words of what is going on."""

AMONG = -0.3
"""For each doubling of the values of one field in a step, or of the sentences of one message."""

FRESH = 2.0
"""For what the model has not seen yet."""

LATER = -0.45
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
        now: the words of what is going on.
        live: the values that stay in sight.
        talk: what was said, in lower case.
    """

    asked: frozenset[str]
    recent: frozenset[str]
    taken: Mapping[str, int]
    sources: frozenset[str]
    now: frozenset[str]
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
    queues = [_Queue(step, age, lack) for age, (step, lack) in enumerate(_lacks(steps[::-1], known, fresh))]
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
        sizes = (min(fact.size, _MOST) for fact in step.facts)
        self._left = sorted(
            (
                (lack + _LN[size], number)
                for number, (lack, size) in enumerate(zip(lacks, sizes, strict=True))
            ),
            reverse=True,
        )
        self._named: set[int] = set()
        self._head = step.head

    def next(self) -> Scored | None:
        """The next fact, None when none that is worth a token is left."""
        if not self._left:
            return None
        bound, number = self._left.pop()
        if bound > -HOPELESS:
            return None
        tokens, place = self._step.facts[number].size + self._head, self._step.place_of[number]
        self._head = 0
        if place not in self._named:
            self._named.add(place)
            tokens += self._step.places[place].named
        return Scored(self._lacks[number] + _LN[min(tokens, _MOST)], self._age, number, tokens)


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
    worth = _Worth(known)
    said = called = 0
    for age, step in enumerate(newest):
        later = LATER * _log2(1 + (said if step.said else called)) + FRESH * (age < fresh)
        said, called = said + step.said, called + (not step.said)
        lack = [0.0] * len(step.facts)
        for place in step.places:
            base = later + AMONG * _log2(len(place.numbers)) + worth.of_place(step, place)
            of = worth.of_words if not place.field else worth.of_argument if place.asked else worth.of_result
            for number in place.numbers:
                fact, key = step.facts[number], step.keys[number]
                score = base + of(fact) + GROWS * _LN[min(fact.size, _MOST)]
                lack[number] = -score - REPEATED if key in seen else -score
                seen.add(key)
        yield step, lack


class _Worth:
    """What facts are worth beside the calls that were made and what was said."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._topics = {_singular(word) for name in known.asked for word in name.split()} - _GENERIC
        self._given: set[str] = set()

    def of_place(self, step: Step, place: Place) -> float:
        """What all facts under a name are worth more."""
        if not place.field:
            return SAID[step.name] if step.said else TOLD
        if place.asked:
            new = place.field not in self._given
            self._given.add(place.field)
            return NEWEST_OF_FIELD * new
        words = words_of(place.field)
        worth = ASKED * (" ".join(words) in self._known.recent)
        return worth + TOPICAL * (not self._topics.isdisjoint(map(_singular, words)))

    def of_words(self, fact: Fact) -> float:
        return 0.0 if self._known.now.isdisjoint(fact.text.split()) else TOPIC_SAID

    def of_argument(self, fact: Fact) -> float:
        return ARGUMENT[fact.level] + self._of_value(fact.text, self._known.taken.get(fact.text, 0))

    def of_result(self, fact: Fact) -> float:
        taken = self._known.taken.get(fact.text, 0)
        score = RESULT[fact.level] + self._of_value(fact.text, taken)
        if taken:
            score += TAKEN
        elif fact.field in self._known.sources:
            score += SOURCE
        return score if self._known.now.isdisjoint(fact.text.split()) else score + TOPIC

    def _of_value(self, text: str, taken: int) -> float:
        score = MENTIONED if text.lower() in self._known.talk else 0.0
        if taken > 1:
            score += TAKEN_AGAIN
        return score + LIVE if text in self._known.live else score


_MOST = 255
_LN = [0.0, *(log(tokens) for tokens in range(1, _MOST + 1))]
"""Logarithms of sizes."""


@lru_cache(maxsize=1024)
def _log2(number: int) -> float:
    return log2(number)


@lru_cache(maxsize=1024)
def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word
