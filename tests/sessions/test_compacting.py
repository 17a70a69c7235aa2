"""Compactions of a session: by one worker at a time, beside the conversation, and on record."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from ctxkit import MemoryStore, Plan, Services, Session, SQLiteStore, View
from ctxkit.sessions import compacting
from ctxkit.sessions.compacting import LEASE_S, NAME
from ctxkit.sessions.records import told_in
from ctxkit.sessions.store import Store
from ctxkit.strategies.drop_oldest import DropOldest
from ctxkit.strategy import CompressionStrategy
from ctxkit.testing.store_case import MovingClock
from tests.sessions import hanging
from tests.sessions.crashing import ROOT
from tests.sessions.hanging import said

SETTINGS: dict[str, Any] = {**hanging.SETTINGS, "background": False}
MANY = 16
"""Questions and answers that are over `compact_at`, and under the limit."""


def dropping(work: Callable[[], Awaitable[object]]) -> CompressionStrategy:
    """Drops the oldest, after some other work."""

    class Dropping(CompressionStrategy):
        kind: Literal["dropping"] = "dropping"

        async def plan(self, view: View, services: Services) -> Plan:
            await work()
            return DropOldest().plan(view, services)

    return Dropping()


class Leasing(MemoryStore):
    """Remembers what was said to those who asked for a lease, and tells when so many had asked."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.answers: list[bool] = []
        self._asked = asyncio.Condition()

    async def lease(self, session: str, name: str, holder: str, seconds: float) -> bool:
        given = await super().lease(session, name, holder, seconds)
        async with self._asked:
            self.answers.append(given)
            self._asked.notify_all()
        return given

    async def asked(self, times: int) -> None:
        async with self._asked:
            await self._asked.wait_for(lambda: len(self.answers) >= times)


async def opened(store: Store, id: str = "s", *, turns: int = MANY, **settings: Any) -> Session:
    """A session with so many turns, if it is new."""
    session = await Session.open(id, store, **{**SETTINGS, **settings})
    if not session.position:
        await session.add([entry for number in range(turns) for entry in said(number)])
    return session


async def compactions(store: Store, id: str = "s") -> list[dict[str, Any]]:
    """What the records of compactions say."""
    told = [told_in(body, session=id) for body in await store.read(id)]
    return [each["data"] for each in told if each["kind"] == "compaction"]


async def test_workers_compact_one_after_the_other() -> None:
    store, at_it, most = Leasing(), 0, 0

    async def count() -> None:
        nonlocal at_it, most
        at_it, most = at_it + 1, max(most, at_it + 1)
        if len(store.answers) < 4:
            await store.asked(2)  # the others have asked too
        at_it -= 1

    workers = [await opened(store, strategy=dropping(count)) for _ in range(3)]
    await asyncio.gather(*(worker.compact() for worker in workers))
    assert most == 1
    assert store.answers[:2] == [True, False]
    fresh = await opened(store)
    for worker in workers:
        await worker.refresh()
        assert worker.messages == fresh.messages


@pytest.mark.parametrize("asked", ["compact", "prepare", "preview"])
async def test_a_plan_that_asks_its_own_session_for_a_compaction_fails_at_once(asked: str) -> None:
    """It has the lease that it would wait for."""

    async def work() -> None:
        await getattr(session, asked)()

    session = await opened(MemoryStore(), strategy=dropping(work).model_copy(update={"timeout_s": None}))
    [failure] = (await asyncio.wait_for(session.compact(), 10)).failures
    assert failure.by == "dropping"
    assert "it raised ConversationError: a compaction of this conversation is being planned" in failure.why


async def test_a_request_that_fits_does_not_wait_for_the_worker_that_compacts() -> None:
    store, go_on, plans = Leasing(), asyncio.Event(), 0

    async def work() -> None:
        nonlocal plans
        plans += 1
        await go_on.wait()

    one, other = [await opened(store, strategy=dropping(work)) for _ in range(2)]
    first = asyncio.create_task(one.prepare())
    await store.asked(1)
    second = await asyncio.wait_for(other.prepare(), 10)
    assert second.report.trigger.endswith("another worker compacts")
    assert len(second.messages) == 2 * MANY
    go_on.set()
    assert len((await first).messages) < 2 * MANY
    assert plans == 1
    assert (await other.prepare()).messages == (await one.prepare()).messages
    assert plans == 1


async def test_a_request_that_does_not_fit_takes_what_the_worker_made_that_compacts() -> None:
    store, plans = Leasing(), 0

    async def work() -> None:
        nonlocal plans
        plans += 1
        await store.asked(2)

    one, other = [await opened(store, turns=80, strategy=dropping(work)) for _ in range(2)]
    first, second = await asyncio.gather(one.prepare(), other.prepare())
    assert plans == 1
    assert first.messages == second.messages
    assert len(first.messages) < 160
    assert len(await compactions(store)) == 1


async def test_who_takes_long_keeps_the_lease_and_gives_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacting, "LEASE_S", 0.03)
    clock = MovingClock()
    store = Leasing(clock=clock)

    async def work() -> None:
        for _ in range(4):
            clock.now += 0.02
            await store.asked(len(store.answers) + 1)  # it asks again while it is at it
            assert not await MemoryStore.lease(store, "s", NAME, "another", 1)

    session = await opened(store, strategy=dropping(work), strict=True)
    assert (await asyncio.wait_for(session.compact(), 10)).compacted
    assert set(store.answers) == {True}
    assert await store.lease("s", NAME, "another", 1)


async def test_a_compaction_in_the_background_is_beside_the_conversation() -> None:
    store, go_on = MemoryStore(), asyncio.Event()
    session = await opened(store, strategy=dropping(go_on.wait), background=True)
    request = await session.prepare()
    assert len(request.messages) == 2 * MANY
    assert request.report.trigger.endswith("it is compacted in the background")
    await session.add(said(99))
    go_on.set()
    await session.settled()
    assert len(session.messages) < 2 * MANY
    assert session.messages[-2:] == said(99)
    assert (await session.prepare()).messages == session.messages


async def test_a_request_that_does_not_fit_is_compacted_before_it_goes_out() -> None:
    session = await opened(MemoryStore(), turns=80, strategy="drop-oldest", background=True)
    request = await session.prepare()
    assert request.report.compacted
    assert request.report.tokens_after <= request.report.limit


async def test_the_next_report_says_what_failed_in_the_background() -> None:
    async def fail() -> None:
        raise ValueError("not today")

    session = await opened(MemoryStore(), strategy=dropping(fail), strict=True)
    session.compact_in_background()
    await session.settled()
    session.use("drop-oldest")
    for times in (1, 0):
        lines = (await session.prepare()).report.normalised
        told = [line for line in lines if line.startswith("the compaction in the background failed: ")]
        assert len(told) == times
        assert all("not today" in line for line in told)


async def test_close_waits_for_the_compaction_in_the_background(tmp_path: Path) -> None:
    async def work() -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    address = f"sqlite:{tmp_path / 'sessions.db'}"
    async with await Session.open("s", address, strategy=dropping(work), **SETTINGS) as session:
        await session.add([entry for number in range(MANY) for entry in said(number)])
        task = session.compact_in_background()
    assert task.done()
    assert task.result().compacted
    async with SQLiteStore(tmp_path / "sessions.db") as store:
        assert len(await compactions(store)) == 1


async def test_what_a_crash_cut_off_is_done_by_the_next_worker(tmp_path: Path) -> None:
    path, ahead = tmp_path / "sessions.db", 0.0
    command = [sys.executable, "-m", "tests.sessions.hanging", f"sqlite:{path}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "compacting\n"
        worker.kill()
    async with SQLiteStore(path, clock=lambda: time.time() + ahead) as store:
        next_one = await opened(store, hanging.SESSION, strategy="drop-oldest")
        assert (await next_one.prepare()).report.trigger.endswith("another worker compacts")
        ahead = LEASE_S
        assert (await next_one.prepare()).report.compacted
        assert len(await compactions(store, hanging.SESSION)) == 1
        assert next_one.messages[-2:] == said(MANY - 1)


async def test_the_record_of_a_compaction_says_by_what_it_was_done() -> None:
    session = await opened(MemoryStore(), strategy="drop-oldest")
    report = await session.compact()
    (told,) = await compactions(session.store)
    assert report.edits
    assert told == {
        "strategy": "drop-oldest",
        "tokens": [report.tokens_before, report.tokens_after],
        "edits": [edit.model_dump(mode="json") for edit in report.edits],
    }
