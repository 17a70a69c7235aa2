"""Models: what asks them for strategies, with retries, and keeps count of the calls."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from dataclasses import dataclass

from ctxkit.errors import ModelCallError
from ctxkit.models.question import Answer, Ask, Question
from ctxkit.models.settings import ModelSettings

__all__ = ["ModelCall", "Models"]


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a model: its name, what it took, and what went wrong, "" for nothing."""

    model: str
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    error: str = ""


class Models:
    """The models that strategies may ask.

    Args:
        ask: what answers when a strategy names no model; a user's own function.
    """

    def __init__(self, ask: Ask | None = None) -> None:
        self._ask = ask
        self.calls: list[ModelCall] = []

    def drained(self) -> tuple[ModelCall, ...]:
        """The calls since this was last asked."""
        calls, self.calls = tuple(self.calls), []
        return calls

    async def ask(self, question: Question, model: ModelSettings | None = None) -> Answer:
        """The answer of a model, of the user's `ask` without one.

        Raises:
            ModelCallError: there is no model to ask, or it did not answer.
        """
        if self._ask is None:
            raise ModelCallError("no model is named, and no `ask` was given to ContextManager")
        made = self._ask(question)
        answer = await made if isinstance(made, Awaitable) or inspect.isawaitable(made) else made
        return Answer(answer) if isinstance(answer, str) else answer
