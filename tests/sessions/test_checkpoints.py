"""Checkpoints of a session are made as it grows and spare reading its log; what is remembered is in them too."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit import MemoryStore, ProviderFormatError, Session
from ctxkit.core.provider import Entry
from ctxkit.sessions import book, log
from ctxkit.sessions.store import Store
from tests.sessions.failing import Failing

EVERY = 20


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "CHECKPOINT_RECORDS", EVERY)


class Reading(MemoryStore):
    """Counts the records that were read."""

    records_read = 0

    async def read(self, session: str, *, after: int = 0, upto: int | None = None) -> list[bytes]:
        bodies = await super().read(session, after=after, upto=upto)
        self.records_read += len(bodies)
        return bodies


async def opened(store: Any, **settings: Any) -> Session:
    return await Session.open("s", store, format="openai-chat", budget={"window": 90_000}, **settings)


async def filled(session: Session, messages: int) -> None:
    for number in range(messages):
        await session.add({"role": "user", "content": f"{number}: where is the order W{number:07}?"})


async def positions(store: Store, upto: int) -> list[int]:
    """Where there are checkpoints, among those that the store keeps."""
    found = []
    while (kept := await store.checkpoint("s", upto=upto)) is not None:
        found.append(kept[0])
        upto = kept[0] - 1
    return found


async def test_a_checkpoint_comes_after_so_many_records_and_bytes() -> None:
    store = MemoryStore()
    session = await opened(store)
    await filled(session, EVERY - 2)
    assert await store.checkpoint("s") is None
    await filled(session, 1)
    first = await store.checkpoint("s")
    assert first is not None
    assert first[0] == session.position == EVERY
    await filled(session, 10 * EVERY)
    newest, before = await positions(store, session.position)
    records = await store.read("s", after=before, upto=newest)
    kept = await store.checkpoint("s", upto=before)
    assert kept is not None
    assert len(records) >= EVERY
    assert sum(map(len, records)) >= len(kept[1]) > sum(map(len, records[:-1]))


async def test_a_session_is_opened_from_its_checkpoint() -> None:
    store = Reading()
    session = await opened(store)
    await filled(session, 10 * EVERY)
    newest = (await positions(store, session.position))[0]
    store.records_read = 0
    again = await opened(store)
    assert (
        store.records_read <= session.position - newest + 1
    )  # the first one, to see that it is the same log
    assert again.messages == session.messages
    assert again._history.state == session._history.state
    assert again._log.book == session._log.book


@pytest.mark.parametrize("at", [1, 2, 3], ids=["lease", "look", "save"])
async def test_a_checkpoint_that_cannot_be_written_is_told_and_made_later(at: int) -> None:
    store = MemoryStore()
    session = await opened(store)
    await filled(session, EVERY - 2)
    failing = Failing(store, at, after=False, back=1)
    session._log.store = failing
    await filled(session, 1)
    assert failing.calls == at + 2  # and the lease is given back
    assert await store.checkpoint("s") is None
    (line,) = [line for line in (await session.compact()).normalised if "checkpoint" in line]
    assert line.startswith("no checkpoint could be written, the next write tries again: ")
    assert await positions(store, session.position) == [EVERY]


def step(number: int) -> list[Entry]:
    call = {"id": f"call_{number}", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    return [{"role": "assistant", "content": None, "tool_calls": [call]}, result(number)]


def result(number: int) -> Entry:
    return {"role": "tool", "tool_call_id": f"call_{number}", "content": f"found {number}"}


@pytest.mark.parametrize("checkpoint", [False, True])
async def test_a_second_result_is_known_however_many_have_come_since(checkpoint: bool) -> None:
    store = MemoryStore()
    session = await opened(store)
    await session.add([{"role": "user", "content": "find them"}, *step(0)])
    for number in range(1, 60):
        await session.add(step(number))
    if checkpoint:
        await session._log.checkpoint()
    for worker in (session, await opened(store)):
        before = worker.messages
        for number in (0, 30, 59):
            await worker.add(result(number))
        assert worker.messages == before
        lines = (await worker.compact()).normalised
        told = {f"a second result for the call 'call_{number}' was left out" for number in (0, 30, 59)}
        assert told <= {*lines}


async def test_the_answered_calls_that_are_remembered_are_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book, "ANSWERED", 5)
    session = await opened(MemoryStore())
    await session.add(
        [{"role": "user", "content": "find them"}, *(each for n in range(9) for each in step(n))]
    )
    await session.add(step(9))
    assert [*session._log.book.answered] == [f"call_{number}" for number in range(5, 10)]
    await session.add(result(5))
    with pytest.raises(ProviderFormatError, match="result for 'call_4', which answers no call that waits"):
        await session.add(result(4))
