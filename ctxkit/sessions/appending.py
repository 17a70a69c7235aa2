"""Appending: one write to a store, tried again while the store fails."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ctxkit.errors import StoreError
from ctxkit.sessions.store import Store

__all__ = ["ATTEMPTS", "append"]

ATTEMPTS = 4
"""Times that a write is tried when the store fails; each has the same key, so that it counts once."""

FIRST_PAUSE_S, LONGER = 0.05, 4
"""The pause after a failed attempt, and how much longer each of the next is."""


async def append(
    store: Store, session: str, bodies: Sequence[bytes], *, after: int, key: str, limited: bool = True
) -> int:
    """What `Store.append` gives, and raises.

    Args:
        key: of its own for each write; without one it might be written twice.
    """
    for attempt in range(ATTEMPTS - 1):
        try:
            return await store.append(session, bodies, after=after, key=key, limited=limited)
        except StoreError:
            await asyncio.sleep(FIRST_PAUSE_S * LONGER**attempt)
    return await store.append(session, bodies, after=after, key=key, limited=limited)
