"""Recognising the wire format of a recorded conversation that does not name it, from what only one format has."""

from __future__ import annotations

from typing import Any

from ctxkit.providers import FORMATS
from ctxkit.providers.common import kind_of
from ctxkit.providers.foreign import formats_told_by, response_format

__all__ = ["other_format", "recognised"]

_KEYS = {"contents": "gemini", "systemInstruction": "gemini", "input": "openai-responses"}
"""Keys of an object that only one format's request has."""


def recognised(value: Any) -> str | None:
    """The format that a list of messages, or an object with one, is surely in; None when nothing or too much tells.

    Messages of plain words alone are the same in Chat and Anthropic, and count as Chat.
    """
    holder = value if isinstance(value, dict) else {"messages": value}
    entries = next((holder[key] for key in ("messages", "input", "contents") if holder.get(key)), None)
    if not isinstance(entries, list):
        return None
    told = [frozenset({format}) for key, format in _KEYS.items() if holder.get(key) is not None]
    told += [_told_by(entry) for entry in entries if isinstance(entry, dict)]
    possible = frozenset(FORMATS).intersection(*told)
    if len(possible) > 1:
        possible &= _hinted(holder, entries)
    return next(iter(possible)) if len(possible) == 1 else None


def other_format(messages: list[Any], format: str) -> str | None:
    """The other format that messages are surely in, None where they may well be in this one: plain words are the same in
    all but Gemini."""
    found = recognised(messages)
    as_well = format != "gemini" and all(map(_plain, messages))
    return None if found == format or as_well else found


def _told_by(entry: dict[str, Any]) -> frozenset[str]:
    """The formats that an entry can be of, a whole response among the entries as well."""
    response = response_format(entry)
    return frozenset({response}) if response else formats_told_by(entry)


def _hinted(holder: dict[str, Any], entries: list[Any]) -> set[str]:
    """The formats of what is there that others might take as well; Chat where there is none but plain words."""
    found = {"anthropic"} if "messages" in holder and holder.get("system") is not None else set()
    objects = [entry for entry in entries if isinstance(entry, dict)]
    if any(map(_holds_signed_thinking, objects)):
        found.add("anthropic")
    if any(entry.get("type") == "message" for entry in objects):
        found.add("openai-responses")
    elif objects[:1] == entries[:1] and objects[0].get("role") in ("system", "developer"):
        found.add("openai-chat")
    return found or ({"openai-chat"} if all(map(_plain, entries)) else set())


def _holds_signed_thinking(entry: dict[str, Any]) -> bool:
    content = entry.get("content")
    return isinstance(content, list) and any(
        kind_of(block) == "thinking" and isinstance(block.get("signature"), str) for block in content
    )


def _plain(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("role"), str)
        and isinstance(entry.get("content"), str)
    )
