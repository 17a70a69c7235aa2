"""What the checks of compression results ask of entries of any format."""

from __future__ import annotations

import json
from typing import Any

from tests.oracle import anthropic, gemini

Entry = dict[str, Any]

DUMMY = "skip_thought_signature_validator"
"""The documented thought signature for calls that no model made."""


def dump(value: Any) -> str:
    """A value as text, equal for what is deeply equal: key order and number types count."""
    return json.dumps(value, ensure_ascii=True)


def is_user(entry: Entry) -> bool:
    """A user message without tool results, in any format."""
    by_user = entry.get("role") == "user" or ("parts" in entry and entry.get("role") is None)
    return by_user and not has_results(entry)


def last_user(entries: list[Entry]) -> int:
    """Index of the last user message, -1 if there is none."""
    return max((i for i, entry in enumerate(entries) if is_user(entry)), default=-1)


def has_results(entry: Entry) -> bool:
    """Whether an Anthropic message or a Gemini content answers calls."""
    blocks = anthropic.blocks_of(entry)
    return bool(anthropic.of_type(blocks, "tool_result") or gemini.having(entry, "functionResponse"))


def tool_uses(message: Entry) -> int:
    """How many client calls an Anthropic message makes."""
    return len(anthropic.of_type(anthropic.blocks_of(message), "tool_use"))


def tool_results(message: Entry) -> int:
    """How many results an Anthropic message holds."""
    return len(anthropic.of_type(anthropic.blocks_of(message), "tool_result"))
