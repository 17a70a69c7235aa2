"""Calls that a compaction has dropped before their results came, and calls of the same name or id that came later."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxkit import Budget, ContextManager, ProviderFormatError
from tests.oracle import violations


def gemini_call(order: str, id: str = "") -> dict[str, Any]:
    call = {"name": "find", "args": {"order": order}}
    return {"role": "model", "parts": [{"functionCall": {**call, **({"id": id} if id else {})}}]}


def gemini_result(order: str, id: str = "") -> dict[str, Any]:
    told = {"name": "find", "response": {"output": f"{order} is in Oslo"}}
    return {"role": "user", "parts": [{"functionResponse": {**told, **({"id": id} if id else {})}}]}


def chat_call(order: str, id: str = "call_0") -> dict[str, Any]:
    function = {"name": "find", "arguments": json.dumps({"order": order})}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": id, "type": "function", "function": function}],
    }


def chat_result(order: str, id: str = "call_0") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": f"{order} is in Oslo"}


def said(format: str, role: str, text: str) -> dict[str, Any]:
    if format == "gemini":
        return {"role": role, "parts": [{"text": text}]}
    return {"role": role.replace("model", "assistant"), "content": text}


WAYS: dict[str, tuple[Any, Any, Any]] = {
    "gemini": ("gemini", gemini_call, gemini_result),
    "openai-chat, one id again": ("openai-chat", chat_call, chat_result),
}


def dropped(format: Any, call: Any) -> ContextManager:
    """A conversation whose first call was dropped while its result was still to come."""
    context = ContextManager(format, Budget(window=900, reply=100, min_gain=0), "drop-oldest")
    context.add([said(format, "user", "find W1"), call("W1")])
    for page in range(6):
        context.add([said(format, "user", f"Page {page}? " + "It is long. " * 30)])
        context.add([said(format, "model", "About the sea. " * 10)])
    assert context.prepare_sync().report.compacted
    return context


@pytest.mark.parametrize(("format", "call", "result"), WAYS.values(), ids=WAYS)
def test_a_later_call_gets_its_own_result(format: Any, call: Any, result: Any) -> None:
    context = dropped(format, call)
    context.add([said(format, "user", "find W2"), call("W2"), result("W2")])
    messages = context.prepare_sync().messages
    assert messages[-1] == result("W2")
    assert violations(format, messages) == []
    context.add([said(format, "model", "In Oslo."), result("W1")])
    request = context.prepare_sync()
    assert any("answers a dropped call; it is kept as a note" in line for line in request.report.normalised)
    assert "W1 is in Oslo" in str(request.messages[-1])


def test_a_result_with_an_id_is_not_that_of_a_dropped_call_without() -> None:
    context = dropped("gemini", gemini_call)
    context.add([said("gemini", "user", "find W2"), gemini_call("W2", "c2"), gemini_result("W2", "c2")])
    assert context.prepare_sync().messages[-1] == gemini_result("W2", "c2")


def test_two_calls_of_one_message_with_one_id_are_refused() -> None:
    parts = [{"functionCall": {"id": "a", "name": name, "args": {}}} for name in ("find", "pay")]
    context = ContextManager("gemini", Budget(window=4_000), "drop-oldest")
    with pytest.raises(ProviderFormatError, match="two calls of one message have one id"):
        context.add([said("gemini", "user", "go"), {"role": "model", "parts": parts}])
