"""What tells of an entry which formats it can be of."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from ctxkit.errors import ProviderFormatError
from ctxkit.providers import FORMATS, provider
from ctxkit.providers.foreign import formats_told_by, refuse_foreign
from ctxkit.providers.openai_responses_items import CALL_TYPES, ID_PREFIXES, OUTPUT_TYPES
from ctxkit.testing.conversations import Payload, conversations

ALL, CHAT, RESPONSES = set(FORMATS), {"openai-chat"}, {"openai-responses"}


def blocks(*kinds: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": [{"type": kind} for kind in kinds]}


@pytest.mark.parametrize(
    ("entry", "formats"),
    [
        ({"role": "user", "content": "Hi"}, ALL),
        ({"role": "user", "content": [{"type": ["text"]}, "text", {}], "type": {}, "call_id": 3}, ALL),
        ({}, ALL),
        ({"role": "assistant", "content": "Hi"}, ALL - {"gemini"}),
        ({"role": "system", "content": "Hi"}, ALL - {"gemini"}),
        ({"role": "developer", "content": "Hi"}, CHAT | RESPONSES),
        ({"role": "tool", "content": "Hi"}, CHAT),
        ({"role": "function", "content": "Hi"}, CHAT),
        ({"role": ["tool"], "content": "Hi"}, ALL),
        ({"role": "function", "parts": []}, {"gemini"}),
        ({"role": "user", "parts": [], "content": "Hi"}, ALL),
        ({"role": "assistant", "tool_calls": [{}], "content": [{"type": "tool_use"}]}, CHAT),
        ({"role": "assistant", "tool_calls": [], "content": "Hi"}, ALL - {"gemini"}),
        ({"call_id": "c"}, RESPONSES),
        ({"type": "message", "role": "user", "content": "Hi"}, ALL),
        (blocks("text", "thinking", "input_text", "image_url"), RESPONSES),
        (blocks("image_url", "input_text"), CHAT),
        (blocks("output_text", role="system"), RESPONSES),
        (blocks("server_tool_use", role="assistant"), {"anthropic"}),
    ],
)
def test_the_first_thing_that_not_all_formats_have_tells(entry: dict[str, Any], formats: set[str]) -> None:
    assert formats_told_by(entry) == formats


@pytest.mark.parametrize("kind", sorted({*CALL_TYPES, *OUTPUT_TYPES, *ID_PREFIXES} - {"message"}))
def test_every_type_of_item_tells_responses(kind: str) -> None:
    assert formats_told_by({"type": kind}) == RESPONSES


@given(conversations())
def test_what_a_provider_takes_can_be_of_its_format(payload: Payload) -> None:
    for entry in payload.messages:
        told = formats_told_by(entry)
        assert payload.format in told
        for format in FORMATS:
            if format in told:
                refuse_foreign(entry, format, "messages", 3)
                continue
            with pytest.raises(ProviderFormatError, match=f"looks like .*{payload.format}") as refused:
                refuse_foreign(entry, format, "messages", 3)
            assert refused.value.path == "messages[3]"
            with pytest.raises(ProviderFormatError):
                provider(format).shape(entry)
