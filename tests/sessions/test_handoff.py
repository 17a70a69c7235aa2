"""Handoffs: the next agent gets a summary or the raw tail, never both, and no words of the former agent's system text."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ctxkit.errors import ConfigError, ModelCallError
from ctxkit.models.question import Question
from ctxkit.providers import provider
from ctxkit.sessions.records import told_in
from ctxkit.sessions.session import Session
from ctxkit.sessions.stores.memory import MemoryStore
from ctxkit.strategies.summarize import Summarize
from tests.cases import SHARED, load
from tests.oracle import violations

BUDGET = {"window": 8_000, "reply": 500}


def text_of(messages: list[dict[str, Any]]) -> str:
    return repr(messages)


@pytest.mark.skipif(not (SHARED / "cases").exists(), reason="the cases are not here")
async def test_case_023_handoff_without_doubles() -> None:
    case = load("023")
    summarizer = case["setup"]["summarizer"]["returns"]
    session = await Session.open(
        "desk", MemoryStore(), format=case["format"], budget=BUDGET, ask=lambda question: summarizer
    )
    await session.add(case["input"], system=case["setup"]["from_agent"]["system"])
    billing = await session.handoff(to="billing", system=case["setup"]["to_agent"]["system"])
    shown = text_of(billing.messages)
    assert len(billing.messages) == 1
    assert violations(case["format"], billing.messages, billing.system) == []
    for call, note in {
        "call_look": "HANDOFF-NOTE find_member",
        "call_hand": "HANDOFF-NOTE transfer_to_billing",
    }.items():
        assert (call in shown, note in shown) == (False, True)
    assert shown.count("charged twice for membership 30417") == 1
    assert "You are the front desk" not in shown
    assert billing.system == "You are billing."
    assert session.messages == case["input"]


@pytest.mark.parametrize("tail", [0, 1, 2, 3])
async def test_each_call_is_there_once_with_a_tail_of_any_length(tail: int) -> None:
    session = await spoken()
    made = await session.handoff(tail=tail)
    shown = text_of(made.messages)
    assert provider("openai-chat").violations(made.messages) == []
    raw = [call["id"] for message in made.messages for call in message.get("tool_calls", ())]
    assert raw == [f"call_{n}" for n in range(3 - tail, 3)]
    for n in range(3):
        assert shown.count(f"Where is order W{n}00017?") == 1, (n, shown)
        assert shown.count(f"SHIPPED-{n}") == 1, (n, shown)
    assert "front desk" not in shown
    assert bool(made.summary) == (tail < 3)


async def spoken(**settings: Any) -> Session:
    session = await Session.open("desk", MemoryStore(), format="openai-chat", budget=BUDGET, **settings)
    await session.add({"role": "system", "content": "You are the front desk."})
    for n in range(3):
        function = {"name": "get_order", "arguments": f'{{"order": "W{n}00017"}}'}
        await session.add(
            [
                {"role": "user", "content": f"Where is order W{n}00017?"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": f"call_{n}", "type": "function", "function": function}],
                },
                {"role": "tool", "tool_call_id": f"call_{n}", "content": f'{{"status": "SHIPPED-{n}"}}'},
            ]
        )
    return session


async def test_the_last_words_of_the_user_go_along_when_the_summary_has_them_not() -> None:
    session = await spoken()
    made = await session.handoff(summary="Facts:\n- Orders were looked up.")
    assert made.messages[-1] == {"role": "user", "content": "Where is order W200017?"}
    assert len(made.messages) == 2
    assert "Orders were looked up" in made.messages[0]["content"]


async def test_facts_go_along_and_are_fenced() -> None:
    session = await spoken()
    await session.remember("diet", "vegetarian")
    made = await session.handoff()
    assert "diet: vegetarian" in made.messages[0]["content"]
    assert text_of(made.messages).count("diet: vegetarian") == 1


async def test_a_model_that_fails_is_made_up_for_and_told() -> None:
    def ask(question: Question) -> str:
        raise ModelCallError("the model is down")

    session = await spoken(ask=ask)
    made = await session.handoff()
    assert "SHIPPED-0" in made.summary
    report = (await session.prepare()).report
    assert any("was made without a model" in line for line in report.normalised)


async def test_a_summary_that_leaves_out_a_not_does_not_have_the_words_of_the_user() -> None:
    session = await spoken(ask=lambda question: "The talk is about whether to cancel order W200017.")
    await session.add({"role": "user", "content": "Do not cancel order W200017."})
    made = await session.handoff()
    assert text_of(made.messages).count("Do not cancel order W200017.") == 1


async def test_a_model_that_hangs_is_made_up_for_too() -> None:
    async def ask(question: Question) -> str:
        await asyncio.sleep(60)
        return "late"

    session = await spoken(ask=ask, strategy=Summarize(timeout_s=0.05))
    made = await asyncio.wait_for(session.handoff(), 20)
    assert "SHIPPED-0" in made.summary
    assert any("it took too long" in line for line in (await session.prepare()).report.normalised)


@pytest.mark.parametrize(
    "words", ["My key is {}.", "Is my key {} still right? And what of my order W900017? Tell me."]
)
async def test_keys_and_passwords_stay_behind(words: str) -> None:
    key = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5q" * 2
    session = await spoken()
    await session.add({"role": "assistant", "content": f"Your key is {key}."})
    await session.add({"role": "user", "content": words.format(key)})
    made = await session.handoff()
    assert key not in text_of(made.messages)
    assert "my key" in text_of(made.messages).lower()


async def test_a_summary_without_a_model_is_no_copy_of_a_long_conversation() -> None:
    session = await Session.open("desk", MemoryStore(), format="openai-chat", budget={"window": 1_000_000})
    for n in range(300):
        told = f"Order W{n:04}17 of room {n} came broken on 3 May, and I want the {n}.90 back."
        await session.add(
            [{"role": "user", "content": told}, {"role": "assistant", "content": f"Noted {n}."}]
        )
    made = await session.handoff()
    assert 500 < session.preparation.counter.count(made.summary) <= 3_000


async def test_a_step_that_waits_for_its_result_does_not_go_along_raw() -> None:
    session = await spoken()
    function = {"name": "transfer_to_billing", "arguments": "{}"}
    call = {"id": "call_x", "type": "function", "function": function}
    await session.add({"role": "assistant", "content": "One moment.", "tool_calls": [call]})
    made = await session.handoff(tail=1)
    assert provider("openai-chat").violations(made.messages) == []
    assert "call_x" not in text_of(made.messages)


async def test_what_a_compaction_folded_is_handed_over_too() -> None:
    session = await spoken(strategy="extractive-summary")
    for n in range(8):
        await session.add(
            {"role": "user", "content": f"Note number {n}: the code is K{n}12345. " + "More. " * 200}
        )
        await session.add({"role": "assistant", "content": f"Noted {n}."})
    await session.compact()
    handed = await session.handoff(tail=1)
    assert "K012345" in handed.summary
    assert "K712345" in text_of(handed.messages)


async def test_it_is_on_record_and_the_next_agent_goes_on_in_a_session_of_its_own() -> None:
    session = await spoken()
    before = session.messages
    made = await session.handoff(to="billing")
    records = [told_in(body, session="desk") for body in await session.store.read("desk")]
    assert records[-1]["kind"] == "handoff"
    assert records[-1]["data"] == {"to": "billing", "tail": 0}
    billing = await session.child("billing", purpose="a double charge")
    await billing.add([{"role": "system", "content": "You are billing."}, *made.messages])
    request = await billing.prepare()
    assert request.messages[1:] == made.messages
    assert session.messages == before


@pytest.mark.parametrize("format", ["anthropic", "gemini", "openai-responses"])
async def test_every_format_is_handed_over_as_its_provider_takes_it(format: Any) -> None:
    said = {
        "anthropic": [
            {"role": "user", "content": "I want a refund of 19 euros."},
            {"role": "assistant", "content": "Yes."},
        ],
        "gemini": [
            {"role": "user", "parts": [{"text": "I want a refund of 19 euros."}]},
            {"role": "model", "parts": [{"text": "Yes."}]},
        ],
        "openai-responses": [
            {"role": "user", "content": "I want a refund of 19 euros."},
            {"role": "assistant", "content": "Yes."},
        ],
    }[format]
    session = await Session.open("s", MemoryStore(), format=format, budget=BUDGET)
    await session.add(said, system="You are the front desk.")
    made = await session.handoff(system="You are billing.")
    assert provider(format).violations(made.messages, system=made.system) == []
    assert text_of(made.messages).count("refund of 19 euros") == 1
    assert made.system == "You are billing."


@pytest.mark.parametrize("tail", [-1, 1.5, "2", True])
async def test_a_tail_that_is_no_number_of_turns_is_refused(tail: Any) -> None:
    session = await spoken()
    with pytest.raises(ConfigError, match="tail"):
        await session.handoff(tail=tail)


async def test_an_empty_session_hands_over_nothing() -> None:
    session = await Session.open("s", MemoryStore(), format="openai-chat", budget=BUDGET)
    assert (await session.handoff()).messages == []


@pytest.mark.parametrize("tail", [0, 1, 40])
async def test_what_is_pinned_goes_along_word_for_word_and_once(tail: int) -> None:
    session = await Session.open(
        "pinned", MemoryStore(), format="openai-chat", budget={"window": 4_000}, strategy="drop-oldest"
    )
    celiac = {"role": "user", "content": "The little one is celiac by the way, and so is grandma."}
    await session.add([celiac, {"role": "assistant", "content": "Noted."}])
    for number in range(30):
        await session.add({"role": "user", "content": f"And what is number {number} on the list of dishes?"})
        await session.add({"role": "assistant", "content": f"Number {number} is a soup of the season."})
    await session.pin(0)
    made = await session.handoff(to="kitchen", tail=tail)
    assert made.messages.count(celiac) == 1
    assert str(made.messages).count("celiac") == 1
    assert not violations("openai-chat", made.messages)
    assert session.preparation.provider.shape(made.messages[-1]).role in ("user", "model")
