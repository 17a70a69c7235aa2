"""The hooks as ctxkit calls them, through the installed package."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from ctxkit import Budget, ContextManager

FILLER = "We spoke of the weather, of the garden and of the neighbour's dog at some length. " * 4
PROMISE = "We will refund 49.90 for order W2378156 by Friday."


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def agent(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def after_a_long_talk(*messages: dict[str, Any], steps: list[Any], window: int = 2_000) -> ContextManager:
    context = ContextManager("openai-chat", Budget(window=window), {"kind": "hybrid", "steps": steps})
    context.add([*messages, agent("I see."), user("Good.")])
    for _ in range(20):
        context.add([agent(FILLER), user(FILLER)])
        context.prepare_sync()
    return context


def test_keep_key_facts_remembers_what_the_hook_finds() -> None:
    context = after_a_long_talk(user("Hi"), agent(PROMISE), steps=["keep-key-facts", "drop-oldest"])
    facts = {fact.key: fact for fact in context.facts}
    assert facts["promised refund for order W2378156"].value == PROMISE
    assert facts["promised refund for order W2378156"].said_by == "assistant"
    assert PROMISE in str(context.prepare_sync().messages)


def test_selective_keeps_what_the_hook_takes_for_key_messages() -> None:
    said = "You told me that you would refund me within 3 days."
    wanted = "The refund has to be on my account, I want that by Friday."
    context = after_a_long_talk(user(said), agent("Yes."), user(wanted), steps=["selective"])
    text = str(context.prepare_sync().messages)
    assert wanted in text
    assert said not in text


def test_facts_with_a_secret_are_not_kept() -> None:
    said = "Refund me $49.90 by Friday, I want it on the card with CVV: 123."
    context = after_a_long_talk(user(said), steps=["keep-key-facts", "drop-oldest"])
    assert not any("123" in fact.value for fact in context.facts)
    assert any(
        fact.key == "wanted refund"
        for fact in after_a_long_talk(
            user(said.replace(" with CVV: 123", "")), steps=["keep-key-facts", "drop-oldest"]
        ).facts
    )


def test_commitments_without_room_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="ctxkit_support")
    said = [user(f"I want {n} by Friday. " * 20) for n in range(20)]
    after_a_long_talk(*said, steps=["keep-support-commitments", "drop-oldest"], window=3_000)
    assert caplog.messages
    assert "no room to pin" in caplog.messages[0]


def test_compactions_without_this_strategy_log_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="ctxkit_support")
    context = after_a_long_talk(user("I want it by Friday."), steps=["drop-oldest"])
    assert context.report is not None
    assert context.report.compactions > 0
    assert caplog.messages == []
