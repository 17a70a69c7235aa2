"""A user's own functions: called without blocking anybody, and one as a model."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from ctxkit.models.question import Ask, Question
from ctxkit.models.replies import Reply, Send, reply_of

__all__ = ["called", "function_sender"]


def function_sender(ask: Ask) -> Send:
    """What asks a user's function."""

    async def send(question: Question) -> Reply:
        return reply_of(await called(ask, question))

    return send


async def called(function: Callable[..., Any], *given: Any) -> Any:
    """What a user's function gives: an async one is called here, a plain one in a thread of its own, so that it blocks
    nobody."""
    made = function(*given) if _is_async(function) else await _in_thread(function, *given)
    return await made if inspect.isawaitable(made) else made


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


async def _in_thread(function: Callable[..., Any], *given: Any) -> Any:
    """What a plain function returns.

    Not in the event loop's own pool: a loop that ends waits for its pool, so a function that hangs would hold up
    whoever has long stopped waiting for it.
    """
    outcome: Future[tuple[Any, BaseException | None]] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            outcome.set_result((context.run(function, *given), None))
        except BaseException as error:  # noqa: BLE001 - carried over to the asker
            outcome.set_result((None, error))

    outcome.set_running_or_notify_cancel()
    threading.Thread(target=work, name="ctxkit-function", daemon=True).start()
    made, error = await asyncio.wrap_future(outcome)
    if isinstance(
        error, StopIteration | KeyboardInterrupt
    ):  # a coroutine cannot raise the one; nobody pressed Ctrl-C
        raise RuntimeError(f"the function raised {type(error).__name__}") from error
    if error is not None:
        raise error
    return made
