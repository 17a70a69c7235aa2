"""Real runs of the SDK, over the wire: what the model is sent, and what the session holds afterwards.

The server refuses with status 400 what OpenAI would refuse, so a run that ends well has sent valid requests only.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, RunState, function_tool, handoff
from agents.extensions.handoff_filters import remove_all_tools
from openai import BadRequestError

from ctxkit import BudgetExceededError
from ctxkit.openai_agents import CtxkitSession
from ctxkit.sessions.store import Store
from tests.servers.failing import Server, fails, says, serving
from tests.servers.responding import answers, call, message, reasoning

Connect = Callable[[Server], Any]
LONG = "18 degrees, wind from the west, no rain until the evening. " * 25


@function_tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"{city}: {LONG}"


def agent(model: Any, **settings: Any) -> Agent[Any]:
    return Agent(
        **{"name": "forecaster", "instructions": "You tell the weather.", "tools": [weather], **settings},
        model=model,
    )


def inputs(server: Server) -> list[list[dict[str, Any]]]:
    return [asked.body["input"] for asked in server.requests]


def texts(items: list[dict[str, Any]]) -> str:
    return json.dumps(items, ensure_ascii=False)


def breaks(requests: list[list[dict[str, Any]]]) -> list[int]:
    """The numbers of the requests that do not begin with the one before."""
    return [at for at, (before, after) in enumerate(pairwise(requests), 1) if after[: len(before)] != before]


async def streamed(*given: Any, **settings: Any) -> Any:
    result = Runner.run_streamed(*given, **settings)
    async for _ in result.stream_events():
        pass
    return result


RUNS = pytest.mark.parametrize("run", [Runner.run, streamed], ids=["at once", "streamed"])


@RUNS
async def test_a_conversation_goes_on_from_run_to_run(store: Store, connected: Connect, run: Any) -> None:
    with serving(answers(reasoning(), message("Hello Ann.")), answers(message("Ann."))) as server:
        model = connected(server)
        await run(agent(model), "I am Ann.", session=CtxkitSession("chat", store, budget={"window": 8_000}))
        again = CtxkitSession("chat", store, budget={"window": 8_000})
        result = await run(agent(model), "Who am I?", session=again)
    assert result.final_output == "Ann."
    first, second = inputs(server)
    assert first == [{"role": "user", "content": "I am Ann."}]
    assert second[:1] == first
    assert [each.get("type", each.get("role")) for each in second] == ["user", "reasoning", "message", "user"]
    items = await again.get_items()
    assert [each.get("role") for each in items] == ["user", None, "assistant", "user", "assistant"]
    assert items[:4] == second


@RUNS
async def test_parallel_calls_come_into_the_session_with_their_results(
    store: Store, connected: Connect, run: Any
) -> None:
    calls = [call("weather", {"city": city}, id=f"call_{city}") for city in ("Oslo", "奥斯陆")]
    with serving(answers(reasoning(), *calls), answers(message("Both mild."))) as server:
        session = CtxkitSession("chat", store, budget={"window": 8_000})
        await run(agent(connected(server)), "Oslo?", session=session)
    kinds = [each.get("type", each.get("role")) for each in await session.get_items()]
    assert kinds == [
        "user",
        "reasoning",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
        "message",
    ]


def loop(steps: int) -> list[Any]:
    """A model that asks for the weather in two places at once, so many times, and then answers."""
    rounds = [
        answers(
            reasoning(),
            call("weather", {"city": f"Oslo {at}"}, id=f"a{at}"),
            call("weather", {"city": f"Bergen {at}"}, id=f"b{at}"),
        )
        for at in range(steps)
    ]
    return [*rounds, answers(message("All mild."))]


@RUNS
async def test_the_filter_compacts_inside_a_tool_loop(store: Store, connected: Connect, run: Any) -> None:
    session = CtxkitSession("chat", store, budget={"window": 4_000})
    config = RunConfig(call_model_input_filter=session.input_filter)
    with serving(*loop(12), answers(message("You are welcome."))) as server:
        model = connected(server)
        await run(agent(model), "Is it warm in Norway?", session=session, run_config=config, max_turns=20)
        await run(agent(model), "Thanks.", session=session, run_config=config)
    sent = inputs(server)
    assert len(sent) == 14
    assert all(request[0] == {"role": "user", "content": "Is it warm in Norway?"} for request in sent)
    assert max(len(texts(request)) for request in sent) < 4_000 * 5
    broken = breaks(sent)
    assert 2 <= len(broken) <= 5
    assert 13 not in broken
    history = await session.get_full_history()
    assert {each["metadata"]["fate"] for each in history} > {"present", "pinned"}
    full = [each["message"] for each in history]
    assert len(full) == 1 + 12 * 5 + 3
    outputs = [each for each in full if each.get("type") == "function_call_output"]
    assert [each["output"].partition(":")[0] for each in outputs] == [
        f"{place} {at}" for at in range(12) for place in ("Oslo", "Bergen")
    ]
    assert outputs[0]["output"] == f"Oslo 0: {LONG}"


@RUNS
async def test_a_new_worker_sends_the_same_prefix(store: Store, connected: Connect, run: Any) -> None:
    """What the filter compacted is so for whoever reads the session next, with a filter or without."""
    with serving(*loop(6), answers(message("1.")), answers(message("2."))) as server:
        model = connected(server)
        for question, filtered in (("Norway?", True), ("And now?", True), ("And then?", False)):
            session = CtxkitSession("chat", store, budget={"window": 4_000})
            config = RunConfig(call_model_input_filter=session.input_filter if filtered else None)
            await run(agent(model), question, session=session, run_config=config)
    *_, last, second, third = inputs(server)
    assert second[: len(last)] == last
    assert third[: len(second)] == second


@RUNS
async def test_instructions_and_tools_count(connected: Connect, run: Any) -> None:
    session = CtxkitSession("chat", budget={"window": 4_000})
    config = RunConfig(call_model_input_filter=session.input_filter)
    with serving(*loop(3)) as server:
        long = agent(connected(server), instructions="Be exact. " * 300)
        await run(long, "Norway?", session=session, run_config=config)
    report = (await session.opened()).report
    assert report is not None
    assert report.regions["system"].after > 600
    assert report.regions["tools"].after > 20


@RUNS
async def test_a_limit_holds_with_the_filter_too(connected: Connect, run: Any) -> None:
    from agents import SessionSettings

    session = CtxkitSession("chat", budget={"window": 4_000}, session_settings=SessionSettings(limit=4))
    config = RunConfig(call_model_input_filter=session.input_filter)
    items = [{"role": role, "content": f"{role} {at}"} for at in range(5) for role in ("user", "assistant")]
    await session.add_items(items)
    with serving(*loop(6)) as server:
        await run(agent(connected(server)), "Norway?", session=session, run_config=config)
    sent = inputs(server)
    assert sent[0] == [*items[-4:], {"role": "user", "content": "Norway?"}]
    assert "user 0" not in texts(sent[-1])
    assert max(len(texts(request)) for request in sent) < 4_000 * 5
    assert len(breaks(sent)) <= 3
    assert len(await session.get_items(1_000)) > 0


@RUNS
async def test_an_agent_takes_over_with_the_whole_history(connected: Connect, run: Any) -> None:
    session = CtxkitSession("chat", budget={"window": 8_000})
    config = RunConfig(call_model_input_filter=session.input_filter)
    steps = (
        answers(call("weather", {"city": "Oslo"}, id="w")),
        answers(call("transfer_to_packer", {}, id="h")),
        answers(message("A coat.")),
    )
    with serving(*steps) as server:
        model = connected(server)
        packer = Agent(name="packer", instructions="You pack.", model=model)
        result = await run(
            agent(model, handoffs=[packer]), "What to pack for Oslo?", session=session, run_config=config
        )
    assert result.final_output == "A coat."
    assert [asked.body["instructions"] for asked in server.requests] == [
        "You tell the weather.",
        "You tell the weather.",
        "You pack.",
    ]
    assert breaks(inputs(server)) == []
    assert len(await session.get_items()) == 6


@RUNS
async def test_what_a_handoff_filter_took_out_stays_out(connected: Connect, run: Any) -> None:
    session = CtxkitSession("chat", budget={"window": 4_000})
    config = RunConfig(call_model_input_filter=session.input_filter)
    steps = (
        answers(call("weather", {"city": "Hamar"}, id="w")),
        answers(call("transfer_to_packer", {}, id="h")),
        *loop(6),
    )
    with serving(*steps) as server:
        model = connected(server)
        packer = agent(model, name="packer")
        filtered = handoff(packer, input_filter=remove_all_tools)
        await run(agent(model, handoffs=[filtered]), "What to pack?", session=session, run_config=config)
    sent = inputs(server)
    assert "Hamar" in texts(sent[1])
    assert all("Hamar" not in texts(request) for request in sent[2:])
    assert max(len(texts(request)) for request in sent) < 4_000 * 5
    assert len(breaks(sent[2:])) <= 3
    full = await session.get_full_history()
    assert "Hamar" in full[1]["message"]["arguments"]


@RUNS
async def test_the_same_words_twice_are_sent_twice(connected: Connect, run: Any) -> None:
    session = CtxkitSession("chat", budget={"window": 8_000})
    config = RunConfig(call_model_input_filter=session.input_filter)
    with serving(*(answers(message("Sure?")) for _ in range(3))) as server:
        for _ in range(3):
            await run(agent(connected(server)), "yes", session=session, run_config=config)
    sent = inputs(server)
    assert [texts(request).count('"yes"') for request in sent] == [1, 2, 3]
    assert len(await session.get_items()) == 6


@RUNS
async def test_new_words_that_need_room_get_it(connected: Connect, run: Any) -> None:
    session = CtxkitSession("chat", budget={"window": 2_000}, strategy="drop-oldest")
    config = RunConfig(call_model_input_filter=session.input_filter)
    await session.add_items(
        [
            {"role": role, "content": f"{role} {at}: " + "word " * 90}
            for at in range(9)
            for role in ("user", "assistant")
        ]
    )
    with serving(answers(message("Noted."))) as server:
        await run(agent(connected(server)), "note " * 900, session=session, run_config=config)
    [sent] = inputs(server)
    assert sent[-1] == {"role": "user", "content": "note " * 900}
    assert "user 0" not in texts(sent)


@RUNS
async def test_what_can_never_fit_is_said_and_not_sent(connected: Connect, run: Any) -> None:
    session = CtxkitSession("chat", budget={"window": 500})
    config = RunConfig(call_model_input_filter=session.input_filter)
    with serving(answers(message("?"))) as server, pytest.raises(BudgetExceededError):
        await run(agent(connected(server)), "word " * 900, session=session, run_config=config)
    assert server.requests == []


@RUNS
async def test_a_model_that_fails_leaves_a_session_that_goes_on(connected: Connect, run: Any) -> None:
    session = CtxkitSession("chat", budget={"window": 8_000})
    config = RunConfig(call_model_input_filter=session.input_filter)
    with serving(fails(400, "no such model"), answers(message("Hello."))) as server:
        model = connected(server)
        with pytest.raises(BadRequestError):
            await run(agent(model), "Hello?", session=session, run_config=config)
        await run(agent(model), "Hello?", session=session, run_config=config)
    assert [each["role"] for each in await session.get_items()] == ["user", "user", "assistant"]


@RUNS
async def test_an_approval_may_come_in_another_process(store: Store, connected: Connect, run: Any) -> None:
    @function_tool(needs_approval=True)
    def erase(name: str) -> str:
        """Erase a file."""
        return f"{name} is gone. {LONG}"

    def made(model: Any) -> tuple[Agent[Any], CtxkitSession, RunConfig]:
        session = CtxkitSession("chat", store, budget={"window": 4_000})
        return (
            agent(model, tools=[erase]),
            session,
            RunConfig(call_model_input_filter=session.input_filter),
        )

    with serving(answers(call("erase", {"name": "a.txt"}, id="e")), answers(message("Done."))) as server:
        model = connected(server)
        eraser, session, config = made(model)
        waiting = await run(eraser, "Erase a.txt", session=session, run_config=config)
        told = waiting.to_state().to_json()
        eraser, session, config = made(model)
        assert [each.get("type") for each in await session.get_items()][-1] in (None, "function_call")
        state = await RunState.from_json(eraser, told)
        state.approve(state.get_interruptions()[0])
        result = await run(eraser, state, session=session, run_config=config)
    assert result.final_output == "Done."
    kinds = [each.get("type", each.get("role")) for each in await session.get_items()]
    assert kinds == ["user", "function_call", "function_call_output", "message"]


async def test_runs_at_once_on_one_session_send_valid_requests_and_lose_nothing(
    store: Store, connected: Connect
) -> None:
    session = CtxkitSession("chat", store, budget={"window": 6_000})
    config = RunConfig(call_model_input_filter=session.input_filter)

    async def one(at: int, model: Any) -> None:
        await Runner.run(agent(model), f"Question {at}?", session=session, run_config=config)

    def reply(handler: Any) -> None:
        asked = handler.asked.body["input"]
        done = sum(each.get("type") == "function_call_output" for each in asked) >= 4
        name = f"c{len(handler.server.ours.requests)}"
        step = message("Fine.") if done else call("weather", {"city": name}, id=name)
        answers(step)(handler)

    with serving(reply) as server:
        model = connected(server)
        await asyncio.gather(*(one(at, model) for at in range(4)))
    full = [each["message"] for each in await session.get_full_history()]
    asked = [each["content"] for each in full if each.get("role") == "user"]
    assert sorted(asked) == [f"Question {at}?" for at in range(4)]
    assert sum(each.get("type") == "message" for each in full) == 4


@RUNS
async def test_what_a_handoff_filter_put_in_stays_in(connected: Connect, run: Any) -> None:
    session = CtxkitSession("chat", budget={"window": 8_000})
    config = RunConfig(call_model_input_filter=session.input_filter)
    note = {"role": "user", "content": "A note for the packer."}
    steps = (
        answers(call("transfer_to_packer", {}, id="h")),
        answers(call("weather", {"city": "Oslo"}, id="w")),
        answers(message("A coat.")),
    )
    with serving(*steps) as server:
        model = connected(server)
        noted = handoff(
            agent(model, name="packer"),
            input_filter=lambda data: data.clone(input_history=(*data.input_history, note)),
        )
        await run(
            agent(model, handoffs=[noted]),
            [{"role": "user", "content": "What to pack?"}],
            session=session,
            run_config=config,
        )
    sent = inputs(server)
    assert [note in request for request in sent] == [False, True, True]
    assert breaks(sent[1:]) == []
    assert note not in await session.get_items()


async def test_a_chat_model_has_items_without_ids_of_their_own(store: Store) -> None:
    from agents import OpenAIChatCompletionsModel
    from openai import AsyncOpenAI

    session = CtxkitSession("chat", store, budget={"window": 8_000})
    config = RunConfig(call_model_input_filter=session.input_filter)
    with serving(says("Hello."), says("Hello."), says("Bye.")) as server:
        async with AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
            model = OpenAIChatCompletionsModel("local", client)
            for question in ("Hi", "Hi", "Bye"):
                await Runner.run(
                    Agent(name="local", model=model), question, session=session, run_config=config
                )
    assert [each["content"] for each in server.requests[-1].body["messages"]] == [
        "Hi",
        "Hello.",
        "Hi",
        "Hello.",
        "Bye",
    ]
    items = await session.get_items()
    assert [each["id"] for each in items[1::2]] == ["__fake_id__"] * 3
    assert await session.pop_item() == items[-1]


@RUNS
async def test_originals_that_lie_in_the_store_are_known_too(
    store: Store, connected: Connect, run: Any
) -> None:
    """A worker that opens the session from a checkpoint has the newest state, and not the originals."""
    before = CtxkitSession("chat", store, budget={"window": 4_000})
    with serving(*loop(6), answers(message("You are welcome."))) as server:
        model = connected(server)
        config = RunConfig(call_model_input_filter=before.input_filter)
        result = await run(agent(model), "Norway?", session=before, run_config=config)
        await (await before.opened())._log.checkpoint()
        worker = CtxkitSession("chat", store, budget={"window": 4_000})
        config = RunConfig(call_model_input_filter=worker.input_filter)
        await run(
            agent(model), [*result.to_input_list(), {"role": "user", "content": "Thanks."}], run_config=config
        )
    *_, last, thanks = inputs(server)
    assert thanks[: len(last)] == last
