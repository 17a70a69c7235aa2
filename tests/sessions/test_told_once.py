"""What a session tells of a way back and of what is in the way: once, and with what to do."""

from __future__ import annotations

import io
import json
import time
from typing import Any

import pytest

from ctxkit import Budget, ConflictError, ContextManager, MemoryStore, Session, Store
from ctxkit.sessions.retention import Retention, idle
from ctxkit.sessions.transfer import export_log, import_log

SETTINGS: dict[str, Any] = {
    "format": "openai-chat",
    "budget": Budget(window=600, reply=100),
    "strategy": "drop-oldest",
}


async def opened(store: Store, id: str = "s") -> Session:
    return await Session.open(id, store, **SETTINGS)


def said(at: int) -> list[dict[str, str]]:
    return [
        {"role": "user", "content": f"Question {at}. " + "Some words. " * 20},
        {"role": "assistant", "content": f"Answer {at}."},
    ]


async def test_a_broken_cache_is_told_once_after_undo_and_redo() -> None:
    session = await opened(MemoryStore())
    for at in range(12):
        await session.add(said(at))
    short = (await session.prepare()).messages
    await session.undo()
    await session.redo()
    request = await session.prepare()
    assert request.messages == short
    assert request.report.normalised == (
        "the last compaction was undone",
        "the last compaction was redone: the prompt cache is broken",
    )


def test_of_two_that_were_undone_the_last_tells_it() -> None:
    context = ContextManager("openai-chat", Budget(window=600, reply=100), "drop-oldest")
    for at in range(24):
        context.add(said(at))
        context.prepare_sync()
    context.undo()
    context.undo()
    told = context.prepare_sync().report.normalised
    assert [line.endswith("the prompt cache is broken") for line in told if "undone" in line] == [False, True]


async def test_a_fork_to_an_id_that_is_taken_says_so() -> None:
    store = MemoryStore()
    session = await opened(store)
    await session.add(said(1))
    await (await opened(store, "taken")).add(said(2))
    with pytest.raises(
        ConflictError, match=r"^there is a session 'taken' already; fork to another id$"
    ) as raised:
        await session.fork("taken")
    assert (raised.value.session, raised.value.position) == ("taken", 2)


async def test_an_import_onto_an_id_that_is_taken_says_so() -> None:
    store, file = MemoryStore(), io.BytesIO()
    await (await opened(store)).add(said(1))
    await export_log(store, "s", file)
    before = await store.read("s")
    file.seek(0)
    with pytest.raises(ConflictError, match=r"^there is a session 's' already; give this one another id"):
        await import_log(store, file)
    assert await store.read("s") == before
    file.seek(0)
    assert (await import_log(store, file, session="copy")).records == len(before)


async def test_a_difference_has_the_facts_that_came_and_left() -> None:
    session = await opened(MemoryStore())
    await session.remember("seat", "aisle")
    await session.remember("meal", "none")
    await session.add(said(1))
    await session.prepare()
    first = session.position
    await session.remember("seat", "window")
    await session.forget("meal")
    await session.remember("gate", "B4")
    await session.prepare()
    second = session.position
    told = [
        (each.what, each.says, each.by, each.why) for each in await session.diff(first, second) if each.says
    ]
    assert told == [
        ("left", "seat: aisle", "user", "superseded in turn 1: seat: window"),
        ("left", "meal: none", "user", "taken back in turn 1"),
        ("came", "seat: window", "user", "remembered in turn 1"),
        ("came", "gate: B4", "user", "remembered in turn 1"),
    ]
    back = [(each.what, each.says) for each in await session.diff(second, first) if each.says]
    assert back == [
        ("left", "seat: window"),
        ("left", "gate: B4"),
        ("came", "seat: aisle"),
        ("came", "meal: none"),
    ]


async def test_a_call_is_found_by_its_tool() -> None:
    session = await opened(MemoryStore())
    function = {"name": "refund_order", "arguments": json.dumps({"id": "W5362037"})}
    call = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }
    await session.add([*said(1), call])
    (found,) = await session.why("Refund")
    assert (found.name, found.says) == ("2", 'refund_order {"id": "W5362037"}')


async def test_what_a_sweep_would_take_is_known_before() -> None:
    store, days = MemoryStore(), Retention(days=1)
    for id in ("damaged", "full", "swept"):
        await (await opened(store, id)).add(said(1))
    await (await opened(store, "swept")).retain_structure()
    await store.rewrite("damaged", {2: b"{"})
    assert await idle(store, days) == []
    assert await idle(store, days, now=time.time() + 2 * 86_400) == ["damaged", "full"]


async def test_a_worker_that_opens_a_session_does_not_tell_what_was_told_before() -> None:
    """A call that nobody answered for turns, system text that changed: told with the request that it was true of."""
    store, settings = MemoryStore(), {**SETTINGS, "format": "openai-responses"}

    async def worker() -> Session:
        return await Session.open("s", store, **settings)

    first = await worker()
    call = {"type": "function_call", "call_id": "c", "name": "refund", "arguments": "{}"}
    asked = [{"role": "user", "content": "Refund it."}, call, {"role": "user", "content": "Well?"}]
    await first.add(asked, system="Be fair.")
    stands_in = "no result has come for the call 'c': a stand-in is sent"
    broken = "the system text changed: the prompt cache is broken"
    assert (await first.prepare()).report.normalised == (stands_in,)
    await first.add(system="Be brief.")
    assert (await first.prepare()).report.normalised == (broken, stands_in)
    await first.answer("c", "done")
    await first.add({"role": "user", "content": "Thanks."})
    await first.prepare()
    assert (await (await worker()).prepare()).report.normalised == ()
    await first.add(system="Be kind.")
    assert (await (await worker()).prepare()).report.normalised == (broken,)
