"""Paging: the records of a session, however many there are, a few at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator

from ctxkit.errors import SessionError
from ctxkit.sessions.changes import Json
from ctxkit.sessions.records import told_in
from ctxkit.sessions.store import Store

__all__ = ["bodies", "record", "records"]

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


async def records(
    store: Store, session: str, *, after: int = 0, upto: int | None = None
) -> AsyncIterator[tuple[int, Json]]:
    """The same as JSON; raises what `told_in` raises."""
    async for position, body in bodies(store, session, after=after, upto=upto):
        yield position, told_in(body, session=session, position=position)


async def record(store: Store, session: str, position: int) -> Json:
    """The record at a position, as JSON.

    Raises:
        SessionError: there is none, or it is no record.
    """
    held = await store.read(session, after=position - 1, upto=position)
    if not held:
        raise SessionError(
            f"session {session!r} has no record {position}: it was deleted meanwhile, or its log was altered",
            session=session,
        )
    return told_in(held[0], session=session, position=position)
