"""`fallback`: a ladder of strategies, each tried when those before it failed or were not enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from ctxkit.core.edits import Plan
from ctxkit.core.view import Past, View
from ctxkit.registry import AnyStrategy
from ctxkit.strategy import CompressionStrategy, Services, advance

__all__ = ["Fallback", "ladder"]

FAILURES = 3
"""Failures in a row after which a rung is passed over."""

PASSED_OVER = 4
"""Compactions for which it is, before it is tried once more."""


def ladder() -> tuple[Any, ...]:
    """The rungs of a fallback that names none: what keeps most goes first, what always works last."""
    return (
        {"kind": "summarize"},
        {"kind": "extractive-summary"},
        {"kind": "digest-tool-results"},
        {"kind": "drop-oldest"},
    )


class Fallback(CompressionStrategy):
    """Try the steps in order until the conversation meets its targets: a ladder for strategies that may fail.

    A step that fails, or would break a promise, is rolled back and named in the report, and the next one is tried on
    the same conversation. One that works and is enough ends it. One that works and is not enough stays, and the next
    goes on from what it left.

    A step that failed in three compactions in a row is passed over in the next four, and then tried once: when it
    fails again it is passed over again. The last step is never passed over. All of it is read from the failures on
    record and from no clock, so that the same conversation with the same failures takes the same rungs.

    In strict mode only a failure of the last step raises: the others failing is what the ladder is for.
    """

    kind: Literal["fallback"] = "fallback"
    timeout_s: float | None = Field(default=None, gt=0)
    steps: tuple[AnyStrategy, ...] = Field(default_factory=ladder, min_length=1, validate_default=True)

    async def plan(self, view: View, services: Services) -> Plan:
        total, lenient = Plan(), replace(services, strict=False)
        names = _names(self.steps)
        for at, (name, step) in enumerate(zip(names, self.steps, strict=True)):
            if not (view.over or view.surplus_turns):
                break
            last = at == len(self.steps) - 1
            left = 0 if last else _passed_over(name, view.past)
            if left:
                total += Plan.failed(f"{name}, passed over", _told(left))
                continue
            plan, view = await advance(step, view, services if last else lenient)
            total += _renamed(plan, step.kind, name)
        return total


def _names(steps: Sequence[CompressionStrategy]) -> list[str]:
    """A name for each rung: its kind, with a number when there are several of that kind."""
    kinds = [step.kind for step in steps]
    return [
        kind if kinds.count(kind) == 1 else f"{kind} {kinds[:at].count(kind) + 1}"
        for at, kind in enumerate(kinds)
    ]


def _renamed(plan: Plan, kind: str, name: str) -> Plan:
    """The plan with the rung's name on the failures of its strategy."""
    failures = tuple(replace(each, by=name) if each.by == kind else each for each in plan.failures)
    return Plan(plan.stages, failures)


def _passed_over(name: str, past: Sequence[Past]) -> int:
    """For how many compactions, this one included, a rung is passed over yet; 0 when it is tried."""
    failed, left = 0, 0
    for each in past:
        if any(failure.by == name and not failure.note for failure in each.failures):
            failed += 1
            left = PASSED_OVER if failed >= FAILURES else 0
        elif left:
            left -= 1
        else:
            failed = 0
    return left


def _told(left: int) -> str:
    rest = "after this compaction" if left == 1 else f"after this and the next {left - 1} compactions"
    return f"it failed {FAILURES} times in a row or more, and is tried again {rest}"
