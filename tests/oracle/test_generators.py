"""The generated conversations have all that they promise to have, and shrink to what is needed."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, find, given, settings

from ctxkit.testing.conversations import FORMATS, Payload, arrivals, conversations
from tests.oracle import anthropic, gemini, responses, rules, violations
from tests.oracle.entries import is_user

Feature = Callable[[Payload], bool]

CALM = settings(
    max_examples=1_200,  # what is drawn depends on the constants of the modules that happen to be loaded
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def _keys(key: str) -> Feature:
    return lambda payload: any(key in message for message in payload.messages)


def _role(role: str) -> Feature:
    return lambda payload: any(message.get("role") == role for message in payload.messages)


def _text(words: str) -> Feature:
    escaped = json.dumps(words)[1:-1]
    return lambda payload: escaped in json.dumps(payload.messages)


def _kind(kind: str) -> Feature:
    return lambda payload: any(item.get("type") == kind for item in payload.messages)


def _block(kind: str) -> Feature:
    return lambda payload: any(anthropic.of_type(anthropic.blocks_of(m), kind) for m in payload.messages)


def _part(key: str) -> Feature:
    return lambda payload: any(gemini.having(content, key) for content in payload.messages)


def _user_part(kind: str) -> Feature:
    def has_part(payload: Payload) -> bool:
        contents = [m["content"] for m in payload.messages if isinstance(m.get("content"), list)]
        return any(part["type"] == kind for content in contents for part in content)

    return has_part


def _runs(role: str) -> Feature:
    def has_run(payload: Payload) -> bool:
        roles = [message.get("role") for message in payload.messages]
        return any(one == two == role for one, two in pairwise(roles))

    return has_run


def _parallel(count: Callable[[Any], int]) -> Feature:
    return lambda payload: any(count(message) > 1 for message in payload.messages)


def _ends_open(rule: str) -> Feature:
    return lambda payload: rules(violations(payload.format, payload.messages)) == {rule}


def _many_steps(payload: Payload) -> bool:
    users = sum(map(is_user, payload.messages))
    return users == 1 and len(payload.messages) > 20


def _reused_ids(payload: Payload) -> bool:
    names = [call["id"] for message in payload.messages for call in message.get("tool_calls") or []]
    return len(names) > len(set(names))


def _reused_gemini_ids(payload: Payload) -> bool:
    calls = [
        part["functionCall"]
        for content in payload.messages
        for part in gemini.having(content, "functionCall")
    ]
    names = [call["id"] for call in calls if "id" in call]
    return len(names) > len(set(names))


def _late_output(payload: Payload) -> bool:
    for item, after in pairwise(payload.messages):
        if responses.kind_of(item) == "message" and responses.kind_of(after) in responses.OUTPUTS:
            return True
    return False


def _words_beside(payload: Payload) -> bool:
    if payload.format == "gemini":
        answers = [content for content in payload.messages if gemini.having(content, "functionResponse")]
        return any(gemini.having(content, "text") for content in answers)
    blocks = [anthropic.blocks_of(message) for message in payload.messages]
    return any(anthropic.of_type(some, "tool_result") and anthropic.of_type(some, "text") for some in blocks)


COMMON: dict[str, Feature] = {
    "chinese": _text("订单号"),
    "joined emoji": _text("\U0001f468\u200d\U0001f469"),
    "special tokens": _text("<|endoftext|>"),
    "lone surrogate": lambda payload: "\\ud83d high" in json.dumps(payload.messages),
    "combining marks": _text("e\u0301"),
    "long": lambda payload: len(json.dumps(payload.messages)) > 40_000,
    "one long turn": _many_steps,
    "tools": lambda payload: payload.tools is not None,
    "user last": lambda payload: is_user(payload.messages[-1]),
}
SYSTEM: dict[str, Feature] = {"system beside": lambda payload: payload.system is not None}
FEATURES: dict[str, dict[str, Feature]] = {
    "openai-chat": {
        "parallel": _parallel(lambda message: len(message.get("tool_calls") or [])),
        "reused ids": _reused_ids,
        "system": _role("system"),
        "developer": _role("developer"),
        "turn 0": lambda payload: next(
            (m for m in payload.messages if m["role"] not in ("system", "developer")), {"role": ""}
        )["role"] == "assistant",
        "reasoning": _keys("reasoning_content"),
        "extra keys": _keys("provider_specific_fields"),
        "refusal": _keys("refusal"),
        "old function call": _role("function"),
        "no content key": lambda payload: any("content" not in message for message in payload.messages),
        "null content": lambda payload: any(message.get("content", 0) is None for message in payload.messages),
        "empty content": lambda payload: any(message.get("content") == "" for message in payload.messages),
        "assistants in a row": _runs("assistant"),
        "users in a row": _runs("user"),
        "open": _ends_open("C6"),
        **{kind: _user_part(kind) for kind in ("image_url", "input_audio", "file")},
    },
    "openai-responses": {
        **{kind: _kind(kind) for kind in (*responses.PAIRS, *responses.HOSTED, *responses.APPROVAL)},
        **{kind: _kind(kind) for kind in ("reasoning", "compaction", "additional_tools")},
        **{kind: _user_part(kind) for kind in ("input_image", "input_file", "refusal")},
        "late output": _late_output,
        "async": _keys("async"),
        "developer": _role("developer"),
        "system": _role("system"),
        "phase": _keys("phase"),
        "users in a row": _runs("user"),
        "open": _ends_open("R2-end"),
        **SYSTEM,
    },
    "anthropic": {
        **{kind: _block(kind) for kind in ("thinking", "redacted_thinking", "compaction", "image", "document")},
        **{kind: _block(kind) for kind in ("web_search_tool_result", "code_execution_tool_result", "mcp_tool_use")},
        "parallel": _parallel(lambda message: len(anthropic.of_type(anthropic.blocks_of(message), "tool_use"))),
        "system mid-way": _role("system"),
        "words beside results": _words_beside,
        "assistants in a row": _runs("assistant"),
        "cache marks": _text("cache_control"),
        "open": _ends_open("A1-end"),
        **SYSTEM,
    },
    "gemini": {
        **{key: _part(key) for key in ("thought", "thoughtSignature", "executableCode", "toolCall", "inlineData")},
        "parallel": _parallel(lambda content: len(gemini.having(content, "functionCall"))),
        "reused ids": _reused_gemini_ids,
        "snake_case": _text("function_call"),
        "words beside results": _words_beside,
        "models in a row": _runs("model"),
        "open": _ends_open("G13"),
        **SYSTEM,
    },
}  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
def test_every_promised_feature_occurs(format: str) -> None:
    missing = {**COMMON, **FEATURES[format]}

    @CALM
    @given(conversations(format))
    def collect(payload: Payload) -> None:
        for name in [name for name, feature in missing.items() if feature(payload)]:
            del missing[name]

    collect()
    assert list(missing) == []


def test_all_formats_are_drawn_and_turns_are_bounded() -> None:
    drawn = set()

    @settings(CALM, max_examples=150)
    @given(conversations(min_turns=2, max_turns=3, ends="user"))
    def collect(payload: Payload) -> None:
        drawn.add(payload.format)
        assert is_user(payload.messages[-1])
        if payload.format in ("anthropic", "gemini"):
            assert 2 <= sum(map(is_user, payload.messages)) <= 3

    collect()
    assert drawn == set(FORMATS)


@pytest.mark.parametrize("format", FORMATS)
def test_arrivals_interrupt_open_calls(format: str) -> None:
    fates = set()

    @settings(CALM, max_examples=150)
    @given(arrivals(format))
    def collect(batches: list[list[dict[str, Any]]]) -> None:
        assert len(batches) >= 4
        assert all(batches)
        assert is_user(batches[-1][-1])
        alone = [entry for batch in batches for entry in batch]
        found = rules(violations(format, alone))
        fates.update(found or {"fine"})
        assert rules(violations(format, batches[0])) <= {"R2"}

    collect()
    expected = {
        "openai-chat": {"C1", "C3"},
        "openai-responses": {"R2", "fine"},
        "anthropic": {"A1", "A3", "A2"},
        "gemini": {"G2", "G3"},
    }
    assert fates == expected[format]


def test_a_failing_conversation_shrinks_to_what_fails() -> None:
    calm = settings(max_examples=2000, database=None, deadline=None, derandomize=True)

    def has_parallel_calls(payload: Payload) -> bool:
        return any(len(message.get("tool_calls") or []) > 1 for message in payload.messages)

    smallest = find(conversations("openai-chat"), has_parallel_calls, settings=calm, random=Random(7))
    assert [message["role"] for message in smallest.messages] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
    ]
