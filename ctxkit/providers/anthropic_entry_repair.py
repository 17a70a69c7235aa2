"""Mending what is wrong inside one Anthropic message: unknown fields, empty text, broken thinking, arguments."""

from __future__ import annotations

import json
from typing import Any

from ctxkit.providers.anthropic_blocks import SERVER_CALLS, THINKING, unreadable
from ctxkit.providers.anthropic_entry_rules import KNOWN_KEYS, is_broken_thinking
from ctxkit.providers.common import kind_of

__all__ = ["is_empty", "tidied"]

_Done = list[tuple[str, str]]


def tidied(entry: Any) -> tuple[Any, _Done]:
    """The entry, the same object if nothing is wrong with it, and (rule, what was done) for each mend. What
    cannot be read stays."""
    if unreadable(entry):
        return entry, []
    unknown = [key for key in entry if key not in KNOWN_KEYS[entry["role"]]]
    done: _Done = [("A26", f"removed the field {key!r:.80}") for key in unknown]
    content = entry.get("content")
    if isinstance(content, list):
        content = _tidied_blocks(content, done)
    elif content and not content.strip():
        done.append(("A11", "removed text that was white space only"))
        content = ""
    if not done:
        return entry, []
    kept = {key: value for key, value in entry.items() if key not in unknown}
    return ({**kept, "content": content} if "content" in kept else kept), done


def is_empty(entry: Any) -> bool:
    """Whether it is a readable message without content."""
    return not unreadable(entry) and entry.get("content") in ("", [])


def _tidied_blocks(blocks: list[dict[str, Any]], done: _Done) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = []
    for block in blocks:
        if is_broken_thinking(block):
            done.append(("A15", f"removed {kind_of(block)} that lacks its text, signature or data"))
        elif kind_of(block) == "text" and not block["text"]:
            done.append(("A11", "removed an empty text block"))
        else:
            kept.append(_tidied_block(block, done))
    if kept and all(kind_of(block) == "text" and not block["text"].strip() for block in kept):
        done.append(("A11", "removed text that was white space only"))
        return []
    return kept


def _tidied_block(block: dict[str, Any], done: _Done) -> dict[str, Any]:
    kind = kind_of(block)
    if kind in THINKING and block.get("cache_control") is not None:
        done.append(("A20", "removed a cache_control mark from thinking"))
        return {key: value for key, value in block.items() if key != "cache_control"}
    if (kind == "tool_use" or kind in SERVER_CALLS) and not isinstance(block.get("input"), dict):
        return _with_object_input(block, done)
    if kind == "tool_result" and isinstance(block.get("content"), list):
        return _without_empty_text(block, done)
    return block


def _with_object_input(block: dict[str, Any], done: _Done) -> dict[str, Any]:
    """Arguments that are JSON text of an object, or nothing at all, as an object; others stay."""
    try:
        parsed = json.loads(block.get("input") or "{}")
    except (TypeError, ValueError, RecursionError):
        return block
    if not isinstance(parsed, dict):
        return block
    done.append(("A7", "read the arguments from their JSON text"))
    return {**block, "input": parsed}


def _without_empty_text(result: dict[str, Any], done: _Done) -> dict[str, Any]:
    content = result["content"]
    kept = [block for block in content if not (kind_of(block) == "text" and not block["text"])]
    if len(kept) == len(content):
        return result
    done.append(("A11", "removed an empty text block from a result"))
    return {**result, "content": kept}
