"""The profile in a turn in which the model reasons: what was remembered or taken back since waits, and counts as it goes
out."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit import Budget, ContextManager
from ctxkit.core.state import Meter
from ctxkit.providers import provider
from ctxkit.tokens import counter_for

Entries = list[dict[str, Any]]

SIGNED = {"signature": "c2lnbmF0dXJl"}
REASONING: dict[str, tuple[str, dict[str, Any]]] = {
    "thinking": ("anthropic", {"type": "thinking", "thinking": "Let me look.", **SIGNED}),
    "thinking that is omitted": ("anthropic", {"type": "thinking", "thinking": "", **SIGNED}),
    "redacted": ("anthropic", {"type": "redacted_thinking", "data": "c2ln"}),
    "summary": (
        "openai-responses",
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Look."}]},
    ),
    "no summary": (
        "openai-responses",
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"},
    ),
}
NAMES = list(REASONING)
LONG = "12 Long Street, " * 60


def question(format: str, words: str) -> dict[str, Any]:
    plain = {"role": "user", "content": words}
    return {"type": "message", **plain} if format == "openai-responses" else plain


def step(name: str) -> Entries:
    """A call with reasoning before it, and its result."""
    format, reasoning = REASONING[name]
    told = "shipped on Monday. " * 20
    if format == "anthropic":
        call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
        result = {"type": "tool_result", "tool_use_id": "t1", "content": told}
        return [{"role": "assistant", "content": [reasoning, call]}, {"role": "user", "content": [result]}]
    return [
        reasoning,
        {"type": "function_call", "id": "fc_1", "call_id": "t1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "t1", "output": told},
    ]


def reasoning(name: str, window: int, **facts: str) -> ContextManager:
    """A turn that was sent with these facts, and in which the model then reasoned and called."""
    format = REASONING[name][0]
    context = ContextManager(format, Budget(window=window), "drop-oldest", plugins=())
    for key, value in facts.items():
        context.remember(key, value)
    context.add(question(format, "Where is my order?"))
    context.prepare_sync()
    context.add(step(name))
    return context


def take_back(context: ContextManager, instead: str) -> None:
    """The address is forgotten, or another one remembered instead."""
    if instead:
        context.remember("address", instead)
    else:
        context.forget("address")


def counted(name: str, messages: Entries) -> int:
    return sum(map(Meter(provider(REASONING[name][0]), counter_for(None).count).entry, messages))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("instead", ["", "2 High Road"])
def test_what_is_still_told_counts_though_it_was_taken_back(name: str, instead: str) -> None:
    context = reasoning(name, 10_000, address=LONG)
    take_back(context, instead)
    request = context.prepare_sync()
    assert "Long Street" in str(request.messages), "it is taken back behind the turn"
    assert request.report.tokens_after == counted(name, request.messages)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("instead", ["", "2 High Road"])
def test_a_request_that_is_too_large_for_what_was_taken_back_is_compacted(name: str, instead: str) -> None:
    context = reasoning(name, 400, address=LONG)
    take_back(context, instead)
    request = context.prepare_sync()
    assert "Long Street" not in str(request.messages)
    assert (instead or "Where is my order?") in str(request.messages)
    assert counted(name, request.messages) == request.report.tokens_after <= 400


@pytest.mark.parametrize("name", NAMES)
def test_what_is_remembered_in_such_a_turn_is_told_behind_it(name: str) -> None:
    context = reasoning(name, 10_000)
    context.remember("diet", "no nuts")
    sent = context.prepare_sync().messages
    assert "no nuts" not in str(sent)
    context.add(question(REASONING[name][0], "And the next one?"))
    messages = context.prepare_sync().messages
    assert messages[: len(sent)] == sent
    assert "no nuts" in str(messages[len(sent)])
