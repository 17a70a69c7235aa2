"""Retention: what is left of old sessions, wherever a sweep is interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ctxkit.errors import ConfigError, StoreError
from ctxkit.sessions import appending, erasing
from ctxkit.sessions.log import Log
from ctxkit.sessions.paging import bodies
from ctxkit.sessions.records import Record, told_in
from ctxkit.sessions.retention import Retention, delete, descendants, sweep
from ctxkit.sessions.session import Session
from ctxkit.sessions.store import Store
from ctxkit.sessions.stores.memory import MemoryStore
from ctxkit.sessions.stores.sqlite import SQLiteStore
from tests.sessions.failing import Failing, Meeting

DAY = 86_400.0
SECRET = "the code of the safe is 4711"
SETTINGS: dict[str, Any] = {"format": "openai-chat", "budget": {"window": 4_000, "reply": 200}}


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(request.param, tmp_path) as store:
        yield store


def opened(kind: str, folder: Path) -> Store:
    return MemoryStore() if kind == "memory" else SQLiteStore(folder / f"{len(list(folder.iterdir()))}.db")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed write is not tried again, so that each failure is seen; nobody waits long for who failed over erasing."""
    monkeypatch.setattr(appending, "ATTEMPTS", 1)
    monkeypatch.setattr(erasing, "LEASE_S", 0.05)


async def said(store: Store, id: str, **more: Any) -> Session:
    session = await Session.open(id, store, **SETTINGS)
    await session.add({"role": "user", "content": SECRET}, **more)
    await session.add({"role": "assistant", "content": "Noted."})
    await session.remember("diet", "vegetarian")
    return session


async def written(store: Store, id: str) -> str:
    """All that a store holds of a session, as text."""
    kept = await store.checkpoint(id)
    held = [body async for _, body in bodies(store, id)] + ([kept[1]] if kept else [])
    return b"\n".join(held).decode()


async def facts(store: Store, id: str) -> list[str]:
    session = await Session.open(id, store, **SETTINGS)
    return [fact.line for fact in session.facts]


async def touched(store: Store, id: str) -> float:
    info = await store.info(id)
    assert info is not None
    return info.touched


async def test_after_ninety_days_only_the_facts_are_left(store: Store) -> None:
    await said(store, "a")
    now = await touched(store, "a")
    assert (await sweep(store, now=now + 89 * DAY)).retained == []
    assert SECRET in await written(store, "a")
    swept = await sweep(store, now=now + 90 * DAY)
    assert (swept.retained, swept.finished, swept.failed) == (["a"], [], {})
    assert SECRET not in await written(store, "a")
    assert await facts(store, "a") == ["diet: vegetarian"]
    session = await Session.open("a", store, **SETTINGS)
    assert session.messages == []
    position = session.position
    assert (await sweep(store, now=now + 900 * DAY)).retained == []  # nothing is left to do
    await session.refresh()
    assert session.position == position


async def test_it_needs_no_settings_and_takes_every_format(store: Store) -> None:
    gemini = await Session.open("g", store, format="gemini", budget=SETTINGS["budget"])
    await gemini.add({"role": "user", "parts": [{"text": SECRET}]})
    assert (await sweep(store, Retention(days=0), await touched(store, "g"))).retained == ["g"]
    assert SECRET not in await written(store, "g")


async def test_one_that_goes_on_after_it_was_retained_is_retained_again(store: Store) -> None:
    await said(store, "a")
    await sweep(store, Retention(days=0), await touched(store, "a") + 1)
    session = await said(store, "a")
    assert len(session.messages) == 2
    swept = await sweep(store, Retention(days=0), await touched(store, "a") + 1)
    assert swept.retained == ["a"]
    assert SECRET not in await written(store, "a")
    assert await facts(store, "a") == ["diet: vegetarian"]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("back", [None, 1], ids=["for good", "once"])
async def test_a_sweep_that_fails_anywhere_is_made_up_for(
    kind: str, after: bool, back: int | None, tmp_path: Path
) -> None:
    """A family and a session of its own, swept by a process whose store is gone at its first call, its second, ..."""
    at, interrupted = 0, True
    while interrupted:
        async with opened(kind, tmp_path) as store:
            await said(store, "a")
            await (await (await said(store, "b")).child("b1", purpose=SECRET)).add(
                {"role": "user", "content": SECRET}
            )
            later = await touched(store, "b1") + 91 * DAY
            failing = Failing(store, at, after=after, back=back)
            with suppress(StoreError):  # the sessions could not be listed
                await sweep(failing, now=later)
            interrupted = failing.calls > at
            await sweep(store, now=later)
            for id in ("a", "b", "b1"):
                assert SECRET not in await written(store, id), (at, id)
            for id in ("a", "b"):
                assert await facts(store, id) == ["diet: vegetarian"]
            assert await descendants(store, "b") == ["b1"]
            again = await sweep(store, now=later)
            assert (again.retained, again.finished) == ([], [])
        at += 1
    assert at > 20


async def test_it_finishes_what_a_crash_left_behind_a_clear(store: Store) -> None:
    session = await said(store, "a")
    log = session._log
    await log.write(lambda at: Record("clear", at, session._history.clearing()))
    assert SECRET in await written(store, "a")
    swept = await sweep(store, now=await touched(store, "a"))
    assert (swept.retained, swept.finished) == ([], ["a"])
    assert SECRET not in await written(store, "a")


async def test_it_finishes_what_a_crash_left_behind_a_pop(store: Store) -> None:
    session = await said(store, "a")
    await session.add({"role": "user", "content": "take this back"})
    log = session._log
    await log.write(lambda at: Record("pop", at, session._history.popping(), {"reopened": []}))
    assert "take this back" in await written(store, "a")
    assert (await sweep(store, now=await touched(store, "a"))).finished == ["a"]
    text = await written(store, "a")
    assert "take this back" not in text
    assert SECRET in text


@pytest.mark.parametrize("kind", ["clear", "pop"])
async def test_who_writes_behind_what_was_not_erased_erases_it_first(store: Store, kind: str) -> None:
    session, other = await said(store, "a"), await Session.open("a", store, **SETTINGS)
    made: Callable[[float], Record | None] = {
        "clear": lambda at: Record("clear", at, session._history.clearing()),
        "pop": lambda at: Record("pop", at, session._history.popping(), {"reopened": []}),
    }[kind]
    await session._log.write(made)
    await other.add({"role": "user", "content": "go on"})
    text = await written(store, "a")
    assert "Noted." not in text
    assert (SECRET in text) == (kind == "pop")
    assert "go on" in text


async def test_it_leaves_a_session_alone_that_somebody_writes_to(store: Store) -> None:
    """The other writer comes between the listing and the record, at whichever call."""
    await said(store, "a")
    now = await touched(store, "a") + 91 * DAY

    async def come_back() -> None:
        writer = await Session.open("a", store, **SETTINGS)
        await writer.add({"role": "user", "content": "I am back"})

    swept = await sweep(Meeting(store, 0, come_back, of={"append"}), now=now)
    assert (swept.retained, swept.failed) == ([], {})
    session = await Session.open("a", store, **SETTINGS)
    assert session.messages[-1]["content"] == "I am back"
    assert SECRET in await written(store, "a")


async def test_two_sweeps_at_once_do_no_harm(store: Store) -> None:
    for at in range(6):
        await said(store, f"s{at}")
    later = await touched(store, "s5") + 91 * DAY
    one, two = await asyncio.gather(sweep(store, now=later), sweep(store, now=later))
    assert sorted(one.retained + two.retained) == [f"s{at}" for at in range(6)]
    assert SECRET not in await written(store, "s3")


async def test_a_family_stays_as_long_as_one_of_it_is_written_to(store: Store) -> None:
    parent = await said(store, "parent")
    child = await parent.child("child")
    await child.add({"role": "user", "content": SECRET})
    young = await touched(store, "child")
    at_limit = Retention(days=1)
    parents = await touched(store, "parent")
    assert parents <= young
    between = (parents + young) / 2 + DAY
    if parents < young:
        assert (await sweep(store, at_limit, between)).retained == []
        assert (await sweep(store, Retention(days=1, children=False), between)).retained == ["parent"]
    assert "child" in (await sweep(store, at_limit, young + DAY)).retained
    assert SECRET not in await written(store, "child") + await written(store, "parent")


async def test_a_session_that_cannot_be_read_does_not_stop_the_others(store: Store) -> None:
    await store.append("a", [b"no record"], after=0)
    await said(store, "b")
    swept = await sweep(store, now=await touched(store, "b") + 91 * DAY)
    assert swept.retained == ["b"]
    assert list(swept.failed) == ["a"]
    assert "cannot be read" in swept.failed["a"]


async def test_delete_takes_the_children_along(store: Store) -> None:
    parent = await said(store, "parent")
    child = await parent.child("child")
    await child.child("grandchild")
    await said(store, "other")
    assert await descendants(store, "parent") == ["grandchild", "child"]
    await delete(store, "child", children=False)
    assert [info.id for info in await store.sessions()] == ["grandchild", "other", "parent"]
    await parent.child("child")
    await delete(store, "parent")
    assert [info.id for info in await store.sessions()] == ["grandchild", "other"]
    await delete(store, "parent")


@pytest.mark.parametrize("days", [-1, float("nan"), "90", True, None])
def test_a_number_of_days_that_is_none_is_refused(days: Any) -> None:
    with pytest.raises(ConfigError, match="number of days"):
        Retention(days=days)


async def test_the_last_record_tells_that_nothing_is_left_to_erase(store: Store) -> None:
    session = await said(store, "a")
    await session.clear()
    info = await store.info("a")
    assert info is not None
    kinds = [told_in(body, session="a")["kind"] async for _, body in bodies(store, "a")]
    assert kinds == ["session", "erased", "erased", "erased", "clear"]
    assert isinstance(session._log, Log)
    assert (await sweep(store, now=info.touched)).finished == []
