"""TrimmingSession and SummarizingSession: the behaviour that OpenAI's cookbook on short-term memory describes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner

from ctxkit import Budget, ConfigError, Question
from ctxkit.core.marks import is_marked
from ctxkit.openai_agents import SummarizingSession, TrimmingSession
from ctxkit.openai_agents.presets import PROMPT, PROMPT_TOKENS
from ctxkit.preparation import Preparation, Settings
from ctxkit.sessions.store import Store
from tests.servers.failing import serving
from tests.servers.responding import answers, message

ABOUT = {
    1: "My router does not connect, I use Windows 10 and I am a premium customer in the US.",
    2: "The firmware is v1.0.3 and it is still failing, I looked at the manual too.",
    3: "The reset is done, and now it says error 42 whenever I open the page.",
    4: "I tried the new firmware, but there is another error now, and the light blinks red.",
    5: "It says 404 not found when I try to open the page of the router.",
    6: "Yes, the cable is in, and the telephone works over the same line.",
}


def turn(at: int) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": ABOUT[at]},
        {
            "role": "assistant",
            "content": f"Thank you for telling me, let us look at point {at} together now.",
        },
    ]


def turns(first: int, last: int) -> list[dict[str, Any]]:
    return [each for at in range(first, last + 1) for each in turn(at)]


class Summarizer:
    """Gives a text, and remembers what it was asked."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts) or ["The router of a premium customer fails; firmware v1.0.3."]
        self.asked: list[str] = []

    def __call__(self, question: Question) -> str:
        self.asked.append(question.text)
        return self.texts[min(len(self.asked), len(self.texts)) - 1]


async def summary_of(session: SummarizingSession) -> str:
    """The text of the one summary in front."""
    asked, first, *rest = await session.get_items_with_metadata()
    assert [each["metadata"]["kind"] for each in (asked, first)] == [
        "history_summary_prompt",
        "history_summary",
    ]
    assert [each["message"]["role"] for each in (asked, first)] == ["user", "assistant"]
    assert [each["metadata"]["synthetic"] for each in rest] == [False] * len(rest)
    return str(first["message"]["content"])


# Trimming


async def test_the_last_turns_stay(store: Store) -> None:
    session = TrimmingSession("chat", max_turns=3, store=store)
    for at in range(1, 6):
        await session.add_items(turn(at)[:1])
        await session.add_items(turn(at)[1:])
    assert await session.get_items() == turns(3, 5)
    assert [each["message"] for each in await session.get_full_history()] == turns(1, 5)


async def test_a_turn_goes_with_all_its_tool_calls() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c", "output": "red"}
    session = TrimmingSession("chat", max_turns=2)
    await session.add_items([turn(1)[0], call, result, turn(1)[1], *turns(2, 3)])
    assert await session.get_items() == turns(2, 3)


async def test_fewer_turns_than_the_limit_stay_all() -> None:
    session = TrimmingSession("chat", max_turns=3)
    await session.add_items(turns(1, 3))
    assert await session.get_items() == turns(1, 3)
    assert await session.get_items(2) == turn(3)


async def test_tokens_count_when_they_are_limited() -> None:
    session = TrimmingSession("chat", max_turns=3, budget={"window": 160})
    await session.add_items(turns(1, 3))
    assert await session.get_items() == turns(1, 3)
    named = TrimmingSession("chat", 3, model="gpt-4o")
    assert (await named.opened()).preparation.budget.window == 128_000
    both = TrimmingSession("chat", 3, budget=Budget(window=900, reply=100))
    assert (await both.opened()).preparation.budget == Budget(window=900, reply=100, context_limit=3)


@pytest.mark.parametrize("max_turns", [0, -1])
def test_at_least_one_turn_stays(max_turns: int) -> None:
    with pytest.raises(ConfigError):
        TrimmingSession("chat", max_turns=max_turns)


# Summarising


async def test_older_turns_become_a_summary_when_there_are_too_many(store: Store) -> None:
    summarizer = Summarizer()
    session = SummarizingSession("chat", 2, 4, summarizer, store=store)
    await session.add_items(turns(1, 4))
    assert await session.get_items() == turns(1, 4)
    assert summarizer.asked == []
    await session.add_items(turn(5))
    items = await session.get_items()
    assert items[2:] == turns(4, 5)
    assert "premium customer fails; firmware v1.0.3" in await summary_of(session)
    [asked] = summarizer.asked
    assert ABOUT[1] in asked
    assert ABOUT[3] in asked
    assert ABOUT[4] not in asked


async def test_the_next_summary_goes_on_from_the_last_and_comes_no_sooner() -> None:
    summarizer = Summarizer("The firmware is v1.0.3 and fails.", "The light blinks red.")
    session = SummarizingSession("chat", 1, 3, summarizer)
    for at in range(1, 5):
        await session.add_items(turn(at))
        await session.get_items()
    assert len(summarizer.asked) == 1
    await session.add_items(turns(5, 6))
    items = await session.get_items()
    assert len(summarizer.asked) == 1
    assert items[2:] == turns(4, 6)
    await session.add_items(turn(1))
    assert (await session.get_items())[2:] == turn(1)
    assert "The firmware is v1.0.3 and fails." in summarizer.asked[1]
    assert "The light blinks red." in await summary_of(session)


async def test_no_turn_stays_when_none_is_to_but_for_what_was_said_last() -> None:
    session = SummarizingSession("chat", keep_last_n_turns=0, context_limit=2, summarizer=Summarizer())
    await session.add_items(turns(1, 3))
    assert (await session.get_items())[2:] == turn(3)
    [first, *_] = await session.get_items_with_metadata()
    assert first["metadata"]["stands_for"] == [0, 1, 2, 3]


@pytest.mark.parametrize(("times", "gains"), [(20, False), (200, True)])
async def test_then_the_steps_of_the_last_turn_are_summarised_too(times: int, gains: bool) -> None:
    call = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c", "output": "the light is red " * times}
    session = SummarizingSession("chat", keep_last_n_turns=0, context_limit=2, summarizer=Summarizer())
    await session.add_items([*turns(1, 2), turn(3)[0], call, result, turn(3)[1]])
    told = await session.get_items_with_metadata()
    steps = [] if gains else [call, result]
    said = [each["message"] for each in told if not each["metadata"]["synthetic"]]
    assert said == [turn(3)[0], *steps, turn(3)[1]]
    covered = {id for each in told if each["metadata"]["synthetic"] for id in each["metadata"]["stands_for"]}
    assert covered == ({0, 1, 2, 3, 5, 6} if gains else {0, 1, 2, 3})


async def test_in_a_run_nothing_but_the_new_question_stands_behind_the_summary(connected: Any) -> None:
    session = SummarizingSession("chat", keep_last_n_turns=0, context_limit=1, summarizer=Summarizer())
    config = RunConfig(call_model_input_filter=session.input_filter)
    with serving(answers(message("Look at the cable. " * 20)), answers(message("Good."))) as server:
        agent = Agent(name="helper", model=connected(server))
        for question in (ABOUT[1], ABOUT[2]):
            await Runner.run(agent, question, session=session, run_config=config)
    asked, summary, question = server.requests[-1].body["input"]
    assert is_marked(asked["content"][0]["text"])
    assert "The router of a premium customer fails" in summary["content"]
    assert question == turn(2)[0]
    chat = await session.opened()
    last = await chat.request((await chat.requests())[-1].position)
    assert last.messages == [asked, summary, question]
    assert last.sealed
    assert [origin.kind for origin in last.entries] == ["summary", "summary", "message"]


@pytest.mark.parametrize(("limit", "count"), [(1, 1), (2, 2), (3, 2), (4, 4)])
async def test_a_limit_parts_no_pair(limit: int, count: int) -> None:
    session = SummarizingSession("chat", 1, 2, Summarizer())
    await session.add_items(turns(1, 3))
    items = await session.get_items()
    assert await session.get_items(limit) == items[len(items) - count :]


async def test_the_question_of_the_summary_fits_the_budget_too() -> None:
    session = SummarizingSession("chat", 1, 1, Summarizer("router " * 60), budget={"window": 300})
    await session.add_items([each for at in range(1, 6) for each in turn(at)])
    items = await session.get_items()
    chat = await session.opened()
    assert len(items) == 4
    given = await chat.request((await chat.requests())[-1].position)
    assert sum(given.tokens.values()) <= 300
    with pytest.raises(ConfigError, match="no room for a summary"):
        SummarizingSession("chat", budget={"window": 300, "reply": 290})


def test_what_the_question_takes_is_kept_free() -> None:
    meter = Preparation(Settings("openai-responses", {"window": 300})).history.setting.meter
    text = "word " * 100
    both = meter.entry(meter.provider.stand_in(PROMPT)) + meter.entry({"role": "assistant", "content": text})
    assert 0 < both - meter.entry(meter.provider.stand_in(text)) <= PROMPT_TOKENS


async def test_without_a_summarizer_the_turns_speak_for_themselves() -> None:
    session = SummarizingSession("chat", 1, 2)
    await session.add_items(turns(1, 4))
    assert (await session.get_items())[2:] == turn(4)
    assert "v1.0.3" in await summary_of(session)


async def test_metadata_is_beside_the_messages_and_never_in_them() -> None:
    session = SummarizingSession("chat", 1, 2, Summarizer())
    await session.add_items(turns(1, 3))
    told = await session.get_items_with_metadata()
    assert [each["message"] for each in told] == await session.get_items()
    of = {"summary_for_turns": "< all before idx 4 >", "stands_for": [0, 1, 2, 3]}
    assert told[0]["metadata"] == {"synthetic": True, "kind": "history_summary_prompt", **of}
    assert told[1]["metadata"] == {"synthetic": True, "kind": "history_summary", **of}
    assert told[2]["metadata"] == {"synthetic": False, "position": 4, "turn": 3}
    assert await session.get_items_with_metadata(1) == told[-1:]
    full = await session.get_full_history()
    assert full[4:6] == told[:2]
    assert [each["message"] for each in (*full[:4], *full[6:])] == turns(1, 3)
    assert await session.get_full_history(3) == full[-3:]
    assert {each["metadata"]["fate"] for each in full[:4]} == {"summarised"}
    assert {each["metadata"]["by"] for each in full[:4]} == {"summarize"}


async def test_a_summarizer_that_fails_costs_nothing() -> None:
    def fails(question: Question) -> str:
        raise ConnectionError("no route")

    session = SummarizingSession("chat", 1, 2, fails)
    await session.add_items(turns(1, 3))
    assert await session.get_items() == turns(1, 3)
    assert "ConnectionError" in str((await session.opened()).report)


async def test_what_comes_while_the_summary_is_written_stays(store: Store) -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def slow(question: Question) -> str:
        asked.set()
        await go_on.wait()
        return "The firmware is v1.0.3 and fails."

    session = SummarizingSession("chat", 1, 2, slow, store=store)
    await session.add_items(turns(1, 3))
    reading = asyncio.create_task(session.get_items())
    await asked.wait()
    await session.add_items(turn(4))
    go_on.set()
    await reading
    items = await session.get_items(6)
    assert items[2:] == turns(3, 4)
    assert "firmware is v1.0.3" in await summary_of(session)


@pytest.mark.parametrize("gone", ["popped", "cleared"])
async def test_a_summary_of_what_was_taken_back_is_thrown_away(store: Store, gone: str) -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def slow(question: Question) -> str:
        if not asked.is_set():
            asked.set()
            await go_on.wait()
            return "The firmware is v1.0.3, says the summary that is late."
        return "The firmware is v1.0.3 and fails."

    session = SummarizingSession("chat", 1, 2, slow, store=store)
    await session.add_items(turns(1, 4))
    reading = asyncio.create_task(session.get_items())
    await asked.wait()
    if gone == "cleared":
        await session.clear_session()
    else:
        for _ in range(2):
            await session.pop_item()
    go_on.set()
    await reading
    assert "late" not in str(await session.get_items())
    assert len(await session.get_items()) == (0 if gone == "cleared" else 4)


@pytest.mark.parametrize(("keep", "limit"), [(4, 3), (-1, 3), (0, 0)])
def test_limits_that_contradict_each_other_are_refused(keep: int, limit: int) -> None:
    with pytest.raises(ConfigError):
        SummarizingSession("chat", keep, limit)
