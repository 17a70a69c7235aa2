"""Paging: the records of a session, however many there are, a few at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator

from ctxkit.sessions.store import Store

__all__ = ["bodies"]

PAGE = 64
"""Records that are read at once."""


async def bodies(
    store: Store, session: str, *, after: int = 0, upto: int | None = None
) -> AsyncIterator[tuple[int, bytes]]:
    """Records behind a position with their positions, in order."""
    while upto is None or after < upto:
        end = after + PAGE if upto is None else min(after + PAGE, upto)
        page = await store.read(session, after=after, upto=end)
        for position, body in enumerate(page, after + 1):
            yield position, body
        after += len(page)
        if len(page) < PAGE:
            return
