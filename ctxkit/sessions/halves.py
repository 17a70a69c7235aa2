"""Halves: a session that a `TieredStore` has in two stores, asked of one of them alone."""

from __future__ import annotations

from ctxkit.errors import SessionError, SplitSessionError, StoreError
from ctxkit.sessions.appending import is_used
from ctxkit.sessions.store import Store

__all__ = [
    "ARCHIVED",
    "MOVED",
    "OF_ARCHIVE",
    "check_whole",
    "half_in",
    "is_archived",
    "is_hot_half",
    "moved_from",
]

MOVED = b"\xfe"
"""What stands in the hot store for a record whose bytes are in the archive. No UTF-8 has this byte; a record that begins
with it all the same gets one more."""

ARCHIVED = "ctxkit: archived by a TieredStore"
"""Key of an append by which an archive gets records. A store that knows it is the archive of that session, until the
session is deleted."""

BOTH = "open both as TieredStore(hot, archive), on the command line with `ctxkit session --store HOT --archive ARCHIVE`"

OF_ARCHIVE = "what was archived of it, which may be older than the session"


async def is_archived(store: Store, session: str) -> bool:
    """Whether what a store has of a session is what was moved there."""
    return await is_used(store, session, ARCHIVED)


async def is_hot_half(store: Store, session: str) -> bool:
    """Whether what a store has of a session are marks in the place of what was moved, as far as its first record says."""
    try:
        return await store.read(session, upto=1) == [MOVED]
    except SplitSessionError:
        return True


def half_in(session: str, has: str) -> SplitSessionError:
    """What is said when a session is to be changed for good in a store that has a half of it.

    Args:
        has: what it has of it.
    """
    return SplitSessionError(
        f"session {session!r} is in two stores, and this one has {has}: nothing was changed; {BOTH}",
        session=session,
    )


def moved_from(session: str, place: int | str = 0) -> SplitSessionError:
    """What is said of a record (0: of which one is not known) that is a mark.

    Args:
        place: its position.
    """
    which = f"record {place}" if place else "a record"
    return SplitSessionError(
        f"{which} of session {session!r} cannot be read here: perhaps its bytes are in an archive, and the session is "
        f"in two stores; {BOTH}",
        session=session,
    )


async def check_whole(store: Store, session: str) -> None:
    """Refuse to change a session for good in a store that has a half of it.

    One that is not there, or whose log cannot be read, is none.

    Raises:
        SplitSessionError: it is in two stores, and this is one of them.
        StoreError: the store cannot be reached.
    """
    try:
        archived = await is_archived(store, session)  # this needs no key to what the records say
        marked = not archived and await is_hot_half(store, session)
    except StoreError:
        raise
    except SessionError:
        return
    if marked or archived:
        raise half_in(session, OF_ARCHIVE if archived else "marks in the place of what was archived")
