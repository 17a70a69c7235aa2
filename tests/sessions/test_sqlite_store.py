"""SQLiteStore."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from ctxkit.errors import ConfigError, ConflictError, SessionError, StoreError
from ctxkit.sessions.session import Session
from ctxkit.sessions.store import Limits, Store
from ctxkit.sessions.stores.sqlite import SQLiteStore
from ctxkit.sessions.verifying import verify
from ctxkit.testing import StoreSuite


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


class TestSQLiteStore(StoreSuite):
    """What every store does."""

    @pytest.fixture(autouse=True)
    def _place(self, path: Path) -> None:
        self.path = path

    async def open_store(self, limits: Limits) -> Store:
        return SQLiteStore(self.path, limits=limits, clock=self.clock)


async def test_its_files_are_for_their_owner_alone(path: Path) -> None:
    before = os.umask(0)
    try:
        async with SQLiteStore(path) as store:
            await store.append("s", [b"one"], after=0)
            files = sorted(path.parent.iterdir())
            assert [each.name for each in files] == ["sessions.db", "sessions.db-shm", "sessions.db-wal"]
            assert [stat.S_IMODE(each.stat().st_mode) for each in files] == [0o600] * 3
    finally:
        os.umask(before)


async def test_what_is_rewritten_or_deleted_is_in_none_of_its_files(path: Path) -> None:
    def holds(secret: bytes) -> list[str]:
        return [each.name for each in sorted(path.parent.iterdir()) if secret in each.read_bytes()]

    small, large = b"4111 1111 1111 1111", b"sk-live-0123456789" * 2_000
    async with SQLiteStore(path) as store, SQLiteStore(path) as other:
        await store.append("s", [small, large, b"stays here"], after=0)
        await store.save_checkpoint("s", 3, b"a checkpoint tells " + small)
        await other.append("t", [b"of the other session"], after=0, key="key-of-t")
        assert holds(small)
        assert holds(large[:18])
        await store.rewrite("s", {1: b"[erased]", 2: b""})
        assert holds(small) == holds(large[:18]) == []
        assert holds(b"stays here") == ["sessions.db"]
        await store.delete("t")
        assert holds(b"of the other session") == holds(b"key-of-t") == []


async def test_an_append_costs_the_same_in_a_long_log(path: Path) -> None:
    """Counted in steps of SQLite's machine."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    async with SQLiteStore(path) as store:
        await store.append("s", [b"x"], after=0, key="first")
        await store._file.read(lambda connection: connection.set_progress_handler(count, 1))
        await store.append("s", [b"x"], after=1, key="second")
        short, steps = steps, 0
        await store.append("s", [b"x"] * 20_000, after=2, key="many")
        steps = 0
        await store.append("s", [b"x"], after=20_002, key="last")
        assert 0 < steps <= short


async def test_writers_of_many_threads_and_event_loops_lose_nothing(path: Path) -> None:
    def write(name: str) -> None:
        asyncio.run(_writes(path, name, 20))

    await _at_once(lambda name: threading.Thread(target=write, args=(name,)), "abcd")
    await _all_there(path, "abcd", 20)


async def test_one_store_serves_event_loops_of_many_threads(path: Path) -> None:
    async with SQLiteStore(path) as store:

        def write(name: str) -> None:
            asyncio.run(_append_all(store, name, 20))

        await _at_once(lambda name: threading.Thread(target=write, args=(name,)), "abcd")
    await _all_there(path, "abcd", 20)


async def test_four_processes_with_many_tasks_lose_nothing(path: Path) -> None:
    program = (
        "import asyncio, sys; from pathlib import Path; from tests.sessions.test_sqlite_store import _many_tasks; "
        "asyncio.run(_many_tasks(Path(sys.argv[1]), sys.argv[2], 10, 5))"
    )
    root = Path(__file__).resolve().parents[2]
    running = [subprocess.Popen([sys.executable, "-c", program, path, name], cwd=root) for name in "abcd"]
    assert [each.wait(120) for each in running] == [0] * 4
    await _all_there(path, [f"{name}{task}" for name in "abcd" for task in range(10)], 5)


async def test_a_file_that_is_busy_for_too_long_is_an_error_and_then_usable(path: Path) -> None:
    async with SQLiteStore(path, patience_s=0.05) as store:
        await store.append("s", [b"one"], after=0)
        with sqlite3.connect(path, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(
                StoreError, match=r"sessions\.db: database is locked; others use the file"
            ) as raised:
                await store.append("s", [b"two"], after=1, key="k")
            assert raised.value.session == "s"
            assert isinstance(raised.value.__cause__, sqlite3.OperationalError)
            assert await store.read("s") == [b"one"], "readers do not wait for writers"
            other.execute("ROLLBACK")
        other.close()
        assert await store.append("s", [b"two"], after=1, key="k") == 2


async def test_a_writer_waits_for_others_and_gives_up_when_cancelled(path: Path) -> None:
    async with SQLiteStore(path) as store:
        await store.append("s", [b"one"], after=0)
        with sqlite3.connect(path, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            waiting = asyncio.create_task(store.append("s", [b"two"], after=1))
            await asyncio.sleep(0.05)
            waiting.cancel()
            assert await store.read("s") == [b"one"], "the cancelled writer stands in the way"
            waiting = asyncio.create_task(store.append("s", [b"three"], after=1))
            await asyncio.sleep(0.05)
            other.execute("COMMIT")
        other.close()
        assert await waiting == 2
        assert await store.read("s") == [b"one", b"three"]


async def test_a_rewrite_says_when_others_keep_the_old_bytes_from_being_cleared(path: Path) -> None:
    async with SQLiteStore(path, patience_s=0.05) as store:
        await store.append("s", [b"secret"], after=0)
        with sqlite3.connect(path, isolation_level=None) as other:
            other.execute("BEGIN")
            other.execute("SELECT * FROM ctxkit_sessions").fetchall()
            with pytest.raises(StoreError, match="what was taken away is still in the write-ahead log"):
                await store.rewrite("s", {1: b"erased"})
            other.execute("COMMIT")
        other.close()
        assert await store.read("s") == [b"erased"]
        await store.rewrite("s", {1: b"erased"})
        assert not [each for each in path.parent.iterdir() if b"secret" in each.read_bytes()]


async def test_a_file_of_a_later_version_is_refused(path: Path) -> None:
    async with SQLiteStore(path) as store:
        await store.append("s", [b"one"], after=0)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT version FROM ctxkit_schema").fetchall() == [(1,)]
        connection.execute("UPDATE ctxkit_schema SET version = 2")
    connection.close()
    async with SQLiteStore(path) as store:
        with pytest.raises(
            ConfigError, match="has version 2 of the schema, this ctxkit knows 1; update ctxkit"
        ):
            await store.read("s")


async def test_a_file_of_an_earlier_version_is_brought_up_to_date(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with SQLiteStore(path) as store:
        await store.append("s", [b"one"], after=0)
    schema = "ctxkit.sessions.stores.sqlite_file.SCHEMA"
    later = (("-- the first version is there",), ("CREATE TABLE later (a)", "INSERT INTO later VALUES (7)"))
    monkeypatch.setattr(schema, later)
    async with SQLiteStore(path) as store, SQLiteStore(path) as other:
        assert await store.read("s") == await other.read("s") == [b"one"]
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT * FROM later").fetchall() == [(7,)]
        assert connection.execute("SELECT version FROM ctxkit_schema").fetchall() == [(2,)]
    connection.close()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda path: path / "there" / "sessions.db",
            "cannot be made: No such file or directory; name a file",
        ),
        (lambda path: path, "unable to open database file; name a file that ctxkit made, or a new one"),
    ],
)
async def test_a_path_that_cannot_be_a_file_is_refused(
    tmp_path: Path, make: Callable[[Path], Path], message: str
) -> None:
    async with SQLiteStore(make(tmp_path)) as store:
        with pytest.raises(ConfigError, match=message):
            await store.sessions()


async def test_a_file_of_something_else_is_refused_and_left_alone(path: Path) -> None:
    path.write_bytes(b"Dear diary, " * 1_000)
    async with SQLiteStore(path) as store:
        with pytest.raises(ConfigError, match="file is not a database; name a file that ctxkit made"):
            await store.append("s", [b"one"], after=0)
    assert path.read_bytes() == b"Dear diary, " * 1_000


async def test_a_damaged_file_is_a_store_error(path: Path) -> None:
    async with SQLiteStore(path) as store:
        for at in range(50):
            await store.append("s", [b"secret" * 1_000], after=at)
    whole = path.read_bytes()
    path.write_bytes(whole[:8_192] + b"\xff" * (len(whole) - 8_192))
    async with SQLiteStore(path) as store:
        with pytest.raises(StoreError, match="malformed; the file is damaged: put a backup") as raised:
            await store.read("s")
        assert "secret" not in f"{raised.value!r} {raised.value.__cause__!r}"


async def test_a_closed_store_says_so(path: Path) -> None:
    store = SQLiteStore(path)
    await store.append("s", [b"one"], after=0)
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="the store was closed; open another"):
        await store.read("s")
    assert [each.name for each in path.parent.iterdir()] == ["sessions.db"]


async def _laid_out(path: Path) -> None:
    """A session with a checkpoint, and one beside it."""
    async with SQLiteStore(path) as store:
        await store.append("s", [b"one", b"two", b"three", b"four"], after=0, key="k")
        await store.save_checkpoint("s", 3, b"checkpoint")
        await store.append("t", [b"other"], after=0)


def _by_hand(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()


READ, APPEND, CHECKPOINT, LIST = "read", "append", "checkpoint", "sessions"


@pytest.mark.parametrize(
    ("statement", "fails", "told"),
    [
        ("UPDATE ctxkit_records SET body = 'text' WHERE position = 2", {READ}, "record 2 is no bytes"),
        ("UPDATE ctxkit_records SET body = 7 WHERE position = 4", {READ}, "record 4 is no bytes"),
        (
            "UPDATE ctxkit_records SET body = CAST(x'ff' AS TEXT) WHERE position = 1",
            {READ},
            "record 1 is no bytes",
        ),
        ("DELETE FROM ctxkit_records WHERE session = 's' AND position = 1", {READ}, "record 1 is missing"),
        ("DELETE FROM ctxkit_records WHERE session = 's' AND position = 2", {READ}, "record 2 is missing"),
        (
            "DELETE FROM ctxkit_records WHERE session = 's' AND position = 4",
            {READ, APPEND},
            "is missing|is at position 3",
        ),
        ("DELETE FROM ctxkit_records WHERE session = 's'", {READ, APPEND}, "is missing|is at position 0"),
        (
            "UPDATE ctxkit_sessions SET position = 3 WHERE id = 's'",
            {READ, APPEND},
            "more records than the 3|should have 3 records",
        ),
        (
            "UPDATE ctxkit_sessions SET position = 9 WHERE id = 's'",
            {READ, APPEND},
            "record 5 is missing|should have 9 records",
        ),
        (
            "UPDATE ctxkit_sessions SET position = 2 WHERE id = 's'",
            {READ, APPEND, CHECKPOINT},
            "more records than the 2|should have 2 records|beyond the log",
        ),
        (
            "DELETE FROM ctxkit_sessions WHERE id = 's'",
            {READ, APPEND, CHECKPOINT},
            "more records than the 0|should have 0 records|beyond the log",
        ),
        (
            "UPDATE ctxkit_sessions SET position = 'x' WHERE id = 's'",
            {READ, APPEND, CHECKPOINT, LIST},
            "its position, size or time is no number",
        ),
        (
            "UPDATE ctxkit_sessions SET size = 'x', touched = 'y' WHERE id = 's'",
            {READ, APPEND, CHECKPOINT, LIST},
            "its position, size or time is no number",
        ),
        (
            "UPDATE ctxkit_checkpoints SET body = 'x'",
            {CHECKPOINT},
            "its checkpoint at position 3 is no bytes",
        ),
        ("UPDATE ctxkit_checkpoints SET position = 5", {CHECKPOINT}, "its checkpoint at position 5"),
    ],
)
async def test_a_session_that_was_altered_by_hand_is_told_and_can_be_deleted(
    path: Path, statement: str, fails: set[str], told: str
) -> None:
    await _laid_out(path)
    _by_hand(path, statement)
    async with SQLiteStore(path) as store:
        calls: dict[str, Callable[[], Awaitable[object]]] = {
            READ: lambda: store.read("s"),
            CHECKPOINT: lambda: store.checkpoint("s"),
            LIST: store.sessions,
            APPEND: lambda: store.append("s", [b"five"], after=4),
        }
        for name, call in calls.items():
            if name not in fails:
                await call()
                continue
            with pytest.raises(
                SessionError, match=f"session 's' was altered in its file: .*({told})"
            ) as raised:
                await call()
            assert type(raised.value) is SessionError
            assert raised.value.session == "s"
        await store.delete("s")
        assert [each.id for each in await store.sessions()] == ["t"]
        assert await store.append("s", [b"anew"], after=0) == 1
        assert await store.read("s") == [b"anew"]


async def test_a_rewrite_of_a_record_that_is_missing_is_told(path: Path) -> None:
    await _laid_out(path)
    _by_hand(path, "DELETE FROM ctxkit_records WHERE session = 's' AND position = 2")
    async with SQLiteStore(path) as store:
        with pytest.raises(SessionError, match="record 2 is missing"):
            await store.rewrite("s", {1: b"new", 2: b"new"})
        assert await store.read("s", upto=1) == [b"one"]


async def test_a_session_with_a_hole_is_not_opened_and_verify_finds_the_hole(path: Path) -> None:
    settings: dict[str, Any] = {"format": "openai-chat", "budget": {"window": 4_000}}
    async with SQLiteStore(path) as store:
        session = await Session.open("s", store, **settings)
        for number in range(5):
            await session.add({"role": "user", "content": f"{number}"})
    _by_hand(path, "DELETE FROM ctxkit_records WHERE session = 's' AND position = 3")
    async with SQLiteStore(path) as store:
        with pytest.raises(SessionError, match="record 3 is missing"):
            await Session.open("s", store, **settings)
        assert [each.position for each in (await verify(store, "s")).findings] == [3]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM ctxkit_schema",
        "UPDATE ctxkit_schema SET version = 'x'",
        "UPDATE ctxkit_schema SET version = 0",
        "INSERT INTO ctxkit_schema VALUES (1)",
    ],
)
async def test_a_file_that_does_not_tell_its_version_is_refused_and_left_alone(
    path: Path, statement: str
) -> None:
    await _laid_out(path)
    _by_hand(path, statement)
    async with SQLiteStore(path) as store:
        with pytest.raises(
            ConfigError, match="does not tell the version of its schema: the file was altered"
        ):
            await store.read("s")
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM ctxkit_records").fetchone() == (5,)
    connection.close()


@pytest.mark.parametrize("at", [3, 13, 25])
async def test_an_altered_schema_is_told_whatever_the_driver_says_of_it(path: Path, at: int) -> None:
    """SQLite quotes the schema in its message, which is no UTF-8 then."""
    await _laid_out(path)
    _by_hand(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    held = bytearray(path.read_bytes())
    held[held.index(b"CREATE TABLE ctxkit_") + at] = 0x96
    path.write_bytes(held)
    async with SQLiteStore(path) as store:
        with pytest.raises(StoreError, match="the file is damaged: put a backup in its place"):
            await store.read("s")


async def test_a_store_that_was_never_used_makes_no_file(path: Path) -> None:
    async with SQLiteStore(path) as store:
        assert repr(store) == f"SQLiteStore({str(path)!r})"
    assert list(path.parent.iterdir()) == []


def test_a_fork_does_not_wait_for_a_thread_that_it_has_not(path: Path) -> None:
    program = """if True:
        import asyncio, os, sys
        from ctxkit.sessions.stores.sqlite import SQLiteStore
        store = SQLiteStore(sys.argv[1])
        asyncio.run(store.append("s", [b"one"], after=0))
        if os.fork() == 0:
            asyncio.run(store.read("s"))
        os.wait()
    """
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, timeout=60)
    assert "StoreError" in done.stderr
    assert "was opened by another process, of which this is a fork" in done.stderr


async def _at_once(make: Callable[[str], threading.Thread], names: str) -> None:
    threads = [make(name) for name in names]
    for each in threads:
        each.start()
    for each in threads:
        await asyncio.to_thread(each.join)


async def _writes(path: Path, name: str, times: int) -> None:
    async with SQLiteStore(path) as store:
        await _append_all(store, name, times)


async def _many_tasks(path: Path, name: str, tasks: int, times: int) -> None:
    async with SQLiteStore(path) as store:
        await asyncio.gather(*(_append_all(store, f"{name}{task}", times) for task in range(tasks)))


async def _append_all(store: SQLiteStore, name: str, times: int) -> None:
    after = 0
    for n in range(times):
        while True:
            try:
                after = await store.append("s", [f"{name}/{n}".encode()], after=after)
                break
            except ConflictError as conflict:
                after = conflict.position


async def _all_there(path: Path, names: str | list[str], times: int) -> None:
    async with SQLiteStore(path) as store:
        there = [each.decode().split("/") for each in await store.read("s")]
    for name in names:
        assert [int(n) for who, n in there if who == name] == list(range(times))
    assert len(there) == len(names) * times
