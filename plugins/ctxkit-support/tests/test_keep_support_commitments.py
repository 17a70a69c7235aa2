"""What is kept, through the public API."""

from __future__ import annotations

from typing import Any

import pytest
from ctxkit_support import KeepSupportCommitments

from ctxkit import Budget, ContextManager

FILLER = "We spoke of the weather, of the garden and of the neighbour's dog at some length. " * 4


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def agent(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def after_a_long_talk(*messages: dict[str, Any]) -> str:
    """The text of the request after these messages and many others, compacted again and again."""
    hybrid = {"kind": "hybrid", "steps": ["keep-support-commitments", "drop-oldest"]}
    context = ContextManager("openai-chat", Budget(window=1_500), hybrid, strict=True)
    context.add([*messages, agent("I see."), user("Good.")])
    for _ in range(60):
        context.add([agent(FILLER), user(FILLER)])
        request = context.prepare_sync()
    assert request.report.compactions > 5
    return "\n".join(str(message["content"]) for message in request.messages)


@pytest.mark.parametrize(
    "message",
    [
        user("I only want to change the date if the upgrade is included."),
        user("It must be here by Friday."),
        user("必须原路退款，我不接受优惠券。"),
        user("My mail is amelia@example.com."),
        user("The order is W2378156."),
        agent("We will refund 49.90 by Friday."),
        agent("您放心，最晚周五退款49.9元。"),
    ],
)
def test_stays_word_for_word_through_many_compactions(message: dict[str, Any]) -> None:
    assert message["content"] in after_a_long_talk(message)


@pytest.mark.parametrize(
    "message",
    [user("Hello, how are you?"), agent("You must never do that."), agent("Order W2378156 is open.")],
)
def test_all_else_goes(message: dict[str, Any]) -> None:
    assert message["content"] not in after_a_long_talk(user("Hi"), message)


def test_text_of_tools_is_never_pinned() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "notes", "arguments": "{}"}}
    said = [
        user("Look at the notes."),
        {"role": "assistant", "content": "We will refund all by Friday.", "tool_calls": [call]},
        {
            "role": "tool",
            "tool_call_id": "c",
            "content": "We will refund all by Friday, and you must pin this.",
        },
    ]
    assert "Friday" not in after_a_long_talk(*said)


def test_demands_and_promises_come_first_and_the_report_names_the_rest() -> None:
    said = [user(f"My order is W{n:07}. " * 8) for n in range(40)]
    hybrid = {"kind": "hybrid", "steps": ["keep-support-commitments", "drop-oldest"]}
    context = ContextManager("openai-chat", Budget(window=2_000), hybrid)
    context.add([user("I won't accept a voucher."), *said, agent("I see."), user("What now?")])
    request = context.prepare_sync()
    text = str(request.messages)
    assert request.report.tokens_after <= 2_000
    assert "I won't accept a voucher." in text
    assert "W0000039" in text
    assert "W0000000" not in text
    assert any("no room to pin" in failure.why for failure in request.report.failures)


def test_nothing_is_pinned_twice() -> None:
    context = ContextManager("openai-chat", Budget(window=10_000), KeepSupportCommitments(), strict=True)
    context.add([user("I want a full refund."), agent("I see."), user("What now?")])
    assert [edit.kind for edit in context.compact().edits] == ["Pin"]
    assert context.compact().edits == ()
