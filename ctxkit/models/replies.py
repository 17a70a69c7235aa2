"""Reply: what came back from one request, an answer or what is wrong with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ctxkit.models.problems import Problem
from ctxkit.models.question import Answer, Question

__all__ = ["Reply", "Send", "reply_of"]


NO_ANSWER = Answer("", complete=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back from one request.

    Attributes:
        answer: the answer; with a problem only its counts of tokens mean anything.
        problem: why it cannot be used, None when it can.
        cause: the exception that was raised, None without one.
        sent: False when there was something wrong before anything went out.
    """

    answer: Answer = NO_ANSWER
    problem: Problem | None = None
    cause: BaseException | None = None
    sent: bool = True


Send = Callable[[Question], Awaitable[Reply]]
"""One request: a question goes out once, a reply comes back."""


def reply_of(answer: Any) -> Reply:
    """The reply that an answer is, when it is one and says anything at all."""
    if isinstance(answer, str):
        answer = Answer(answer)
    if not isinstance(answer, Answer):
        return Reply(problem=Problem(f"it returned {type(answer).__name__}, not a text or an Answer"))
    if not isinstance(answer.text, str):
        return Reply(problem=Problem(f"it returned an Answer with {type(answer.text).__name__}, not a text"))
    counts = (answer.input_tokens, answer.cached_tokens, answer.output_tokens)
    if not all(type(each) is int and each >= 0 for each in counts):
        return Reply(problem=Problem("it returned an Answer with counts that are no numbers of tokens"))
    if answer.text.strip():
        return Reply(answer)
    return Reply(answer, _EMPTY if answer.complete else _CUT_OFF)


_EMPTY = Problem("its answer is empty", transient=True, lasting=False)
_CUT_OFF = Problem(
    "its answer was cut off before any text: reasoning counts as output, too, and may take all of it"
)
