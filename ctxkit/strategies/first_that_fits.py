"""`first-that-fits`: the first strategy that is enough."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ctxkit.core.edits import Plan
from ctxkit.core.view import View
from ctxkit.registry import AnyStrategy
from ctxkit.strategy import CompressionStrategy, Services, advance

__all__ = ["FirstThatFits"]


class FirstThatFits(CompressionStrategy):
    """Try each step on the conversation as it is and take the first one after which every target is met.

    When none is enough, the one that comes closest is taken, and all are tried again on what it left. Put the
    gentlest first.
    """

    kind: Literal["first-that-fits"] = "first-that-fits"
    timeout_s: float | None = Field(default=None, gt=0)
    steps: tuple[AnyStrategy, ...] = Field(min_length=1)

    async def plan(self, view: View, services: Services) -> Plan:
        total = Plan()
        while any(_missed(view)):
            plan, after = await self._closest(view, services)
            total += plan
            if _missed(after) >= _missed(view):
                break
            view = after
        return total

    async def _closest(self, view: View, services: Services) -> tuple[Plan, View]:
        """The plan of the first step that is enough, or of the one that comes closest, and the view after it."""
        failed, best, nearest = Plan(), Plan(), view
        for step in self.steps:
            plan, after = await advance(step, view, services)
            if plan and not any(_missed(after)):
                return failed + plan, after
            if _missed(after) < _missed(nearest):
                best, nearest = plan, after
            failed += Plan(failures=plan.failures)
        return Plan(failures=failed.failures) + Plan(best.stages), nearest


def _missed(view: View) -> tuple[int, int, int]:
    """By how many tokens of the whole, by how many at all, and by how many turns the targets are missed yet."""
    return view.over_whole, view.over, view.surplus_turns
