"""What a model is asked and what it answers: the one interface between strategies and models."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ctxkit.core.marks import digest
from ctxkit.core.provider import Entry

__all__ = ["Answer", "Ask", "Question"]


@dataclass(frozen=True, slots=True)
class Question:
    """What a model is asked.

    Attributes:
        instructions: what it is to do: system text. Nothing of the conversation is in it.
        text: what it is asked about, as the one user message: fenced conversation data and the request.
        max_tokens: of the answer.
        prefix: the conversation's own request so far, in its wire format, when the answer is to extend it so that
            the provider's cache pays for it: `text` then follows it as a user message, and `system` and `tools` are
            those of the conversation.
    """

    instructions: str
    text: str
    max_tokens: int
    prefix: tuple[Entry, ...] = ()
    system: Any = None
    tools: Any = None

    @property
    def digest(self) -> str:
        """A name for this very question: a question that failed is not asked again unchanged."""
        prefix = [list(self.prefix), self.system, self.tools]
        return digest("question", self.instructions, self.text, str(self.max_tokens), prefix)[:16]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered.

    Attributes:
        text: the whole text.
        complete: False when it was cut off, at `max_tokens` or by a broken stream.
        input_tokens, cached_tokens, output_tokens: as the provider counted; cached ones are part of the input.
    """

    text: str
    complete: bool = True
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0


Ask = Callable[[Question], "Answer | str | Awaitable[Answer | str]"]
"""What a user may give instead of a model: any function of a question, plain or async, that answers with text."""
