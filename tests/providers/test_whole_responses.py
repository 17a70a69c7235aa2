"""A whole response as JSON: it comes in as the SDK's object does, in every format."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from anthropic.types import Message
from google.genai.types import GenerateContentResponse
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from ctxkit import Budget, ContextManager, ProviderFormatError
from ctxkit.providers import provider

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
CHAT = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-5",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": None, "refusal": None, "tool_calls": [CALL]},
        },
        {"index": 1, "finish_reason": "stop", "message": {"role": "assistant", "content": "another"}},
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}
RESPONSES = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-5",
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "status": "completed",
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search", "query": "x"},
        },
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "status": "completed",
            "container_id": "k",
            "code": None,
            "outputs": None,
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "yo", "annotations": []}],
        },
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}"},
    ],
}
ANTHROPIC = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5",
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
    "content": [
        {"type": "text", "text": "yo", "citations": None},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": None}},
    ],
}
GEMINI = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [{"text": "yo"}, {"functionCall": {"name": "look", "args": {"at": None}}}],
            },
            "finishReason": "STOP",
        },
        {"content": {"role": "model", "parts": [{"text": "another"}]}},
    ],
    "usageMetadata": {"promptTokenCount": 1},
}
WHOLE: dict[str, tuple[Any, dict[str, Any]]] = {
    "openai-chat": (ChatCompletion, CHAT),
    "openai-responses": (Response, RESPONSES),
    "anthropic": (Message, ANTHROPIC),
    "gemini": (GenerateContentResponse, GEMINI),
}
HELLO = {
    name: {"role": "user", **({"parts": [{"text": "hi"}]} if name == "gemini" else {"content": "hi"})}
    for name in WHOLE
}


def _camel(value: Any) -> Any:
    """Keys of google-genai's own spelling as they are on the wire."""
    if isinstance(value, list):
        return [_camel(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {("functionCall" if key == "function_call" else key): _camel(each) for key, each in value.items()}


@pytest.mark.parametrize("format", WHOLE)
def test_the_json_of_a_response_is_what_the_sdk_s_object_is(format: str) -> None:
    sdk, whole = WHOLE[format]
    before, adapter, made = copy.deepcopy(whole), provider(format), sdk.model_validate(whole)
    entries = adapter.dump(made)
    assert entries
    assert adapter.dump(whole) == entries
    assert _camel(adapter.dump(made.model_dump())) == entries
    assert adapter.dump(made.model_dump(mode="json", by_alias=True)) == entries
    assert whole == before
    assert "another" not in str(entries)


@pytest.mark.parametrize("format", WHOLE)
def test_its_calls_are_answered_and_it_goes_out_without_what_only_responses_have(format: str) -> None:
    sdk, whole = WHOLE[format]
    results: dict[str, dict[str, Any]] = {
        "openai-chat": {"role": "tool", "tool_call_id": "c1", "content": "42"},
        "openai-responses": {"type": "function_call_output", "call_id": "c1", "output": "42"},
        "anthropic": {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "42"}],
        },
        "gemini": {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"at": 42}}}]},
    }
    sent = []
    for answer in (whole, sdk.model_validate(whole), [whole]):
        context = ContextManager(format, Budget(window=4_000), "drop-oldest")  # type: ignore[arg-type]
        context.add(HELLO[format])
        context.add(answer)
        context.add(results[format])
        sent.append(context.prepare_sync().messages)
    assert sent[0] == sent[1] == sent[2]
    assert provider(format).violations(sent[0]) == []
    assert not {"usage", "choices", "candidates", "output", "stop_reason"} & {
        key for each in sent[0][:-1] for key in each
    }


@pytest.mark.parametrize("format", WHOLE)
@pytest.mark.parametrize("other", WHOLE)
def test_one_of_another_format_is_refused_by_name(format: str, other: str) -> None:
    sdk, whole = WHOLE[other]
    context = ContextManager(format, Budget(window=4_000), "drop-oldest")  # type: ignore[arg-type]
    context.add(HELLO[format])
    for answer in (whole, sdk.model_validate(whole).model_dump()):
        if format == other:
            continue
        with pytest.raises(ProviderFormatError, match=f"a response of {other}; is format='{format}' right"):
            context.add(answer)
    assert len(context.explain()) == 1


@pytest.mark.parametrize(
    ("format", "empty"),
    [
        ("openai-chat", {**CHAT, "choices": []}),
        ("openai-chat", {**CHAT, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}}]}),
        ("gemini", {"candidates": []}),
        ("gemini", {"candidates": [{"finishReason": "SAFETY"}]}),
        ("gemini", {"promptFeedback": {"blockReason": "SAFETY"}}),
        ("gemini", GenerateContentResponse().model_dump()),
    ],
)
def test_a_response_without_an_answer_says_so(format: Any, empty: dict[str, Any]) -> None:
    context = ContextManager(format, Budget(window=4_000), "drop-oldest")
    with pytest.raises(ProviderFormatError, match="the response holds no"):
        context.add(empty)
    assert context.explain() == []


def test_what_no_provider_takes_back_is_mended_as_in_the_sdk_s_object() -> None:
    whole = copy.deepcopy(CHAT)
    whole["choices"] = [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "x"}}
    ]
    whole["choices"][0]["message"]["tool_calls"] = []
    told = []
    for answer in (whole, ChatCompletion.model_validate(whole)):
        context = ContextManager("openai-chat", Budget(window=4_000), "drop-oldest")
        context.add([HELLO["openai-chat"], answer])
        request = context.prepare_sync()
        assert request.messages[1] == {"role": "assistant", "content": "x"}
        told.append(request.report.normalised)
    assert told[0] == told[1]
    assert told[0][0].startswith("of a model's answer: C7: ")


@pytest.mark.parametrize(
    ("format", "entry"),
    [
        ("openai-chat", {"role": "assistant", "content": "x", "choices": [{"message": {"role": "user"}}]}),
        ("openai-responses", {"role": "user", "content": "x", "output": []}),
        (
            "anthropic",
            {"role": "assistant", "content": [{"type": "text", "text": "x"}], "id": "m", "usage": {}},
        ),
        ("gemini", {"role": "model", "parts": [{"text": "x"}], "candidates": []}),
    ],
)
def test_a_message_with_a_key_of_a_response_stays_as_it_is(format: str, entry: dict[str, Any]) -> None:
    assert provider(format).dump(entry)[0] is entry
