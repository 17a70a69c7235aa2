"""Rows of a session in a SQLite file, found to be whole: others have tools that write to such a file too."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from ctxkit.errors import SessionError
from ctxkit.sessions.store import SessionInfo

__all__ = ["LAST", "replaced", "whole_checkpoint", "whole_info", "whole_range", "whole_stand"]

LAST = 2**63 - 1
"""SQLite's largest integer."""

BYTES = "CASE typeof(body) WHEN 'blob' THEN body END"
"""A body, NULL for one that is no bytes."""


def whole_range(connection: sqlite3.Connection, session: str, after: int, upto: int) -> list[bytes]:
    """The records behind a position as far as another.

    Raises:
        SessionError: one is missing, or is no bytes.
    """
    rows = connection.execute(
        f"SELECT position, {BYTES} FROM ctxkit_records WHERE session = ? AND position > ? AND position <= ? "
        "ORDER BY position",
        (session, after, upto),
    ).fetchall()
    last = min(upto, _listed(connection, session)[0])
    for at, (position, body) in enumerate(rows, after + 1):
        if at > last:
            raise _altered(session, f"it has more records than the {last} that it should have")
        if position != at:
            raise _altered(session, f"record {at} is missing")
        if body is None:
            raise _altered(session, f"record {at} is no bytes")
    if after + len(rows) < last:
        raise _altered(session, f"record {after + len(rows) + 1} is missing")
    return [body for _, body in rows]


def whole_stand(connection: sqlite3.Connection, session: str) -> tuple[int, int]:
    """Position and size of a session, zeros when there is none.

    Raises:
        SessionError: its last record is not at that position.
    """
    position, size = _listed(connection, session)
    asked = "SELECT max(position) FROM ctxkit_records WHERE session = ?"
    last = connection.execute(asked, (session,)).fetchone()[0] or 0
    if last != position:
        raise _altered(session, f"it should have {position} records, and its last one is at position {last}")
    return position, size


def _listed(connection: sqlite3.Connection, session: str) -> tuple[int, int]:
    asked = "SELECT id, position, size, touched FROM ctxkit_sessions WHERE id = ?"
    row = connection.execute(asked, (session,)).fetchone()
    if row is None:
        return 0, 0
    info = whole_info(row)
    return info.position, info.size


def whole_info(row: Sequence[Any]) -> SessionInfo:
    """What a row tells of a session.

    Raises:
        SessionError: what should be a number is none.
    """
    id, position, size, touched = row
    if not isinstance(position, int) or not isinstance(size, int) or not isinstance(touched, float):
        raise _altered(id, "its position, size or time is no number")
    return SessionInfo(id, position, size, touched)


def whole_checkpoint(connection: sqlite3.Connection, session: str, upto: int) -> tuple[int, bytes] | None:
    """The newest checkpoint at most at a position, None when there is none.

    Raises:
        SessionError: it is no bytes, or the log has not come so far.
    """
    found: tuple[int, bytes] | None = connection.execute(
        f"SELECT position, {BYTES} FROM ctxkit_checkpoints WHERE session = ? AND position <= ? "
        "ORDER BY position DESC LIMIT 1",
        (session, upto),
    ).fetchone()
    if found is not None and (found[1] is None or found[0] > _listed(connection, session)[0]):
        raise _altered(session, f"its checkpoint at position {found[0]} is no bytes, or beyond the log")
    return found


def replaced(connection: sqlite3.Connection, session: str, position: int, body: bytes) -> int:
    """Put a body in the place of another; how many bytes that had.

    Raises:
        SessionError: there is none.
    """
    where = "WHERE session = ? AND position = ?"
    row = connection.execute(
        f"SELECT length(CAST(body AS BLOB)) FROM ctxkit_records {where}", (session, position)
    ).fetchone()
    if row is None:
        raise _altered(session, f"record {position} is missing")
    connection.execute(f"UPDATE ctxkit_records SET body = ? {where}", (body, session, position))
    size: int = row[0]
    return size


def _altered(session: object, what: str) -> SessionError:
    return SessionError(
        f"session {session!r:.220} was altered in its file: {what}; put a backup in its place, or delete the session",
        session=str(session),
    )
