"""OlderTurns: a strategy that another one carries out on all but the newest turns."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from ctxkit.core.edits import Plan
from ctxkit.core.state import Pinned
from ctxkit.core.view import View
from ctxkit.registry import AnyStrategy
from ctxkit.strategy import CompressionStrategy, Services, advance

__all__ = ["OlderTurns"]


class OlderTurns(CompressionStrategy):
    """Leave the newest turns as they are, and run a strategy on those before them once there are too many.

    Attributes:
        keep_turns: the turns that stay word for word. With none the steps of the last turn go too, where that gains
            anything; its first and its newest message stay in any case.
        context_limit: turns with words of a user that may be there before anything is done.
        strategy: what is done with the turns before those that stay.
    """

    kind: Literal["older-turns"] = "older-turns"
    timeout_s: float | None = None
    keep_turns: int
    context_limit: int
    strategy: AnyStrategy

    async def plan(self, view: View, services: Services) -> Plan:
        turns = [turn.number for turn in view.turns if any(unit.said_by_user for unit in turn.units)]
        if len(turns) <= self.context_limit and view.tokens <= view.budget.start:
            return Plan()
        plan = await self._older(view, services, turns[-self.keep_turns :] if self.keep_turns else [])
        if plan or plan.failures or self.keep_turns:
            return plan
        return plan + await self._older(view, services, turns[-1:])  # its steps alone would gain nothing

    async def _older(self, view: View, services: Services, kept: list[int]) -> Plan:
        """What the strategy does when these turns stay."""
        pins = tuple(Pinned(unit.id, None, self.kind) for unit in view.units if unit.turn in kept)
        state = replace(view.state, pins=(*view.state.pins, *pins))
        older = replace(view, state=state, budget=view.budget.model_copy(update={"context_limit": 1}))
        plan, _ = await advance(self.strategy, older, services)
        return plan
