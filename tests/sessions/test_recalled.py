"""What a session can go back to: an undone compaction stays undone, and what was folded away is read again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxkit import Budget, ConversationError, MemoryStore, Session, UnknownHandleError
from ctxkit.core.provider import Entry
from ctxkit.sessions.store import Store

SETTINGS: dict[str, Any] = {
    "format": "openai-chat",
    "budget": Budget(window=3_000, compact_at=600, min_gain=0),
    "strategy": "drop-oldest",
}


def said(number: int) -> list[Entry]:
    """A question and its answer, 50 tokens or so."""
    return [{"role": role, "content": f"{role} {number}: " + "word " * 20} for role in ("user", "assistant")]


async def opened(store: Store, **settings: Any) -> Session:
    return await Session.open("s", store, **{**SETTINGS, **settings})


async def compacted(turns: int = 16) -> tuple[MemoryStore, Session, list[Entry]]:
    """A session after its first compaction, and what was said in it."""
    store = MemoryStore()
    session = await opened(store)
    entries = [entry for number in range(turns) for entry in said(number)]
    await session.add(entries)
    assert (await session.prepare()).report.compacted
    return store, session, entries


@pytest.mark.parametrize("checkpoint", [False, True])
async def test_a_compaction_that_was_undone_is_not_made_again_before_the_window_overflows(
    checkpoint: bool,
) -> None:
    store, session, entries = await compacted()
    other = await opened(store)
    await session.undo()
    if checkpoint:
        await session._log.checkpoint()
    for worker in (session, other, await opened(store), await opened(store, background=True)):
        request = await worker.prepare()
        assert request.messages == entries
        assert "the last compaction was undone" in request.report.trigger
    more = [entry for number in range(16, 80) for entry in said(number)]
    await other.add(more)
    for worker in (other, session):
        request = await worker.prepare()
        assert request.report.compacted == (worker is other)
        assert request.report.tokens_after <= request.report.limit
        assert request.messages[-2:] == said(79)


async def test_what_is_compacted_when_asked_is_compacted_after_an_undo_too() -> None:
    _, session, entries = await compacted()
    await session.undo()
    assert (await session.compact()).compacted
    await session.add(said(99))
    assert (await session.prepare()).messages != [*entries, *said(99)]


async def test_an_undone_compaction_is_taken_over_again() -> None:
    store, session, entries = await compacted()
    other, short = await opened(store), session.messages
    await session.undo()
    assert session.messages == entries
    await other.refresh()
    await other.redo()
    await session.refresh()
    for worker in (session, other, await opened(store)):
        assert worker.messages == short
        assert (await worker.prepare()).messages == short
    await session.undo()
    await session.add(said(99))
    await session.redo()
    assert session.messages == [*short, *said(99)]


async def test_there_is_nothing_to_redo_that_was_not_undone_or_compacted_since() -> None:
    store, session, _ = await compacted()
    for _ in range(2):
        with pytest.raises(ConversationError, match="no undone compaction to redo"):
            await session.redo()
        await session.undo()
        await session.compact()
    assert len(await store.read("s")) == session.position


async def test_the_difference_of_two_requests_is_told_by_any_worker() -> None:
    store, session, entries = await compacted()
    second = session.position
    await session.undo()
    await session.prepare()
    third = session.position
    left = len(entries) - len(
        [entry for entry in (await session.request(second)).messages if entry in entries]
    )
    for worker in (session, await opened(store, strategy="hybrid", budget=Budget(window=9_000))):
        there = await worker.diff(third, second)
        assert [(each.what, each.id) for each in there if each.what == "left"] == [
            ("left", id) for id in range(left)
        ]
        assert {each.by for each in there if each.what == "left"} == {"drop-oldest"}
        assert all(each.handle for each in there if each.what == "left")
        back = await worker.diff(second, third)
        assert [each.id for each in back if each.what == "came back"] == [*range(left)]
        assert await worker.diff(second, second) == []
    with pytest.raises(ConversationError, match="has no request at position 1"):
        await session.diff(1, second)


async def test_what_a_handle_stands_for_is_restored_byte_for_byte() -> None:
    store, session, entries = await compacted()
    report = session.report
    assert report is not None
    for edit in (edit for edit in report.edits if edit.handle):
        for worker in (session, await opened(store)):
            there = [entries[position] for position in edit.positions]
            assert await worker.original(edit.handle) == there
            assert await worker.restore(edit.handle) == json.dumps(there).encode()
    with pytest.raises(UnknownHandleError, match="no-such-handle"):
        await session.restore("no-such-handle")
