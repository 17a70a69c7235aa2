"""Families: a session goes with what was begun for it, and with nothing that only its log names."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ctxkit import ConversationError, MemoryStore, Session, SessionError, Store, StoreError, sweep
from ctxkit.sessions.families import family_of
from ctxkit.sessions.records import to_bytes
from ctxkit.sessions.retention import Deleted, delete, descendants
from ctxkit.sessions.transfer import export_log, import_log
from ctxkit.testing.store_case import MovingClock

SETTINGS: dict[str, Any] = {"format": "openai-chat", "budget": {"window": 4_000, "reply": 200}}
HI = {"role": "user", "content": "Hi"}
WORK = {"role": "user", "content": "Look through all 400 pages."}
DAY = 86_400.0


async def begun(store: Store) -> Session:
    """A session "desk" with a child "search", and that one with a child "pages"."""
    desk = await Session.open("desk", store, **SETTINGS)
    await desk.add(HI)
    search = await desk.child("search")
    await search.add(WORK)
    await (await search.child("pages")).add(WORK)
    return desk


async def copied(store: Store, id: str, new: str) -> None:
    file = io.BytesIO()
    await export_log(store, id, file)
    file.seek(0)
    await import_log(store, file, session=new)


async def forked(store: Store, id: str, new: str) -> None:
    await (await Session.open(id, store, **SETTINGS)).fork(new)


async def ids(store: Store) -> list[str]:
    return [each.id for each in await store.sessions()]


COPIES = pytest.mark.parametrize("copy", [copied, forked])
Copy = Callable[[Store, str, str], Awaitable[None]]


@COPIES
async def test_a_copy_of_a_parent_has_no_children(copy: Copy) -> None:
    store = MemoryStore()
    await begun(store)
    await copy(store, "desk", "copy")
    assert await descendants(store, "copy") == []
    assert await descendants(store, "desk") == ["pages", "search"]
    assert await delete(store, "copy") == Deleted(("copy",), {})
    assert await ids(store) == ["desk", "pages", "search"]
    assert (await delete(store, "desk")).ids == ("pages", "search", "desk")


@COPIES
async def test_a_sweep_of_a_copy_leaves_the_children_of_the_original_alone(copy: Copy) -> None:
    clock = MovingClock()
    store = MemoryStore(clock=clock)
    desk = await begun(store)
    await copy(store, "desk", "copy")
    clock.now += 91 * DAY
    await desk.add(HI)
    assert (await sweep(store, now=clock.now)).retained == ["copy"]
    assert (await Session.open("search", store, **SETTINGS)).messages == [WORK]


@COPIES
async def test_a_copy_of_a_child_is_swept_by_itself_and_stays_when_the_parent_goes(copy: Copy) -> None:
    store = MemoryStore()
    await begun(store)
    await copy(store, "search", "copy")
    swept = await sweep(store, now=time.time() + 91 * DAY)
    assert (sorted(swept.retained), swept.failed) == (["copy", "desk", "pages", "search"], {})
    await delete(store, "desk")
    assert await ids(store) == ["copy"]


@pytest.mark.parametrize("names", [("search", "search"), ("two", "one")], ids=["same", "each other"])
async def test_who_loses_a_race_for_a_child_does_not_take_it_along(names: tuple[str, str]) -> None:
    store, parents = MemoryStore(), ("one", "two")
    one, two = [await Session.open(id, store, **SETTINGS) for id in parents]
    begun = await asyncio.gather(one.child(names[0]), two.child(names[1]), return_exceptions=True)
    (lost,) = [at for at, each in enumerate(begun) if isinstance(each, ConversationError)]
    won = 1 - lost
    assert (await family_of(store, parents[won])).ids == [names[won], parents[won]]
    assert (await delete(store, parents[lost])).ids == (parents[lost],)
    assert await ids(store) == sorted({names[won], parents[won]} - {parents[lost]})


async def test_parents_in_a_circle_end() -> None:
    """As nobody writes them."""
    store = MemoryStore()
    for id, other in (("a", "b"), ("b", "a")):
        begins = {"v": 1, "kind": "session", "at": 1.0, "data": {"format": "openai-chat", "parent": other}}
        names = {"v": 1, "kind": "child", "at": 1.0, "data": {"child": other, "purpose": ""}}
        await store.append(id, [to_bytes(begins), to_bytes(names)], after=0)
    assert await descendants(store, "a") == ["b"]
    assert (await sweep(store, now=time.time() + 91 * DAY)).failed == {}
    assert (await delete(store, "a")).ids == ("b", "a")


async def test_a_long_line_of_children_ends_too() -> None:
    store = MemoryStore()
    for at in range(2_000):
        data = {"format": "openai-chat", **({"parent": f"s{at - 1}"} if at else {})}
        names = {"v": 1, "kind": "child", "at": 1.0, "data": {"child": f"s{at + 1}", "purpose": ""}}
        begins = {"v": 1, "kind": "session", "at": 1.0, "data": data}
        await store.append(f"s{at}", [to_bytes(begins), to_bytes(names)], after=0)
    assert len((await delete(store, "s0")).ids) == 2_000


@pytest.mark.parametrize("damaged", ["desk", "search", "pages"])
async def test_what_cannot_be_read_is_deleted_and_its_children_are_left(damaged: str) -> None:
    store = MemoryStore()
    await begun(store)
    await store.rewrite(damaged, {1: b"{"})
    with pytest.raises(SessionError, match="cannot be read") as raised:
        await descendants(store, "desk")
    assert raised.value.session == damaged
    done = await delete(store, "desk")
    assert list(done.unread) == [damaged]
    assert "record 1 of session" in done.unread[damaged]
    left = {"desk": ["pages", "search"], "search": ["pages", "search"], "pages": ["pages"]}
    assert await ids(store) == left[damaged]
    assert (await delete(store, damaged)).ids == (damaged,)
    swept = await sweep(store, now=time.time() + 91 * DAY)
    assert swept.failed == {}


async def test_a_store_that_is_down_deletes_nothing() -> None:
    store = MemoryStore()
    await begun(store)
    read = store.read

    async def down(session: str, **more: Any) -> list[bytes]:
        if session == "pages":
            raise StoreError("down", session=session)
        return await read(session, **more)

    store.read = down  # type: ignore[method-assign]
    with pytest.raises(StoreError, match="down"):
        await delete(store, "desk")
    assert await ids(store) == ["desk", "pages", "search"]
