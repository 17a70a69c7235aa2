"""CompressionStrategy, the class that every strategy is, and how one is asked for its plan."""

from __future__ import annotations

import asyncio
import inspect
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ctxkit.core.edits import Plan
from ctxkit.core.provider import Entry
from ctxkit.core.view import View
from ctxkit.errors import PlanRejected, StrategyError

__all__ = ["CompressionStrategy", "Services", "advance"]

TIMEOUT_S = 30.0
"""Seconds that a plan may take when its strategy does not say."""


@dataclass(frozen=True)
class Services:
    """What a strategy may ask of the world outside its view.

    Attributes:
        original: the entries that a handle stands for, as they were received.
        strict: a step that fails raises instead of being rolled back and reported.
        disabled: kinds that are not asked any more, with the reason; the engine fills it.
    """

    original: Callable[[str], list[Entry]]
    strict: bool = False
    disabled: dict[str, str] = field(default_factory=dict)


class CompressionStrategy(BaseModel, ABC):
    """A way to make a conversation smaller: parameters as fields, and `plan`.

    A subclass gives `kind` a default, the name of its entry point in `ctxkit.strategies`. It is a value: frozen,
    read from config files as it is written in code.

    Attributes:
        kind: the name by which it is picked.
        timeout_s: seconds that `plan` may take. An async plan is cancelled then; a sync one is let finish, and
            the strategy is not asked again.
        isolate: run `plan` in a process of its own, which is killed after `timeout_s`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    timeout_s: float = Field(default=TIMEOUT_S, gt=0)
    isolate: bool = False

    @abstractmethod
    def plan(self, view: View, services: Services) -> Plan | Awaitable[Plan]:
        """What to change, as data. Plain or `async`; it changes nothing itself.

        Args:
            view: the conversation, its sizes and limits; `view.over` says how many tokens have yet to go.
            services: what there is beside the view.
        """


async def advance(strategy: CompressionStrategy, view: View, services: Services) -> tuple[Plan, View]:
    """A strategy's plan and the view after it; when that fails, a plan that only says so, and the same view.

    Raises:
        StrategyError: the step failed and `services.strict` is set.
    """
    kind = strategy.kind
    if kind in services.disabled:
        return Plan.failed(kind, services.disabled[kind]), view
    try:
        plan = (await _planned(strategy, view, services)).signed(kind)
        return plan, view.after(plan)
    except PlanRejected as error:
        failed: Exception = error
        why = f"its plan was rolled back: {error}"
    except TimeoutError as error:
        failed, why = error, f"it took longer than {strategy.timeout_s:g} s"
    except Exception as error:  # the boundary to plugins: what they raise is contained
        if isinstance(error, StrategyError) and services.strict:
            raise
        failed, why = error, f"it raised {type(error).__name__}: {error}"
    if services.strict:
        raise StrategyError(f"strategy {kind!r}: {why}", kind=kind) from failed
    return Plan.failed(kind, why), view


async def _planned(strategy: CompressionStrategy, view: View, services: Services) -> Plan:
    """The plan, asked for within the time that the strategy has."""
    if strategy.isolate:
        from ctxkit.isolation import plan_in_process

        return _checked(await plan_in_process(strategy, view, services))
    started = time.monotonic()
    made = strategy.plan(view, services)
    if inspect.isawaitable(made):
        return _checked(await asyncio.wait_for(made, strategy.timeout_s))
    if time.monotonic() - started > strategy.timeout_s:
        services.disabled[strategy.kind] = (
            f"it is not asked any more: it took longer than {strategy.timeout_s:g} s"
        )
    return _checked(made)


def _checked(made: Any) -> Plan:
    if not isinstance(made, Plan):
        raise TypeError(f"plan() returned {type(made).__name__}, not a Plan")
    return made
