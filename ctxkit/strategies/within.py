"""`within`: a strategy that sees one region only."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ctxkit.core.edits import Plan
from ctxkit.core.view import View
from ctxkit.registry import AnyStrategy
from ctxkit.strategy import CompressionStrategy, Services, advance

__all__ = ["Within"]


class Within(CompressionStrategy):
    """Run a strategy on one region: it sees the items of that region and works towards that region's target.

    For a region that the budget does not name the target is that of the whole.
    """

    kind: Literal["within"] = "within"
    timeout_s: float | None = Field(default=None, gt=0)
    region: str
    strategy: AnyStrategy

    async def plan(self, view: View, services: Services) -> Plan:
        narrow = view.within(self.region)
        if not narrow.over:
            return Plan()
        plan, _ = await advance(self.strategy, narrow, services)
        return plan
