"""Which wire format a conversation is in that does not say so."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from ctxkit.cli.recognising import recognised
from ctxkit.testing.conversations import Payload, conversations

HELLO = {"role": "user", "content": "Hello"}


@pytest.mark.parametrize(
    ("value", "format"),
    [
        ([{"role": "system", "content": "Be brief."}, HELLO], "openai-chat"),
        ({"messages": [HELLO, {"role": "assistant", "tool_calls": [{"id": "1"}]}]}, "openai-chat"),
        ([HELLO, {"role": "assistant", "content": "Hi"}], "openai-chat"),
        ({"system": "Be brief.", "messages": [HELLO]}, "anthropic"),
        ([HELLO, {"role": "assistant", "content": [{"type": "tool_use", "id": "1"}]}], "anthropic"),
        ({"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}, "gemini"),
        ([{"role": "model", "parts": [{"text": "Hello"}]}], "gemini"),
        ({"input": [HELLO]}, "openai-responses"),
        ([HELLO, {"type": "function_call", "call_id": "1"}], "openai-responses"),
        ([{"role": "system", "content": "x"}, {"role": "model", "parts": []}], None),
        ([{"role": "user", "content": [{"type": "text", "text": "Hello"}]}], None),
        ([{"hello": "there"}], None),
        ({"messages": "Hello"}, None),
        ("Hello", None),
        (None, None),
        ([], None),
    ],
)
def test_which_format_it_is(value: Any, format: str | None) -> None:
    assert recognised(value) == format


@given(conversations())
def test_no_conversation_is_taken_for_another_formats(payload: Payload) -> None:
    value: dict[str, Any] = {"messages": payload.messages}
    if payload.system is not None:
        value["system"] = payload.system
    words = all(
        set(each) <= {"role", "content"} and isinstance(each["content"], str) for each in payload.messages
    )
    same = ("openai-chat", None) if words else (None,)
    assert recognised(value) in (payload.format, *same) or payload.format == "openai-responses"
