"""The wire rules of Anthropic Messages that one message breaks on its own: A7, A10, A11, A15, A20, A25 to A27."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ctxkit.core.provider import Violation
from ctxkit.providers.anthropic_blocks import SERVER_CALLS, THINKING, is_server_result, unreadable
from ctxkit.providers.common import kind_of, path_text

__all__ = ["KNOWN_KEYS", "entry_violations", "is_broken_thinking"]

KNOWN_KEYS = {
    "user": frozenset({"role", "content"}),
    "assistant": frozenset({"role", "content"}),
    "system": frozenset({"role", "content", "clear_at", "output_config"}),
}
"""The keys that a message may have, by role (A26)."""
_ASSISTANT_ONLY = frozenset(
    {"tool_use", *SERVER_CALLS, *THINKING, "compaction", "fallback", "mcp_tool_listing"}
)
_SYSTEM_ONLY = frozenset({"tool_addition", "tool_removal"})


def entry_violations(index: int, entry: Any, *, final: bool) -> Iterator[Violation]:
    """What the entry at `index` breaks by itself; `final` says that it is the last one. Unreadable: "shape"."""
    at = ("messages", index)
    if why := unreadable(entry):
        yield Violation("shape", index, path_text(*at, *why[0]), why[1])
        return
    role, content = entry["role"], entry.get("content")
    for key in entry:
        if key not in KNOWN_KEYS[role]:
            yield Violation("A26", index, path_text(*at, str(key)), "the format has no such field")
    if content in ("", []) and not (final and role == "assistant"):
        yield Violation("A10", index, path_text(*at, "content"), "content must not be empty")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
    if _is_blank(blocks):
        yield Violation("A11", index, path_text(*at, "content"), "some text must be more than white space")
    for number, block in enumerate(content if isinstance(content, list) else ()):
        for rule, inner, message in _block_rules(role, block):
            yield Violation(rule, index, path_text(*at, "content", number, *inner), message)


def is_broken_thinking(block: dict[str, Any]) -> bool:
    """Whether it is a thinking block without what the provider checks it by (A15)."""
    match kind_of(block):
        case "thinking":
            return not (isinstance(block.get("thinking"), str) and _is_text(block.get("signature")))
        case "redacted_thinking":
            return not _is_text(block.get("data"))
    return False


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_blank(blocks: list[dict[str, Any]]) -> bool:
    """Whether there is text, and all of it is white space, and nothing else is there."""
    return bool(blocks) and all(kind_of(block) == "text" and not block["text"].strip() for block in blocks)


def _block_rules(role: str, block: dict[str, Any]) -> Iterator[tuple[str, tuple[str | int, ...], str]]:
    kind = kind_of(block)
    if _is_foreign(role, kind):
        yield "A25", (), f"{kind} blocks cannot be in {role} messages"
    if kind == "text" and not block["text"]:
        yield "A11", ("text",), "text blocks must not be empty"
    if is_broken_thinking(block):
        yield "A15", (), f"{kind} lacks its text, signature or data"
    if kind in THINKING and block.get("cache_control") is not None:
        yield "A20", ("cache_control",), "thinking cannot have cache_control"
    if (kind == "tool_use" or kind in SERVER_CALLS) and not isinstance(block.get("input"), dict):
        yield "A7", ("input",), "input must be an object"
    if kind == "compaction" and not (block.get("content") is None or _is_text(block["content"])):
        yield "A27", ("content",), "a compaction holds text or null"
    if kind == "tool_result" and isinstance(block.get("content"), list):
        for number, nested in enumerate(block["content"]):
            if kind_of(nested) == "text" and not nested["text"]:
                yield "A11", ("content", number, "text"), "text blocks must not be empty"


def _is_foreign(role: str, kind: str) -> bool:
    only_assistant = kind in _ASSISTANT_ONLY or is_server_result(kind)
    match role:
        case "user":
            return only_assistant or kind in _SYSTEM_ONLY
        case "assistant":
            return kind == "tool_result" or kind in _SYSTEM_ONLY
        case _:
            return only_assistant or kind in ("tool_result", "image", "document", "search_result")
