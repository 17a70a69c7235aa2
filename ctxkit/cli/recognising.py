"""Recognising the wire format of a recorded conversation that does not name it, from what only one format has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["other_format", "recognised"]

_KEYS = {"contents": "gemini", "systemInstruction": "gemini", "input": "openai-responses"}
"""Keys of an object that only one format's request has."""

_ITEMS = frozenset({"message", "function_call", "function_call_output", "reasoning", "compaction"})
_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})
_CHAT_ROLES = frozenset({"system", "developer", "tool", "function"})


def recognised(value: Any) -> str | None:
    """The format that a list of messages, or an object with one, is surely in; None when nothing or too much tells.

    Messages of plain words alone are the same in Chat and Anthropic, and count as Chat.
    """
    holder = value if isinstance(value, dict) else {"messages": value}
    entries = next((holder[key] for key in ("messages", "input", "contents") if holder.get(key)), None)
    if not isinstance(entries, list):
        return None
    found = {format for key, format in _KEYS.items() if holder.get(key) is not None}
    found |= {"anthropic"} if "messages" in holder and holder.get("system") is not None else set()
    found |= {format for entry in entries if isinstance(entry, dict) for format in _told_by(entry)}
    if not found:
        return "openai-chat" if all(_plain(entry) for entry in entries) else None
    return found.pop() if len(found) == 1 else None


def other_format(messages: list[Any], format: str) -> str | None:
    """The other format that messages are surely in, None where they may well be in this one: plain words are the same in
    all but Gemini."""
    found = recognised(messages)
    as_well = format != "gemini" and all(map(_plain, messages))
    return None if found == format or as_well else found


def _told_by(entry: dict[str, Any]) -> Iterator[str]:
    """The formats that something in an entry belongs to."""
    if isinstance(entry.get("parts"), list):
        yield "gemini"
    if entry.get("type") in _ITEMS:
        yield "openai-responses"
    elif entry.get("role") in _CHAT_ROLES or entry.get("tool_calls"):
        yield "openai-chat"
    content = entry.get("content")
    if isinstance(content, list) and any(
        isinstance(each, dict) and each.get("type") in _BLOCKS for each in content
    ):
        yield "anthropic"


def _plain(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("role"), str)
        and isinstance(entry.get("content"), str)
    )
