"""Packing: the values of old steps, the likeliest to be needed first, as one text of a given size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from ctxkit.core.items import PartKind, Role
from ctxkit.core.provider import Entry
from ctxkit.core.state import Meter
from ctxkit.jsons import json_text
from ctxkit.literals import Rank, as_json, rank, telling, words_of
from ctxkit.strategies.digesting import Leaf, leaves, normal, pruned, read

__all__ = ["Known", "Scored", "Step", "packed", "ranked", "steps_of"]

SHORT_WORDS = 300
"""Characters of a user's message up to which it is kept as a whole or not at all."""

USER_SCORE, MODEL_SCORE = 2.4, 1.4
"""What a sentence is worth, on the scale of `Rank`."""

NEWEST_SAID = 0.7
"""What the newest thing said is worth more, half of it for the one before, and so on."""

NEWEST_STEP, STEP_DECAY = 1.4, 0.9
"""What the newest step is worth more, and how that fades from step to step."""

ASKED, TOPICAL, RELATED = 0.5, 0.75, 0.75
"""What is added for a field that calls were given, for an identifier of a thing that calls are about (`orders`
when a call was given `order_id`), and for a step that shares a value with what is being talked about."""

REPEATED, LIVE = 0.3, 0.5
"""What is left of the worth of a value that a newer step says too, and of one that stays in a live step."""

PER_TOKEN = 1 / 60
"""What a token of size costs."""

FREE_TOKENS = 200
"""Up to this many tokens everything is taken; beyond, only what is worth its share of the budget."""

FREE_SHARE, WORTHLESS, STEEP = 0.2, 2.0, 3.0
"""What scores `WORTHLESS` may fill `FREE_SHARE` of the budget, what scores `WORTHLESS + STEEP` all of it. A digest
that is not filled to the brim leaves room for what comes, and the prompt cache lasts longer."""

NEEDED = 3.5
"""The score from which on a value that was left out is missed."""

LINE_TOKENS = 6
"""Tokens of a line beside its values: the name of the tool, brackets."""

STEPS = 56
"""Steps that are kept for the next compaction."""

_GENERIC = frozenset(("id", "ids", "key", "code", "number", "no", "name", "names", "list", "type"))


@dataclass(frozen=True)
class Known:
    """What scoring goes by: the field names that calls were given, words of what is being talked about, and the
    values that stay in sight."""

    asked: frozenset[str]
    now: frozenset[str]
    live: frozenset[str]


@dataclass(frozen=True)
class Step:
    """One line of a digest: what somebody said (`facts` are its sentences), or a call with its results.

    Steps are made once for each text and shared: what is worked out for one stays with it.
    """

    name: str
    said: bool
    value: Any
    facts: tuple[Leaf, ...]

    @cached_property
    def ranks(self) -> tuple[Rank, ...]:
        """The rank of each fact by itself."""
        return tuple(rank(leaf.field, leaf.value) for leaf in self.facts)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """What each fact has in common with others that say the same."""
        return tuple(leaf.value if self.said else leaf.key for leaf in self.facts)

    @cached_property
    def values(self) -> frozenset[str]:
        """The values of a call and its results as text; those that rank as keys."""
        ranked = zip(self.facts, self.ranks, strict=True)
        return frozenset(str(leaf.value) for leaf, level in ranked if level >= Rank.KEY)

    def tokens(self, count: Callable[[str], int]) -> tuple[int, ...]:
        """The size of each fact in a line, its field name where that changes."""
        if count not in self._sizes:
            self._sizes[count] = tuple(map(count, self._shown()))
        return self._sizes[count]

    @cached_property
    def _sizes(self) -> dict[Callable[[str], int], tuple[int, ...]]:
        return {}

    def _shown(self) -> Iterator[str]:
        before = ""
        for leaf in self.facts:
            if self.said:
                yield f"{leaf.value} "
            else:
                yield f'"{leaf.field}":"{leaf.value}",' if leaf.field != before else f'"{leaf.value}",'
            before = leaf.field

    def line(self, keep: Sequence[bool]) -> str:
        """The line with some of the facts, "" without any."""
        if self.said:
            told = [leaf.value for leaf, kept in zip(self.facts, keep, strict=True) if kept]
            return f"{self.name}: {' '.join(told)}" if told else ""
        mask = iter(keep)
        asked, *results = (pruned(each, mask) for each in self.value)
        shown = [self.name] if asked is None else [self.name, json_text(asked)]
        answers = [each if isinstance(each, str) else json_text(each) for each in results if each is not None]
        if answers:
            shown += ["->", *answers]
        return " ".join(shown) if len(shown) > 1 else ""


@dataclass(frozen=True, slots=True)
class Scored:
    """A fact of a step: where it is, its worth, its size."""

    score: float
    step: int
    fact: int
    tokens: int


def steps_of(entries: Iterable[Entry], meter: Meter) -> list[Step]:
    """Entries as steps, in order; a result belongs to the line of its call."""
    lines: list[tuple[str, bool, list[str]]] = []
    calls: dict[str | None, list[str]] = {}
    for entry in entries:
        shape, parts = meter.read(entry)
        names = {call.id: call.name for call in shape.calls}
        for part in parts:
            match part.kind:
                case PartKind.TEXT if part.text.strip():
                    who = "user" if shape.role is Role.USER else "assistant"
                    lines.append((who, True, [part.text]))
                case PartKind.ARGUMENTS:
                    calls[part.call] = [part.text]
                    lines.append((part.name or names.get(part.call, "call"), False, calls[part.call]))
                case PartKind.RESULT:
                    if part.call not in calls:
                        calls[part.call] = [""]
                        lines.append((part.name or "call", False, calls[part.call]))
                    calls[part.call].append(part.text)
    return [_said(who, said[0]) if is_said else _called(who, *said) for who, is_said, said in lines]


@lru_cache(maxsize=STEPS)
def _said(who: str, text: str) -> Step:
    whole = who == "user" and len(text) <= SHORT_WORDS
    sentences = [" ".join(text.split())] if whole else dict.fromkeys(telling(text))
    return Step(who, True, None, tuple(Leaf("", sentence) for sentence in sentences))


@lru_cache(maxsize=STEPS)
def _called(name: str, arguments: str, *results: str) -> Step:
    value = (normal(as_json(arguments)), *map(read, results))
    return Step(name, False, value, tuple(leaf for each in value for leaf in leaves(each)))


def ranked(steps: Sequence[Step], known: Known, count: Callable[[str], int]) -> list[Scored]:
    """The facts of steps that are worth anything, best first."""
    return sorted(_scored(steps, known, count), key=lambda each: (-each.score, -each.step, each.fact))


def packed(
    steps: Sequence[Step], facts: Sequence[Scored], budget: int, count: Callable[[str], int]
) -> tuple[str, bool]:
    """The best of the ranked facts as text of at most `budget` tokens, and whether all that is likely to be
    needed is in it."""
    taken = _affordable(facts, budget, 1.0)
    text = _written(steps, facts[:taken])
    estimated = _tokens(facts[:taken])
    if estimated:
        taken = _affordable(facts, budget, count(text) / estimated)
        text = _written(steps, facts[:taken])
    while taken and (size := count(text)) > budget:
        taken = min(taken - 1, int(taken * budget / size))
        text = _written(steps, facts[:taken])
    return text, taken == len(facts) or facts[taken].score < NEEDED


def _affordable(facts: Sequence[Scored], budget: int, ratio: float) -> int:
    """How many of the facts are worth their place; `ratio` is that of real to estimated tokens."""
    used, lines = 0, set()
    for taken, each in enumerate(facts):
        used += each.tokens + (0 if each.step in lines else LINE_TOKENS)
        lines.add(each.step)
        share = min(1.0, max(FREE_SHARE, (each.score - WORTHLESS) / STEEP))
        if used * ratio > min(budget, max(FREE_TOKENS, budget * share)):
            return taken
    return len(facts)


def _tokens(facts: Sequence[Scored]) -> int:
    return sum(each.tokens for each in facts) + LINE_TOKENS * len({each.step for each in facts})


def _written(steps: Sequence[Step], facts: Iterable[Scored]) -> str:
    masks: dict[int, list[bool]] = {}
    for each in facts:
        masks.setdefault(each.step, [False] * len(steps[each.step].facts))[each.fact] = True
    lines = (steps[at].line(masks[at]) for at in sorted(masks))
    return "\n".join(line for line in lines if line)


def _scored(steps: Sequence[Step], known: Known, count: Callable[[str], int]) -> Iterator[Scored]:
    """The facts that are worth anything, newest step first."""
    seen: set[str] = set()
    topics = {_singular(word) for name in known.asked for word in name.split()} - _GENERIC
    said_after = 0
    for at in range(len(steps) - 1, -1, -1):
        step, newest = steps[at], NEWEST_STEP * STEP_DECAY ** (len(steps) - 1 - at)
        sizes = step.tokens(count)
        if step.said:
            yield from _scored_words(step, at, newest + NEWEST_SAID * 0.5**said_after, seen, sizes)
            said_after += 1
        else:
            yield from _scored_call(step, at, newest, known, topics, seen, sizes)


def _scored_words(
    step: Step, at: int, bonus: float, seen: set[str], sizes: Sequence[int]
) -> Iterator[Scored]:
    base = (USER_SCORE if step.name == "user" else MODEL_SCORE) + bonus
    for number, (key, tokens) in enumerate(zip(step.keys, sizes, strict=True)):
        if key not in seen:
            seen.add(key)
            yield Scored(base - tokens * PER_TOKEN, at, number, tokens)


def _scored_call(
    step: Step,
    at: int,
    bonus: float,
    known: Known,
    topics: set[str],
    seen: set[str],
    sizes: Sequence[int],
) -> Iterator[Scored]:
    bonus += 0.0 if known.now.isdisjoint(step.values) else RELATED
    for number, (leaf, level, key, tokens) in enumerate(
        zip(step.facts, step.ranks, step.keys, sizes, strict=True)
    ):
        if level is not Rank.NOTHING:
            score, level = _worth(leaf, level, known, topics)
            score += bonus - tokens * PER_TOKEN
            if key in seen:
                score *= REPEATED
            elif level >= Rank.KEY and str(leaf.value) in known.live:
                score *= LIVE
            yield Scored(score, at, number, tokens)
        seen.add(key)


def _worth(leaf: Leaf, level: Rank, known: Known, topics: set[str]) -> tuple[float, Rank]:
    """What a fact is worth for its rank, which is higher for a field that calls were given."""
    words = words_of(leaf.field)
    asked = " ".join(words) in known.asked
    if asked and level < Rank.ID:
        level = rank(leaf.field, leaf.value, known.asked)
    topical = level >= Rank.ID and not topics.isdisjoint(map(_singular, words))
    return int(level) + ASKED * (asked and level >= Rank.KEY) + TOPICAL * topical, level


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word
