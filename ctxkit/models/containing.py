"""Containing: what others' code raises, told from what the caller's own going away raises."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable
from typing import TypeVar

__all__ = ["caught", "is_callers"]

T = TypeVar("T")


def is_callers(error: BaseException) -> bool:
    """Whether an error is the caller's own: its task is being cancelled, or its user pressed Ctrl-C.

    Python raises KeyboardInterrupt for Ctrl-C in the main thread alone; in any other it is somebody's `raise`.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()


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
