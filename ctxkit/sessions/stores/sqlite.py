"""Sessions in one SQLite file."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ctxkit.sessions.closing import Closing
from ctxkit.sessions.store import CHECKPOINTS, Limits, SessionInfo, checked_id
from ctxkit.sessions.stores.base import conflict, no_such_position
from ctxkit.sessions.stores.sqlite_file import SQLiteFile

__all__ = ["SQLiteStore"]

LAST = 2**63 - 1  # SQLite's largest integer


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

    async def append(self, session: str, bodies: Sequence[bytes], *, after: int, key: str = "") -> int:
        checked_id(session)

        def work(connection: sqlite3.Connection) -> int:
            if given := _keyed(connection, session, key):
                return given
            position, size = _stand(connection, session)
            if after != position:
                raise conflict(session, after=after, position=position)
            self._limits.check(bodies, session=session, held=size)
            return self._written(connection, session, bodies, key, position) if bodies else position

        return await self._file.write(work, session=session)

    def _written(
        self, connection: sqlite3.Connection, session: str, bodies: Sequence[bytes], key: str, position: int
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
        asked = (checked_id(session), after, LAST if upto is None else upto)
        rows = await self._file.read(
            lambda connection: connection.execute(
                "SELECT body FROM ctxkit_records WHERE session = ? AND position > ? AND position <= ? "
                "ORDER BY position",
                asked,
            ).fetchall(),
            session=session,
        )
        return [body for (body,) in rows]

    async def info(self, session: str) -> SessionInfo | None:
        asked = "SELECT id, position, size, touched FROM ctxkit_sessions WHERE id = ?"
        row = await self._file.read(
            lambda connection: connection.execute(asked, (checked_id(session),)).fetchone(), session=session
        )
        return SessionInfo(*row) if row else None

    async def sessions(self) -> list[SessionInfo]:
        asked = "SELECT id, position, size, touched FROM ctxkit_sessions ORDER BY id"
        rows = await self._file.read(lambda connection: connection.execute(asked).fetchall())
        return [SessionInfo(*row) for row in rows]

    async def rewrite(self, session: str, bodies: Mapping[int, bytes]) -> None:
        checked_id(session)

        def work(connection: sqlite3.Connection) -> None:
            position, size = _stand(connection, session)
            for at, body in bodies.items():
                if not 1 <= at <= position:
                    raise no_such_position(session, wrong=at, position=position)
                size += len(body) - _replaced(connection, session, at, body)
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
        asked = (checked_id(session), LAST if upto is None else upto)
        found: tuple[int, bytes] | None = await self._file.read(
            lambda connection: connection.execute(
                "SELECT position, body FROM ctxkit_checkpoints WHERE session = ? AND position <= ? "
                "ORDER BY position DESC LIMIT 1",
                asked,
            ).fetchone(),
            session=session,
        )
        return found

    async def lease(self, session: str, name: str, holder: str, seconds: float) -> bool:
        checked_id(session)

        def work(connection: sqlite3.Connection) -> bool:
            now = self._clock()
            connection.execute("DELETE FROM ctxkit_leases WHERE until <= ?", (now,))
            taken = connection.execute(
                "INSERT INTO ctxkit_leases VALUES (?, ?, ?, ?) ON CONFLICT (session, name) DO UPDATE "
                "SET until = excluded.until WHERE holder = excluded.holder",
                (session, name, holder, now + seconds),
            )
            return taken.rowcount == 1

        return await self._file.write(work, session=session)

    async def release(self, session: str, name: str, holder: str) -> None:
        held = (checked_id(session), name, holder)
        await self._file.write(
            lambda connection: connection.execute(
                "DELETE FROM ctxkit_leases WHERE session = ? AND name = ? AND holder = ?", held
            ),
            session=session,
        )

    async def close(self) -> None:
        await self._file.close()


def _keyed(connection: sqlite3.Connection, session: str, key: str) -> int:
    """The position that this key gave, 0 when it was not used."""
    asked = "SELECT position FROM ctxkit_keys WHERE session = ? AND key = ?"
    row = connection.execute(asked, (session, key)).fetchone() if key else None
    return row[0] if row else 0


def _stand(connection: sqlite3.Connection, session: str) -> tuple[int, int]:
    """Position and size of a session, zeros when there is none."""
    asked = "SELECT position, size FROM ctxkit_sessions WHERE id = ?"
    position, size = connection.execute(asked, (session,)).fetchone() or (0, 0)
    return position, size


def _replaced(connection: sqlite3.Connection, session: str, position: int, body: bytes) -> int:
    """Put a body in the place of another; how many bytes that had."""
    where = "WHERE session = ? AND position = ?"
    size: int = connection.execute(
        f"SELECT length(body) FROM ctxkit_records {where}", (session, position)
    ).fetchone()[0]
    connection.execute(f"UPDATE ctxkit_records SET body = ? {where}", (body, session, position))
    return size
