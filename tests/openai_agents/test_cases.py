"""Real bug reports about the sessions of agents, through the public API: the situation of each, and what must hold."""

from __future__ import annotations

import asyncio
import json
from copy import deepcopy
from typing import Any

import pytest
from agents import Agent, HandoffInputData, RunConfig, Runner, SessionSettings, function_tool, handoff

from ctxkit import Question
from ctxkit.openai_agents import CtxkitSession, SummarizingSession, fold_handoff
from ctxkit.sessions.store import Store
from tests.cases import SHARED, assert_valid, load, text_of
from tests.servers.failing import serving
from tests.servers.responding import answers, call, message

pytestmark = pytest.mark.skipif(not (SHARED / "cases").exists(), reason="the cases are not here")


async def stored(store: Store, session: str) -> str:
    """All that a store keeps of a session: records and checkpoints."""
    bodies = await store.read(session)
    checkpoint = await store.checkpoint(session)
    return b"".join([*bodies, checkpoint[1] if checkpoint else b""]).decode()


async def test_011_a_write_during_compaction_stays(store: Store) -> None:
    case = load("011")
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def blocks(question: Question) -> str:
        asked.set()
        await go_on.wait()
        return str(case["setup"]["summarizer"]["returns"])

    items = lengthened(case["input"])
    for cleared in (False, True):
        session = SummarizingSession(f"chat-{cleared}", 1, 1, blocks, store=store)
        await session.add_items(items[:8])
        asked.clear(), go_on.clear()
        compacting = asyncio.create_task(session.compact())
        await asked.wait()
        await (session.clear_session() if cleared else session.add_items(items[8:]))
        go_on.set()
        await compacting
        after = [each["message"] for each in await session.get_items_with_metadata()]
        if cleared:
            assert after == []
            continue
        assert after[2:] == items[6:]
        assert text_of(after).count("BLANKET-SUMMARY") == 1
        assert text_of(after).count("Also ship it to Oslo") == 1
        assert_valid(case, after)


def lengthened(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items with more words in the first, where those of the case are shorter than the frame of any summary."""
    items = deepcopy(items)
    items[0]["content"][0]["text"] += (
        " I have looked at a good many of them by now, in town and elsewhere." * 6
    )
    return items


async def test_012_a_limit_cuts_no_pair(store: Store, connected: Any) -> None:
    case = load("012")
    session = CtxkitSession("chat", store, budget={"window": 8_000})
    await session.add_items(case["input"])
    limited = CtxkitSession(
        "chat", store, budget={"window": 8_000}, session_settings=SessionSettings(limit=2)
    )
    with serving(answers(message("Good."))) as server:
        await Runner.run(Agent(name="helper", model=connected(server)), "Good?", session=limited)
    [asked] = server.requests
    built = asked.body["input"]
    assert_valid(case, built)
    assert case["input"][3] in built
    await session.pop_item()
    await session.pop_item()
    assert_valid(case, await session.get_items(2))
    assert await session.get_items(0) == []
    assert await session.get_items(10) == case["input"]
    assert await session.get_items() == case["input"]
    assert [each["message"] for each in await session.get_full_history()] == case["input"]


async def test_013_a_pop_after_compaction_is_for_good(store: Store) -> None:
    case = load("013")
    items, seen = lengthened(case["input"]), []

    def summarizer(question: Question) -> str:
        seen.append(question.text)
        return str(case["setup"]["summarizer"]["returns"])

    session = SummarizingSession("chat", 2, 2, summarizer, store=store)
    await session.add_items(items[:10])
    await session.compact()
    assert (await session.get_items())[2:] == items[6:10]
    assert await session.pop_item() == items[9]
    assert await session.pop_item() == items[8]
    mid = await session.get_items()
    assert mid[2:] == items[6:8]
    assert "MAP-SUMMARY" in text_of(mid)
    await session.add_items(items[10:])
    shorter = SummarizingSession("chat", 1, 1, summarizer, store=store)
    await shorter.compact()
    end = await shorter.get_items()
    assert end[2:] == items[10:]
    assert len(seen) == 2
    assert "purple umbrella" not in " ".join([text_of(mid), text_of(end), *seen])
    assert "purple umbrella" not in await stored(store, "chat")
    assert "purple umbrella" not in str(vars(await session.opened()))
    assert_valid(case, end)
    for _ in range(20):
        await shorter.pop_item()
    assert await shorter.pop_item() is None


async def test_023_a_handoff_has_no_doubles(store: Store) -> None:
    case = load("023")
    setup = case["setup"]
    session = CtxkitSession("chat", store, budget={"window": 8_000})
    await session.add_items(case["input"])
    data = HandoffInputData(input_history=tuple(case["input"]), pre_handoff_items=(), new_items=())
    folded = await fold_handoff(lambda question: setup["summarizer"]["returns"])(data)
    history = list(folded.input_history)
    check_billing(case, history)
    assert await session.get_items() == case["input"]
    assert folded.new_items == data.new_items


async def test_023_over_the_wire(store: Store, connected: Any) -> None:
    case = load("023")
    front, billing = case["setup"]["from_agent"], case["setup"]["to_agent"]

    @function_tool
    def find_member(member: str) -> str:
        """Find a member."""
        return "two charges of 19 on 2 May"

    steps = (
        answers(call("find_member", {"member": "30417"}, id="call_look")),
        answers(message("I see two charges."), call("transfer_to_billing", {}, id="call_hand")),
        answers(message("One of them is paid back.")),
    )
    session = CtxkitSession("chat", store, budget={"window": 8_000})
    config = RunConfig(call_model_input_filter=session.input_filter)
    with serving(*steps) as server:
        model = connected(server)
        next_agent = Agent(name=billing["name"], instructions=billing["system"], model=model)
        fold = fold_handoff(lambda question: case["setup"]["summarizer"]["returns"])
        desk = Agent(
            name=front["name"],
            model=model,
            instructions=front["system"],
            tools=[find_member],
            handoffs=[handoff(next_agent, input_filter=fold)],
        )
        said = case["input"][0]["content"][0]["text"]
        result = await Runner.run(desk, said, session=session, run_config=config)
    assert result.last_agent.name == "billing"
    sent = server.requests[-1].body
    assert sent["instructions"] == billing["system"]
    check_billing(case, sent["input"])
    kinds = [each.get("type", each.get("role")) for each in await session.get_items()]
    assert kinds == [
        "user",
        "function_call",
        "function_call_output",
        "message",
        "function_call",
        "function_call_output",
        "message",
    ]


def check_billing(case: dict[str, Any], history: list[dict[str, Any]]) -> None:
    """What the billing agent is given."""
    assert len(history) == 1
    assert_valid(case, history)
    told = text_of(history)
    assert told.count("HANDOFF-NOTE find_member") == 1
    assert told.count("HANDOFF-NOTE transfer_to_billing") == 1
    assert "call_look" not in told
    assert told.count("charged twice for membership 30417") == 1
    assert json.dumps(case["setup"]["from_agent"]["system"])[1:-1] not in told
