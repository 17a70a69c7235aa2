"""One SQLite file, worked on by one thread: opened, brought up to date, transactions, patience, errors as ours."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from ctxkit.errors import ConfigError, StoreError

__all__ = ["SQLiteFile"]

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

SCHEMA = (
    (
        "CREATE TABLE ctxkit_sessions (id TEXT PRIMARY KEY, position INTEGER NOT NULL, size INTEGER NOT NULL, "
        "touched REAL NOT NULL) WITHOUT ROWID",
        "CREATE TABLE ctxkit_records (session TEXT NOT NULL, position INTEGER NOT NULL, body BLOB NOT NULL, "
        "PRIMARY KEY (session, position))",
        "CREATE TABLE ctxkit_keys (session TEXT NOT NULL, key TEXT NOT NULL, position INTEGER NOT NULL, "
        "PRIMARY KEY (session, key)) WITHOUT ROWID",
        "CREATE TABLE ctxkit_checkpoints (session TEXT NOT NULL, position INTEGER NOT NULL, body BLOB NOT NULL, "
        "PRIMARY KEY (session, position))",
        "CREATE TABLE ctxkit_leases (session TEXT NOT NULL, name TEXT NOT NULL, holder TEXT NOT NULL, "
        "until REAL NOT NULL, PRIMARY KEY (session, name)) WITHOUT ROWID",
    ),
)
"""What each version of the schema adds to the one before it. A version that was released is never edited."""

SETTINGS = (
    "PRAGMA synchronous = FULL",  # a commit is on disk when it is acknowledged, also when power fails
    "PRAGMA secure_delete = ON",  # what is rewritten or deleted is overwritten with zeros
)

_creating = threading.Lock()


class SQLiteFile:
    """A file and the one thread that has it open. Work is done in the order in which it was given.

    So a caller that is cancelled leaves nothing half done: work that was not begun is dropped, work that was begun
    ends before whatever the caller asks next. Any number of these, in any processes, work on one file.

    Args:
        path: of the file; it is made (for its owner alone to read and write) when it is not there.
        patience_s: seconds to wait while others write.
    """

    def __init__(self, path: Path, *, patience_s: float) -> None:
        self.path = path
        self._patience_s = patience_s
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ctxkit-sqlite")
        self._process = os.getpid()
        self._connection: sqlite3.Connection | None = None

    async def read(self, work: Work[T], *, session: str = "") -> T:
        """What the work gives, all of it reading one moment's state."""
        return await self._run(lambda given_up: self._patiently(work, "BEGIN", session, given_up), session)

    async def write(self, work: Work[T], *, session: str) -> T:
        """What the work gives; it is carried out wholly or, when it raises, not at all."""
        begin = "BEGIN IMMEDIATE"
        return await self._run(lambda given_up: self._patiently(work, begin, session, given_up), session)

    async def forget(self, work: Work[None], *, session: str) -> None:
        """Carry out work that takes bytes away, then clear them from the write-ahead log too."""

        def both(given_up: threading.Event) -> None:
            self._patiently(work, "BEGIN IMMEDIATE", session, given_up)
            self._patiently(_clear_log, "", session, threading.Event())

        await self._run(both, session)

    async def close(self) -> None:
        """Close it, when what was given before is done; nothing happens the second time."""
        with suppress(StoreError):
            await self._run(lambda _: self._close(), "")
        self._thread.shutdown(wait=False)

    async def _run(self, job: Callable[[threading.Event], T], session: str) -> T:
        given_up = threading.Event()
        try:
            return await asyncio.wrap_future(self._submit(lambda: job(given_up), session))
        except asyncio.CancelledError:
            given_up.set()
            raise

    def _submit(self, job: Callable[[], T], session: str) -> Future[T]:
        if os.getpid() != self._process:
            raise StoreError(
                f"{self.path} was opened by another process, of which this is a fork; open a store of its own",
                session=session,
            )
        try:
            return self._thread.submit(job)
        except RuntimeError as error:
            raise StoreError(f"{self.path}: the store was closed; open another", session=session) from error

    def _patiently(self, work: Work[T], begin: str, session: str, given_up: threading.Event) -> T:
        """Try until the file is free. Waits are short and by chance, so that no writer is passed over for long, as
        happens when each waits longer the longer it waited."""
        until = time.monotonic() + self._patience_s
        while True:
            try:
                return self._once(work, begin)
            except UnicodeDecodeError as error:  # in what the driver wanted to say of the file
                self._close()
                raise StoreError(f"{self.path}: {HINTS[sqlite3.SQLITE_CORRUPT]}", session=session) from error
            except sqlite3.Error as error:
                busy = _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
                if not busy:
                    self._close()
                if not busy or given_up.is_set() or time.monotonic() > until:
                    raise self._failed(error, session) from error
            time.sleep(random.uniform(0.001, 0.008))

    def _once(self, work: Work[T], begin: str) -> T:
        if self._connection is None:
            self._connection = self._opened()
        return _transaction(self._connection, work, begin) if begin else work(self._connection)

    def _opened(self) -> sqlite3.Connection:
        self._create()
        connection = sqlite3.connect(self.path, timeout=0.01, isolation_level=None)
        try:
            for setting in SETTINGS:
                connection.execute(setting)
            self._use_log(connection)
            self._bring_up_to_date(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _create(self) -> None:
        """Never opens a file that is there: closing it again would take this process' locks on it away. SQLite gives
        the files that it keeps beside this one the same rights."""
        try:
            with _creating:
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            return
        except OSError as error:
            raise ConfigError(
                f"{self.path} cannot be made: {error.strerror}; name a file in a folder that is there and may be "
                "written to",
                path="path",
            ) from error

    def _use_log(self, connection: sqlite3.Connection) -> None:
        mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal":
            raise ConfigError(
                f"{self.path}: SQLite cannot keep a write-ahead log there (journal_mode is {mode}); name a file on "
                "a disk of this machine",
                path="path",
            )

    def _bring_up_to_date(self, connection: sqlite3.Connection) -> None:
        if _version(connection) != len(SCHEMA):
            _transaction(connection, self._migrate, "BEGIN IMMEDIATE")

    def _migrate(self, connection: sqlite3.Connection) -> None:
        version = _version(connection)
        if version is None:
            raise ConfigError(
                f"{self.path} does not tell the version of its schema: the file was altered; put a backup in its place",
                path="path",
            )
        if version > len(SCHEMA):
            raise ConfigError(
                f"{self.path} has version {version} of the schema, this ctxkit knows {len(SCHEMA)}; update ctxkit",
                path="path",
            )
        for statements in SCHEMA[version:]:
            for statement in statements:
                connection.execute(statement)
        connection.execute("CREATE TABLE IF NOT EXISTS ctxkit_schema (version INTEGER NOT NULL)")
        connection.execute("DELETE FROM ctxkit_schema")
        connection.execute("INSERT INTO ctxkit_schema VALUES (?)", (len(SCHEMA),))

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _failed(self, error: sqlite3.Error, session: str) -> StoreError | ConfigError:
        """SQLite's errors name tables and files, never values."""
        code = _code(error)
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CANTOPEN):
            return ConfigError(
                f"{self.path}: {error}; name a file that ctxkit made, or a new one", path="path"
            )
        hint = HINTS.get(code, "the driver's error is its __cause__")
        return StoreError(f"{self.path}: {error}; {hint}", session=session)


HINTS = {
    sqlite3.SQLITE_BUSY: "others use the file for longer than the store waits (patience_s)",
    sqlite3.SQLITE_FULL: "make room on the disk and try again",
    sqlite3.SQLITE_READONLY: "make the file and its folder writable",
    sqlite3.SQLITE_CORRUPT: "the file is damaged: put a backup in its place, or save what `sqlite3 .recover` finds",
    sqlite3.SQLITE_TOOBIG: "SQLite takes no value of more than a thousand million bytes",
}


def _transaction(connection: sqlite3.Connection, work: Work[T], begin: str) -> T:
    connection.execute(begin)
    try:
        done = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return done


def _version(connection: sqlite3.Connection) -> int | None:
    """0 for a new file, None for one that does not tell."""
    asked = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'ctxkit_schema'"
    if connection.execute(asked).fetchone() == (0,):
        return 0
    told = connection.execute("SELECT version FROM ctxkit_schema").fetchall()
    version: object = told[0][0] if len(told) == 1 else None
    return version if isinstance(version, int) and version > 0 else None


def _clear_log(connection: sqlite3.Connection) -> None:
    """Move the write-ahead log into the file and cut it to nothing; that waits for all who read.

    Raises:
        sqlite3.OperationalError: busy, as SQLite itself says it of everything but this.
    """
    busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    if busy:
        error = sqlite3.OperationalError(
            "what was taken away is still in the write-ahead log, which others read"
        )
        error.sqlite_errorcode = sqlite3.SQLITE_BUSY
        raise error


def _code(error: sqlite3.Error) -> int:
    """SQLite's result code without its extension; what the Python module itself raises has none."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
