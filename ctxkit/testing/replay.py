"""Replay: a generated conversation lived through turn by turn, with every request that came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxkit.core.budget import Budget
from ctxkit.core.provider import Entry
from ctxkit.errors import BudgetExceededError, OpenCallsError, ProviderFormatError
from ctxkit.manager import ContextManager, Request
from ctxkit.strategy import CompressionStrategy
from ctxkit.testing.conversations import Payload

__all__ = ["Step", "live", "size"]


@dataclass(frozen=True)
class Step:
    """One moment: how many messages had been added, and the request, or the error that said it cannot fit."""

    added: int
    request: Request | None
    error: BudgetExceededError | None = None

    @property
    def messages(self) -> list[Entry]:
        """The messages of the request, none when there is none."""
        return self.request.messages if self.request is not None else []

    @property
    def failures(self) -> tuple[str, ...]:
        """The strategies that failed on the way to the request, or to the error, and why."""
        if self.request is not None:
            return tuple(f"{each.by}: {each.why}" for each in self.request.report.failures)
        return self.error.failures if self.error is not None else ()


def live(
    payload: Payload,
    strategy: CompressionStrategy | str | Mapping[str, Any],
    *,
    window: int,
    pin: Sequence[int] = (),
    remember: tuple[str, str] | None = None,
) -> tuple[ContextManager, list[Step]]:
    """A manager that was given a conversation message by message, and asked for a request after each.

    Moments at which no request can be made are passed over: a call is open, an answer is not complete. `pin` names
    messages that are pinned when they arrive; `remember` is the key and value of a fact that a user has it remember.
    """
    context = ContextManager(payload.format, Budget(window=window, min_gain=0), strategy)  # type: ignore[arg-type]
    if remember is not None:
        context.remember(*remember)
    steps: list[Step] = []
    for at, message in enumerate(payload.messages):
        context.add(message, system=payload.system if at == 0 else None)
        if at in pin:
            context.pin(at)
        try:
            steps.append(Step(at + 1, context.prepare_sync()))
        except (OpenCallsError, ProviderFormatError):
            continue
        except BudgetExceededError as error:
            steps.append(Step(at + 1, None, error))
    return context, steps


def size(payload: Payload) -> int:
    """Tokens of a conversation in full, system text included."""
    context = ContextManager(payload.format, Budget(window=10**9), "drop-oldest")  # type: ignore[arg-type]
    context.add(payload.messages, system=payload.system)
    return context.preview().tokens_before
