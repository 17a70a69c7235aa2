"""Folding: old units become one text that holds their values beside their field names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ctxkit.core.items import Part, PartKind, Role
from ctxkit.core.provider import Entry, Provider
from ctxkit.jsons import json_text
from ctxkit.literals import Rank, as_json, rank, telling, words_of
from ctxkit.strategies.digesting import Leaf, fields_of, leaves, normal, pruned, values_of

__all__ = ["Known", "packed", "steps_of"]
import os
COMPLETE = float(os.environ.get("COMPLETE", "3"))
MODEST = float(os.environ.get("MODEST", "0.2"))


@dataclass(frozen=True)
class Known:
    asked: frozenset[str]
    used: frozenset[str]
    now: frozenset[str]


@dataclass
class Step:
    """One line of a fold: something said, or a call with its results."""

    name: str
    said: bool
    value: Any
    facts: list[Leaf] = field(default_factory=list)
    arguments: int = 0
    scores: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    def line(self, keep: Sequence[bool]) -> str:
        if self.said:
            text = " ".join(leaf.value for leaf, kept in zip(self.facts, keep, strict=True) if kept)
            return f"{self.name}: {text}" if text else ""
        value = pruned(self.value, iter(keep))
        if value is None:
            return ""
        arguments, *results = (value.get(key) for key in ("a", "r"))
        shown = [self.name]
        if arguments is not None:
            shown.append(json_text(arguments))
        if results[0] is not None:
            shown.append("-> " + " ".join(each if isinstance(each, str) else json_text(each) for each in results[0]))
        return " ".join(shown)


def steps_of(entries: Iterable[Entry], provider: Provider) -> list[Step]:
    made: list[Step] = []
    calls: dict[str | None, Step] = {}
    for entry in entries:
        shape = provider.shape(entry)
        names = {call.id: call.name for call in shape.calls}
        for part in provider.parts(entry):
            match part.kind:
                case PartKind.TEXT if part.text.strip():
                    who = "user" if shape.role is Role.USER else "assistant"
                    made.append(Step(who, True, part.text))
                case PartKind.ARGUMENTS:
                    step = Step(part.name or names.get(part.call, ""), False, {"a": normal(as_json(part.text)), "r": []})
                    calls[part.call] = step
                    made.append(step)
                case PartKind.RESULT:
                    found = calls.get(part.call)
                    if found is None:
                        found = Step(part.name, False, {"a": None, "r": []})
                        made.append(found)
                    value = as_json(part.text)
                    found.value["r"].append(normal(part.text if value is None else value))
    for step in made:
        if step.said:
            sentences = list(dict.fromkeys(telling(step.value)))
            if step.name == "user" and len(step.value) < 300:
                sentences = [" ".join(step.value.split())]
            step.facts = [Leaf("", sentence) for sentence in sentences]
        else:
            step.facts = list(leaves(step.value))
            step.arguments = sum(1 for _ in leaves(step.value['a']))
    return made


def packed(steps: list[Step], budget: int, known: Known, count: Any, live: set[str]) -> tuple[str, bool]:
    """The text, and whether all that scores as a key is in it."""
    _score(steps, known, count, live)
    order = sorted(
        ((step.scores[k], at, k) for at, step in enumerate(steps) for k in range(len(step.facts)) if step.scores[k] > 0),
        key=lambda each: (-each[0], -each[1], each[2]),
    )
    if not order:
        return "", True
    ranked = order
    order = order[: _worth(steps, order, budget)]
    low, high = 0, len(order)
    best = ""
    fill = _filled(steps, order, budget)
    for _ in range(8):
        text = _written(steps, order[:fill])
        size = count(text)
        if size <= budget:
            if fill > low:
                low, best = fill, text
            if fill >= len(order) or size > 0.95 * budget:
                break
            fill = min(high, max(fill + 1, int(fill * budget / max(1, size))))
            if fill <= low or fill >= high and high != len(order):
                break
        else:
            high = fill
            fill = max(low, min(fill - 1, int(fill * budget / size)))
            if fill <= low:
                break
    whole = low >= len(ranked) or ranked[low][0] < COMPLETE
    return best, whole


F0 = float(os.environ.get("F0", "1.5"))
SMALL = int(os.environ.get("SMALL", "100"))
F1 = float(os.environ.get("F1", "3"))


def _worth(steps: list[Step], order: list[tuple[float, int, int]], budget: int) -> int:
    used, lines = 0, set()
    for n, (score, at, k) in enumerate(order):
        used += steps[at].sizes[k] + (0 if at in lines else 6)
        lines.add(at)
        if used > max(SMALL, budget * max(MODEST, (score - F0) / F1)):
            return n
    return len(order)


def _filled(steps: list[Step], order: list[tuple[float, int, int]], budget: int) -> int:
    used, lines = 0, set()
    for n, (_, at, k) in enumerate(order):
        used += steps[at].sizes[k] + (0 if at in lines else 6)
        lines.add(at)
        if used > budget:
            return max(1, n)
    return len(order)


def _written(steps: list[Step], chosen: list[tuple[float, int, int]]) -> str:
    keep = [[False] * len(step.facts) for step in steps]
    for _, at, k in chosen:
        keep[at][k] = True
    lines = [step.line(mask) for step, mask in zip(steps, keep, strict=True) if any(mask)]
    return "\n".join(line for line in lines if line)


ARGF = float(os.environ.get('ARGF','0.3'))
REPEATED = float(os.environ.get("REPEATED", "0.3"))
LIVE = float(os.environ.get("LIVE", "0.5"))
RECENT = float(os.environ.get("RECENT", "1.0"))
DECAY = float(os.environ.get("DECAY", "0.85"))
GENERIC = frozenset("id ids key code number no name names list type".split())


def _score(steps: list[Step], known: Known, count: Any, live: set[str]) -> None:
    seen: set[str] = set()
    topics = {_singular(word) for name in known.asked for word in name.split()} - GENERIC
    ago = 0
    for at in range(len(steps) - 1, -1, -1):
        step = steps[at]
        recent = RECENT * DECAY ** (len(steps) - 1 - at)
        related = 0.0
        if not step.said and any(
            rank(leaf.field, leaf.value) >= Rank.KEY and str(leaf.value) in known.now for leaf in step.facts
        ):
            related = 0.75
        step.scores, step.sizes = [], []
        last = ""
        tops, own = 0.0, {leaf.key for leaf in step.facts[step.arguments:]}
        for n, leaf in enumerate(step.facts):
            if step.said:
                size = count(leaf.value) + 1
                score = (2.4 if step.name == "user" else 1.4) + recent + SAID * 0.5**ago - size / 60
                if leaf.value in seen:
                    score = 0
                seen.add(leaf.value)
            else:
                size = count(f'"{leaf.field}":"{leaf.value}",' if leaf.field != last else f'"{leaf.value}",')
                level = rank(leaf.field, leaf.value, known.asked)
                score = float(level)
                if score:
                    words = words_of(leaf.field)
                    if level >= Rank.KEY and " ".join(words) in known.asked:
                        score += 0.5
                    if level >= Rank.ID and not topics.isdisjoint(map(_singular, words)):
                        score += 0.75
                    score += recent + related - size / 60
                    if leaf.key in seen:
                        score *= REPEATED if n >= step.arguments else ARGF
                    elif level >= Rank.KEY and str(leaf.value) in live:
                        score *= LIVE if n >= step.arguments else max(LIVE, ARGF)
                    if score > 3 and n >= step.arguments:
                        tops = max(tops, score)
                seen.add(leaf.key)
            last = leaf.field
            step.scores.append(score)
            step.sizes.append(size)
        ago += step.said


SAID = float(os.environ.get("SAID", "2.5"))


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


def shrunk(value: Any, name: str, handle: str, asked: frozenset[str], least: Rank = Rank.FACT) -> Any:
    """A result in place."""
    from ctxkit.core.marks import marked

    mark = marked(f"digest of {handle}")
    whole = as_json(value) if isinstance(value, str) else value
    if whole is None:
        lines = list(dict.fromkeys(telling(value)))
        return mark + "\n" + "\n".join(lines)
    whole = normal(whole)
    cut = pruned(whole, iter([rank(leaf.field, leaf.value, asked) >= least for leaf in leaves(whole)]))
    made = {"_ctxkit": mark, **(cut or {})} if not isinstance(cut, list) else {"_ctxkit": mark, "items": cut}
    return made if isinstance(value, dict) else json_text(made)
