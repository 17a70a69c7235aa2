"""Containing: what others' code raises, told from what the caller's own going away raises, and told to people."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable
from typing import TypeVar

__all__ = ["caught", "is_callers", "said", "words_of"]

T = TypeVar("T")


def is_callers(error: BaseException) -> bool:
    """Whether an error is the caller's own: its task is being cancelled, or its user pressed Ctrl-C.

    Python raises KeyboardInterrupt for Ctrl-C in the main thread alone; in any other it is somebody's `raise`.
    """
    if isinstance(error, asyncio.CancelledError):
        return _is_being_cancelled()
    return isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()


def _is_being_cancelled() -> bool:
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs here, so that there is no task to cancel
        return False
    return task is not None and task.cancelling() > 0


async def caught(made: Awaitable[T]) -> tuple[T | None, BaseException | None]:
    """What an awaitable gives, or what it raises, as a value; what is the caller's own is raised.

    A task that raises SystemExit or KeyboardInterrupt would end the event loop that it runs in.
    """
    try:
        return await made, None
    except BaseException as error:  # handed on to whoever awaits
        if is_callers(error):
            raise
        return None, error


def said(error: BaseException) -> str:
    """An error for people: its class and its words, whatever that class makes of them."""
    words = words_of(error)
    return f"{type(error).__name__}: {words}" if words else f"{type(error).__name__}, without words"


def words_of(error: BaseException) -> str:
    """The words of an error, "" where its class makes no text of them."""
    try:
        return str.__str__(str(error))
    except (
        BaseException
    ) as wordless:  # the boundary to others' code: what makes a text of an error may raise anything
        if is_callers(wordless):
            raise
        return ""
