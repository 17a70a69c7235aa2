"""Packing: the facts of old steps, the likeliest to be needed first, as texts of a given size."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from ctxkit.literals import Rank, words_of
from ctxkit.strategies.steps import ASSISTANT, USER, Place, Step, ln, name_size

__all__ = [
    "FREE_TOKENS",
    "Known",
    "Scored",
    "Talk",
    "chosen",
    "estimated",
    "fitting",
    "is_whole",
    "kept",
    "ranked",
]

ARGUMENT = (0.0, 0.0, 0.5, 0.5, 0.5)
RESULT = (-1.6, -1.6, -1.9, -0.1, 0.7)
SAID = {USER: 0.0, ASSISTANT: -0.8}
TOLD = -1.5
"""What a value in arguments (by its rank), one in a result (by its rank), and a sentence of somebody or in a result start from. All that follows
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

_WORD = re.compile(r"[a-z0-9]+")

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
        talk: what was said.
    """

    asked: frozenset[str]
    recent: frozenset[str]
    taken: Mapping[str, int]
    sources: frozenset[str]
    live: frozenset[str]
    talk: Talk


class Talk:
    """What was said, looked through for values that somebody spoke of, whatever their case."""

    def __init__(self, text: str) -> None:
        self._text = text.lower()
        self._words = frozenset(_WORD.findall(self._text))
        dated = "月" in self._text or not _MONTHS.keys().isdisjoint(word[:3] for word in self._words)
        self._days = frozenset(_days_in(self._text)) if dated else frozenset[str]()

    def mentions(self, text: str) -> bool:
        """Whether somebody spoke of a value: said it, or the number in it, or the day of a date in words."""
        lower, first, day, numbers = _spoken(text)
        if (not first or first in self._words) and lower in self._text:
            return True
        if day:
            return day in self._days
        return bool(numbers) and not self._words.isdisjoint(numbers)


@lru_cache(maxsize=2048)
def _spoken(text: str) -> tuple[str, str, str, tuple[str, ...]]:
    """A value in lower case, its first word, the day that it is, as in "03-08", and the words with digits in it."""
    text = text.lower()
    first = _WORD.match(text)
    day = text[5:10] if _DATE.match(text) else ""
    return text, first.group() if first else "", day, tuple(_NUMBERED.findall(text))


_NUMBERED = re.compile(r"(?<![a-z0-9])(?=[a-z]*\d)[a-z0-9]{4,}(?![a-z0-9])")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MONTHS = {
    "jan": "01", "feb": "02", "mar": "03", "apr": "04", "may": "05", "jun": "06",
    "jul": "07", "aug": "08", "sep": "09", "oct": "10", "nov": "11", "dec": "12",
}  # fmt: skip
_ENDINGS = "uary|ruary|ch|il|e|y|ust|t|tember|ober|ember"
_MONTH = rf"\b(?:{'|'.join(_MONTHS)})(?=(?:{_ENDINGS})?\b)"
_DAY = re.compile(
    rf"(?P<month>{_MONTH})[a-z]*\.? (?P<day>\d\d?)(?!\d)"
    rf"|\b(?P<day_first>\d\d?)(?:st|nd|rd|th)?(?: of)? (?P<month_then>{_MONTH})"
    r"|(?P<number>\d\d?)\s?月\s?(?P<day_then>\d\d?)"
)


def _days_in(text: str) -> Iterator[str]:
    """The days that a text in lower case names in words, as in "03-08"."""
    for found in _DAY.finditer(text):
        month = found["month"] or found["month_then"]
        number = _MONTHS[month] if month else found["number"].zfill(2)
        yield f"{number}-{(found['day'] or found['day_first'] or found['day_then']).zfill(2)}"


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
    scoring, found = _Scoring(known), list[_Place]()
    for age, step in enumerate(reversed(steps)):
        found += _in_order(step, age, scoring.worthy(step, FRESH * (age < fresh)))
    found.sort()
    order: list[Scored] = []
    left = budget * LONGER
    for _, age, _, lack, number, tokens in found:
        if left <= 0:
            break
        order.append(Scored(lack, age, number, tokens))
        left -= tokens
    return order


_Place = tuple[float, int, int, float, int, int]
"""Where a fact stands among those of all steps: the most that it or one before it of its step lacks, its step counted
from the newest, its place in the step; then what it lacks, its number in the step, and the tokens that it adds."""


def _in_order(step: Step, age: int, worthy: list[tuple[float, int, float]]) -> Iterator[_Place]:
    """The facts of one step, the best for its size first; a line and a name are there with the first that needs them."""
    worthy.sort()
    facts, head, most = step.facts, step.head, -math.inf
    names: set[tuple[str, bool]] = set()
    for place, (_, number, lack) in enumerate(worthy):
        field, _, _, size, asked, _, _ = facts[number]
        tokens = size + head
        head = 0
        if (field, asked) not in names:
            names.add((field, asked))
            tokens += name_size(field)
        lack += ln(tokens)
        most = max(most, lack)
        yield most, age, place, lack, number, tokens


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


def fitting(facts: Sequence[Scored], budget: int) -> Iterator[Scored]:
    """Those of the facts that fit into so many tokens one after the other."""
    for each in facts:
        if each.tokens <= budget:
            budget -= each.tokens
            yield each


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
    return [step.only(tuple(sorted(numbers[at]))) if at in numbers else None for at, step in enumerate(steps)]


class _Scoring:
    """What facts lack in worth. Steps are asked about newest first: what they say is known when older ones come."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._names = _Names(known)
        self._seen: set[str] = set()
        self._later = [0, 0]
        """How many calls, and how many messages, came later."""

    def worthy(self, step: Step, start: float) -> list[tuple[float, int, float]]:
        """The facts of a step that may be worth a token: what each lacks with its own size alone, its number, and
        what it lacks with no size at all."""
        known, names, seen = self._known, self._names, self._seen
        taken, live, mentions = known.taken, known.live, known.talk.mentions
        start += LATER * log2(1 + self._later[step.said])
        self._later[step.said] += 1
        found: list[tuple[float, int, float]] = []
        for place in step.places:
            base = start + AMONG * log2(len(place.rows)) + names.worth(step, place)
            named, worth = bool(place.field), ARGUMENT if place.asked else RESULT
            source = SOURCE if not place.asked and place.field in known.sources else 0.0
            for number, text, key, level, log in place.rows:
                score = base + GROWS * log
                if named:
                    score += worth[level]
                    if text in taken:
                        score += TAKEN_AGAIN * (taken[text] > 1)
                    else:
                        score += source
                    if text in live:
                        score += LIVE
                    if mentions(text):
                        score += MENTIONED
                elif level < Rank.KEY:
                    score += PLAIN
                if key in seen:
                    score += REPEATED
                else:
                    seen.add(key)
                if log - score <= -HOPELESS:
                    found.append((log - score, number, -score))
        return found


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
def log2(number: int) -> float:
    """The binary logarithm."""
    return math.log2(number)


@lru_cache(maxsize=1024)
def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word
