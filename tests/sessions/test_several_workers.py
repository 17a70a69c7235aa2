"""Workers that share a session, each with a session object of its own: what one does is right for all."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import pytest
from pydantic import PrivateAttr

from ctxkit import (
    Budget,
    ConfigError,
    ConversationError,
    Drop,
    MemoryStore,
    OpenCallsError,
    Plan,
    ProviderFormatError,
    Services,
    Session,
    SessionError,
    View,
)
from ctxkit.core.provider import Entry
from ctxkit.sessions import log
from ctxkit.sessions.verifying import verify
from ctxkit.strategy import CompressionStrategy
from tests.oracle import violations

SETTINGS: dict[str, Any] = {"format": "openai-chat", "budget": Budget(window=900, reply=100, min_gain=0)}


def user(text: str) -> Entry:
    return {"role": "user", "content": text}


def run(work: Callable[[MemoryStore, Session, Session], Awaitable[None]], **settings: Any) -> None:
    """Two workers at one session."""

    async def working() -> None:
        store = MemoryStore()
        workers = [await Session.open("s", store, **{**SETTINGS, **settings}) for _ in range(2)]
        await work(store, *workers)

    asyncio.run(working())


def contents(messages: list[Entry]) -> list[Any]:
    return [message["content"] for message in messages]


@pytest.mark.parametrize(("what", "kept"), [("clear", []), ("retain_structure", ["4471"])])
def test_a_rollback_does_not_bring_back_what_was_taken_out_meanwhile(what: str, kept: list[str]) -> None:
    async def work(store: MemoryStore, one: Session, other: Session) -> None:
        await one.add(user("my code is 4471"))
        await one.remember("code", "4471")
        await one.name("then")
        await one.add(user("and more"))
        at = one.at

        async def slow(position: int | str) -> Any:
            moment = await at(position)
            one.at = at  # type: ignore[method-assign]
            await getattr(other, what)()
            return moment

        one.at = slow  # type: ignore[method-assign]
        with pytest.raises(ConversationError, match="has no position 'then'"):  # the names are gone, too
            await one.rollback("then")
        for session in (one, await Session.open("s", store, **SETTINGS)):
            assert contents(session.messages) == []
            assert [fact.value for fact in session.facts] == kept

    run(work)


@pytest.mark.parametrize("first", ["pop", "clear"])
def test_a_worker_writes_on_after_another_took_everything_out(first: str) -> None:
    async def work(store: MemoryStore, one: Session, other: Session) -> None:
        await one.add([user("a"), user("b")])
        await getattr(one, first)()
        await other.clear()
        await one.add(user("c"))
        await one.remember("d", "e")
        for session in (one, await Session.open("s", store, **SETTINGS)):
            assert contents(session.messages)[-1] == "c"

    run(work)


@pytest.mark.parametrize("begun_anew", [0, 1, 2, 3, 5])
def test_a_session_that_was_deleted_is_not_written_on(
    begun_anew: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "SURE_S", 0.0)

    async def work(store: MemoryStore, one: Session, other: Session) -> None:
        for number in range(3):
            await one.add(user(f"old {number}"))
        await store.delete("s")
        fresh = await Session.open("s", store, **{**SETTINGS, "clock": lambda: 1.0})
        for number in range(begun_anew):
            await fresh.add(user(f"new {number}"))
        for write in (lambda: one.add(user("more")), one.prepare, lambda: one.remember("a", "b")):
            with pytest.raises(SessionError, match="was deleted since it was opened here"):
                await asyncio.wait_for(write(), 5)
        new = [f"new {number}" for number in range(begun_anew)]
        assert contents((await Session.open("s", store, **SETTINGS)).messages) == new

    run(work)


def test_the_newest_message_is_popped_whoever_added_it() -> None:
    async def work(store: MemoryStore, one: Session, other: Session) -> None:
        await other.add(user("a"))
        assert await one.pop() == user("a")

    run(work)


def call(*ids: str) -> Entry:
    calls = [{"id": id, "type": "function", "function": {"name": "find", "arguments": "{}"}} for id in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(id: str) -> Entry:
    return {"role": "tool", "tool_call_id": id, "content": f"found {id}"}


def test_calls_that_another_worker_answered_are_not_run_again() -> None:
    async def work(store: MemoryStore, one: Session, other: Session) -> None:
        await other.add([user("find"), call("c1", "c2", "c3")])
        await one.refresh()
        await other.answer("c1", "by the other")
        ran = []

        async def tool(open_call: Any, given: str) -> str:
            ran.append(open_call.call.id)
            await other.refresh()
            await other.answer("c2", "by the other") if open_call.call.id == "c2" else None
            return "run"

        assert await one.rerun(tool) == 1
        assert ran == ["c2", "c3"]
        assert contents(one.messages)[2:] == ["by the other", "by the other", "run"]
        assert one.open_calls() == []

    run(work)


def test_a_fork_of_a_moment_from_which_something_was_erased_is_valid_after_undo() -> None:
    async def work(store: MemoryStore, one: Session, other: Session) -> None:
        for number in range(20):
            await one.add([user(f"{number} " + "word " * 30), {"role": "assistant", "content": "word " * 20}])
        await one.add([user("find"), call("c1"), result("c1")])
        await one.compact()
        position = one.position
        await one.pop()
        fork = await one.fork("f", at=position)
        with pytest.raises(ConversationError, match="no compaction to undo"):
            await fork.undo()
        assert [each.call.id for each in fork.open_calls()] == ["c1"]
        await fork.answer("c1", "again")
        assert not violations("openai-chat", (await fork.prepare()).messages)
        assert "found c1" not in str(await store.read("f"))

    run(work, strategy="drop-oldest")


def test_reply_and_add_may_have_the_same_key() -> None:
    async def work(store: MemoryStore, one: Session, other: Session) -> None:
        await one.add(user("hi"), key="webhook-17")
        draft = await one.reply({"role": "assistant", "content": "hello"}, key="webhook-17")
        again = await other.reply({"role": "assistant", "content": "another"}, key="webhook-17")
        assert again.entries == draft.entries == [{"role": "assistant", "content": "hello"}]
        await again.delivered()
        await draft.delivered()
        await one.refresh()
        assert contents(one.messages) == ["hi", "hello"]

    run(work)


class Failing(CompressionStrategy):
    """Cannot do it."""

    kind: Literal["failing"] = "failing"

    async def plan(self, view: View, services: Services) -> Plan:
        raise ValueError("not today")


def test_a_compaction_that_failed_is_on_record() -> None:
    async def work(store: MemoryStore, one: Session, other: Session) -> None:
        await one.add([user("word " * 50), {"role": "assistant", "content": "word " * 50}])
        await one.compact()
        assert [past.failures[0].by for past in one._history.archive.past] == ["failing"]
        await one._log.checkpoint()
        assert (await verify(store, "s")).findings == ()
        await other.refresh()
        assert [*other._history.archive.past] == [*one._history.archive.past]

    run(work, strategy=Failing())


def test_a_session_object_may_be_used_in_one_loop_after_another() -> None:
    session = asyncio.run(Session.open("s", MemoryStore(), **SETTINGS))

    async def crowd() -> None:
        await asyncio.gather(*(session.add(user("hi")) for _ in range(20)))

    asyncio.run(crowd())
    asyncio.run(crowd())
    assert len(session.messages) == 40


SECOND: list[tuple[str, list[Entry], list[Entry], list[Entry]]] = [
    ("openai-chat", [user("x"), call("c1")], [result("c1"), result("c1")], [result("c1")]),
    ("openai-chat", [user("x"), call("c1"), result("c1")], [result("c1"), user("y")], [user("y")]),
]
TOOLS = [{"type": "tool_use", "id": id, "name": "find", "input": {}} for id in ("c1", "c2")]


def block(id: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": f"found {id}"}


def blocks(role: str, *content: dict[str, Any]) -> Entry:
    return {"role": role, "content": [*content]}


WORDS = {"type": "text", "text": "and cancel my order"}
SECOND += [
    (
        "anthropic",
        [user("x"), blocks("assistant", TOOLS[0]), blocks("user", block("c1"))],
        [blocks("user", block("c1"), WORDS)],
        [blocks("user", WORDS)],
    ),
    (
        "anthropic",
        [user("x"), blocks("assistant", *TOOLS), blocks("user", block("c1"))],
        [blocks("user", block("c1"), block("c2"), WORDS)],
        [blocks("user", block("c2"), WORDS)],
    ),
]


def response(id: str) -> dict[str, Any]:
    return {"functionResponse": {"id": id, "name": "find", "response": {"output": id}}}


def parts(role: str, *given: dict[str, Any]) -> Entry:
    return {"role": role, "parts": [*given]}


CALLS = [{"functionCall": {"id": id, "name": "find", "args": {}}} for id in ("c1", "c2")]
SECOND += [
    (
        "gemini",
        [parts("user", {"text": "x"}), parts("model", CALLS[0]), parts("user", response("c1"))],
        [parts("user", response("c1"), {"text": "more"})],
        [parts("user", {"text": "more"})],
    ),
]


@pytest.mark.parametrize(("format", "before", "second", "taken"), SECOND)
def test_what_comes_beside_a_second_result_is_taken(
    format: str, before: list[Entry], second: list[Entry], taken: list[Entry]
) -> None:
    """As if only the first had come."""

    async def work(store: MemoryStore, one: Session, other: Session) -> None:
        await one.add(before)
        await one.add(second)
        alone = await Session.open("alone", store, **{**SETTINGS, "format": format})
        await alone.add(before)
        await alone.add(taken)
        assert one.messages == alone.messages
        report = (await one.compact()).normalised
        assert any("a second result for the call 'c1' was left out" in line for line in report)

    run(work, format=format)


def test_an_answer_that_was_discarded_cannot_be_delivered() -> None:
    async def work(store: MemoryStore, one: Session, other: Session) -> None:
        await one.add(user("hi"))
        draft = await one.reply({"role": "assistant", "content": "hello"})
        await other.refresh()
        await other.undelivered()[0].discard()
        with pytest.raises(ConversationError, match="was discarded or taken out"):
            await draft.delivered()
        assert contents(one.messages) == ["hi"]
        draft = await one.reply({"role": "assistant", "content": "hello again"})
        await one.clear()
        with pytest.raises(ConversationError, match="was discarded or taken out"):
            await draft.delivered()

    run(work)


def test_an_answer_that_could_not_be_delivered_is_no_answer() -> None:
    async def work(store: MemoryStore, one: Session, other: Session) -> None:
        await one.add(user("hi"))
        with pytest.raises(ProviderFormatError, match="would refuse this"):
            await one.reply({"role": "assistant", "content": None})
        assert one.undelivered() == []

    run(work)


def test_what_was_written_counts_when_a_reply_is_repeated_after_its_delivery() -> None:
    async def work(store: MemoryStore, one: Session, other: Session) -> None:
        await one.add(user("hi"))
        said = {"role": "assistant", "content": "hello"}
        await (await one.reply(said, key="k")).delivered()
        again = await other.reply({"role": "assistant", "content": "another"}, key="k")
        assert again.entries == [said]
        await again.delivered()
        await one.refresh()
        assert contents(one.messages) == ["hi", "hello"]

    run(work)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "format: which wire format"),
        (
            {"format": "openai-chat", "bugdet": {}},
            "bugdet: there is no setting 'bugdet'; did you mean budget?",
        ),
    ],
)
def test_a_setting_that_is_none_is_named(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(told)):
        asyncio.run(Session.open("s", MemoryStore(), **settings))


def test_another_format_is_named_however_much_is_on_record() -> None:
    async def work(store: MemoryStore, one: Session, other: Session) -> None:
        await one.add([user("x"), call("c1"), result("c1")])
        for checkpoint in (False, True):
            if checkpoint:
                await one._log.checkpoint()
            with pytest.raises(ConfigError, match="holds messages of the format openai-chat, not anthropic"):
                await Session.open("s", store, **{**SETTINGS, "format": "anthropic"})

    run(work)


def test_a_fork_that_was_begun_anew_is_another_session() -> None:
    async def work(store: MemoryStore, one: Session, other: Session) -> None:
        await one.add([user("a"), user("b")])
        fork = await one.fork("f")
        await fork.add(user("c"))
        await store.delete("f")
        again = await one.fork("f")
        await again.add(user("d"))
        with pytest.raises(SessionError, match="was deleted since it was opened here"):
            await fork.prepare()
        assert contents(again.messages) == ["a", "b", "d"]

    run(work)


@pytest.mark.parametrize("written", [0, 2])
def test_a_fork_of_nothing_begins_as_a_session_does(written: int) -> None:
    async def work(store: MemoryStore, one: Session, other: Session) -> None:
        for number in range(written):
            await one.add(user(f"{number}"))
        fork = await one.fork("f", at=0)
        beside = await Session.open("f", store, **SETTINGS)
        await fork.add(user("a"))
        await beside.add(user("b"))
        assert contents((await Session.open("f", store, **SETTINGS)).messages) == ["a", "b"]
        assert (await verify(store, "f")).findings == ()
        with pytest.raises(ConfigError, match="holds messages of the format openai-chat"):
            await Session.open("f", store, **{**SETTINGS, "format": "anthropic"})

    run(work)


class Meanwhile(CompressionStrategy):
    """Keeps the newest turns, and lets something happen before it says so."""

    kind: Literal["meanwhile"] = "meanwhile"
    _happens: list[Callable[[], Awaitable[None]]] = PrivateAttr(default_factory=list)

    async def plan(self, view: View, services: Services) -> Plan:
        if self._happens:
            await self._happens.pop()()
        return Plan.of(Drop(tuple(unit.id for unit in view.free()), "old"))


@pytest.mark.parametrize("comes", ["pop", "call"])
def test_what_comes_or_goes_while_a_compaction_is_planned_makes_no_request_that_is_refused(
    comes: str,
) -> None:
    strategy = Meanwhile()

    async def work(store: MemoryStore, one: Session, other: Session) -> None:
        for number in range(9):
            await one.add([user(f"{number} " + "word " * 60), {"role": "assistant", "content": "yes " * 60}])
        reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
        text = {"type": "output_text", "text": "ok", "annotations": []}
        said = {
            "type": "message",
            "role": "assistant",
            "id": "msg_1",
            "status": "completed",
            "content": [text],
        }
        await one.add([user("now"), reasoning, said])

        async def happens() -> None:
            await other.refresh()
            if comes == "pop":
                await other.pop()
                return
            await other.pop()
            await other.pop()
            call = {"type": "function_call", "call_id": "c1", "name": "pay", "arguments": "{}"}
            await other.add([user("pay"), call])

        strategy._happens.append(happens)
        with pytest.raises((ProviderFormatError, OpenCallsError)):
            await one.prepare()
        assert not strategy._happens

    run(work, format="openai-responses", strategy=strategy)
