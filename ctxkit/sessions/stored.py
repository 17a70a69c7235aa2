"""Stored: sessions opened to be looked at, by what their logs say of themselves."""

from __future__ import annotations

import time
from typing import cast

from ctxkit.core.budget import Budget
from ctxkit.errors import ConversationError, SessionError
from ctxkit.preparation import Preparation, Settings
from ctxkit.providers import FORMATS, FormatName
from ctxkit.sessions.log import Log
from ctxkit.sessions.records import told_in
from ctxkit.sessions.session import Session
from ctxkit.sessions.store import Store

__all__ = ["log_of", "stored"]

ROOM = Budget(window=10**9)
"""The budget of what is only looked at."""


async def stored(store: Store, session: str) -> Session:
    """A session that is in a store, to be looked at: its format is the one that its log names, its budget has no end.

    Raises:
        ConversationError: there is no such session.
        SessionError: the log cannot be read.
        StoreError: the store cannot be reached.
    """
    format = await _format(store, session)
    return await Session.open(session, store, format=format, budget=ROOM, snapshots=False)


async def log_of(store: Store, session: str) -> Log:
    """The log of a session, with nothing read yet; raises what `stored` raises."""
    preparation = Preparation(Settings(await _format(store, session), ROOM))
    return Log(store, session, preparation.history, preparation.provider, time.time)


async def _format(store: Store, session: str) -> FormatName:
    first = await store.read(session, upto=1)
    if not first:
        raise ConversationError(f"there is no session {session!r}")
    told = told_in(first[0], session=session, position=1)
    if told["kind"] != "session":
        raise SessionError(f"the log of session {session!r} does not begin as one does", session=session)
    named = told.get("data", {}).get("format")
    if named not in FORMATS:
        raise SessionError(
            f"the log of session {session!r} names the format {named!r:.60}, which this ctxkit does not know",
            session=session,
        )
    return cast(FormatName, named)
