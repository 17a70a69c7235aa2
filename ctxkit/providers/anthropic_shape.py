"""What grouping needs to know of one Anthropic message."""

from __future__ import annotations

from typing import Any

from ctxkit.core.items import Call, Result, Role, Shape
from ctxkit.errors import ProviderFormatError
from ctxkit.providers.anthropic_blocks import (
    SERVER_CALLS,
    blocks_of,
    calls_of,
    is_server_result,
    results_of,
    unreadable,
)
from ctxkit.providers.common import kind_of, path_text
from ctxkit.providers.foreign import refuse_foreign

__all__ = ["FORMAT", "shape_of"]

FORMAT = "anthropic"


def shape_of(entry: Any, index: int) -> Shape:
    """The shape of `messages[index]`; system text belongs to what is before it (A24).

    A system message that changes more than text (tools, output settings) stays for good. Raises
    ProviderFormatError for what cannot be read.
    """
    if why := unreadable(entry):
        raise ProviderFormatError(why[1], format=FORMAT, path=path_text("messages", index, *why[0]))
    refuse_foreign(entry, FORMAT, "messages", index)
    match entry["role"]:
        case "system":
            return Shape(Role.SYSTEM, binds="previous", keep=_changes_settings(entry))
        case "user":
            results = tuple(Result(block["tool_use_id"]) for block in results_of(entry))
            return Shape(Role.TOOL, results=results, words=_has_words(entry)) if results else _SPOKEN
    calls = tuple(Call(block["id"], block["name"]) for block in calls_of(entry))
    role = Role.COMPACTION if _is_compaction(entry) else Role.MODEL
    return Shape(role, calls=calls, binds="previous" if _continues(entry) else "")


_SPOKEN = Shape(Role.USER, words=True)


def _changes_settings(entry: dict[str, Any]) -> bool:
    return "output_config" in entry or any(kind_of(block) != "text" for _, block in blocks_of(entry))


def _has_words(entry: dict[str, Any]) -> bool:
    """Whether something beside the results was said or shown."""
    return any(
        bool(block["text"].strip()) if kind_of(block) == "text" else kind_of(block) != "tool_result"
        for _, block in blocks_of(entry)
    )


def _is_compaction(entry: dict[str, Any]) -> bool:
    """Whether it holds a provider's summary; one that failed (null content, nothing encrypted) summarises nothing."""
    return any(
        kind_of(block) == "compaction" and bool(block.get("content") or block.get("encrypted_content"))
        for _, block in blocks_of(entry)
    )


def _continues(entry: dict[str, Any]) -> bool:
    """Whether it holds the result of a server call that was made in an entry before it."""
    made: set[str] = set()
    for _, block in blocks_of(entry):
        if kind_of(block) in SERVER_CALLS:
            made.add(block["id"])
        elif is_server_result(kind_of(block)) and block["tool_use_id"] not in made:
            return True
    return False
