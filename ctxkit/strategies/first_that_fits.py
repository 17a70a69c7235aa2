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

    When none is enough, the one that comes closest is taken. Put the gentlest first.
    """

    kind: Literal["first-that-fits"] = "first-that-fits"
    timeout_s: float | None = Field(default=None, gt=0)
    steps: tuple[AnyStrategy, ...] = Field(min_length=1)

    async def plan(self, view: View, services: Services) -> Plan:
        failed, best, least = Plan(), Plan(), view.over
        for step in self.steps:
            plan, after = await advance(step, view, services)
            if plan and not after.over:
                return failed + plan
            if after.over < least:
                best, least = plan, after.over
            failed += Plan(failures=plan.failures)
        return Plan(failures=failed.failures) + Plan(best.stages)
