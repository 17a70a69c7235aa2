"""Isolation: a strategy's plan made in a process of its own, which is killed when it takes too long."""

from __future__ import annotations

import asyncio
import inspect
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from typing import Any

from ctxkit.core.items import Item
from ctxkit.core.view import View
from ctxkit.errors import PlanError
from ctxkit.models.models import Models
from ctxkit.strategy import CompressionStrategy, Services, TooSlow

__all__ = ["end_with_parent", "plan_in_process"]


async def plan_in_process(strategy: CompressionStrategy, view: View, services: Services) -> Any:
    """What `plan` returned in a new process.

    `services.original` answers for what the view itself shows; handles of earlier compactions are unknown there. So
    is the user's own `ask`: only a model that is named can be asked, and its calls are in no report.

    Raises:
        TooSlow: it took longer than `strategy.timeout_s`; the process was killed.
        PlanError: it raised, or the process died.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    bare = replace(services, original=_unreachable, models=Models())
    there = {item.id: view.original(item) for item in view.state.items}
    setting = replace(view.setting, original=there.__getitem__, taken=_never_taken, arrived=_not_there)
    shown = replace(view, setting=setting, past=tuple(view.past))
    process = context.Process(target=_work, args=(theirs, strategy, shown, bare), daemon=True)
    process.start()
    theirs.close()
    try:
        if not await asyncio.to_thread(ours.poll, strategy.timeout_s):
            raise TooSlow
        outcome, value = await asyncio.wait_for(asyncio.to_thread(ours.recv), strategy.timeout_s)
    except TimeoutError:
        raise TooSlow from None
    except EOFError as error:
        process.join()
        raise PlanError(f"its process died with exit code {process.exitcode}") from error
    finally:
        process.kill()
        process.join()
        ours.close()
    if outcome == "raised":
        raise PlanError(value)
    return value


def end_with_parent(end: Callable[[], object] = lambda: os._exit(1)) -> None:
    """In a process that was started to do something: end it when the process that started it is gone, however that was
    killed and whatever this one is at."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        sentinel = parent.sentinel
        threading.Thread(target=lambda: (wait([sentinel]), end()), daemon=True).start()


def _work(pipe: Connection, strategy: CompressionStrategy, view: View, services: Services) -> None:
    end_with_parent()
    try:
        made = strategy.plan(view, services)
        pipe.send(("made", asyncio.run(_awaited(made)) if inspect.isawaitable(made) else made))
    except Exception as error:  # noqa: BLE001 - carried over to the parent, which reports it
        pipe.send(("raised", f"{type(error).__name__}: {error}"))


async def _awaited(made: Any) -> Any:
    return await made


def _never_taken(handle: str, ids: tuple[range, ...]) -> bool:
    return False


def _not_there(ids: Iterable[int]) -> list[Item]:
    raise PlanError("what a summary stands for cannot be read from an isolated process")


def _unreachable(handle: str) -> list[Any]:
    raise PlanError(f"{handle!r} cannot be read from an isolated process")
