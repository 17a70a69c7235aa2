"""Which wire format a conversation is in that does not say so."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from ctxkit.cli.recognising import other_format, recognised
from ctxkit.providers import FORMATS, provider
from ctxkit.testing.conversations import Payload, conversations

HELLO = {"role": "user", "content": "Hello"}
SYSTEM = {"role": "system", "content": "Be brief."}
TEXT = {"type": "text", "text": "Hello"}
ANSWER = {"type": "message", "id": "msg_1", "role": "assistant", "content": [TEXT]}


def by(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": [*blocks]}


TOLD: list[tuple[Any, str | None]] = [
    ([SYSTEM, HELLO], "openai-chat"),
    ([SYSTEM, by("user", TEXT)], "openai-chat"),
    ([{"role": "developer", "content": "Be brief."}, by("user", TEXT)], "openai-chat"),
    ([HELLO, by("assistant", TEXT), SYSTEM], None),
    ([SYSTEM, by("user", {"type": "input_text", "text": "Hello"})], "openai-responses"),
    ([by("user", {"type": "input_text", "text": "Hello"})], "openai-responses"),
    ([SYSTEM, {"type": "message", **HELLO}], "openai-responses"),
    ([SYSTEM, {"type": "message", **HELLO}, by("user", {"type": "image_url"})], "openai-chat"),
    ([HELLO, by("assistant", {"type": "server_tool_use", "id": "1"})], "anthropic"),
    ([HELLO, by("assistant", {"type": "thinking", "thinking": "x", "signature": "s"})], "anthropic"),
    ([HELLO, by("assistant", {"type": "thinking", "thinking": [TEXT]}, TEXT)], None),
    ([HELLO, {"stop_reason": "end_turn", "usage": {}, **ANSWER}], "anthropic"),
    ([HELLO, {"object": "response", "output": []}], "openai-responses"),
    ([HELLO, {"candidates": [{"content": {"parts": [TEXT]}}]}], "gemini"),
    ({"system": "Be brief.", "messages": [{"role": "user", "parts": []}]}, "gemini"),
    ({"system": "Be brief.", "messages": [HELLO, {"type": "reasoning"}]}, "openai-responses"),
    ({"system": "Be brief.", "messages": [SYSTEM, HELLO]}, None),
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
]


@pytest.mark.parametrize(("value", "format"), TOLD)
def test_which_format_it_is(value: Any, format: str | None) -> None:
    assert recognised(value) == format


@pytest.mark.parametrize(
    ("value", "format"), [told for told in TOLD if told[1] and isinstance(told[0], list)]
)
def test_what_was_recognised_is_not_refused_as_anothers(value: list[Any], format: str) -> None:
    entries = [entry for each in value for entry in provider(format).dump(each)]
    assert not [each for each in provider(format).violations(entries) if "looks like" in each.message]


def plain(payload: Payload) -> bool:
    return all(
        set(each) <= {"role", "content"} and isinstance(each["content"], str) for each in payload.messages
    )


KEYS = {
    "openai-chat": ("messages", "system"),
    "openai-responses": ("input", "instructions"),
    "anthropic": ("messages", "system"),
    "gemini": ("contents", "systemInstruction"),
}


@given(conversations())
def test_no_conversation_is_taken_for_another_formats(payload: Payload) -> None:
    """What cannot be told is told so, but for plain words, which are the same in all but Gemini."""
    in_chat = ("openai-chat",) if plain(payload) else ()
    assert recognised(payload.messages) in (payload.format, None, *in_chat)
    history, system = KEYS[payload.format]
    request = {history: payload.messages, system: payload.system}
    assert recognised(request) in (payload.format, None, *in_chat)
    named = {"messages": payload.messages, "system": payload.system}
    assert recognised(named) in (payload.format, None, *in_chat, *(("anthropic",) if in_chat else ()))
    assert other_format(payload.messages, payload.format) is None


def test_most_conversations_are_recognised() -> None:
    found: dict[str, Counter[bool]] = {format: Counter() for format in FORMATS}

    @settings(max_examples=200, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(conversations())
    def look(payload: Payload) -> None:
        if not plain(payload):
            found[payload.format][recognised(payload.messages) == payload.format] += 1

    look()
    for format, least in (
        ("gemini", 1),
        ("openai-responses", 0.9),
        ("openai-chat", 0.75),
        ("anthropic", 0.75),
    ):
        assert found[format][True] >= least * found[format].total() > 0
