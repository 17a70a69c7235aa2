"""Leases: something of a session that one worker has for itself, as long as it is at it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from ctxkit.errors import StoreError
from ctxkit.sessions.store import Store

__all__ = ["leased"]

LONGEST_PAUSE_S = 0.5
"""Longest pause before a worker that waits for another looks again; the pauses double."""


@asynccontextmanager
async def leased(
    store: Store, session: str, name: str, seconds: float, *, wait: bool = True
) -> AsyncIterator[bool]:
    """Have the lease with a name for oneself, as soon as no other task or worker has it; or, without `wait`, False when
    one has it.

    Args:
        seconds: that it lasts when its holder has died; it is renewed while the block is at work.
    """
    holder, pause = uuid.uuid4().hex, 0.02
    renewing: asyncio.Task[None] | None = None
    try:
        while not (ours := await store.lease(session, name, holder, seconds)) and wait:
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)
        if ours:
            renewing = asyncio.create_task(_renew(store, session, name, holder, seconds))
        yield ours
    finally:
        if renewing is not None:
            renewing.cancel()
        await asyncio.shield(_release(store, session, name, holder))


async def _renew(store: Store, session: str, name: str, holder: str, seconds: float) -> None:
    while True:
        await asyncio.sleep(seconds / 3)
        with suppress(StoreError):  # there are two more tries before it runs out
            await store.lease(session, name, holder, seconds)


async def _release(store: Store, session: str, name: str, holder: str) -> None:
    with suppress(StoreError):  # then the lease runs out by itself
        await store.release(session, name, holder)
