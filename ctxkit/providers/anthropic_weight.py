"""What is counted of Anthropic messages and system text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctxkit.core.items import Weight
from ctxkit.providers.anthropic_blocks import SERVER_CALLS
from ctxkit.providers.common import kind_of, opaque_tokens, text_of_json
from ctxkit.tokens.media import anthropic_image_tokens, file_tokens

__all__ = ["weigh_content"]

_ENVELOPE = 4
_TOOL = 8
_OPAQUE_KEYS = frozenset({"signature", "data", "encrypted_content", "encrypted_index", "encrypted_stdout"})
_UNSEEN_KEYS = frozenset({"type", "id", "tool_use_id", "cache_control", "caller", "cited_text"})


def weigh_content(content: Any) -> Weight:
    """What to count of the content of one message, or of the system text: 4 tokens for the envelope, 8 for each
    call and result, media by their size rules, opaque strings by their length, all other text as text.

    `cited_text` is not counted. Source: Anthropic, "Citations", "Token costs": it is free on the way back too.
    """
    texts: list[str] = []
    fixed, waiting = _ENVELOPE, [content]
    while waiting:
        match waiting.pop():
            case str() as text:
                texts.append(text)
            case list() as several:
                waiting += reversed(several)
            case dict() as block:
                tokens, inside = _opened(block)
                fixed += tokens
                waiting += reversed(inside)
            case int() | float():
                fixed += 1
    return Weight(tuple(texts), fixed)


def _opened(block: dict[str, Any]) -> tuple[int, Sequence[Any]]:
    """Fixed tokens of a block and what of it is still to be weighed."""
    match kind_of(block):
        case "tool_use":
            return _TOOL, [block.get("name"), text_of_json(block.get("input"))]
        case kind if kind in SERVER_CALLS:
            return _TOOL, [block.get("name"), block.get("server_name"), text_of_json(block.get("input"))]
        case "tool_result":
            return _TOOL, [block.get("content")]
        case "image":
            source = block.get("source")
            return anthropic_image_tokens(source if isinstance(source, dict) else {}), []
        case "document":
            tokens, inside = _document(block.get("source"))
            return tokens, [block.get("title"), block.get("context"), *inside]
        case _:
            return _other(block)


def _document(source: Any) -> tuple[int, Sequence[Any]]:
    if not isinstance(source, dict):
        return 0, [source]
    mime, data = source.get("media_type"), source.get("data")
    match source.get("type"):
        case "text":
            return 0, [data]
        case "content":
            return 0, [source.get("content")]
        case _:
            place = next(
                (v for v in (data, source.get("url"), source.get("file_id")) if isinstance(v, str)), ""
            )
            return file_tokens(place, mime if isinstance(mime, str) else "application/pdf"), []


def _other(block: dict[str, Any]) -> tuple[int, Sequence[Any]]:
    opaque = [value for key, value in block.items() if key in _OPAQUE_KEYS and isinstance(value, str)]
    seen = [
        value
        for key, value in block.items()
        if key not in _UNSEEN_KEYS and not (key in _OPAQUE_KEYS and isinstance(value, str))
    ]
    return sum(map(opaque_tokens, opaque)), seen
