"""Calls that a crash interrupted: they are run again, or given up, by whoever opens the session next."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ctxkit import ConversationError, MemoryStore, ProviderFormatError, Session
from ctxkit.core.provider import Entry
from ctxkit.core.state import OpenCall
from ctxkit.sessions.stores.sqlite import SQLiteStore
from tests.oracle import violations

IDS = ("c1", "c2", "c3")
ASK = "Which of W1, W2 and W3 are paid?"


def arguments(id: str) -> dict[str, Any]:
    return {"order": f"W{id[1:]}"}


def asked(format: str, ids: Sequence[str] = IDS) -> list[Entry]:
    """A question, and a step with calls."""
    if format == "openai-chat":
        functions = [(id, {"name": "find", "arguments": json.dumps(arguments(id))}) for id in ids]
        calls = [{"id": id, "type": "function", "function": function} for id, function in functions]
        step: list[Entry] = [{"role": "assistant", "content": None, "tool_calls": calls}]
    elif format == "openai-responses":
        step = [
            {"type": "function_call", "call_id": id, "name": "find", "arguments": json.dumps(arguments(id))}
            for id in ids
        ]
    elif format == "anthropic":
        uses = [{"type": "tool_use", "id": id, "name": "find", "input": arguments(id)} for id in ids]
        step = [{"role": "assistant", "content": uses}]
    else:
        made = [{"functionCall": {"id": id, "name": "find", "args": arguments(id)}} for id in ids]
        return [{"role": "user", "parts": [{"text": ASK}]}, {"role": "model", "parts": made}]
    return [{"role": "user", "content": ASK}, *step]


async def opened(store: MemoryStore, format: str = "openai-chat") -> Session:
    return await Session.open("s", store, format=format, budget={"window": 4_000, "reply": 200})


async def interrupted(format: str = "openai-chat", ids: Sequence[str] = IDS) -> tuple[MemoryStore, Session]:
    """A session whose worker crashed in the middle of a step, opened again."""
    store = MemoryStore()
    await (await opened(store, format)).add(asked(format, ids))
    return store, await opened(store, format)


@pytest.mark.parametrize(
    ("format", "ids"),
    [("openai-chat", IDS), ("openai-responses", IDS), ("anthropic", IDS), ("gemini", IDS[:1])],
)
async def test_interrupted_calls_are_run_again_in_their_order(format: str, ids: Sequence[str]) -> None:
    store, session = await interrupted(format, ids)
    ran: list[str | None] = []

    async def run(call: OpenCall, given: str) -> str:
        ran.append(call.call.id)
        assert json.loads(given) == arguments(str(call.call.id))
        return f"{call.call.id} is paid"

    assert await session.rerun(run) == len(ids)
    assert ran == [*ids]
    assert session.open_calls() == []
    assert await session.rerun(run) == 0
    for worker in (session, await opened(store, format)):
        messages = (await worker.prepare()).messages
        assert violations(format, messages) == []
        assert all(json.dumps(messages).count(f"{id} is paid") == 1 for id in ids)


@pytest.mark.parametrize("signed", [False, True], ids=["plain", "signed"])
async def test_calls_of_one_name_without_ids_are_each_run_with_their_own_arguments(signed: bool) -> None:
    """As Gemini makes them: only the order tells which result is whose, and only the first of a step is signed."""
    orders = ["W1", "W2", "W3"]
    made = [{"functionCall": {"name": "pay", "args": {"order": order}}} for order in orders]
    if signed:
        made[0] |= {"thoughtSignature": "c2lnbmVk"}
    store = MemoryStore()
    asked = [{"role": "user", "parts": [{"text": ASK}]}, {"role": "model", "parts": made}]
    await (await opened(store, "gemini")).add(asked)
    session = await opened(store, "gemini")
    await session.answer("pay", "W1 is paid")

    async def run(call: OpenCall, given: str) -> str:
        return f"{json.loads(given)['order']} is paid"

    assert await session.rerun(run) == 2
    messages = (await session.prepare()).messages
    assert violations("gemini", messages) == []
    told = [part["functionResponse"]["response"]["output"] for part in messages[2]["parts"]]
    assert told == [f"{order} is paid" for order in orders]


async def test_a_plain_function_may_run_calls_and_results_may_be_json() -> None:
    _, session = await interrupted()
    threads = set[int]()

    def run(call: OpenCall, given: str) -> Any:
        threads.add(threading.get_ident())
        return {"c1": {"payé": True, "total": 49.9}, "c2": ["W2"], "c3": "W3 is paid"}[str(call.call.id)]

    assert await session.rerun(run) == 3
    assert threading.get_ident() not in threads
    assert [entry["content"] for entry in session.messages[2:]] == [
        '{"payé": true, "total": 49.9}',
        '["W2"]',
        "W3 is paid",
    ]


@pytest.mark.parametrize(
    "result", [{1, 2}, b"paid", float("nan"), object()], ids=["set", "bytes", "nan", "object"]
)
async def test_a_result_that_is_neither_text_nor_json_is_named(result: Any) -> None:
    _, session = await interrupted()
    given = iter(["W1 is paid", result])
    with pytest.raises(ConversationError, match="the call 'c2' was run and gave"):
        await session.rerun(lambda call, arguments: next(given))
    assert [call.call.id for call in session.open_calls()] == ["c2", "c3"]


async def test_a_tool_that_fails_again_leaves_its_call_open_and_what_was_answered_before() -> None:
    store, session = await interrupted()
    down = True

    async def run(call: OpenCall, given: str) -> str:
        if call.call.id == "c2" and down:
            raise OSError("no route to the shop")
        return f"{call.call.id} is paid"

    with pytest.raises(OSError, match="no route to the shop"):
        await session.rerun(run)
    again = await opened(store)
    assert [call.call.id for call in again.open_calls()] == ["c2", "c3"]
    down = False
    assert await again.rerun(run) == 2
    assert [entry["content"] for entry in again.messages[2:]] == [f"{id} is paid" for id in IDS]


async def test_a_call_that_is_given_up_has_a_stand_in_for_everybody() -> None:
    store, session = await interrupted()
    other = await opened(store)
    await session.answer("c1", "W1 is paid")
    await session.close_call("c2", "the shop did not answer")
    await other.close_call("find", "it was not asked")  # the oldest that is open and has that name
    assert other.open_calls() == []
    for worker in (session, other, await opened(store)):
        messages = (await worker.prepare()).messages
        assert violations("openai-chat", messages) == []
        told = {entry["tool_call_id"]: entry["content"] for entry in messages[2:]}
        assert told == {"c1": "W1 is paid", "c2": "the shop did not answer", "c3": "it was not asked"}


async def test_a_call_that_is_not_open_cannot_be_given_up() -> None:
    store, session = await interrupted()
    await session.close_call("c1", "given up")
    position = session.position
    for name in ("c1", "c4"):
        for worker in (session, await opened(store)):
            with pytest.raises(ConversationError, match=f"no call '{name}' is open in session 's'"):
                await worker.close_call(name, "again")
    assert session.position == position


async def test_the_result_of_a_call_that_was_given_up_takes_the_place_of_its_stand_in() -> None:
    store, session = await interrupted()
    for id in IDS:
        await session.close_call(id, "given up")
    await session.prepare()
    await (await opened(store)).add({"role": "tool", "tool_call_id": "c2", "content": "W2 is paid"})
    messages = (await session.prepare()).messages
    told = {entry["tool_call_id"]: entry["content"] for entry in messages[2:]}
    assert told == {"c1": "given up", "c2": "W2 is paid", "c3": "given up"}


def gemini_call(order: str, id: str = "") -> dict[str, Any]:
    return {"functionCall": {**({"id": id} if id else {}), "name": "pay", "args": {"order": order}}}


def by_model(*parts: dict[str, Any]) -> Entry:
    return {"role": "model", "parts": [*parts]}


def gemini_user(text: str) -> Entry:
    return {"role": "user", "parts": [{"text": text}]}


BARE = {"functionCall": {"name": "pay"}}
STEPS: dict[str, list[Entry]] = {
    "two contents in a row": [by_model(gemini_call("W1")), by_model(gemini_call("W2"))],
    "one id in two contents": [by_model(gemini_call("W1", "a")), by_model(gemini_call("W2", "a"))],
    "without arguments": [by_model(gemini_call("W1"), BARE, gemini_call("W3"))],
    "signed without arguments": [by_model({**BARE, "thoughtSignature": "c2ln"}, gemini_call("W2"))],
    "two steps": [by_model(gemini_call("W1")), gemini_user("and W2"), by_model(gemini_call("W2"))],
    "an id in the newer step": [
        by_model(gemini_call("W1")),
        gemini_user("and"),
        by_model(gemini_call("W2", "a")),
    ],
    "an id in the older step": [
        by_model(gemini_call("W1", "a")),
        gemini_user("and"),
        by_model(gemini_call("W2")),
    ],
}


@pytest.mark.parametrize("early", [False, True], ids=["all", "one was answered"])
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
async def test_each_call_gets_what_its_own_arguments_gave(step: list[Entry], early: bool) -> None:
    store = MemoryStore()
    session = await opened(store, "gemini")
    await session.add([gemini_user("pay W1"), *step])
    if early:
        await session.answer("pay", "early")
    count = len(session.open_calls())
    session = await opened(store, "gemini")
    assert (
        await session.rerun(lambda call, given: f"paid {json.loads(given).get('order', 'nothing')}") == count
    )
    messages = (await session.prepare()).messages
    assert violations("gemini", messages) == []
    pairs = list(by_position(messages))
    assert [told for _, told in pairs if told != "early"] == [
        f"paid {order}" for order, told in pairs if told != "early"
    ]
    assert sum(told == "early" for _, told in pairs) == early


def by_position(messages: Sequence[Entry]) -> Iterator[tuple[str, str]]:
    """The order of each call and what it was told, as Gemini pairs them: of one step by position."""
    calls: list[str] = []
    for entry in messages:
        for part in entry["parts"]:
            if "functionCall" in part:
                calls.append(part["functionCall"].get("args", {}).get("order", "nothing"))
            elif "functionResponse" in part:
                yield calls.pop(0), part["functionResponse"]["response"]["output"]


async def test_one_id_in_two_open_steps_is_two_calls() -> None:
    def step(order: str) -> list[Entry]:
        function = {"name": "pay", "arguments": json.dumps({"order": order})}
        call = {"id": "tool_0_pay", "type": "function", "function": function}
        return [
            {"role": "user", "content": order},
            {"role": "assistant", "content": None, "tool_calls": [call]},
        ]

    store = MemoryStore()
    await (await opened(store)).add([*step("W1"), *step("W2")])
    session = await opened(store)
    assert await session.rerun(lambda call, given: f"paid {json.loads(given)['order']}") == 2
    told = [entry["content"] for entry in session.messages if entry["role"] == "tool"]
    assert told == ["paid W1", "paid W2"]


async def test_giving_up_a_name_gives_up_one_call() -> None:
    session = await opened(MemoryStore(), "gemini")
    await session.add([gemini_user("pay"), by_model(*(gemini_call(f"W{at}") for at in range(3)))])
    await session.close_call("pay", "it was not paid")
    assert len(session.open_calls()) == 2
    ran: list[str] = []

    def run(call: OpenCall, given: str) -> str:
        ran.append(json.loads(given)["order"])
        return "paid"

    assert await session.rerun(run) == 2
    assert ran == ["W1", "W2"]


async def test_two_workers_that_run_calls_again_mix_nothing_up(tmp_path: Path) -> None:
    """Both may run a call; its result counts once, and stands at that call."""
    orders = [f"W{at}" for at in range(4)]
    async with SQLiteStore(tmp_path / "sessions.db") as store:
        settings: dict[str, Any] = {"format": "gemini", "budget": {"window": 4_000, "reply": 200}}
        session = await Session.open("s", store, **settings)
        await session.add([gemini_user("pay"), by_model(*map(gemini_call, orders))])
        workers = [await Session.open("s", store, **settings) for _ in range(2)]

        async def run(call: OpenCall, given: str) -> str:
            await asyncio.sleep(0.01)
            return f"paid {json.loads(given)['order']}"

        counts = await asyncio.gather(*(worker.rerun(run) for worker in workers))
        await session.refresh()
        assert sum(counts) == 4
        assert session.open_calls() == []
        assert [*by_position(session.messages)] == [(order, f"paid {order}") for order in orders]


async def test_what_a_call_of_no_function_asks_for_is_told_too() -> None:
    session = await opened(MemoryStore(), "openai-responses")
    action = {"type": "click", "x": 1, "y": 2}
    await session.add(
        [
            {"role": "user", "content": "click"},
            {"type": "computer_call", "id": "cu_1", "call_id": "c1", "action": action, "status": "completed"},
        ]
    )
    given: list[Any] = []
    with pytest.raises(KeyError):
        await session.rerun(lambda call, arguments: given.append(json.loads(arguments)) or {}["no screen"])
    assert given[0]["action"] == action


def old_turns(count: int = 4) -> list[Entry]:
    return [
        {"role": ("user", "assistant")[at % 2], "content": f"Page {at}. " + "It is long. " * 100}
        for at in range(count)
    ]


async def to_be_compacted(store: MemoryStore, **settings: Any) -> Session:
    budget = {"window": 1_500, "reply": 100, "min_gain": 0}
    session = await Session.open("s", store, format="openai-chat", budget=budget, **settings)
    await session.add(old_turns())
    return session


async def test_what_is_given_up_during_a_compaction_stays_so() -> None:
    started, go_on = asyncio.Event(), asyncio.Event()

    async def ask(question: object) -> str:
        started.set()
        await go_on.wait()
        return "## Facts\n- The user read some pages.\n"

    session = await to_be_compacted(MemoryStore(), strategy={"kind": "summarize", "keep_turns": 1}, ask=ask)
    await session.add(asked("openai-chat", IDS))
    running = session.compact_in_background()
    await started.wait()
    await session.close_call("c1", "given up")
    go_on.set()
    assert (await running).compacted
    assert [call.call.id for call in session.open_calls()] == ["c2", "c3"]


@pytest.mark.parametrize("back", ["undo", "undo and redo"])
async def test_going_back_opens_no_call_again(back: str) -> None:
    session = await to_be_compacted(MemoryStore(), strategy="drop-oldest")
    assert (await session.compact()).compacted
    await session.add(asked("openai-chat", IDS))
    await session.close_call("c1", "given up")
    await session.answer("c2", "W2 is paid")
    await session.undo()
    if back != "undo":
        await session.redo()
    assert [call.call.id for call in session.open_calls()] == ["c3"]
    told = {e["tool_call_id"]: e["content"] for e in session.messages if e["role"] == "tool"}
    assert (told["c1"], told["c2"]) == ("given up", "W2 is paid")


async def test_a_result_that_is_popped_opens_its_own_call_alone() -> None:
    _, session = await interrupted()
    await session.close_call("c1", "given up")
    await session.answer("c2", "W2 is paid")
    await session.pop()
    assert [call.call.id for call in session.open_calls()] == ["c2", "c3"]


@pytest.mark.parametrize(
    "calls",
    [(gemini_call("W1"), gemini_call("W2")), (gemini_call("W1", "a"), gemini_call("W2"))],
    ids=["no ids", "one has an id"],
)
async def test_a_call_that_is_given_up_keeps_its_place_where_the_order_tells(
    calls: Sequence[dict[str, Any]],
) -> None:
    session = await opened(MemoryStore(), "gemini")
    await session.add([gemini_user("pay"), by_model(*calls)])
    await session.close_call(calls[0]["functionCall"].get("id", "pay"), "given up")
    assert await session.rerun(lambda call, given: f"paid {json.loads(given)['order']}") == 1
    messages = (await session.prepare()).messages
    assert violations("gemini", messages) == []
    assert [*by_position(messages)] == [("W1", "given up"), ("W2", "paid W2")]
    assert session.open_calls() == []
    late = {"name": "pay", "response": {"output": "W1 is paid after all"}}
    with pytest.raises(ProviderFormatError, match="answers no call that waits"):
        await session.add({"role": "user", "parts": [{"functionResponse": late}]})


@pytest.mark.parametrize("back", ["undo", "undo and redo", "a compaction meanwhile"])
async def test_what_is_given_up_without_an_id_stays_so_too(back: str) -> None:
    started, go_on = asyncio.Event(), asyncio.Event()

    async def ask(question: object) -> str:
        started.set()
        await go_on.wait()
        return "## Facts\n- The user read some pages.\n"

    budget = {"window": 1_500, "reply": 100, "min_gain": 0}
    strategy = {"kind": "summarize", "keep_turns": 1} if back.startswith("a") else "drop-oldest"
    session = await Session.open(
        "s", MemoryStore(), format="gemini", budget=budget, strategy=strategy, ask=ask
    )
    for entry in old_turns():
        role = entry["role"].replace("assistant", "model")
        await session.add({"role": role, "parts": [{"text": entry["content"]}]})
    calls = [gemini_user("pay"), by_model(gemini_call("W1"), gemini_call("W2"))]
    if back.startswith("a"):
        await session.add(calls)
        running = session.compact_in_background()
        await started.wait()
    else:
        assert (await session.compact()).compacted
        await session.add(calls)
    await session.close_call("pay", "given up")
    await session.answer("pay", "paid W2")
    go_on.set()
    if back.startswith("a"):
        assert (await running).compacted
    else:
        await session.undo()
    if back.endswith("redo"):
        await session.redo()
    assert session.open_calls() == []
    assert [*by_position(session.messages)] == [("W1", "given up"), ("W2", "paid W2")]


async def test_a_result_that_is_added_again_with_its_key_is_there_once() -> None:
    """Without ids it would answer no call any more."""
    session = await opened(MemoryStore(), "gemini")
    told = {"functionResponse": {"name": "pay", "response": {"output": "paid"}}}
    await session.add([gemini_user("pay"), by_model(gemini_call("W1"))])
    for _ in range(2):
        await session.add({"role": "user", "parts": [told]}, key="event 1")
    assert len(session.messages) == 3
    with pytest.raises(ProviderFormatError, match="answers no call"):
        await session.add({"role": "user", "parts": [told]}, key="event 2")
