"""Sessions on each store, as ratios of one run: nothing here depends on how fast the machine is.

    python -m benchmarks.sessions            # all of it, ten minutes
    python -m benchmarks.sessions growth     # one part: growth, opening, many, peers

growth   median of an add and of a request (`prepare`), window 8k, in a session of 10,000 records against one of 100, turn
         by turn in alternation, on each store.
opening  a session of 100,000 records, opened from its checkpoint and by reading all of its log: time, and whether the
         states are equal (with exit code 1 where they are not); in one SQLite file.
many     1,000 sessions of 40 records in one process: bytes that an open session takes, by tracemalloc, and the time of a
         turn in one of them against the time of a turn in one that is alone.
peers    a turn (add the question, read what the model sees, add the answer) against those of `SQLiteSession` and
         `AdvancedSQLiteSession` of the OpenAI Agents SDK, at 1,000 and 10,000 items, in alternation, each in a file of its
         own. As shipped, all of them keep a write-ahead log with `synchronous = FULL` (it is printed): what is
         acknowledged outlasts a power failure. A turn of theirs is two commits, one of ours three: the request goes on
         record too, and `snapshots=False` leaves out what it held.

Servers: Valkey without append-only file and PostgreSQL without fsync, both on this machine, as the tests start them; or
those named in CTXKIT_TEST_REDIS_URL and CTXKIT_TEST_POSTGRES_URL.

Figures of two busy cores: growth 0.67 to 0.94 for an add and 0.87 to 1.00 for a request on the four stores;
opening 16 x quicker from the checkpoint (1.8 s), states equal; 52 kB a session; SQLiteSession takes 1.5 to 1.7 x a turn of
ours at 1,000 items and 5 to 8 x at 10,000, AdvancedSQLiteSession 1.6 to 1.8 x and 7 to 12 x.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import statistics
import sys
import tempfile
import time
import tracemalloc
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.speed import messages
from ctxkit import Budget
from ctxkit.sessions.session import Session
from ctxkit.sessions.store import Store
from ctxkit.sessions.stores.memory import MemoryStore
from ctxkit.sessions.stores.postgres import PostgresStore
from ctxkit.sessions.stores.redis import RedisStore
from ctxkit.sessions.stores.sqlite import SQLiteStore
from tests.servers.postgres import postgres
from tests.servers.valkey import valkey

BUDGET = Budget(window=8_000)
TURNS = 100
MANY = 1_000


@asynccontextmanager
async def on_each_store() -> AsyncIterator[dict[str, Store]]:
    """A store of each kind."""
    with tempfile.TemporaryDirectory() as folder, valkey() as redis_server, postgres() as postgres_server:
        redis_url = os.environ.get("CTXKIT_TEST_REDIS_URL", redis_server.url)
        postgres_url = os.environ.get("CTXKIT_TEST_POSTGRES_URL", postgres_server.url)
        stores: dict[str, Store] = {
            "memory": MemoryStore(),
            "sqlite": SQLiteStore(Path(folder) / "sessions.db"),
            "redis": RedisStore(redis_url),
            "postgres": PostgresStore(postgres_url),
        }
        yield stores
        for store in stores.values():
            await store.close()


async def timed(work: Callable[[], Awaitable[Any]]) -> float:
    """Seconds that some work took."""
    started = time.perf_counter()
    await work()
    return time.perf_counter() - started


async def opened(store: Store, id: str) -> Session:
    return await Session.open(id, store, format="openai-chat", budget=BUDGET)


async def made(records: int, *, every: int = 4) -> MemoryStore:
    """A session `s` of so many records, with a request after each so many messages."""
    store = MemoryStore()
    session = await opened(store, "s")
    for number, message in enumerate(messages(), 1):
        await session.add(message)
        if number % every == 0:
            await session.prepare()
        if session.position >= records:
            return store
    raise AssertionError


async def copied(source: Store, target: Store, *, checkpoint: bool = True) -> str:
    """The id of a copy of the session `s`."""
    id = uuid.uuid4().hex
    bodies = await source.read("s")
    for start in range(0, len(bodies), 1_000):
        await target.append(id, bodies[start : start + 1_000], after=start)
    kept = await source.checkpoint("s")
    if checkpoint and kept is not None:
        await target.save_checkpoint(id, *kept)
    return id


async def growth() -> None:
    """A session that is longer is not slower."""
    short, long = await made(100), await made(10_000)
    async with on_each_store() as stores:
        for kind, store in stores.items():
            sessions = [await opened(store, await copied(each, store)) for each in (short, long)]
            (add, request), (later_add, later_request) = await in_alternation(sessions)
            print(
                f"growth   {kind:8}  at 10,000 records against 100: add {later_add / add:5.2f}, "
                f"prepare {later_request / request:5.2f}   (add {later_add * 1e3:.2f} ms, "
                f"prepare {later_request * 1e3:.2f} ms)"
            )


async def in_alternation(sessions: Sequence[Session]) -> list[tuple[float, float]]:
    """For each session the medians of an add and of a request, in seconds."""
    adds: list[list[float]] = [[] for _ in sessions]
    requests: list[list[float]] = [[] for _ in sessions]
    for message in islice(messages(), 4 * TURNS):
        renamed = json.loads(json.dumps(message).replace("W0", "V0").replace('"call_', '"kall_'))
        for at, session in enumerate(sessions):
            adds[at].append(await timed(lambda session=session, new=renamed: session.add(new)))
            if message["role"] in ("user", "tool"):
                requests[at].append(await timed(session.prepare))
    return [
        (statistics.median(each), statistics.median(others))
        for each, others in zip(adds, requests, strict=True)
    ]


async def opening(records: int = 100_000) -> None:
    """A checkpoint spares reading the log, and says the same."""
    source = await made(records, every=40)
    with tempfile.TemporaryDirectory() as folder:
        async with SQLiteStore(Path(folder) / "sessions.db") as store:
            whole, kept = await copied(source, store, checkpoint=False), await copied(source, store)
            read = await timed(lambda: opened(store, whole))
            restored = await timed(lambda: opened(store, kept))
            first, second = await opened(store, whole), await opened(store, kept)
    same = first._history.state == second._history.state and first._log.book == second._log.book
    print(
        f"opening  {records:,} records: from a checkpoint {restored:.3f} s, by reading the log {read:.1f} s, "
        f"{read / restored:.0f} x; the states are {'equal' if same else 'NOT EQUAL'}"
    )
    if not same:
        raise SystemExit("opening: the checkpoint says something else than the log")


async def many() -> None:
    """Many sessions in one process."""
    source = await made(40)
    with tempfile.TemporaryDirectory() as folder:
        async with SQLiteStore(Path(folder) / "sessions.db") as store:
            ids = [await copied(source, store) for _ in range(MANY)]
            alone = await opened(store, ids[0])
            one = [await _turn(alone, number) for number in range(TURNS)]
            gc.collect()
            tracemalloc.start()
            sessions = [await opened(store, id) for id in ids]
            gc.collect()
            held = tracemalloc.get_traced_memory()[0]
            tracemalloc.stop()
            among = [
                await _turn(each, TURNS + number) for number, each in enumerate(sessions[:: MANY // TURNS])
            ]
    print(
        f"many     {MANY} sessions of {sessions[1].position} records: {held / MANY / 1e3:.1f} kB a session; a turn among "
        f"them takes {statistics.median(among) / statistics.median(one):.2f} x one alone "
        f"({statistics.median(among) * 1e3:.2f} ms)"
    )


async def _turn(session: Session, number: int) -> float:
    """Seconds of a question, a request and an answer."""
    question, answer = _said(number)

    async def work() -> None:
        await session.add(question)
        await session.prepare()
        await session.add(answer)

    return await timed(work)


def _said(number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A question and an answer, which no other number has."""
    words = f"It was paid on 2026-03-{number % 28 + 1:02}, and the parcel has not been seen since then. " * 3
    asked = {"role": "user", "content": f"Where is order W{number:07}? {words}"}
    return asked, {
        "role": "assistant",
        "content": f"Order W{number:07} was shipped, number {number}. {words}",
    }


async def peers() -> None:
    """A turn beside those of the sessions that the Agents SDK has."""
    for items in (1_000, 10_000):
        with tempfile.TemporaryDirectory() as folder:
            sides = await _sides(Path(folder), items)
            spent: dict[str, list[float]] = {name: [] for name in sides}
            for number in range(items, items + TURNS):
                for name, turn in sides.items():
                    spent[name].append(await timed(lambda turn=turn, number=number: turn(*_said(number))))
            medians = {name: statistics.median(each) for name, each in spent.items()}
            for name, median in medians.items():
                shown = f"{median / medians['ours']:5.2f} x ours ({median * 1e3:.2f} ms)"
                print(f"peers    {items:6} items: {name:22} {shown}")


Turn = Callable[[dict[str, Any], dict[str, Any]], Awaitable[Any]]


async def _sides(folder: Path, items: int) -> dict[str, Turn]:
    """A turn of each side, on a session that has so many items; each in a file of its own."""
    from agents import SQLiteSession
    from agents.extensions.memory import AdvancedSQLiteSession

    history = [message for number in range(items // 2) for message in _said(number)]
    sides: dict[str, Turn] = {}
    for name, snapshots in (("ours", True), ("ours, no snapshots", False)):
        store = SQLiteStore(folder / f"{name}.db")
        ours = await Session.open(
            "s", store, format="openai-responses", budget=BUDGET, snapshots=snapshots, strategy="hybrid"
        )
        for start in range(0, items, 100):
            await ours.add(history[start : start + 100])
            await ours.prepare()
        sides[name] = _our_turn(ours)
        level = await store._file.read(
            lambda connection: connection.execute("PRAGMA synchronous").fetchone()[0]
        )
        _tell_durability(name, items, level)
    for kind in (SQLiteSession, AdvancedSQLiteSession):
        made_by = {"create_tables": True} if kind is AdvancedSQLiteSession else {}
        theirs: Any = kind(session_id="s", db_path=folder / f"{kind.__name__}.db", **made_by)
        await theirs.add_items(history)
        sides[kind.__name__] = _their_turn(theirs)
        _tell_durability(
            kind.__name__, items, theirs._get_connection().execute("PRAGMA synchronous").fetchone()[0]
        )
    return sides


def _our_turn(session: Session) -> Turn:
    async def turn(question: dict[str, Any], answer: dict[str, Any]) -> None:
        await session.add(question)
        await session.prepare()
        await session.add(answer)

    return turn


def _their_turn(session: Any) -> Turn:
    async def turn(question: dict[str, Any], answer: dict[str, Any]) -> None:
        await session.add_items([question])
        await session.get_items()
        await session.add_items([answer])

    return turn


def _tell_durability(name: str, items: int, level: int) -> None:
    if items == 1_000:
        print(f"peers    {name}: synchronous = {LEVELS[level]}")


LEVELS = {0: "OFF", 1: "NORMAL", 2: "FULL", 3: "EXTRA"}
"""What SQLite's numbers mean."""

PARTS = {"growth": growth, "opening": opening, "many": many, "peers": peers}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        asyncio.run(PARTS[part]())
