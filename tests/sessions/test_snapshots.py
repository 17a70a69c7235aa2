"""Each request is on record as it went out: byte for byte, by reference, with where each entry of it is from."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit import (
    Budget,
    BudgetExceededError,
    CompressionStrategy,
    ConversationError,
    OpenCallsError,
    Plan,
    Services,
    SessionError,
    Shorten,
    View,
    marked,
)
from ctxkit.preparation import Request
from ctxkit.providers import FORMATS
from ctxkit.sessions.records import to_bytes
from ctxkit.sessions.sent import Sent
from ctxkit.sessions.session import Session
from ctxkit.sessions.snapshots import seal
from ctxkit.sessions.stores.memory import MemoryStore
from ctxkit.testing.conversations import Payload, arrivals, conversations

Entry = dict[str, Any]
ROOM = Budget(window=100_000, reply=1_000)
TIGHT = Budget(window=900, reply=100, min_gain=0)


def said(number: int, role: str = "user") -> Entry:
    return {
        "role": role,
        "content": f"{number}: the invoice W{number:07} of {number * 3}.25 EUR is still open",
    }


def looked_up(number: int) -> list[Entry]:
    """A question, a call, a long result, an answer."""
    call = {"id": f"call_{number}", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    rows = json.dumps([{"order": f"W{number * 100 + k:07}", "total": k * 9.5} for k in range(30)])
    return [
        said(number),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{number}", "content": rows},
        said(number, "assistant"),
    ]


async def opened(store: MemoryStore, budget: Budget = ROOM, **settings: Any) -> Session:
    return await Session.open("s", store, **{"format": "openai-chat", "budget": budget, **settings})


def bodies(store: MemoryStore, kind: str = "") -> dict[int, bytes]:
    """The records by position, all or those of one kind."""
    found = asyncio.run(store.read("s"))
    return {at: each for at, each in enumerate(found, 1) if not kind or json.loads(each)["kind"] == kind}


def sent_bytes(sent: Sent | Request, tools: Any) -> bytes:
    return to_bytes([sent.messages, sent.system, tools])


async def lived(payload: Payload, store: MemoryStore) -> dict[int, bytes]:
    """What was sent whenever a request could be made, by the position of its record."""
    session = await opened(store, TIGHT, format=payload.format)
    sent = {}
    for at, entry in enumerate(payload.messages):
        await session.add([entry], system=payload.system if not at else None)
        if at % 3 == 1:
            await session.remember("place", f"the house at number {at} of the street")
        try:
            request = await session.prepare(payload.tools)
        except OpenCallsError:
            continue
        except BudgetExceededError:
            return sent
        sent[session.position] = sent_bytes(request, payload.tools)
    return sent


async def found_again(store: MemoryStore, format: str, sent: dict[int, bytes]) -> None:
    session = await opened(store, format=format)
    assert [each.position for each in await session.requests()] == [*sent]
    for position, expected in sent.items():
        found = await session.request(position)
        assert found.sealed
        assert sent_bytes(found, found.tools) == expected
        assert len(found.entries) == len(found.messages)


@given(payload=conversations(max_turns=5))
def test_every_request_is_on_record_byte_for_byte(payload: Payload) -> None:
    async def run() -> None:
        store = MemoryStore()
        await found_again(store, payload.format, await lived(payload, store))

    asyncio.run(run())


@given(data=st.data(), format=st.sampled_from(FORMATS))
def test_so_are_those_with_calls_that_nobody_answered_yet(data: st.DataObject, format: str) -> None:
    batches = data.draw(arrivals(format))

    async def run() -> None:
        store, sent = MemoryStore(), {}
        session = await opened(store, format=format)
        for batch in batches:
            await session.add(batch)
            try:
                request = await session.prepare()
            except OpenCallsError:
                continue
            sent[session.position] = sent_bytes(request, None)
        await found_again(store, format, sent)

    asyncio.run(run())


def run_session(work: Callable[[Session], Awaitable[None]], **settings: Any) -> MemoryStore:
    store = MemoryStore()

    async def run() -> None:
        await work(await opened(store, **settings))

    asyncio.run(run())
    return store


def test_a_record_does_not_grow_with_the_history() -> None:
    async def work(session: Session) -> None:
        for number in range(150):
            await session.add([said(number), said(number, "assistant")])
            await session.prepare()

    requests = bodies(run_session(work), "request")
    sizes = [len(each) for each in requests.values()]
    assert len(sizes) == 150
    assert max(sizes) < 350


def test_what_is_no_original_is_held_once() -> None:
    async def work(session: Session) -> None:
        for number in range(12):
            await session.add(looked_up(number))
            await session.prepare([{"type": "function", "function": {"name": "look_up"}}])

    store = run_session(work, budget=Budget(window=4_000, reply=500))
    held = [
        each for body in bodies(store, "request").values() for each in json.loads(body)["data"].get("new", ())
    ]
    assert len({to_bytes([each.get("id"), each["raw"]]) for each in held}) == len(held)
    assert sum(each.get("part") == "tools" for each in held) == 1
    assert any(each.get("edited") or each.get("stands_for") for each in held)


def test_each_entry_says_where_it_is_from() -> None:
    async def run() -> None:
        store = MemoryStore()
        session = await opened(store, Budget(window=4_000, reply=500))
        await session.remember("address", "12 Long Street, second floor")
        for number in range(12):
            await session.add(looked_up(number))
            await session.prepare()
        other = await opened(store)
        sent = await other.request((await other.requests())[-1].position)
        assert sum(origin.tokens for origin in sent.entries) == sum(sent.tokens.values())
        originals = {origin.id: entry for entry, origin in zip(sent.messages, sent.entries, strict=True)}
        assert originals[47] == said(11, "assistant")
        messages = [each for each in sent.entries if each.kind == "message"]
        assert messages[-1].record == sent.position - 1
        (profile,) = [each for each in sent.entries if each.kind == "profile"]
        assert [fact[1:3] for fact in profile.facts if fact[2] == "user"] == [("address", "user")]
        made = [each for each in sent.entries if each.kind in ("summary", "gap", "edited")]
        assert made
        for each in made:
            assert each.by
            assert each.why
            assert (await other.original(each.handle))[0]["role"] in ("user", "assistant", "tool")

    asyncio.run(run())


def test_two_workers_record_what_they_sent() -> None:
    async def run() -> None:
        store, sent = MemoryStore(), {}
        workers = [await opened(store, TIGHT), await opened(store, TIGHT)]
        for number in range(40):
            worker = workers[number % 2]
            await worker.add([said(number), said(number, "assistant")])
            request = await worker.prepare()
            sent[worker.position] = sent_bytes(request, None)
        await found_again(store, "openai-chat", sent)

    asyncio.run(run())


def test_an_altered_log_does_not_match_its_seal() -> None:
    async def run() -> None:
        store = MemoryStore()
        session = await opened(store)
        await session.add([said(1), said(2, "assistant"), said(3)])
        request = await session.prepare()
        position = session.position
        assert seal(request.messages) == json.loads((await store.read("s"))[-1])["data"]["seal"]
        records = await store.read("s")
        (at,) = [at for at, body in enumerate(records, 1) if b"W0000002" in body]
        await store.rewrite("s", {at: records[at - 1].replace(b"W0000002", b"W0000009")})
        with pytest.raises(SessionError, match=f"position {position} .* does not match its seal"):
            await (await opened(store)).request(position)

    asyncio.run(run())


def test_a_reader_is_told_that_there_is_no_such_request() -> None:
    async def run() -> None:
        session = await opened(MemoryStore())
        await session.add(said(1))
        await session.prepare()
        for position in (0, 1, 2, 99):
            with pytest.raises(ConversationError, match="has no request at position"):
                await session.request(position)

    asyncio.run(run())


def test_without_snapshots_there_is_a_record_and_nothing_in_it() -> None:
    async def run() -> None:
        store = MemoryStore()
        session = await opened(store, snapshots=False)
        await session.add(said(1))
        await session.prepare()
        assert json.loads((await store.read("s"))[-1])["step"] == {"change": {}, "sent": 1}
        assert [each.recorded for each in await session.requests()] == [False]
        with pytest.raises(ConversationError, match="was not recorded"):
            await session.request(session.position)

    asyncio.run(run())


def test_what_was_taken_back_is_in_no_request() -> None:
    secret = "the code of the safe is 778-201-993"

    async def run() -> None:
        store = MemoryStore()
        session = await opened(store, Budget(window=2_000, reply=300, min_gain=0))
        for number in range(3):
            await session.add(looked_up(number))
        answer = await session.reply({"role": "assistant", "content": f"{secret} " * 40})
        await answer.delivered()
        await session.prepare()
        before = session.position
        assert any(secret.encode() in body for body in await store.read("s"))
        await session.pop()
        assert not any(secret.encode() in body for body in await store.read("s"))
        for reader in (session, await opened(store)):
            sent = await reader.request(before)
            assert not sent.sealed
            assert [origin.id for origin in sent.entries if origin.erased] == [12]
            assert sent.erased == (len(sent.messages) - 1,)
        await session.add(said(50))
        await session.prepare()
        assert (await session.request(session.position)).sealed

    asyncio.run(run())


class ShortenNewest(CompressionStrategy):
    """Leave the first words of the newest tool result."""

    kind: Literal["shorten-newest"] = "shorten-newest"

    def plan(self, view: View, services: Services) -> Plan:
        newest = view.results()[-1]
        return Plan.of(Shorten(newest.item.id, newest.part, marked(newest.text[:80]), "it is long"))


def test_what_was_made_of_it_goes_too() -> None:
    secret = "the code of the safe is 778-201-993"

    async def run() -> None:
        store = MemoryStore()
        session = await opened(store, Budget(window=2_500, reply=300, min_gain=0), strategy=ShortenNewest())
        call = looked_up(1)
        call[2]["content"] = f"{secret}, and {'so on, ' * 3_000}"
        await session.add([*looked_up(0), *call[:3]])
        await session.prepare()
        data = json.loads((await store.read("s"))[-1])["data"]
        assert [each["id"] for each in data["new"] if secret in json.dumps(each)] == [6]
        sent = await session.request(session.position)
        assert (sent.entries[6].kind, sent.entries[6].by) == ("edited", "shorten-newest")
        await session.pop()
        assert not any(secret.encode() in body for body in await store.read("s"))
        (request,) = await (await opened(store)).requests()
        assert (await session.request(request.position)).erased == (6,)

    asyncio.run(run())


def test_after_clearing_there_are_no_earlier_requests() -> None:
    async def run() -> None:
        store = MemoryStore()
        session = await opened(store)
        await session.add(said(1))
        await session.prepare()
        old = session.position
        await session.clear()
        await session.add(said(2))
        await session.prepare()
        assert [each.position for each in await session.requests()] == [session.position]
        assert (await session.request(session.position)).messages == [said(2)]
        with pytest.raises(ConversationError, match="was erased"):
            await session.request(old)

    asyncio.run(run())


def test_a_request_that_was_made_while_something_was_erased_is_not_recorded() -> None:
    async def run() -> None:
        store = MemoryStore()
        session = await opened(store)
        other = await opened(store)
        await session.add([said(1), said(2, "assistant"), said(3)])
        await other.refresh()
        cleared = False
        write = session._log.write

        async def late(make: Any, **more: Any) -> Any:
            nonlocal cleared
            if make.__code__.co_names[:1] == ("_snapshots",) and not cleared:
                cleared = True
                await other.clear()
            return await write(make, **more)

        session._log.write = late  # type: ignore[method-assign]
        request = await session.prepare()
        assert cleared
        assert len(request.messages) == 3
        assert not any(b"W000000" in body for body in await store.read("s"))
        assert [each.recorded for each in await session.requests()] == [False]

    asyncio.run(run())


def test_what_the_model_says_in_the_place_of_steps_is_on_record_as_what_it_is() -> None:
    """Inside a tool loop that thinks nothing may stand in for steps as words of a user."""

    def step(number: int) -> list[Entry]:
        thinking = [] if number else [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]
        call = {"type": "tool_use", "id": f"t{number}", "name": "f", "input": {"text": "word " * 40}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "told " * 40}
        return [{"role": "assistant", "content": [*thinking, call]}, {"role": "user", "content": [result]}]

    async def run() -> None:
        session = await opened(MemoryStore(), TIGHT, format="anthropic", strategy="drop-oldest")
        await session.add({"role": "user", "content": "Do it all."})
        for number in range(30):
            await session.add(step(number))
            request = await session.prepare()
        sent = await session.request(session.position)
        assert sent.messages == request.messages
        (place,) = [at for at, each in enumerate(sent.entries) if each.kind == "gap"]
        assert sent.messages[place]["role"] == "assistant"
        assert sent.entries[place].by == "drop-oldest"
        assert await session.original(sent.entries[place].handle)

    asyncio.run(run())
