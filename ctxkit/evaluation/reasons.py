"""Reasons: why steps of strategies failed or could not do all that they should, with how often."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

__all__ = ["Reason", "Reasons", "StepReasons"]

MOST_KEPT = 500
"""Characters that are kept of a reason."""

MOST_TOLD = 5
"""Reasons of a step that are told."""

_NUMBERS = re.compile(r"\d+(?:(?:, |\.\.|[.,])\d+)*")


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason and how often it was given."""

    why: str
    count: int


@dataclass(frozen=True, slots=True)
class StepReasons:
    """A step by the kind of its strategy, how often it gave a reason, and the commonest ones."""

    step: str
    count: int
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Reasons:
    """Reasons counted; `a + b` has those of both, in whatever order they are added.

    Those of a step that differ in numbers alone are one, told by the one that is first in the alphabet.

    Attributes:
        counts: by step, and by the reason without its numbers: the reason that tells it, and how often.
    """

    counts: tuple[tuple[tuple[str, str], Reason], ...] = ()

    @classmethod
    def of(cls, given: Iterable[tuple[str, str]]) -> Reasons:
        """Steps that gave a reason, each with the reason."""
        kept = ((step, why[:MOST_KEPT]) for step, why in given)
        return _summed(((step, _NUMBERS.sub("#", why)), Reason(why, 1)) for step, why in kept)

    def __add__(self, other: Reasons) -> Reasons:
        return _summed((*self.counts, *other.counts)) if self.counts and other.counts else self or other

    def __bool__(self) -> bool:
        return bool(self.counts)

    def by_step(self) -> list[StepReasons]:
        """Each step with its commonest reasons, the step with the most first."""
        steps = [
            _told(step, [reason for _, reason in group])
            for step, group in groupby(self.counts, lambda each: each[0][0])
        ]
        return sorted(steps, key=lambda each: (-each.count, each.step))


def _summed(counts: Iterable[tuple[tuple[str, str], Reason]]) -> Reasons:
    found: dict[tuple[str, str], Reason] = {}
    for key, reason in counts:
        known = found.get(key, Reason(reason.why, 0))
        found[key] = Reason(min(known.why, reason.why), known.count + reason.count)
    return Reasons(tuple(sorted(found.items(), key=lambda each: each[0])))


def _told(step: str, reasons: list[Reason]) -> StepReasons:
    commonest = sorted(reasons, key=lambda each: (-each.count, each.why))
    return StepReasons(step, sum(each.count for each in reasons), tuple(commonest[:MOST_TOLD]))
