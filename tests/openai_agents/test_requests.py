"""What a session has on record of the requests of a run: what the model was sent, entry by entry, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, handoff
from agents.extensions.handoff_filters import remove_all_tools
from agents.run import CallModelData, ModelInputData
from openai import BadRequestError

from ctxkit.openai_agents import CtxkitSession, fold_handoff
from ctxkit.sessions.ahead import named
from ctxkit.sessions.sent import Sent
from ctxkit.sessions.shown import key_of
from ctxkit.sessions.store import Store
from ctxkit.sessions.stores.memory import MemoryStore
from ctxkit.sessions.verifying import verify
from tests.openai_agents.test_runs import RUNS, agent, inputs, loop
from tests.servers.failing import Server, fails, serving
from tests.servers.responding import answers, call, message

Connect = Callable[[Server], Any]


async def on_record(session: CtxkitSession) -> list[Sent]:
    chat = await session.opened()
    return [await chat.request(each.position) for each in await chat.requests()]


def hello(at: int) -> dict[str, Any]:
    return {"role": "user" if at % 2 == 0 else "assistant", "content": f"{at}: " + "hello " * 60}


@RUNS
async def test_each_call_of_a_model_is_there_once_as_it_was_sent(
    store: Store, connected: Connect, run: Any
) -> None:
    session = CtxkitSession("chat", store, budget={"window": 4_000})
    config = RunConfig(call_model_input_filter=session.input_filter)
    with serving(*loop(6), answers(message("You are welcome."))) as server:
        for question in ("Norway?", "Thanks."):
            await run(agent(connected(server)), question, session=session, run_config=config)
    sent = await on_record(session)
    assert [each.messages for each in sent] == inputs(server)
    assert [each.system for each in sent] == [asked.body["instructions"] for asked in server.requests]
    assert all(each.sealed for each in sent)
    assert any(origin.kind not in ("message", "fresh") for each in sent for origin in each.entries)
    for each in sent:
        beside = each.tokens.get("system", 0) + each.tokens.get("tools", 0)
        assert sum(origin.tokens for origin in each.entries) + beside == sum(each.tokens.values())


@RUNS
async def test_so_are_those_of_a_run_that_is_not_all_of_the_session(
    store: Store, connected: Connect, run: Any
) -> None:
    session = CtxkitSession("chat", store, budget={"window": 4_000})
    config = RunConfig(call_model_input_filter=session.input_filter)
    steps = (
        answers(call("weather", {"city": "Hamar"}, id="w")),
        answers(call("transfer_to_packer", {}, id="h")),
        *loop(6),
    )
    with serving(*steps) as server:
        model = connected(server)
        filtered = handoff(agent(model, name="packer"), input_filter=remove_all_tools)
        await run(agent(model, handoffs=[filtered]), "What to pack?", session=session, run_config=config)
    sent = await on_record(session)
    assert [each.messages for each in sent] == inputs(server)
    assert sent[-1].entries[0].kind == "message"
    assert "beside the session" in sent[-1].trigger


@RUNS
async def test_without_the_filter_there_is_what_the_session_gave(
    store: Store, connected: Connect, run: Any
) -> None:
    session = CtxkitSession("chat", store, budget={"window": 4_000}, session_settings={"limit": 3})
    await session.add_items([hello(at) for at in range(4)])
    with serving(answers(message("Hi."))) as server:
        await run(agent(connected(server)), "And?", session=session)
    [given] = await on_record(session)
    assert given.messages == [hello(at) for at in range(1, 4)] == inputs(server)[0][:-1]
    assert given.trigger.startswith("what the session gave; ")
    assert (given.system, given.tools) == (None, None)
    assert sum(origin.tokens for origin in given.entries) == sum(given.tokens.values())


async def test_reads_are_on_record_only_as_what_was_read(store: Store) -> None:
    session = CtxkitSession("chat", store, budget={"window": 4_000})
    await session.add_items([hello(0), hello(1)])
    await session.get_items_with_metadata()
    await session.get_full_history()
    await session.get_items(0)
    assert await on_record(session) == []
    await session.get_items()
    await session.get_items(1)
    assert [each.messages for each in await on_record(session)] == [[hello(0), hello(1)], [hello(1)]]
    assert callable(session.input_filter)
    await session.get_items()
    assert len(await on_record(session)) == 2


async def test_a_reader_is_told_what_it_was_given_while_a_call_waits() -> None:
    session = CtxkitSession("chat", budget={"window": 4_000})
    waiting = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
    await session.add_items([hello(0), waiting])
    assert await session.get_items() == [hello(0), waiting]
    [given] = await on_record(session)
    assert given.messages == [hello(0), waiting]
    assert "calls wait for results (c)" in given.trigger


@RUNS
async def test_a_call_that_failed_is_there_too(store: Store, connected: Connect, run: Any) -> None:
    session = CtxkitSession("chat", store, budget={"window": 8_000})
    config = RunConfig(call_model_input_filter=session.input_filter)
    with serving(fails(400, "no such model"), answers(message("Hello."))) as server:
        for last in (False, True):
            try:
                await run(agent(connected(server)), "Hello?", session=session, run_config=config)
            except BadRequestError:
                assert not last
    assert [each.messages for each in await on_record(session)] == inputs(server)


@RUNS
async def test_what_is_taken_back_is_in_no_request_that_held_it_before_it_came(
    store: Store, connected: Connect, run: Any
) -> None:
    """A streamed run saves the question after the model was asked."""
    session = CtxkitSession("chat", store, budget={"window": 8_000})
    config = RunConfig(call_model_input_filter=session.input_filter)
    with serving(answers(message("I keep it.")), answers(message("Again."))) as server:
        await run(agent(connected(server)), "The safe: 778-201-993.", session=session, run_config=config)
        await run(agent(connected(server)), "And 778-201-993?", session=session, run_config=config)
    for _ in range(4):
        await session.pop_item()
    assert not any(b"778-201-993" in body for body in await store.read("chat"))
    assert "778-201-993" not in str(await store.checkpoint("chat"))
    reader = CtxkitSession("chat", store, budget={"window": 8_000})
    sent = await on_record(reader)
    assert [len(each.messages) for each in sent] == [1, 3]
    assert not any(each.sealed for each in sent)
    assert (await verify(store, "chat")).findings == ()


@pytest.mark.parametrize("held", [True, False], ids=["of the session", "beside it"])
async def test_nor_is_it_told_by_a_checkpoint_as_what_can_be_guessed(store: Store, held: bool) -> None:
    session = CtxkitSession("chat", store, budget={"window": 4_000})
    await session.add_items([hello(0), hello(1)])
    run = [
        *(await session.get_items() if held else [hello(7)]),
        {"role": "user", "content": "my pin is 4711"},
    ]
    data = CallModelData(ModelInputData(input=run, instructions=None), Agent(name="a"), None)
    await session.input_filter(data)
    await session.add_items([{"role": "user", "content": "my pin is 4711"}])
    assert await session.pop_item() == {"role": "user", "content": "my pin is 4711"}
    kept = await store.checkpoint("chat")
    assert kept is not None
    told = json.loads(kept[1])["book"]["shown"]["contents"]
    ids = range(10)
    guesses = [{"id": id, "made": made, "raw": run[-1]} for id in ids for made in ("fresh", "aside", "")]
    assert not [guess for guess in guesses if key_of(guess) in told]
    assert (await verify(store, "chat")).findings == ()


@pytest.mark.parametrize("checkpoint", [False, True], ids=["from the log", "from a checkpoint"])
async def test_nor_in_one_that_another_process_sent_before_it_died(store: Store, checkpoint: bool) -> None:
    run = [hello(0), {"role": "user", "content": "my pin is 4711"}]
    for _ in range(2):
        died = CtxkitSession("chat", store, budget={"window": 4_000})
        await died.input_filter(
            CallModelData(ModelInputData(input=run, instructions=None), Agent(name="a"), None)
        )
        if checkpoint:
            await (await died.opened())._log.checkpoint()
    session = CtxkitSession("chat", store, budget={"window": 4_000})
    await session.add_items(run)
    assert sum(b"pin is 4711" in body for body in await store.read("chat")) == 3
    assert await session.pop_item() == run[-1]
    held = await store.read("chat")
    assert not any(b"pin is 4711" in body or named(run[-1]).encode() in body for body in held)
    sent = await on_record(session)
    assert [len(each.messages) for each in sent] == [2, 2]
    assert not any(each.sealed for each in sent)
    assert (await verify(store, "chat")).findings == ()


@pytest.mark.parametrize("how", ["added", "answered", "delivered"])
async def test_nor_when_it_comes_in_another_way(store: Store, how: str) -> None:
    """As when a crash is mended by hand: through the ctxkit session behind it."""
    call = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
    secret: dict[str, Any] = {
        "added": {"role": "user", "content": "my pin is 4711"},
        "answered": {"type": "function_call_output", "call_id": "c", "output": "the pin is 4711"},
        "delivered": {"role": "assistant", "content": "your pin is 4711"},
    }[how]
    died = CtxkitSession("chat", store, budget={"window": 4_000})
    before = [hello(0), call] if how == "answered" else [hello(0)]
    await died.add_items(before)
    data = CallModelData(ModelInputData(input=[*before, secret], instructions=None), Agent(name="a"), None)
    await died.input_filter(data)
    session = CtxkitSession("chat", store, budget={"window": 4_000})
    behind = await session.opened()
    match how:
        case "added":
            await behind.add(secret)
        case "answered":
            await behind.answer("c", "the pin is 4711")
        case _:
            await (await behind.reply(secret)).delivered()
    await session.pop_item()
    assert not any(b"pin is 4711" in body for body in await store.read("chat"))
    assert (await verify(store, "chat")).findings == ()


@RUNS
@pytest.mark.parametrize("filtered", [remove_all_tools, fold_handoff()], ids=["left out", "folded"])
async def test_nor_in_one_of_a_run_that_was_not_all_of_the_session(
    connected: Connect, run: Any, filtered: Any
) -> None:
    store = MemoryStore()
    session = CtxkitSession("chat", store, budget={"window": 4_000})
    config = RunConfig(call_model_input_filter=session.input_filter)
    steps = (
        answers(call("weather", {"city": "Hamar"}, id="w")),
        answers(call("transfer_to_packer", {}, id="h")),
        *loop(5),
    )
    with serving(*steps) as server:
        model = connected(server)
        packer = handoff(agent(model, name="packer"), input_filter=filtered)
        await run(
            agent(model, handoffs=[packer]), "The safe: 778-201-993.", session=session, run_config=config
        )
    assert any(b"778-201-993" in body for body in await store.read("chat"))
    assert [each.messages for each in await on_record(session)] == inputs(server)
    while await session.pop_item() is not None:
        pass
    held = b"".join(await store.read("chat")).decode() + str(await store.checkpoint("chat"))
    assert [text for text in ("778-201-993", "Hamar", "Bergen 4", "no rain until") if text in held] == []
    assert (await verify(store, "chat")).findings == ()


async def test_a_question_that_comes_again_after_it_was_taken_back_is_on_record_again(
    store: Store, connected: Connect
) -> None:
    from tests.openai_agents.test_runs import streamed

    session = CtxkitSession("chat", store, budget={"window": 8_000})
    config = RunConfig(call_model_input_filter=session.input_filter)
    with serving(answers(message("One.")), answers(message("Two."))) as server:
        await streamed(agent(connected(server)), "Again?", session=session, run_config=config)
        await session.pop_item()
        await session.pop_item()
        await streamed(agent(connected(server)), "Again?", session=session, run_config=config)
    first, second = await on_record(session)
    assert second.messages == inputs(server)[1] == [{"role": "user", "content": "Again?"}]
    assert second.sealed
    assert first.erased == (0,)


@RUNS
async def test_without_snapshots_only_their_number_is_kept(connected: Connect, run: Any) -> None:
    session = CtxkitSession("chat", budget={"window": 4_000}, snapshots=False)
    config = RunConfig(call_model_input_filter=session.input_filter)
    with serving(*loop(2)) as server:
        await run(agent(connected(server)), "Norway?", session=session, run_config=config)
    told = await (await session.opened()).requests()
    assert [each.recorded for each in told] == [False] * len(server.requests)
    await session.pop_item()


async def test_a_run_without_a_session_that_has_its_filter_is_on_record(connected: Connect) -> None:
    session = CtxkitSession("chat", budget={"window": 4_000})
    config = RunConfig(call_model_input_filter=session.input_filter)
    with serving(answers(message("Hi."))) as server:
        await Runner.run(Agent(name="a", model=connected(server)), "Hello", run_config=config)
    [sent] = await on_record(session)
    assert sent.messages == inputs(server)[0]
    assert [origin.kind for origin in sent.entries] == ["fresh"]
    assert await session.get_items() == []
