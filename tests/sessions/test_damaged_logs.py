"""Logs and checkpoints that somebody has altered: whatever reads them says so in an error of its own, and goes on with others."""

from __future__ import annotations

import asyncio
import copy
import functools
import json
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit import Budget, CtxkitError, EncryptedStore, MemoryStore, Session, Store, StoreError, sweep
from ctxkit.sessions.retention import delete
from ctxkit.sessions.verifying import verify

SETTINGS: dict[str, Any] = {"format": "openai-chat", "budget": Budget(window=900, reply=100, min_gain=0)}
T = TypeVar("T")

LATER = 91 * 86_400.0

BEGUN = b'{"v":1,"kind":"session","at":1.0,"data":{"format":"openai-chat"}}'
DAMAGED = {
    "no kind": [BEGUN, b'{"v":1}'],
    "no data": [b'{"v":1,"kind":"session","at":1.0}'],
    "no such format": [b'{"v":1,"kind":"session","at":1.0,"data":{"format":"klingon"}}'],
    "a list for a format": [b'{"v":1,"kind":"session","at":1.0,"data":{"format":[1]}}'],
    "a name without one": [BEGUN, b'{"v":1,"kind":"name","at":1.0,"data":{}}'],
    "data is a text": [BEGUN, b'{"v":1,"kind":"name","at":1.0,"data":"x"}'],
    "nothing to undo": [BEGUN, b'{"v":1,"kind":"undo","at":1.0,"step":{"change":{}}}'],
    "a pop of nothing": [BEGUN, b'{"v":1,"kind":"pop","at":1.0,"step":{"change":{}}}'],
    "a clear without step": [BEGUN, b'{"v":1,"kind":"clear","at":1.0}'],
    "a request of a number": [BEGUN, b'{"v":1,"kind":"request","at":1.0,"data":{"entries":5}}'],
    "a request of too much": [
        BEGUN,
        b'{"v":1,"kind":"request","at":1.0,"data":{"entries":[[0,9999999999]]}}',
    ],
    "tokens of a list": [BEGUN, b'{"v":1,"kind":"request","at":1.0,"data":{"entries":[],"tokens":[1]}}'],
    "messages that are not there": [
        BEGUN,
        b'{"v":1,"kind":"items","at":1.0,"step":{"change":{"next_id":5}}}',
    ],
    "a text for a number": [BEGUN, b'{"v":1,"kind":"items","at":1.0,"step":{"change":{"next_id":"z"}}}'],
    "a text for a time": [BEGUN, b'{"v":1,"kind":"draft","at":"now","data":{"draft":"d","entries":[]}}'],
    "a time without end": [BEGUN, b'{"v":1,"kind":"name","at":1e999,"data":{"name":"x","position":1}}'],
    "no time": [BEGUN, b'{"v":1,"kind":"name","at":NaN,"data":{"name":"x","position":1}}'],
    "many digits": [BEGUN, b'{"v":1,"kind":"name","at":' + b"9" * 5_000 + b"}"],
    "a version that is none": [BEGUN, b'{"v":1.0,"kind":"name","at":1.0}'],
    "brackets": [BEGUN, b"[" * 100_000],
}


async def beside(store: Store) -> None:
    session = await Session.open("sound", store, **SETTINGS)
    await session.add({"role": "user", "content": "Hi"})


async def typed(call: Callable[[], Awaitable[Any]]) -> str:
    """What it raised, "" for nothing; it has to be one of ctxkit's, and to come in time."""
    try:
        await asyncio.wait_for(call(), 20)
    except CtxkitError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("bodies", DAMAGED.values(), ids=DAMAGED)
async def test_a_log_that_cannot_be_read_is_found_left_alone_and_deleted(bodies: list[bytes]) -> None:
    store = MemoryStore()
    await beside(store)
    await store.append("s", bodies, after=0)
    told = await typed(lambda: Session.open("s", store, **SETTINGS))
    assert "session 's'" in told or not told
    assert (await verify(store, "s")).findings
    swept = await sweep(store, now=time.time() + LATER)
    assert "sound" in swept.retained
    assert ("s" in swept.failed) == bool(told)
    deleted = await delete(store, "s")
    assert deleted.ids == ("s",)
    assert ("s" in deleted.unread) == bool(told)
    assert [each.id for each in await store.sessions()] == ["sound"]


def _run_elsewhere(work: Coroutine[Any, Any, T]) -> T:
    """Run what tests with a loop of their own ask for, too."""
    with ThreadPoolExecutor() as threads:
        return threads.submit(asyncio.run, work).result()


@functools.cache
def log() -> tuple[bytes, ...]:
    """A log that has every kind of record."""

    async def made() -> list[bytes]:
        store = MemoryStore()
        session = await Session.open("s", store, **SETTINGS)
        function = {"name": "look_up", "arguments": "{}"}
        for number in range(5):
            words = f"{number}: where is the order W{number:07}? " + "and some words " * 20
            call = {"id": f"c{number}", "type": "function", "function": function}
            await session.add({"role": "user", "content": words})
            await session.add({"role": "assistant", "content": None, "tool_calls": [call]})
            await session.add({"role": "tool", "tool_call_id": f"c{number}", "content": "on its way " * 30})
            await session.add({"role": "assistant", "content": f"{number}: it is on its way"})
            await session.prepare(tools=[{"type": "function", "function": function}])
        await session.remember("diet", "vegetarian")
        await session.pin(-1)
        await (await session.reply({"role": "assistant", "content": "One."})).delivered()
        await session.reply({"role": "assistant", "content": "Two."})
        await session.name("here")
        await session.undo()
        await session.redo()
        await (await session.child("child", purpose="search")).finish({"role": "user", "content": "Found."})
        await session.handoff(to="another")
        await session.add({"role": "user", "content": "oops"})
        await session.pop()
        await session.rollback("here")
        await session.add({"role": "user", "content": "and now?"})
        await session.prepare()
        return await store.read("s")

    return tuple(_run_elsewhere(made()))


def test_the_log_has_every_kind() -> None:
    kinds = {json.loads(body)["kind"] for body in log()}
    assert kinds >= {"session", "items", "tools", "compaction", "request", "edit", "draft", "name", "undo"}
    assert kinds >= {"redo", "child", "handoff", "pop", "rollback"}


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from paths(each, (*path, key))


def altered(value: Any, path: tuple[Any, ...], junk: Any) -> Any:
    """The value with junk at a path, or without what is there when the junk is `...`."""
    if not path:
        return None if junk is ... else junk
    value = copy.deepcopy(value)
    at = functools.reduce(lambda held, key: held[key], path[:-1], value)
    if junk is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = junk
    return value


JUNK = st.sampled_from([None, 5, -1, True, 10**30, 1e300, "x", [], [[]], [5], {}, {"x": 1}, ...])


@given(st.data())
def test_whatever_is_altered_in_a_log_no_other_error_comes_of_it(data: st.DataObject) -> None:
    bodies = list(log())
    at = data.draw(st.integers(0, len(bodies) - 1))
    told = json.loads(bodies[at])
    path = data.draw(st.sampled_from(list(paths(told))))
    bodies[at] = json.dumps(altered(told, path, data.draw(JUNK))).encode()

    async def run() -> None:
        store = MemoryStore()
        await beside(store)
        await store.append("s", bodies, after=0)
        opened: list[Session] = []

        async def opens() -> None:
            opened.append(await Session.open("s", store, **SETTINGS))

        if not await typed(opens):
            for call in _calls(opened[0]):
                await typed(call)
        await typed(lambda: verify(store, "s"))
        swept = await sweep(store, now=time.time() + LATER)
        assert "sound" in swept.retained
        await delete(store, "s")
        assert await store.info("s") is None

    asyncio.run(run())


def _calls(session: Session) -> list[Callable[[], Awaitable[Any]]]:
    return [
        session.requests,
        session.finish_erasures,
        session.prepare,
        lambda: session.add({"role": "user", "content": "y"}),
        lambda: session.why("the order"),
        session.explain,
        lambda: session.at(3),
        lambda: session.run_restore({"query": "order"}),
        session.pop,
        session._log.checkpoint,
    ]


async def _whole(store: Store) -> list[Any]:
    return (await Session.open("s", store, **SETTINGS)).messages


async def _checkpointed(store: Store) -> tuple[list[Any], int]:
    await store.append("s", list(log()), after=0)
    session = await Session.open("s", store, **SETTINGS)
    await session._log.checkpoint()
    return session.messages, session.position


@pytest.mark.parametrize("body", [b"", b"{", b"{}", b'{"v":1,"states":5}', b"[" * 100_000, b"\xff"])
async def test_a_checkpoint_that_cannot_be_read_is_told_and_the_log_is_read_from_its_start(
    body: bytes,
) -> None:
    store = MemoryStore()
    messages, position = await _checkpointed(store)
    await store.save_checkpoint("s", position, body)
    session = await Session.open("s", store, **SETTINGS)
    assert session.messages == messages
    (line,) = [each for each in (await session.prepare()).report.normalised if "checkpoint" in each]
    assert line.startswith("the log was read from its start: the checkpoint of session 's' cannot be read")
    assert "`ctxkit session verify` drops" in line
    assert not [each for each in (await session.prepare()).report.normalised if "checkpoint" in each]
    (finding,) = (await verify(store, "s")).findings
    assert (finding.position, "and is dropped" in finding.message) == (position, True)
    assert await store.checkpoint("s") is None
    assert (await verify(store, "s")).findings == ()


@pytest.mark.parametrize(
    "damage", [lambda body: body[:-1] + b"\0", lambda body: body[:5], lambda body: b"plain"]
)
async def test_so_is_one_that_cannot_be_decrypted(damage: Callable[[bytes], bytes]) -> None:
    pytest.importorskip("cryptography")
    inner = MemoryStore()
    store = EncryptedStore(inner, b"k" * 32)
    messages, position = await _checkpointed(store)
    kept = await inner.checkpoint("s")
    assert kept is not None
    await inner.save_checkpoint("s", position, damage(kept[1]))
    session = await Session.open("s", store, **SETTINGS)
    assert session.messages == messages
    assert [each for each in (await session.prepare()).report.normalised if "was read from its start" in each]
    (finding,) = (await verify(store, "s")).findings
    assert "the checkpoint was wrong, and is dropped" in finding.message
    assert await store.checkpoint("s") is None
    assert (await verify(store, "s")).findings == ()


async def test_a_store_that_is_down_is_no_damaged_checkpoint() -> None:
    store = MemoryStore()
    await _checkpointed(store)

    async def down(*_: Any, **__: Any) -> Any:
        raise StoreError("down", session="s")

    store.checkpoint = down  # type: ignore[method-assign]
    with pytest.raises(StoreError, match="down"):
        await Session.open("s", store, **SETTINGS)


@functools.cache
def checkpoint() -> bytes:
    async def made() -> bytes:
        store = MemoryStore()
        await _checkpointed(store)
        kept = await store.checkpoint("s")
        assert kept is not None
        return kept[1]

    return _run_elsewhere(made())


@given(st.data())
def test_whatever_is_altered_in_a_checkpoint_verify_drops_it(data: st.DataObject) -> None:
    told = json.loads(checkpoint())
    path = data.draw(st.sampled_from(list(paths(told))))
    body = json.dumps(altered(told, path, data.draw(JUNK))).encode()

    async def run() -> None:
        store = MemoryStore()
        await store.append("s", list(log()), after=0)
        await store.save_checkpoint("s", len(log()), body)
        await typed(lambda: Session.open("s", store, **SETTINGS))
        await verify(store, "s")
        assert await _whole(store) == await _from_start()

    asyncio.run(run())


async def _from_start() -> list[Any]:
    store = MemoryStore()
    await store.append("s", list(log()), after=0)
    return await _whole(store)


async def test_verify_tells_each_record_that_its_store_does_not_give_out() -> None:
    pytest.importorskip("cryptography")
    inner = MemoryStore()
    store = EncryptedStore(inner, b"k" * 32)
    await store.append("s", list(log()), after=0)
    first, second = (await inner.read("s"))[2], (await inner.read("s"))[5]
    await inner.rewrite("s", {3: second, 6: first})
    assert [each.position for each in (await verify(store, "s")).findings] == [3, 6]
    other = EncryptedStore(inner, b"z" * 32)
    (finding,) = (await verify(other, "s")).findings
    assert f"none of its {len(log())} records can be read" in finding.message
    assert (await delete(other, "s")).unread.keys() == {"s"}
    assert await inner.sessions() == []
