"""A session that is full: nothing more goes in, and what has to come out comes out."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Limits, MemoryStore, Session, SessionLimitError, SQLiteStore, Store, TieredStore, sweep
from ctxkit.sessions.verifying import verify

SETTINGS: dict[str, Any] = {"format": "openai-chat", "budget": {"window": 4_000, "reply": 200}}
SECRET = {"role": "user", "content": "the code of the safe is 4711"}


@pytest.fixture(params=["memory", "sqlite", "tiered", "encrypted"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    limits = Limits(record=2_000, session=3_000)
    made: Store = MemoryStore(limits=limits)
    if request.param == "sqlite":
        made = SQLiteStore(tmp_path / "s.db", limits=limits)
    elif request.param == "tiered":
        made = TieredStore(made, MemoryStore())
    elif request.param == "encrypted":
        pytest.importorskip("cryptography")
        from ctxkit import EncryptedStore

        made = EncryptedStore(made, b"k" * 32)
    async with made as opened:
        yield opened


async def full(store: Store) -> Session:
    """A session that takes not even a name any more."""
    session = await Session.open("s", store, **SETTINGS)
    for add in (lambda: session.add(SECRET), lambda: session.name("n")):
        with pytest.raises(SessionLimitError):
            await repeated(add)
    return session


async def repeated(call: Callable[[], Awaitable[None]]) -> None:
    while True:
        await call()


async def secrets(store: Store) -> int:
    kept = await store.checkpoint("s")
    bodies = [*await store.read("s"), *([kept[1]] if kept else [])]
    return sum(b"safe is 4711" in body for body in bodies)


async def test_the_newest_message_can_be_taken_back(store: Store) -> None:
    session = await full(store)
    count = len(session.messages)
    while session.messages:
        assert await session.pop() == SECRET
        count -= 1
        assert len(session.messages) == count
        again = await Session.open("s", store, **SETTINGS)
        assert len(again.messages) == count
    assert await secrets(store) == 0
    assert (await verify(store, "s")).findings == ()


@pytest.mark.parametrize("what", ["clear", "retain_structure"])
async def test_everything_can_be_taken_out(store: Store, what: str) -> None:
    session = await full(store)
    await getattr(session, what)()
    assert session.messages == []
    assert await secrets(store) == 0
    await session.add({"role": "user", "content": "there is room again"})
    assert (await verify(store, "s")).findings == ()


async def test_a_sweep_goes_over_it(store: Store) -> None:
    await full(store)
    swept = await sweep(store, now=time.time() + 91 * 86_400)
    assert (swept.retained, swept.failed) == (["s"], {})
    assert await secrets(store) == 0


async def test_facts_stay_though_together_they_are_longer_than_a_record_may_be(store: Store) -> None:
    session = await Session.open("s", store, **SETTINGS)
    for name in "abc":
        await session.remember(name, name * 500)
    with pytest.raises(SessionLimitError):
        await session.add({"role": "user", "content": "x" * 2_000})
    await session.retain_structure()
    assert [fact.key for fact in (await Session.open("s", store, **SETTINGS)).facts] == ["a", "b", "c"]
