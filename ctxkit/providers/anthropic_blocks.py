"""The blocks of an Anthropic message: which kinds there are, how they join, what is unreadable about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ctxkit.providers.common import kind_of

__all__ = [
    "MEDIA",
    "SERVER_CALLS",
    "THINKING",
    "JoinedTurn",
    "PlacedBlock",
    "blocks_of",
    "calls_of",
    "holds_thinking",
    "is_server_result",
    "joined",
    "results_of",
    "unreadable",
]

THINKING = frozenset({"thinking", "redacted_thinking"})
SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
MEDIA = frozenset({"image", "document"})
_ROLES = frozenset({"user", "assistant", "system"})
_TEXT_KEYS: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "tool_use": ("id", "name"),
    "server_tool_use": ("id",),
    "mcp_tool_use": ("id",),
    "tool_result": ("tool_use_id",),
}
"""Keys that must hold text in a block of a kind; server results need `tool_use_id` too."""


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """A block with its place: the index of its entry and its own, which is -1 for content that is plain text."""

    entry: int
    index: int
    block: dict[str, Any]

    @property
    def kind(self) -> str:
        """The block's type."""
        return kind_of(self.block)

    @property
    def path(self) -> tuple[str | int, ...]:
        """Keys and indexes from the payload to the block."""
        inside = ("content",) if self.index < 0 else ("content", self.index)
        return ("messages", self.entry, *inside)


@dataclass(slots=True)
class JoinedTurn:
    """Neighbours of one role, as the provider joins them before it checks anything (A9).

    `role` is "" for an entry that cannot be read; such an entry, and each system entry, stands alone.
    """

    role: str
    entries: list[int] = field(default_factory=list)
    blocks: list[PlacedBlock] = field(default_factory=list)

    def of_kind(self, *kinds: str) -> list[PlacedBlock]:
        """Its blocks of these kinds, in order."""
        return [placed for placed in self.blocks if placed.kind in kinds]


def is_server_result(kind: str) -> bool:
    """Whether blocks of this kind answer a server call (`web_search_tool_result`, `mcp_tool_result`, ...)."""
    return kind.endswith("_tool_result")


def blocks_of(entry: object) -> Iterator[tuple[int, dict[str, Any]]]:
    """The readable blocks of an entry with their indexes; plain text is one text block with the index -1."""
    content = entry.get("content") if isinstance(entry, dict) else None
    if isinstance(content, str):
        yield -1, {"type": "text", "text": content}
    elif isinstance(content, list):
        for index, block in enumerate(content):
            if kind_of(block):
                yield index, block


def calls_of(entry: object) -> Iterator[dict[str, Any]]:
    """The client-side calls of an assistant entry."""
    if isinstance(entry, dict) and entry.get("role") == "assistant":
        yield from (block for _, block in blocks_of(entry) if kind_of(block) == "tool_use")


def results_of(entry: object) -> Iterator[dict[str, Any]]:
    """The results that a user entry holds for client-side calls."""
    if isinstance(entry, dict) and entry.get("role") == "user":
        yield from (block for _, block in blocks_of(entry) if kind_of(block) == "tool_result")


def holds_thinking(entry: object) -> bool:
    """Whether an entry holds thinking, redacted or not."""
    return any(kind_of(block) in THINKING for _, block in blocks_of(entry))


def joined(entries: Sequence[Any]) -> list[JoinedTurn]:
    """The entries as joined turns, in order."""
    turns: list[JoinedTurn] = []
    for number, entry in enumerate(entries):
        role = "" if unreadable(entry) else entry["role"]
        if role not in ("user", "assistant") or not turns or turns[-1].role != role:
            turns.append(JoinedTurn(role))
        turns[-1].entries.append(number)
        turns[-1].blocks += [PlacedBlock(number, index, block) for index, block in blocks_of(entry)]
    return turns


def unreadable(entry: object) -> tuple[tuple[str | int, ...], str] | None:
    """Where and why an entry cannot be read as a message, None if it can. Unknown keys and block types are no
    reason, nor is what a provider would refuse in a readable message."""
    if not isinstance(entry, dict):
        return (), f"a message is a dict, not {type(entry).__name__}"
    if entry.get("tool_calls") or entry.get("role") == "tool":
        key = "tool_calls" if entry.get("tool_calls") else "role"
        return (
            key,
        ), "this looks like openai-chat: here calls are blocks of type tool_use, results tool_result"
    role, content = entry.get("role"), entry.get("content")
    if not isinstance(role, str) or role not in _ROLES:
        given = f"{role!r:.80}" if isinstance(role, str) else type(role).__name__
        return ("role",), f"role is 'user', 'assistant' or 'system', not {given}"
    if content is None and role == "system" and "output_config" in entry:
        return None
    if isinstance(content, str):
        return None
    if not isinstance(content, list):
        return ("content",), f"content is text or a list of blocks, not {type(content).__name__}"
    for index, block in enumerate(content):
        if why := _unreadable_block(block):
            return ("content", index, *why[0]), why[1]
    return None


def _unreadable_block(block: object) -> tuple[tuple[str | int, ...], str] | None:
    kind = kind_of(block)
    if not kind or not isinstance(block, dict):
        return (), "a block is a dict with a type"
    keys = ("tool_use_id",) if is_server_result(kind) else _TEXT_KEYS.get(kind, ())
    for key in keys:
        if not isinstance(block.get(key), str):
            return (key,), f"{kind} needs {key} as text, not {type(block.get(key)).__name__}"
    if kind == "tool_result":
        return _unreadable_result(block.get("content"))
    return None


def _unreadable_result(content: object) -> tuple[tuple[str | int, ...], str] | None:
    if content is None or isinstance(content, str):
        return None
    if not isinstance(content, list):
        return ("content",), f"a result is text or a list of blocks, not {type(content).__name__}"
    for index, block in enumerate(content):
        kind = kind_of(block)
        if not kind:
            return ("content", index), "a block is a dict with a type"
        if kind == "text" and not isinstance(block.get("text"), str):
            return ("content", index, "text"), "text needs text as text"
    return None
