"""What is inside an item of a Responses input: its parts, how one is rewritten, what of it is counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ctxkit.core.items import Part, PartKind, Weight
from ctxkit.core.provider import Entry
from ctxkit.errors import PlanError
from ctxkit.providers.common import (
    is_object_text,
    kind_of,
    opaque_tokens,
    replace_at,
    string_of,
    text_of,
    text_of_json,
    type_of_file,
)
from ctxkit.providers.openai_responses_items import (
    BLANK_SCREENSHOT,
    CALL_TYPES,
    OUTPUT_TYPES,
    native_output,
    program_of,
    type_of,
)
from ctxkit.tokens.media import audio_tokens, data_url_type, file_tokens, is_data_url, openai_image_tokens

__all__ = ["parts_of", "weigh_item", "with_part"]

_ENVELOPE = 4
"""Tokens around each item. Source: OpenAI Cookbook, "How to count tokens with tiktoken", has 3 a message and
1 a name for Chat; what Responses adds is not published."""
_TEXT_KEYS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}
_MEDIA = frozenset({"input_image", "input_file", "input_audio", "computer_screenshot"})
_OPAQUE_KEYS = frozenset({"encrypted_content", "fingerprint"})
_URL_KEYS = frozenset({"url", "image_url", "file_data", "data"})
_BOOKKEEPING = frozenset(
    {
        "id",
        "call_id",
        "approval_request_id",
        "caller",
        "type",
        "role",
        "status",
        "phase",
        "execution",
        "async",
    }
)


def parts_of(entry: Entry) -> tuple[Part, ...]:
    """The parts of an item in wire order.

    What the server ran or has to find again as it was is opaque: hosted calls, compaction, programs with
    their calls and outputs, approval requests (the server runs what was approved), tool definitions.
    """
    kind = type_of(entry)
    if kind == "message":
        return tuple(_content_parts(entry.get("content")))
    if kind == "reasoning":
        return tuple(_reasoning_parts(entry))
    if kind == "compaction":
        return (Part(("encrypted_content",), PartKind.OPAQUE, entry.get("encrypted_content")),)
    if kind in CALL_TYPES and not program_of(entry):
        return _call_parts(entry, kind)
    if kind in OUTPUT_TYPES and not program_of(entry):
        return tuple(_output_parts(entry, kind))
    return (Part((), PartKind.OPAQUE, entry),)


def with_part(entry: Entry, part: Part, content: Any) -> Entry:
    """A copy of `entry` with `content` for `part`, see `Provider.with_part`.

    A structured call (`action`, `operation`, a tool search) keeps its keys and the JSON types of their
    values. The arguments of a function stay a JSON object, those of a custom tool are any text.
    """
    match part.kind:
        case PartKind.TEXT:
            if not isinstance(content, str):
                raise PlanError(f"a text is replaced by a str, not {type(content).__name__}")
            return replace_at(entry, part.path, content)
        case PartKind.RESULT:
            return replace_at(entry, part.path, native_output(type_of(entry), part.value, content))
        case PartKind.ARGUMENTS:
            return replace_at(entry, part.path, _arguments(type_of(entry), part.value, content))
        case PartKind.MEDIA:
            return replace_at(entry, part.path, _described(entry, content))
    raise PlanError(f"{part.kind} parts of a {type_of(entry)} item cannot be rewritten, only left out whole")


def weigh_item(entry: Entry) -> Weight:
    """What to count of an item: its texts, 4 tokens around it, media by their price, a quarter of opaque
    strings."""
    match type_of(entry):
        case "function_call" | "custom_tool_call":
            named = [entry.get("namespace"), entry.get("name"), entry.get("arguments"), entry.get("input")]
            return Weight(tuple(text_of(value) for value in named if value), _ENVELOPE)
        case "image_generation_call":
            picture = f"data:image/png;base64,{entry.get('result') or ''}"
            asked = entry.get("revised_prompt")
            return Weight(
                (asked,) if isinstance(asked, str) else (), _ENVELOPE + openai_image_tokens(picture, "auto")
            )
        case "message":
            return _weight(entry.get("content"))
        case "reasoning":
            sealed = {"encrypted_content": entry.get("encrypted_content")}
            return _weight([sealed, entry.get("summary"), entry.get("content")])
        case kind if kind in OUTPUT_TYPES and "output" in entry:
            return _weight(entry["output"])
        case "additional_tools" | "mcp_list_tools" | "tool_search_output":
            return Weight((text_of_json(entry.get("tools")),), _ENVELOPE)
    return _weight({key: value for key, value in entry.items() if key not in _BOOKKEEPING})


def _content_parts(content: Any) -> Iterator[Part]:
    if isinstance(content, str):
        yield Part(("content",), PartKind.TEXT, content, content)
    for number, block in enumerate(content if isinstance(content, list) else ()):
        yield _block_part(block, ("content", number))


def _block_part(block: Any, path: tuple[str | int, ...]) -> Part:
    kind = kind_of(block)
    if kind in _MEDIA:
        return Part(path, PartKind.MEDIA, block, _media_type(block))
    key = _TEXT_KEYS.get(kind, "")
    if key and isinstance(block.get(key), str):
        return Part((*path, key), PartKind.TEXT, block[key], block[key])
    return Part(path, PartKind.OPAQUE, block)


def _reasoning_parts(entry: Entry) -> Iterator[Part]:
    for key in ("summary", "content"):
        blocks = entry.get(key)
        for number, block in enumerate(blocks if isinstance(blocks, list) else ()):
            text = block.get("text") if isinstance(block, dict) else None
            if isinstance(text, str):
                yield Part((key, number, "text"), PartKind.REASONING, text, text)
    if entry.get("encrypted_content") is not None:
        yield Part(("encrypted_content",), PartKind.OPAQUE, entry["encrypted_content"])


def _call_parts(entry: Entry, kind: str) -> tuple[Part, ...]:
    call_type = CALL_TYPES[kind]
    if call_type.arguments not in entry:
        return (Part((), PartKind.OPAQUE, entry),)
    arguments = entry[call_type.arguments]
    name = call_type.name or text_of(entry.get("name"))
    id = entry.get(call_type.key)
    call = id if isinstance(id, str) else None
    return (Part((call_type.arguments,), PartKind.ARGUMENTS, arguments, text_of(arguments), name, call),)


def _output_parts(entry: Entry, kind: str) -> Iterator[Part]:
    """The payload, and the media in it. Tools that a search has found and an approval stay as they are."""
    output = entry.get("output")
    if output is None:
        yield Part((), PartKind.OPAQUE, entry)
        return
    id = entry.get(CALL_TYPES[OUTPUT_TYPES[kind]].output_key)
    yield Part(
        ("output",),
        PartKind.RESULT,
        output,
        _output_text(output),
        string_of(entry.get("name")),
        id if isinstance(id, str) else None,
    )
    if kind_of(output) in _MEDIA and output != BLANK_SCREENSHOT:
        yield Part(("output",), PartKind.MEDIA, output, _media_type(output))
    for number, block in enumerate(output if isinstance(output, list) else ()):
        if kind_of(block) in _MEDIA:
            yield Part(("output", number), PartKind.MEDIA, block, _media_type(block))


def _output_text(output: Any) -> str:
    """What the model reads of an output: texts of its parts, what commands wrote, else its JSON."""
    if kind_of(output) in _MEDIA:
        return ""
    if not isinstance(output, list) or not all(isinstance(piece, dict) for piece in output):
        return text_of(output)
    texts = (piece.get(key) for piece in output for key in ("text", "stdout", "stderr"))
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def _described(entry: Entry, content: Any) -> Entry:
    if not isinstance(content, str):
        raise PlanError(f"media are replaced by a str that describes them, not {type(content).__name__}")
    if type_of(entry) == "computer_call_output":
        return BLANK_SCREENSHOT
    return {"type": "output_text" if entry.get("role") == "assistant" else "input_text", "text": content}


def _arguments(kind: str, old: Any, content: Any) -> Any:
    if kind == "custom_tool_call":
        return text_of(content)
    if kind == "function_call":
        if not isinstance(content, dict) and not is_object_text(content):
            raise PlanError(
                "the arguments of a function are replaced by a dict or the JSON text of an object"
            )
        return text_of(content)
    if not isinstance(content, dict) or not isinstance(old, dict):
        raise PlanError(f"the arguments of a {kind} are replaced by a dict, not {type(content).__name__}")
    changed = [key for key in old.keys() | content.keys() if type(old.get(key)) is not type(content.get(key))]
    if kind != "tool_search_call" and (changed or old.get("type") != content.get("type")):
        raise PlanError(
            f"a {kind} keeps its keys and the types of its values; changed: {sorted(map(str, changed))}"
        )
    return content


def _weight(root: Any) -> Weight:
    """Every text below `root`, with the keys of what is no content part. Takes any depth."""
    texts: list[str] = []
    fixed = _ENVELOPE
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        match node:
            case dict() if kind_of(node) in _MEDIA:
                fixed += _media_tokens(node)
            case dict():
                fixed += sum(_unread_tokens(key, value) for key, value in node.items())
                stack.extend(reversed(_seen(node)))
            case list():
                stack.extend(reversed(node))
            case str() if node:
                texts.append(node)
            case bool() | int() | float():
                fixed += 1
    return Weight(tuple(texts), fixed)


def _seen(block: dict[str, Any]) -> list[Any]:
    """What the model reads of a dict: a text part's text alone, else keys and values."""
    if kind_of(block) in _TEXT_KEYS or kind_of(block) in ("summary_text", "reasoning_text"):
        return [block.get("text"), block.get("refusal")]
    read = (
        (key, value) for key, value in block.items() if key not in _OPAQUE_KEYS and not _unread(key, value)
    )
    return [piece for key, value in read for piece in (str(key), value)]


def _unread(key: str, value: Any) -> bool:
    """Whether a value is no text for the model: opaque, or a data URL where an address stands."""
    return isinstance(value, str) and (key in _OPAQUE_KEYS or (key in _URL_KEYS and is_data_url(value)))


def _unread_tokens(key: str, value: Any) -> int:
    if not _unread(key, value):
        return 0
    return opaque_tokens(value) if key in _OPAQUE_KEYS else file_tokens(value, "")


def _media_tokens(block: dict[str, Any]) -> int:
    match block:
        case {"type": "input_audio"}:
            inner = block.get("input_audio")
            audio = inner if isinstance(inner, dict) else block
            return audio_tokens(_string(audio, "data"), _string(audio, "format"))
        case {"type": "input_file"}:
            kind = type_of_file(block.get("filename"))
            return file_tokens(_string(block, "file_data", "file_url", "file_id"), kind)
    return openai_image_tokens(_string(block, "image_url", "file_id"), _string(block, "detail") or "auto")


def _media_type(block: dict[str, Any]) -> str:
    """The media type of an image, file or recording as far as the block tells it."""
    fallback = {"input_file": type_of_file(block.get("filename")) or "file", "input_audio": "audio"}
    told = data_url_type(_string(block, "image_url", "file_data"))
    return told or fallback.get(kind_of(block), "image")


def _string(block: dict[str, Any], *keys: str) -> str:
    return next((block[key] for key in keys if isinstance(block.get(key), str)), "")
