"""`within`: a strategy that sees one region only."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from ctxkit.core.budget import wrong_region
from ctxkit.core.edits import Plan
from ctxkit.core.view import View
from ctxkit.registry import AnyStrategy
from ctxkit.strategy import CompressionStrategy, Services, advance

__all__ = ["Within"]


class Within(CompressionStrategy):
    """Run a strategy on one region: it sees the items of that region and works towards that region's target.

    For a region that the budget does not name the target is that of the whole. A name that is a slip in that of a
    built-in region is refused: nothing is ever in such a region.
    """

    kind: Literal["within"] = "within"
    timeout_s: float | None = Field(default=None, gt=0)
    region: str
    strategy: AnyStrategy

    @field_validator("region")
    @classmethod
    def _no_slip(cls, region: str) -> str:
        if region == "tools":
            raise ValueError("tools are the schemas, of which nothing goes; the results are in tool_results")
        if wrong := wrong_region(region):
            raise ValueError(wrong)
        return region

    async def plan(self, view: View, services: Services) -> Plan:
        narrow = view.within(self.region)
        if not narrow.over:
            return Plan()
        plan, _ = await advance(self.strategy, narrow, services)
        return plan
