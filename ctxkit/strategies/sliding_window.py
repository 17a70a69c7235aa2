"""`sliding-window`: keep the last turns."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ctxkit.core.edits import Drop, Plan
from ctxkit.core.view import View
from ctxkit.strategy import CompressionStrategy, Services

__all__ = ["SlidingWindow"]


class SlidingWindow(CompressionStrategy):
    """Keep the last `keep_turns` turns whole and drop what is older; pinned units stay.

    It counts turns, not tokens: when the last turns alone are over the budget, something else has to follow it.
    """

    kind: Literal["sliding-window"] = "sliding-window"
    keep_turns: int = Field(default=8, ge=1)

    def plan(self, view: View, services: Services) -> Plan:
        numbers = [turn.number for turn in view.turns if turn.number]
        first_kept = numbers[-self.keep_turns] if len(numbers) > self.keep_turns else 0
        old = tuple(unit.id for unit in view.free() if unit.turn < first_kept)
        return Plan.of(Drop(old, f"older than the last {self.keep_turns} turns")) if old else Plan()
