"""`hybrid`: strategies one after the other until the conversation fits."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ctxkit.core.edits import Plan
from ctxkit.core.view import View
from ctxkit.registry import AnyStrategy
from ctxkit.strategy import CompressionStrategy, Services, advance

__all__ = ["Hybrid", "recommended"]


def recommended() -> tuple[Any, ...]:
    """The steps of a hybrid that names none: what users said that binds is kept, then what costs least goes first."""
    return (
        {"kind": "keep-key-facts", "specifics": False},
        {"kind": "drop-reasoning"},
        {"kind": "drop-media"},
        {"kind": "digest-tool-results"},
        {"kind": "trim-tool-results"},
        {"kind": "drop-oldest"},
    )


class Hybrid(CompressionStrategy):
    """Run the steps in order, each on what the one before left, until every target is met.

    A step that fails or would break a promise is rolled back, named in the report, and the next one goes on. When
    all targets are met from the start nothing runs. Without `steps` it is the recommended chain.
    """

    kind: Literal["hybrid"] = "hybrid"
    timeout_s: float | None = Field(default=None, gt=0)
    steps: tuple[AnyStrategy, ...] = Field(default_factory=recommended, min_length=1, validate_default=True)

    async def plan(self, view: View, services: Services) -> Plan:
        total = Plan()
        for step in self.steps:
            if not (view.over or view.surplus_turns):
                break
            plan, view = await advance(step, view, services)
            total += plan
        return total
