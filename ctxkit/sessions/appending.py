"""Appending: one write to a store, tried again while the store fails; and whether one was carried out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ctxkit.errors import ConflictError, StoreError
from ctxkit.sessions.store import Store

__all__ = ["ATTEMPTS", "append", "is_used"]

ATTEMPTS = 4
"""Times that a write is tried when the store fails; each has the same key, so that it counts once."""

FIRST_PAUSE_S, LONGER = 0.05, 4
"""The pause after a failed attempt, and how much longer each of the next is."""


async def is_used(store: Store, session: str, key: str) -> bool:
    """Whether a write with this key was carried out in a session; nothing is written to find that out."""
    try:
        # nothing can be written behind -1, so only a key that was used gives a position
        return await store.append(session, [], after=-1, key=key) > 0
    except ConflictError:
        return False


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
