"""`drop-reasoning`: take old reasoning away."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ctxkit.core.edits import Plan, Strip
from ctxkit.core.items import PartKind, Role
from ctxkit.core.view import View
from ctxkit.strategy import CompressionStrategy, Services

__all__ = ["DropReasoning"]


class DropReasoning(CompressionStrategy):
    """Strip the reasoning of finished turns, all but the last `keep_turns`, as far as the format permits.

    The cheapest saving: providers ignore most of it. The reasoning of the current turn always stays.
    """

    kind: Literal["drop-reasoning"] = "drop-reasoning"
    keep_turns: int = Field(default=1, ge=1)

    def plan(self, view: View, services: Services) -> Plan:
        last = view.current_turn - self.keep_turns
        old = tuple(
            unit.id
            for unit in view.units
            if unit.turn <= last
            and not unit.synthetic
            and any(
                item.shape.role is Role.REASONING
                or any(p.kind is PartKind.REASONING for p in view.parts(item))
                for item in unit.items
            )
        )
        return Plan.of(Strip(old, "reasoning of finished turns")) if old else Plan()
