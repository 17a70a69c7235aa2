"""No summary keeps a key, a password or a card number, whoever writes it."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit import ContextManager

KEY, PASSWORD, CARD = "sk-proj-9f8A7b6C5d4E3f2G1h0IjKlMn", "hunter2!x", "4111 1111 1111 1111"
SAID = f"The API key is {KEY}, my password is {PASSWORD} and my card is {CARD}. My order is W5362037."


def repeats(question: Any) -> str:
    return f"Facts:\n- the user gave the key {KEY} and the password: {PASSWORD}\n- the order is W5362037"


@pytest.mark.parametrize(
    "strategy", ["extractive-summary", "hybrid", "digest-tool-results", "summarize", "fallback"]
)
def test_a_secret_goes_with_its_message_and_the_original_keeps_it(strategy: str) -> None:
    context = ContextManager("openai-chat", {"window": 700}, strategy, ask=repeats)
    context.add({"role": "user", "content": SAID})
    for turn in range(14):
        context.add(
            {"role": "assistant", "content": f"Order W{turn + 100} ships on 2026-03-{turn + 10}. " * 4}
        )
        context.add({"role": "user", "content": f"And what about order W{turn + 200}, please?"})
        messages = context.prepare_sync().messages
    assert SAID not in str(messages)
    for secret in (KEY, PASSWORD, CARD):
        assert secret not in str(messages)
    gone = [each for each in context.explain() if each.handle]
    assert any(SAID in str(context.original(each.handle)) for each in gone)
