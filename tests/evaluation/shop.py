"""Small conversations whose figures can be worked out by hand.

A Chat message of n short words has n + 4 tokens: one a word, 4 for the envelope.
"""

from __future__ import annotations

from typing import Any

from ctxkit.evaluation.recording import Recording, Transcript

Message = dict[str, Any]


def said(role: str, words: int, word: str = "lamp") -> Message:
    """A message of so many times a word."""
    return {"role": role, "content": " ".join([word] * words)}


def calls(id: str, name: str, arguments: str) -> Message:
    """A message with one call."""
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": id, "type": "function", "function": function}],
    }


def result(id: str, content: str) -> Message:
    """The result of a call."""
    return {"role": "tool", "tool_call_id": id, "content": content}


ORDER = '{"order":"W1234567","total":129.95}'

REFUND: list[Message] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "You must not ship on Mondays. Find order W1234567 for Ann."},
    calls("c1", "lookup", '{"order":"W1234567"}'),
    result("c1", ORDER),
    {"role": "assistant", "content": "Found."},
    {"role": "user", "content": "Refund it."},
    calls("c2", "refund", '{"order":"W1234567","amount":129.95}'),
    result("c2", "done"),
    {"role": "assistant", "content": "Refunded."},
]
"""Requests are made before 2, 4, 6 and 8."""

TENS: list[Message] = [
    said("user" if at % 2 == 0 else "assistant", 6, word)
    for at, word in enumerate(("lamp", "road", "fish", "moon", "gold", "rain"))
]
"""Six messages of 10 tokens each; requests are made before 1, 3 and 5."""


def recorded(messages: list[Message], **beside: Any) -> Recording:
    """The recording of a Chat conversation."""
    return Recording(Transcript(messages, "openai-chat", **beside))
