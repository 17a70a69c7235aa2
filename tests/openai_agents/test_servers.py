"""Runs of the SDK whose session is on a server: two workers take turns in one conversation."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, function_tool

from ctxkit.openai_agents import CtxkitSession
from ctxkit.sessions.store import Store
from ctxkit.sessions.stores.postgres import PostgresStore
from ctxkit.sessions.stores.redis import RedisStore
from ctxkit.sessions.verifying import verify
from tests.servers.failing import Server, serving
from tests.servers.responding import answers, call, message, reasoning

Connect = Callable[[Server], Any]
BUDGET = {"window": 2_500}
STEPS = 8


@function_tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"{city}: {'18 degrees, wind from the west, no rain until the evening. ' * 15}"


def opened(kind: str, request: pytest.FixtureRequest) -> Store:
    """A store of its own for one worker, on the server of all."""
    address = request.getfixturevalue(f"{kind}_url")
    made: Store = (
        RedisStore(address, prefix="agents") if kind == "redis" else PostgresStore(address, schema="agents")
    )
    return made


@pytest.fixture(params=["redis", "postgres"])
async def stores(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Store, Store]]:
    one, other = opened(request.param, request), opened(request.param, request)
    async with one, other:
        yield one, other


async def test_workers_take_turns_in_a_conversation_that_is_compacted(
    stores: tuple[Store, Store], connected: Connect
) -> None:
    id = f"chat-{uuid.uuid4().hex}"
    loop = [answers(reasoning(), call("weather", {"city": f"Oslo {at}"}, id=f"c{at}")) for at in range(STEPS)]
    with serving(*loop, answers(message("All mild.")), answers(message("The last was Oslo 7."))) as server:
        model = connected(server)
        forecaster = Agent(
            name="forecaster", instructions="You tell the weather.", tools=[weather], model=model
        )
        for store, question in zip(stores, ("Is it warm in Oslo?", "Which was the last?"), strict=True):
            session = CtxkitSession(id, store, budget=BUDGET)
            config = RunConfig(call_model_input_filter=session.input_filter)
            result = await Runner.run(forecaster, question, session=session, run_config=config, max_turns=20)
    assert result.final_output == "The last was Oslo 7."
    sent = [asked.body["input"] for asked in server.requests]
    assert len(sent) == STEPS + 2
    assert sent[-1][-1] == {"role": "user", "content": "Which was the last?"}
    first = CtxkitSession(id, stores[0], budget=BUDGET)
    assert await first.get_items() == await session.get_items()
    full = await first.get_full_history()
    assert {each["metadata"]["fate"] for each in full} > {"present"}
    outputs = [
        each["message"]["output"] for each in full if each["message"].get("type") == "function_call_output"
    ]
    assert [output.partition(":")[0] for output in outputs] == [f"Oslo {at}" for at in range(STEPS)]
    checked = await verify(stores[0], id)
    assert checked.findings == ()
    await stores[0].delete(id)
