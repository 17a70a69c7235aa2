"""Children: of what an agent did for another, only what it returns is kept there."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.errors import ConfigError, ConversationError, ProviderFormatError
from ctxkit.sessions.children import Child
from ctxkit.sessions.records import told_in
from ctxkit.sessions.session import Session
from ctxkit.sessions.stores.memory import MemoryStore

SETTINGS: dict[str, Any] = {"format": "openai-chat", "budget": {"window": 4_000, "reply": 200}}
ASK = {"role": "user", "content": "Which flights are there?"}
WORK = {"role": "user", "content": "Look through all 400 pages."}
FOUND = {"role": "assistant", "content": "HAT023 on May 20."}


async def parent() -> Session:
    session = await Session.open("desk", MemoryStore(), **SETTINGS)
    await session.add(ASK)
    return session


async def test_the_parent_keeps_what_the_child_returns() -> None:
    session = await parent()
    child = await session.child("search", purpose="find flights")
    await child.add(WORK)
    assert session.children == [Child("search", "find flights", returned=False)]
    assert await child.finish(FOUND)
    assert session.messages == [ASK, FOUND]
    assert session.children == [Child("search", "find flights", returned=True)]
    assert child.messages == [WORK]
    records = [told_in(body, session="search") for body in await session.store.read("search")]
    assert records[0]["data"] == {"format": "openai-chat", "parent": "desk"}


async def test_a_child_returns_once_whoever_says_so_and_however_often() -> None:
    session = await parent()
    child = await session.child("search")
    other = await Session.open("desk", session.store, **SETTINGS)
    assert await session.returned(child, FOUND)
    assert not await child.finish(FOUND)
    assert not await other.returned("search", {"role": "assistant", "content": "something else"})
    assert other.messages == [ASK, FOUND]


async def test_it_answers_the_call_that_it_was_begun_for() -> None:
    session = await parent()
    function = {"name": "search_flights", "arguments": "{}"}
    call = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }
    await session.add(call)
    child = await session.child("search:c1")
    await child.finish({"role": "tool", "tool_call_id": "c1", "content": "HAT023"})
    assert session.open_calls() == []
    assert (await session.prepare()).messages[-1]["content"] == "HAT023"


async def test_after_a_crash_the_same_child_goes_on_and_returns() -> None:
    session = await parent()
    await (await session.child("search", purpose="find flights")).add(WORK)
    again = await Session.open("desk", session.store, **SETTINGS)
    child = await again.child("search", purpose="find flights")
    assert child.messages == [WORK]
    assert len(again.children) == 1
    alone = await Session.open("search", session.store, **SETTINGS)
    assert await alone.finish(FOUND)
    await again.refresh()
    assert again.messages == [ASK, FOUND]


async def test_a_crash_between_parent_and_child_leaves_nothing_that_nobody_names() -> None:
    session = await parent()
    child = await session.child("search")
    await session.store.delete("search")  # as if the crash had come before its first record
    again = await session.child("search")
    await again.add(WORK)
    assert (len(session.children), again.messages) == (1, [WORK])
    assert child.id == again.id


async def test_a_child_may_have_settings_and_children_of_its_own() -> None:
    session = await parent()
    child = await session.child("search", strategy="sliding-window", budget={"window": 900, "reply": 100})
    assert child.preparation.strategy.kind == "sliding-window"
    assert child.preparation.budget.window == 900
    grandchild = await child.child("pages")
    await grandchild.finish(FOUND)
    assert child.messages == [FOUND]
    assert session.messages == [ASK]


async def test_a_return_in_another_format_goes_through_the_parent() -> None:
    session = await parent()
    child = await session.child("search", format="gemini")
    await child.add({"role": "user", "parts": [{"text": "Look."}]})
    with pytest.raises(ProviderFormatError):
        await child.finish({"role": "model", "parts": [{"text": "HAT023"}]})
    assert await child.finish(FOUND)
    assert session.messages == [ASK, FOUND]


async def test_who_is_no_child_cannot_return() -> None:
    session = await parent()
    with pytest.raises(ConversationError, match="has no child 'other'"):
        await session.returned("other", FOUND)
    with pytest.raises(ConversationError, match="no parent"):
        await session.finish(FOUND)


async def test_a_session_that_is_there_does_not_become_a_child() -> None:
    session = await parent()
    other = await Session.open("other", session.store, **SETTINGS)
    await other.add(WORK)
    with pytest.raises(ConversationError, match="no child of 'desk'"):
        await session.child("other")
    assert session.children == []
    with pytest.raises(ConfigError, match="of its own"):
        await session.child("desk")


async def test_children_are_still_known_after_a_clear_but_not_what_they_were_for() -> None:
    session = await parent()
    await (await session.child("search", purpose="find flights")).finish(FOUND)
    await session.clear()
    kept = [Child("search", "", returned=True)]
    assert session.children == kept
    assert (await Session.open("desk", session.store, **SETTINGS)).children == kept
    assert b"find flights" not in b"".join(await session.store.read("desk"))
