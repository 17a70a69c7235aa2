"""The parts of an Anthropic message, and writing other content for one of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ctxkit.core.items import Part, PartKind
from ctxkit.core.provider import Entry
from ctxkit.errors import PlanError
from ctxkit.providers.anthropic_blocks import MEDIA, blocks_of
from ctxkit.providers.common import at_path, kind_of, path_text, replace_at, string_of, text_of_json

__all__ = ["parts_of", "with_content"]

_Path = tuple[str | int, ...]


def parts_of(entry: Entry) -> tuple[Part, ...]:
    """The parts of a message in wire order.

    A text with citations is OPAQUE, though it is read: they point into what they were made from, and would not
    outlive an edit.
    Thinking gives its text as REASONING and its signature as OPAQUE.
    """
    content = entry.get("content") if isinstance(entry, dict) else None
    if isinstance(content, str):
        return (Part(("content",), PartKind.TEXT, content, content),)
    return tuple(
        part for index, block in blocks_of(entry) for part in _block_parts(("content", index), block)
    )


def with_content(entry: Entry, part: Part, content: Any) -> Entry:
    """A copy of `entry` with `content` for `part`; `entry` itself if that is what stands there.

    A result without words loses its `content`, since empty text blocks are refused (A11, A12). Cache marks
    inside a rewritten result move to the result. Raises PlanError.
    """
    if part.kind in (PartKind.REASONING, PartKind.OPAQUE):
        raise PlanError(
            f"{path_text(*part.path)} is {part.kind}: it must come back as it is; strip or drop it"
        )
    if content is part.value or (isinstance(content, str) and content == part.value):
        return entry
    match part.kind:
        case PartKind.TEXT:
            return replace_at(entry, part.path, _words(part, content))
        case PartKind.ARGUMENTS:
            return replace_at(entry, part.path, _arguments(part, content))
        case PartKind.MEDIA:
            described = {"type": "text", "text": _words(part, content), **_mark(at_path(entry, part.path))}
            return replace_at(entry, part.path, described)
        case _:
            holder = part.path[:-1]
            return replace_at(entry, holder, _rewritten(at_path(entry, holder), content))


def _block_parts(path: _Path, block: dict[str, Any]) -> Iterator[Part]:
    match kind_of(block):
        case "text" if isinstance(block.get("text"), str) and block.get("citations"):
            yield Part(path, PartKind.OPAQUE, block, block["text"], sealed=PartKind.TEXT)
        case "text" if isinstance(block.get("text"), str):
            yield Part((*path, "text"), PartKind.TEXT, block["text"], block["text"])
        case "tool_use" if isinstance(block.get("input"), dict):
            yield _call_part((*path, "input"), block)
        case "tool_result":
            yield from _result_parts((*path, "content"), block)
        case "thinking":
            thought = block.get("thinking")
            yield Part((*path, "thinking"), PartKind.REASONING, thought, string_of(thought))
            if "signature" in block:
                yield Part((*path, "signature"), PartKind.OPAQUE, block["signature"])
        case "redacted_thinking":
            yield Part((*path, "data"), PartKind.REASONING, block.get("data"))
        case kind if kind in MEDIA:
            yield Part(path, PartKind.MEDIA, block, _media_type(block))
        case _:
            yield Part(path, PartKind.OPAQUE, block)


def _call_part(path: _Path, block: dict[str, Any]) -> Part:
    name, call, value = block.get("name"), block.get("id"), block["input"]
    return Part(
        path,
        PartKind.ARGUMENTS,
        value,
        text_of_json(value),
        name=string_of(name),
        call=call if isinstance(call, str) else None,
    )


def _result_parts(path: _Path, block: dict[str, Any]) -> Iterator[Part]:
    content, call = block.get("content"), block.get("tool_use_id")
    value = "" if content is None else content
    call = call if isinstance(call, str) else None
    yield Part(path, PartKind.RESULT, value, _result_text(value), call=call)
    for index, inner in enumerate(content if isinstance(content, list) else ()):
        if kind_of(inner) in MEDIA:
            yield Part((*path, index), PartKind.MEDIA, inner, _media_type(inner))


def _result_text(content: Any) -> str:
    """What a reader sees of a result: its texts line by line; other blocks than text and media as JSON text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return text_of_json(content)
    shown = (
        block["text"]
        if kind_of(block) == "text" and isinstance(block.get("text"), str)
        else text_of_json(block)
        for block in content
        if kind_of(block) not in MEDIA
    )
    return "\n".join(shown)


def _media_type(block: dict[str, Any]) -> str:
    source = block.get("source")
    found = source.get("media_type") if isinstance(source, dict) else None
    return found if isinstance(found, str) else kind_of(block)


def _words(part: Part, content: Any) -> str:
    if not isinstance(content, str) or not content.strip():
        raise PlanError(
            f"{path_text(*part.path)}: the format takes text with words here; drop the unit instead"
        )
    return content


def _arguments(part: Part, content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise PlanError(f"{path_text(*part.path)}: arguments are an object, not {type(content).__name__}")
    return content


def _rewritten(result: Any, content: Any) -> dict[str, Any]:
    if kind_of(result) != "tool_result":
        raise PlanError("the entry has no result there; take parts from `parts` of this very entry")
    text = content if isinstance(content, str) else text_of_json(content)
    inner = result.get("content")
    marks = [mark for block in (inner if isinstance(inner, list) else ()) if (mark := _mark(block))]
    kept = {**(marks[-1] if marks else {}), **result}
    if text.strip():
        return {**kept, "content": text}
    return {key: value for key, value in kept.items() if key != "content"}


def _mark(block: Any) -> dict[str, Any]:
    """The cache mark of a block, to be put on what replaces it."""
    mark = block.get("cache_control") if isinstance(block, dict) else None
    return {} if mark is None else {"cache_control": mark}
