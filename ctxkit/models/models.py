"""Models: what asks them for strategies, with retries, and keeps count of the calls."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from ctxkit.containing import is_callers
from ctxkit.errors import ConfigError, ModelCallError
from ctxkit.models.breaker import Admission, Breaker
from ctxkit.models.functions import function_sender
from ctxkit.models.problems import CANCELLED, Problem, problem_of
from ctxkit.models.question import Answer, Ask, Question
from ctxkit.models.replies import Reply, Send
from ctxkit.models.settings import ModelSettings

__all__ = ["ModelCall", "Models"]

FIRST_PAUSE_S = 0.5
"""Seconds before a question is asked again; each further pause is twice as long. Without jitter: same in, same out."""

LONGEST_PAUSE_S = 15.0
"""Seconds; a server that asks to be left alone for longer is not asked again for this question."""

KEPT = 16
"""Answers to the questions of previews that are kept for the compaction that follows."""

_KEEPING: ContextVar[bool] = ContextVar("keeping", default=False)

REMEMBERED = 256
"""Questions that a model failed on for good, or answered with what was refused, of which a note is kept."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a model: its name, what it took, and what went wrong, "" for nothing; `reused` when it was no call at
    all, since the answer was there from a preview."""

    model: str
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    error: str = ""
    reused: bool = False


class Models:
    """The models that strategies may ask. Threads and tasks may share it.

    A model that fails is asked again after growing pauses, when what went wrong may pass (a timeout, a broken
    connection, a full server). A question that failed for good is not asked again, and neither is one whose answer was
    refused. After three questions in a row that failed, the model is left alone for a minute, and then asked once.

    A copy of it (`pickle`, for another process) has no function and remembers nothing.

    Args:
        ask: what answers when a strategy names no model; a user's own function. It is asked once a question: the
            client that it uses has retries of its own.
        clock: seconds of a steady clock.
        sleep: waits for some seconds.

    Raises:
        ConfigError: `ask` is no function.
    """

    def __init__(
        self,
        ask: Ask | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if ask is not None and not callable(ask):
            raise ConfigError(f"ask is a function of a Question, not {type(ask).__name__}", path="ask")
        self._function = _Asked("the `ask` function", "ask", function_sender(ask)) if ask else None
        self._named: dict[str, _Asked] = {}
        self._clock = clock
        self._sleep = sleep
        self.calls: list[ModelCall] = []
        self._kept: dict[tuple[str, str], Answer] = {}

    def __reduce__(self) -> tuple[type[Models], tuple[()]]:
        return Models, ()

    def drained(self) -> tuple[ModelCall, ...]:
        """The calls since this was last asked."""
        calls, self.calls = self.calls, []
        return tuple(calls)

    @property
    def has_function(self) -> bool:
        """Whether there is an `ask` function, which answers where no model is named."""
        return self._function is not None

    async def ask(self, question: Question, model: ModelSettings | None = None) -> Answer:
        """The answer of a model, of the user's `ask` without one.

        Raises:
            ModelCallError: there is no model to ask, or it did not answer. `request` is the question's digest when
                the same question would fail again. `__cause__` is what the client or the function raised; its text
                is nowhere else.
        """
        asked, request = self._asked(model), question.digest
        key, keeping = ("" if model is None else model.model_dump_json(), request), _KEEPING.get()
        answer = self._kept.get(key) if keeping else self._kept.pop(key, None)
        if answer is not None:
            self.calls.append(ModelCall(asked.name, reused=True))
            return answer
        tries = asked.admitted(request, self._clock())
        reply, tried = Reply(problem=CANCELLED), 0
        try:
            reply, tried = await self._tried(question, asked, tries)
        finally:
            asked.settle(request, reply.problem if reply.sent else None, self._clock())
        if reply.problem is not None:
            raise asked.error(reply.problem, request, tried=tried) from reply.cause
        if keeping:
            self._keep(key, reply.answer)
        return reply.answer

    def refuse(self, question: Question, model: ModelSettings | None, why: str) -> None:
        """Tell that an answer was no use, and that the same question would get no better one: this model is not asked
        it again. Another may be, and so may another question.

        Args:
            question: that was answered.
            model: that answered; the user's `ask` without one.
            why: what is wrong with the answer.
        """
        self._asked(model).remember(question.digest, why)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Within it, each answer is kept for whoever asks the same question next, and that one pays nothing: what a
        preview asked serves the compaction that follows. Once it is used it is gone."""
        token = _KEEPING.set(True)
        try:
            yield
        finally:
            _KEEPING.reset(token)

    def _keep(self, key: tuple[str, str], answer: Answer) -> None:
        self._kept[key] = answer
        while len(self._kept) > KEPT:
            self._kept.pop(next(iter(self._kept)), None)

    async def _tried(self, question: Question, asked: _Asked, tries: int) -> tuple[Reply, int]:
        """The reply after as many tries as it takes and is allowed, and how many these were."""
        pause_s = FIRST_PAUSE_S
        for tried in range(1, tries):
            reply = await self._sent(question, asked)
            problem = reply.problem
            if problem is None or not problem.transient or problem.wait_s > LONGEST_PAUSE_S:
                return reply, tried
            await self._sleep(max(problem.wait_s, pause_s))
            pause_s *= 2
        return await self._sent(question, asked), tries

    def _asked(self, model: ModelSettings | None) -> _Asked:
        if model is not None:
            from ctxkit.models.openai_client import openai_sender

            fresh = _Asked(f"model {model.name!r}", model.name, openai_sender(model), model.retries + 1)
            return self._named.setdefault(model.model_dump_json(), fresh)
        if self._function is None:
            raise ModelCallError("no model is named, and no `ask` was given to ContextManager")
        return self._function

    async def _sent(self, question: Question, asked: _Asked) -> Reply:
        """The reply to one request, which is put down."""
        started, reply = self._clock(), Reply(problem=CANCELLED)
        try:
            reply = await asked.send(question)
        except BaseException as error:  # the boundary to a user's function, which may raise anything
            if is_callers(error):
                raise
            reply = Reply(problem=problem_of(error), cause=error)
        finally:
            if reply.sent:
                self._put_down(asked.name, reply, self._clock() - started)
        return reply

    def _put_down(self, name: str, reply: Reply, seconds: float) -> None:
        answer, why = reply.answer, reply.problem.why if reply.problem else ""
        counts = (answer.input_tokens, answer.cached_tokens, answer.output_tokens)
        self.calls.append(ModelCall(name, *counts, seconds, why))


@dataclass(slots=True)
class _Asked:
    """One model, or the user's function, and what its failures taught.

    Attributes:
        title: what errors call it.
        name: what reports call it.
        send: one request.
        tries: how often a question goes out at most.
        failed: why questions failed for good, or their answers were refused, by their digest; oldest first.
    """

    title: str
    name: str
    send: Send
    tries: int = 1
    breaker: Breaker = field(default_factory=Breaker)
    failed: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def admitted(self, request: str, now: float) -> int:
        """How often a question may be tried.

        Raises:
            ModelCallError: not at all: it failed for good before, its answer was refused, or the model is left alone.
        """
        why = self.failed.get(request)
        if why is not None:
            raise ModelCallError(f"{self.title} is not asked the same again: {why}", request=request)
        match self.breaker.admit(now):
            case Admission.FREE:
                return self.tries
            case Admission.ONCE:
                return 1
        raise ModelCallError(self._left_alone(now), transient=True)

    def _left_alone(self, now: float) -> str:
        count, left_s = self.breaker.failures, self.breaker.left_s(now)
        times = "once" if count == 1 else f"{count} times in a row"
        until = f"for another {left_s:.0f} s" if left_s else "until it is known whether it answers again"
        return f"{self.title} is left alone {until}: it failed {times}"

    def settle(self, request: str, problem: Problem | None, now: float) -> None:
        """Learn from what came of a question."""
        if problem is CANCELLED:  # whoever asked went away: that says nothing of the model
            self.breaker.release()
            return
        self.breaker.settle(failed=problem is not None, now=now, wait_s=problem.wait_s if problem else 0.0)
        if problem is not None and problem.lasting:
            self.remember(request, f"it did not answer before: {problem.why}")

    def remember(self, request: str, why: str) -> None:
        """Ask a question no more."""
        with self._lock:
            self.failed[request] = why
            while len(self.failed) > REMEMBERED:
                self.failed.pop(next(iter(self.failed)))

    def error(self, problem: Problem, request: str, *, tried: int) -> ModelCallError:
        """The problem as the error that strategies see."""
        times = f", after {tried} tries" if tried > 1 else ""
        told = f"{self.title} did not answer: {problem.why}{times}"
        return ModelCallError(told, transient=problem.transient, request=request if problem.lasting else "")
