"""Sessions in one SQLite file."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ctxkit.sessions.closing import Closing
from ctxkit.sessions.store import CHECKPOINTS, UNLIMITED, Limits, SessionInfo, checked_id, checked_key
from ctxkit.sessions.stores.base import conflict, no_such_position, text_bytes
from ctxkit.sessions.stores.sqlite_file import SQLiteFile
from ctxkit.sessions.stores.sqlite_rows import (
    LAST,
    replaced,
    whole_checkpoint,
    whole_info,
    whole_range,
    whole_stand,
)

__all__ = ["SQLiteStore"]


class SQLiteStore(Closing):
    """Sessions in one file, for any number of tasks, threads, event loops and processes of one machine.

    An acknowledged write is on disk: it outlasts a killed process, and a power failure as far as the disk tells the
    truth (a write-ahead log with `synchronous = FULL`). What was rewritten or deleted is overwritten with zeros. The
    file, and the two that SQLite keeps beside it (`-wal`, `-shm`), are made for their owner alone to read and write.
    It has to be on a disk of this machine: SQLite's write-ahead log does not work on a network file system.

    The file is opened when it is first used. A store is not carried over a fork: open one in each process.

    Args:
        path: of the file; its folder has to be there.
        limits: what it takes.
        clock: seconds since 1970, for `touched` and leases; the same for all who use the file.
        patience_s: seconds to wait for others' writes, after which there is a StoreError.

    Raises (all methods):
        ConfigError: the file cannot be made or opened, is none of ctxkit's, or is of a later version.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.time,
        patience_s: float = 30.0,
    ) -> None:
        self._limits = limits or Limits()
        self._clock = clock
        self._file = SQLiteFile(Path(path).absolute(), patience_s=patience_s)

    def __repr__(self) -> str:
        return f"SQLiteStore({str(self._file.path)!r})"

    async def append(
        self, session: str, bodies: Sequence[bytes], *, after: int, key: str = "", limited: bool = True
    ) -> int:
        checked_id(session)
        named = _named(checked_key(key))
        limits = self._limits if limited else UNLIMITED

        def work(connection: sqlite3.Connection) -> int:
            if given := _keyed(connection, session, named):
                return given
            position, size = whole_stand(connection, session)
            if after != position:
                raise conflict(session, after=after, position=position)
            limits.check(bodies, session=session, held=size)
            return self._written(connection, session, bodies, named, position) if bodies else position

        done = self._file.write if bodies else self._file.read  # nothing to write waits for no writer
        return await done(work, session=session)

    def _written(
        self,
        connection: sqlite3.Connection,
        session: str,
        bodies: Sequence[bytes],
        key: str | bytes,
        position: int,
    ) -> int:
        """The position of the last of them."""
        connection.executemany(
            "INSERT INTO ctxkit_records VALUES (?, ?, ?)",
            ((session, at, body) for at, body in enumerate(bodies, position + 1)),
        )
        last = position + len(bodies)
        connection.execute(
            "INSERT INTO ctxkit_sessions VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE "
            "SET position = excluded.position, size = size + excluded.size, touched = excluded.touched",
            (session, last, sum(map(len, bodies)), self._clock()),
        )
        if key:
            connection.execute("INSERT INTO ctxkit_keys VALUES (?, ?, ?)", (session, key, last))
        return last

    async def read(self, session: str, *, after: int = 0, upto: int | None = None) -> list[bytes]:
        checked_id(session)
        last = LAST if upto is None else upto
        return await self._file.read(
            lambda connection: whole_range(connection, session, max(after, 0), last), session=session
        )

    async def info(self, session: str) -> SessionInfo | None:
        asked = "SELECT id, position, size, touched FROM ctxkit_sessions WHERE id = ?"
        row = await self._file.read(
            lambda connection: connection.execute(asked, (checked_id(session),)).fetchone(), session=session
        )
        return whole_info(row) if row else None

    async def sessions(self) -> list[SessionInfo]:
        asked = "SELECT id, position, size, touched FROM ctxkit_sessions ORDER BY id"
        rows = await self._file.read(lambda connection: connection.execute(asked).fetchall())
        return list(map(whole_info, rows))

    async def rewrite(self, session: str, bodies: Mapping[int, bytes]) -> None:
        checked_id(session)

        def work(connection: sqlite3.Connection) -> None:
            position, size = whole_stand(connection, session)
            for at, body in bodies.items():
                if not 1 <= at <= position:
                    raise no_such_position(session, wrong=at, position=position)
                size += len(body) - replaced(connection, session, at, body)
            connection.execute("UPDATE ctxkit_sessions SET size = ? WHERE id = ?", (size, session))
            connection.execute("DELETE FROM ctxkit_checkpoints WHERE session = ?", (session,))

        await self._file.forget(work, session=session)

    async def delete(self, session: str) -> None:
        checked_id(session)

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM ctxkit_sessions WHERE id = ?", (session,))
            for table in ("records", "keys", "checkpoints", "leases"):
                connection.execute(f"DELETE FROM ctxkit_{table} WHERE session = ?", (session,))

        await self._file.forget(work, session=session)

    async def save_checkpoint(self, session: str, position: int, body: bytes) -> None:
        checked_id(session)

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT OR REPLACE INTO ctxkit_checkpoints SELECT id, ?, ? FROM ctxkit_sessions "
                "WHERE id = ? AND position >= ?",
                (position, body, session, position),
            )
            connection.execute(
                "DELETE FROM ctxkit_checkpoints WHERE session = ?1 AND position NOT IN (SELECT position "
                "FROM ctxkit_checkpoints WHERE session = ?1 ORDER BY position DESC LIMIT ?2)",
                (session, CHECKPOINTS),
            )

        await self._file.write(work, session=session)

    async def checkpoint(self, session: str, *, upto: int | None = None) -> tuple[int, bytes] | None:
        checked_id(session)
        last = LAST if upto is None else upto
        return await self._file.read(
            lambda connection: whole_checkpoint(connection, session, last), session=session
        )

    async def lease(self, session: str, name: str, holder: str, seconds: float) -> bool:
        checked_id(session)
        taken_by = session, _named(name), _named(holder)

        def work(connection: sqlite3.Connection) -> bool:
            now = self._clock()
            connection.execute("DELETE FROM ctxkit_leases WHERE until <= ?", (now,))
            taken = connection.execute(
                "INSERT INTO ctxkit_leases VALUES (?, ?, ?, ?) ON CONFLICT (session, name) DO UPDATE "
                "SET until = excluded.until WHERE holder = excluded.holder",
                (*taken_by, now + seconds),
            )
            return taken.rowcount == 1

        return await self._file.write(work, session=session)

    async def release(self, session: str, name: str, holder: str) -> None:
        held = (checked_id(session), _named(name), _named(holder))
        await self._file.write(
            lambda connection: connection.execute(
                "DELETE FROM ctxkit_leases WHERE session = ? AND name = ? AND holder = ?", held
            ),
            session=session,
        )

    async def close(self) -> None:
        await self._file.close()


def _named(text: str) -> str | bytes:
    """A text as SQLite takes it: one with a lone surrogate as bytes, which are never the same as another text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text_bytes(text)
    return text


def _keyed(connection: sqlite3.Connection, session: str, key: str | bytes) -> int:
    """The position that this key gave, 0 when it was not used."""
    asked = "SELECT position FROM ctxkit_keys WHERE session = ? AND key = ?"
    row = connection.execute(asked, (session, key)).fetchone() if key else None
    return row[0] if row else 0
