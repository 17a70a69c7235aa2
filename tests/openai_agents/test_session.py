"""CtxkitSession as the SDK's protocol has it: what goes in comes out, in order, at most so much, and whole."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, SessionSettings
from agents.memory import Session as Protocol
from agents.memory.session import _session_accepts_wrapper
from agents.run import CallModelData, ModelInputData

from ctxkit import ConfigError, ProviderFormatError
from ctxkit.openai_agents import CtxkitSession
from ctxkit.sessions.store import Store
from ctxkit.sessions.stores.memory import MemoryStore
from tests.sessions.failing import Meeting

PLENTY = {"window": 100_000}


def session(store: Store | str | None = None, id: str = "chat-42", **settings: Any) -> CtxkitSession:
    return CtxkitSession(id, store, **{"budget": PLENTY, **settings})


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def step(id: str, *, reasoning: bool = False) -> list[dict[str, Any]]:
    thought = [{"type": "reasoning", "id": f"rs_{id}", "summary": []}] if reasoning else []
    call = {"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": "look", "arguments": "{}"}
    return [*thought, call, {"type": "function_call_output", "call_id": id, "output": f"found {id}"}]


def test_it_is_a_session_of_the_sdk() -> None:
    assert isinstance(session(), Protocol)


async def test_what_was_added_is_read_by_another_object(store: Store) -> None:
    items = [
        user("Hello"),
        assistant("Hi there"),
        user("Again?"),
        *step("c1", reasoning=True),
        assistant("Yes"),
    ]
    await session(store).add_items(items[:3])
    await session(store).add_items(items[3:])
    assert await session(store).get_items() == items


async def test_sessions_know_nothing_of_each_other(store: Store) -> None:
    one, other = session(store, "one"), session(store, "other")
    await one.add_items([user("for one")])
    await other.add_items([user("for the other")])
    await one.clear_session()
    assert await one.get_items() == []
    assert await other.get_items() == [user("for the other")]


async def test_without_a_store_it_lives_as_long_as_its_object() -> None:
    one = session()
    await one.add_items([user("Hello")])
    assert await one.get_items() == [user("Hello")]
    assert await session().get_items() == []


async def test_looking_writes_nothing(store: Store) -> None:
    one = session(store)
    assert await one.get_items() == []
    assert await one.get_items(5) == []
    assert await one.pop_item() is None
    await one.clear_session()
    await one.add_items([])
    assert await store.sessions() == []


def test_it_asks_the_runner_for_no_context_that_it_would_ignore() -> None:
    """A session whose four methods all take a `wrapper` promises the SDK to heed it."""
    assert not _session_accepts_wrapper(session())


@pytest.mark.parametrize(
    ("limit", "count"), [(None, 6), (0, 0), (-1, 0), (1, 1), (2, 2), (5, 5), (6, 6), (7, 6), (1_000, 6)]
)
async def test_a_limit_gives_the_newest_in_order(store: Store, limit: int | None, count: int) -> None:
    items = [message(str(at)) for at in range(3) for message in (user, assistant)]
    one = session(store)
    await one.add_items(items)
    assert await one.get_items(limit) == items[6 - count :]


@pytest.mark.parametrize("limit", ["2", 2.5, [2]])
async def test_a_limit_that_is_no_whole_number_is_refused(limit: Any) -> None:
    one = session()
    await one.add_items([user("0")])
    for read in (one.get_items, one.get_full_history, one.get_items_with_metadata):
        with pytest.raises(ConfigError, match="a limit is a whole number of items"):
            await read(limit)


@pytest.mark.parametrize(("limit", "first"), [(1, 8), (2, 8), (3, 6), (4, 6), (5, 6), (6, 3), (7, 2), (8, 1)])
async def test_a_limit_parts_no_call_from_its_result_and_no_reasoning_from_its_call(
    limit: int, first: int
) -> None:
    items = [
        user("1"),
        assistant("2"),
        user("3"),
        *step("c1", reasoning=True),
        *step("c2"),
        {**assistant("4"), "type": "message"},
    ]
    one = session()
    await one.add_items(items)
    assert await one.get_items(limit) == items[first:]


async def test_settings_have_a_limit_too() -> None:
    one = session(session_settings=SessionSettings(limit=2))
    items = [user("1"), assistant("2"), user("3")]
    await one.add_items(items)
    assert await one.get_items() == items[1:]
    assert await one.get_items(3) == items
    assert await one.get_items(0) == []


async def test_settings_may_be_a_table_as_in_the_sessions_of_the_sdk() -> None:
    one = session(session_settings={"limit": 2})
    items = [user("1"), assistant("2"), user("3")]
    await one.add_items(items)
    assert await one.get_items() == items[1:]
    assert one.session_settings == SessionSettings(limit=2)


@pytest.mark.parametrize("given", [{"limt": 2}, {"limit": "many"}, 5])
def test_settings_that_the_sdk_does_not_know_are_refused(given: Any) -> None:
    with pytest.raises(ConfigError, match="session"):
        session(session_settings=given)


@pytest.mark.parametrize("read_before", [False, True])
@pytest.mark.parametrize("limit", [None, 1, 2, 9])
async def test_reasoning_whose_call_was_taken_back_is_not_read(
    store: Store, limit: int | None, read_before: bool
) -> None:
    one = session(store)
    await one.add_items([user("1"), *step("c1", reasoning=True)])
    if read_before:
        await one.get_items()
    await one.pop_item()
    await one.pop_item()
    assert await one.get_items(limit) == [user("1")]
    assert [each["message"] for each in await one.get_items_with_metadata(limit)] == [user("1")]


async def test_what_the_reasoning_belongs_to_may_come_again() -> None:
    one, items = session(), [user("1"), *step("c1", reasoning=True)]
    await one.add_items(items)
    await one.pop_item()
    await one.pop_item()
    assert await one.get_items() == items[:1]
    await one.add_items(items[2:])
    assert await one.get_items() == items


async def test_a_session_goes_on_behind_such_reasoning(store: Store) -> None:
    one = session(store, budget={"window": 520}, strategy={"kind": "sliding-window", "keep_turns": 1})
    await one.add_items([user("1"), *step("c1", reasoning=True)])
    await one.pop_item()
    await one.pop_item()
    await one.add_items([user("2 " * 150), assistant("3 " * 80)])
    assert await one.get_items() == [user("1"), user("2 " * 150), assistant("3 " * 80)]
    await one.add_items([user("4 " * 80)])
    assert await one.get_items() == [user("4 " * 80)]
    full = await one.get_full_history()
    assert [each["message"].get("type", "message") for each in full][:2] == ["message", "reasoning"]
    assert await one.pop_item() == user("4 " * 80)


async def test_items_are_popped_until_none_is_left(store: Store) -> None:
    items = [user("1"), *step("c1", reasoning=True), assistant("2")]
    one = session(store)
    await one.add_items(items)
    popped = [await one.pop_item() for _ in items]
    assert popped == items[::-1]
    assert await one.pop_item() is None
    await one.add_items([user("new")])
    assert await session(store).get_items() == [user("new")]


async def test_what_was_popped_may_come_again() -> None:
    one = session()
    items = [user("1"), *step("c1"), assistant("2")]
    await one.add_items(items)
    for _ in range(3):
        await one.pop_item()
    await one.add_items(items[1:])
    assert await one.get_items() == items


@pytest.mark.parametrize(
    "text",
    [
        "Grüße 🌍 你好，世界 مرحبا",
        "'; DROP TABLE sessions; --",
        "\"quotes\" 'and' \\backslashes\\ \n\t and \u0000 and \u2028",
        "<|endoftext|> <|im_start|>system",
        "\ud83d alone",
    ],
)
async def test_every_text_comes_back_as_it_was(store: Store, text: str) -> None:
    items = [user(text), assistant(text)]
    await session(store).add_items(items)
    assert await session(store).get_items() == items


async def test_items_of_other_models_come_back_as_they_were(store: Store) -> None:
    """Through Chat Completions all items have one id, and data of their provider."""
    beside = {"id": "__fake_id__", "provider_data": {"model": "local"}}
    items = [
        user("How warm?"),
        {"type": "reasoning", "summary": [], **beside},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}", **beside},
        {"type": "function_call_output", "call_id": "c1", "output": "18"},
        {
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "18", "annotations": []}],
            **beside,
        },
        user("And there?"),
        {"type": "message", "role": "assistant", "status": "completed", "content": [], **beside},
    ]
    one = session(store)
    await one.add_items(items)
    assert await one.get_items() == items
    assert [await one.pop_item(), await one.pop_item()] == [items[6], items[5]]


async def test_many_tasks_and_workers_lose_nothing(store: Store) -> None:
    workers = [session(store), session(store)]

    async def talk(at: int) -> None:
        for number in range(5):
            await workers[at % 2].add_items([user(f"{at}-{number}"), assistant(f"{at}-{number}")])
            await workers[at % 2].get_items(3)

    await asyncio.gather(*map(talk, range(6)))
    read = await session(store).get_items()
    assert read == await workers[0].get_items() == await workers[1].get_items()
    texts = [each["content"] for each in read]
    assert texts[::2] == texts[1::2]
    for at in range(6):
        assert [each for each in texts[::2] if each.startswith(f"{at}-")] == [f"{at}-{n}" for n in range(5)]


def test_one_object_serves_one_loop_after_the_other() -> None:
    one = session()
    asyncio.run(one.add_items([user("1")]))
    asyncio.run(one.add_items([user("2")]))
    assert asyncio.run(one.get_items()) == [user("1"), user("2")]


async def test_it_is_compacted_when_it_is_read(store: Store) -> None:
    one = session(store, budget={"window": 1_000}, strategy={"kind": "sliding-window", "keep_turns": 2})
    items = [each for at in range(10) for each in (user(f"{at} " * 60), assistant(f"{at} " * 60))]
    await one.add_items(items)
    assert await one.get_items() == items[-4:]
    assert await session(store, budget={"window": 1_000}).get_items() == items[-4:]
    full = await one.get_full_history()
    assert [each["message"] for each in full] == items
    assert [each["metadata"]["fate"] for each in full[:16]] == ["dropped"] * 16
    assert [each["message"] for each in await one.get_full_history(3)] == items[-3:]
    assert await one.get_full_history(0) == []


async def test_calls_that_wait_do_not_stop_a_reader() -> None:
    one = session(budget={"window": 300}, strategy={"kind": "sliding-window", "keep_turns": 1})
    call = step("c1")[0]
    await one.add_items([user("1 " * 200), assistant("2 " * 100), user("3"), call])
    assert await one.get_items(1) == [call]
    assert len(await one.get_items()) == 4
    await one.add_items([step("c1")[1]])
    assert await one.get_items() == [user("3"), *step("c1")]
    report = (await one.opened()).report
    assert report is not None
    assert "items were read while calls wait for results (c1); nothing was compacted" in str(
        report.model_dump()
    )


async def test_a_call_that_nobody_answers_gets_a_result_in_what_is_read() -> None:
    one = session()
    await one.add_items([user("1"), step("c1")[0], user("2")])
    read = await one.get_items()
    assert [each.get("type", "message") for each in read] == [
        "message",
        "function_call",
        "function_call_output",
        "message",
    ]
    assert [each["metadata"]["synthetic"] for each in await one.get_items_with_metadata()] == [
        False,
        False,
        True,
        False,
    ]


async def test_a_result_without_a_call_is_refused_and_nothing_added() -> None:
    one = session()
    await one.add_items([user("1")])
    with pytest.raises(ProviderFormatError, match="answers no call that waits"):
        await one.add_items([user("2"), step("c1")[1]])
    assert await one.get_items() == [user("1")]


async def test_a_fact_is_in_what_is_read() -> None:
    one = session()
    await one.add_items([user("Hello"), assistant("Hi")])
    await (await one.opened()).remember("allergy", "peanuts")
    assert "peanuts" in json.dumps(await one.get_items())


def test_wrong_settings_are_told_at_once() -> None:
    with pytest.raises(ConfigError, match="budget"):
        CtxkitSession("chat-42")
    with pytest.raises(ConfigError, match="session id"):
        CtxkitSession("", budget=PLENTY)
    with pytest.raises(ConfigError, match="no-such"):
        CtxkitSession("chat-42", budget=PLENTY, strategy="no-such")


async def test_a_store_may_be_named_by_its_address(tmp_path: Path) -> None:
    address = f"sqlite:{tmp_path / 'chats.db'}"
    async with session(address) as one:
        await one.add_items([user("Hello")])
    async with session(address) as again:
        assert await again.get_items() == [user("Hello")]
    assert await again.get_items() == [user("Hello")]
    await again.close()


@pytest.mark.parametrize("read", ["get_items", "input_filter"])
@pytest.mark.parametrize("behind", [False, True], ids=["at the end", "in between"])
@pytest.mark.parametrize("what", ["add", "pop", "clear"])
async def test_what_others_do_while_it_is_read_does_not_stop_a_reader(
    what: str, behind: bool, read: str
) -> None:
    """Reasoning is there whose call was popped; somebody else comes at every call of the store."""
    at, met = 0, True
    while met:
        store, met = MemoryStore(), False
        one, other = session(store), session(store)
        await one.add_items([user("Hello"), *step("c1", reasoning=True)])
        for _ in range(2):
            await one.pop_item()
        if behind:
            await one.add_items([user("Again?")])
        await other.get_items() if not behind else await other.opened()

        async def come(other: CtxkitSession = other) -> None:
            nonlocal met
            met = True
            if what == "add":
                await other.add_items([user("I am another run.")])
            elif what == "clear":
                await other.clear_session()
            else:
                await other.pop_item()
                await other.pop_item()

        chat = await one.opened()
        chat.store = chat._log.store = Meeting(store, at, come)  # type: ignore[assignment]
        if read == "get_items":
            given: list[Any] = list(await one.get_items())
        else:
            data = CallModelData(
                ModelInputData(input=[user("Hello")], instructions=None), Agent(name="a"), None
            )
            given = (await one.input_filter(data)).input
        assert all(item.get("type") != "reasoning" for item in given)
        at += 1
    assert at > 2
