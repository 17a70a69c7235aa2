"""`within`: a strategy that sees one region only."""

from __future__ import annotations

from typing import Literal

from ctxkit.core.edits import Plan
from ctxkit.core.view import View
from ctxkit.registry import AnyStrategy
from ctxkit.strategy import CompressionStrategy, Services, advance

__all__ = ["Within"]


class Within(CompressionStrategy):
    """Run a strategy on one region: it sees the items of that region and works towards that region's target.

    A region that the budget does not name has the target 0: all that may go, goes.
    """

    kind: Literal["within"] = "within"
    region: str
    strategy: AnyStrategy

    async def plan(self, view: View, services: Services) -> Plan:
        narrow = view.within(self.region)
        if not narrow.over:
            return Plan()
        plan, _ = await advance(self.strategy, narrow, services)
        return plan
