"""What is said when a server is not there: the cause, and that a write is to be repeated only where one was asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from ctxkit import PostgresStore, RedisStore, Store, StoreError

REPEAT = "whether a write was carried out is not known, repeat it with the same key"
REFUSED = "postgresql://someone:pa55w0rd@127.0.0.1:1/none"

READS: list[Callable[[Store], Awaitable[object]]] = [
    lambda store: store.sessions(),
    lambda store: store.read("s"),
    lambda store: store.info("s"),
    lambda store: store.checkpoint("s"),
]
WRITES: list[Callable[[Store], Awaitable[object]]] = [
    lambda store: store.append("s", [b"one"], after=0),
    lambda store: store.append("s", [b"one"], after=1),
    lambda store: store.rewrite("s", {1: b"one"}),
    lambda store: store.delete("s"),
    lambda store: store.save_checkpoint("s", 1, b"one"),
    lambda store: store.lease("s", "compaction", "me", 1.0),
    lambda store: store.release("s", "compaction", "me"),
]


def nowhere(kind: str) -> Store:
    """A store whose server refuses every connection."""
    if kind == "postgres":
        pytest.importorskip("psycopg_pool")
        return PostgresStore(REFUSED, timeout_s=0.3)
    pytest.importorskip("redis")
    return RedisStore("redis://:pa55w0rd@127.0.0.1:1", timeout_s=0.3)


@pytest.mark.parametrize("kind", ["postgres", "redis"])
async def test_a_write_is_to_be_repeated_and_a_read_is_not(kind: str) -> None:
    async with nowhere(kind) as store:
        for calls, repeats in ((READS, False), (WRITES, True)):
            for call in calls:
                with pytest.raises(StoreError) as raised:
                    await call(store)
                assert (REPEAT in str(raised.value)) is repeats
                assert "pa55w0rd" not in str(raised.value)


async def test_postgres_says_why_there_is_no_connection() -> None:
    async with nowhere("postgres") as store:
        with pytest.raises(StoreError, match=r"^PostgreSQL failed: .*: .*Connection refused$") as raised:
            await store.sessions()
    assert "someone" not in str(raised.value)


async def test_what_is_taken_for_a_host_is_not_shown() -> None:
    pytest.importorskip("psycopg_pool")
    async with PostgresStore("postgresql://user:pa@55w0rd@nowhere.invalid/none", timeout_s=0.5) as store:
        with pytest.raises(StoreError, match="resolve host") as raised:
            await store.sessions()
    assert "55w0rd" not in str(raised.value)
