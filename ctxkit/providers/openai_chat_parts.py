"""The parts of a Chat Completions message: read, edited and weighed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ctxkit.core.items import Part, PartKind, Weight
from ctxkit.core.provider import Entry
from ctxkit.errors import PlanError
from ctxkit.providers.common import (
    is_object_text,
    opaque_tokens,
    replace_at,
    string_of,
    text_of,
    text_of_json,
    type_of_file,
)
from ctxkit.tokens.media import audio_tokens, data_url_type, file_tokens, openai_image_tokens

__all__ = [
    "MEDIA_TYPES",
    "REASONING_KEYS",
    "media_type",
    "parts_of",
    "weight_of",
    "weight_of_content",
    "with_content",
]

REASONING_KEYS = ("reasoning_content", "reasoning", "reasoning_details")
"""Where compatible servers put reasoning on an assistant message; the first party has none."""
MEDIA_TYPES = ("image_url", "input_audio", "file")
"""Content parts that are no text; only a user message may hold them."""

_MESSAGE_TOKENS = 4
_NAME_TOKENS = 1
_CALL_TOKENS = 3


def parts_of(entry: Entry) -> tuple[Part, ...]:
    """The parts of a message: reasoning, content, refusal and audio, calls. What is malformed is left out."""
    match entry.get("role"):
        case "tool" | "function":
            return tuple(_result(entry))
        case "assistant":
            return (*_reasoning(entry), *_content(entry), *_spoken(entry), *_arguments(entry))
        case _:
            return tuple(_content(entry))


def with_content(entry: Entry, part: Part, content: Any) -> Entry:
    """A copy of `entry` with `content` for `part`; see `Provider.with_part`."""
    match part.kind, content:
        case PartKind.TEXT, str():
            value: Any = content
        case PartKind.RESULT, _:
            value = text_of(content)
        case PartKind.ARGUMENTS, _:
            value = _arguments_text(part, content)
        case PartKind.MEDIA, str() if content.strip():
            value = {"type": "text", "text": content}
        case ((PartKind.TEXT | PartKind.MEDIA), _):
            raise PlanError(f"a {part.kind} part takes a text, for media one that is not blank")
        case _:
            raise PlanError(f"a part of kind {part.kind} cannot be changed; strip or drop its message")
    return replace_at(entry, part.path, value)


def weight_of(entry: Entry) -> Weight:
    """What to count of a message.

    Source: OpenAI Cookbook, "How to count tokens with tiktoken": 3 tokens a message, 1 its role, 1 more for a
    name. That of a call, 3 beside name and arguments, is measured for none of the models; it errs upwards.
    """
    texts: list[str] = []
    fixed = _MESSAGE_TOKENS
    if isinstance(name := entry.get("name"), str):
        texts.append(name)
        fixed += _NAME_TOKENS
    for part in parts_of(entry):
        shown, tokens = _weight_of_part(part)
        if part.kind is PartKind.REASONING and shown and shown[0] in texts:
            shown = ()  # OpenRouter tells the same reasoning in two keys
        texts.extend(shown)
        fixed += tokens
    return Weight(tuple(text for text in texts if text), fixed)


def weight_of_content(content: Any) -> Weight:
    """What to count of system text that stands beside the list, as of the message it becomes."""
    if content is None:
        return Weight(())
    return weight_of(content if isinstance(content, dict) else {"role": "system", "content": content})


def media_type(part: dict[str, Any]) -> str:
    """What a reader is told of a media part: `image/png`, `audio/wav`, `application/pdf`, else `image` or `file`."""
    inner = _inner(part)
    match part.get("type"):
        case "image_url":
            return data_url_type(inner.get("url")) or "image"
        case "input_audio":
            kind = inner.get("format")
            return f"audio/{kind}" if isinstance(kind, str) and kind else "audio"
        case _:
            return data_url_type(inner.get("file_data")) or type_of_file(inner.get("filename")) or "file"


def _content(entry: Entry) -> Iterator[Part]:
    content = entry.get("content")
    if isinstance(content, str):
        yield Part(("content",), PartKind.TEXT, content, content)
    for number, block in _blocks(content):
        text = block.get("text")
        if block.get("type") == "text" and isinstance(text, str):
            yield Part(("content", number, "text"), PartKind.TEXT, text, text)
        else:
            yield _other_block(number, block)


def _result(entry: Entry) -> Iterator[Part]:
    if "content" not in entry:
        return
    content = entry["content"]
    texts = [content] if isinstance(content, str) else []
    others = []
    for number, block in _blocks(content):
        text = block.get("text")
        if block.get("type") == "text" and isinstance(text, str):
            texts.append(text)
        else:
            others.append(_other_block(number, block))
    call = entry.get("tool_call_id")
    yield Part(
        ("content",),
        PartKind.RESULT,
        content,
        "\n".join(texts),
        name=string_of(entry.get("name")),
        call=call if isinstance(call, str) else None,
    )
    yield from others


def _other_block(number: int, block: dict[str, Any]) -> Part:
    kind = block.get("type")
    if kind in MEDIA_TYPES:
        return Part(("content", number), PartKind.MEDIA, block, media_type(block))
    if kind == "refusal" and isinstance(block.get("refusal"), str):
        return _sealed(("content", number, "refusal"), block["refusal"], block["refusal"])
    return Part(("content", number), PartKind.OPAQUE, block)


def _blocks(content: object) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, block in enumerate(content if isinstance(content, list) else ()):
        if isinstance(block, dict):
            yield number, block


def _reasoning(entry: Entry) -> Iterator[Part]:
    for key in REASONING_KEYS:
        value = entry.get(key)
        if value is not None:
            yield Part((key,), PartKind.REASONING, value, _reasoning_text(value))


def _reasoning_text(value: object) -> str:
    if isinstance(value, str):
        return value
    told = (block.get(key) for _, block in _blocks(value) for key in ("text", "summary"))
    return "\n".join(text for text in told if isinstance(text, str))


def _spoken(entry: Entry) -> Iterator[Part]:
    refusal, audio = entry.get("refusal"), entry.get("audio")
    if refusal is not None:
        yield _sealed(("refusal",), refusal, refusal)
    if audio is not None:
        yield _sealed(("audio",), audio, audio.get("transcript") if isinstance(audio, dict) else "")


def _sealed(path: tuple[str | int, ...], value: object, said: object) -> Part:
    """What the model said that is no text to be edited."""
    return Part(path, PartKind.OPAQUE, value, string_of(said), sealed=PartKind.TEXT)


def _arguments(entry: Entry) -> Iterator[Part]:
    old = entry.get("function_call")
    if isinstance(old, dict) and "arguments" in old:
        yield _argument(("function_call", "arguments"), old, None)
    for number, call in _blocks(entry.get("tool_calls")):
        call_id = call["id"] if isinstance(call.get("id"), str) else None
        for holder, key in (("function", "arguments"), ("custom", "input")):
            if isinstance(call.get(holder), dict) and key in call[holder]:
                yield _argument(("tool_calls", number, holder, key), call[holder], call_id)
                break
        else:
            yield Part(("tool_calls", number), PartKind.OPAQUE, call, call=call_id)


def _argument(path: tuple[str | int, ...], holder: dict[str, Any], call_id: str | None) -> Part:
    value = holder[str(path[-1])]
    return Part(
        path, PartKind.ARGUMENTS, value, text_of(value), name=string_of(holder.get("name")), call=call_id
    )


def _arguments_text(part: Part, content: Any) -> str:
    """`content` as the string that a call carries: any text for a custom call, else the text of a JSON object."""
    if isinstance(content, dict):
        return text_of_json(content)
    if isinstance(content, str) and (
        part.path[-1] == "input" or content == part.value or is_object_text(content)
    ):
        return content
    raise PlanError(f"the arguments of {part.name or 'a call'} take a JSON object, as a dict or as text")


def _weight_of_part(part: Part) -> tuple[tuple[str, ...], int]:
    match part.kind:
        case PartKind.ARGUMENTS:
            return (part.name, part.text), _CALL_TOKENS
        case PartKind.MEDIA:
            return (), _media_tokens(part.value)
        case PartKind.REASONING:
            sealed = (block.get("data") for _, block in _blocks(part.value))
            return (part.text,), sum(opaque_tokens(data) for data in sealed if isinstance(data, str))
        case PartKind.OPAQUE if isinstance(part.value, str):
            return (part.value,), 0  # a refusal
        case PartKind.OPAQUE if part.path == ("audio",) and isinstance(part.value, dict):
            return (string_of(part.value.get("transcript")),), opaque_tokens(string_of(part.value.get("id")))
        case PartKind.OPAQUE:
            return (), opaque_tokens(text_of_json(part.value))
        case _:
            return (part.text,), 0


def _media_tokens(block: dict[str, Any]) -> int:
    inner = _inner(block)
    match block.get("type"):
        case "image_url":
            return openai_image_tokens(string_of(inner.get("url")), string_of(inner.get("detail")) or "auto")
        case "input_audio":
            return audio_tokens(string_of(inner.get("data")), string_of(inner.get("format")))
        case _:
            data = string_of(inner.get("file_data"))
            mime = media_type(block)
            return file_tokens(data or string_of(inner.get("file_id")), mime if "/" in mime else "")


def _inner(block: dict[str, Any]) -> dict[str, Any]:
    """The object that a media part keeps under the name of its type; an image's bare URL is taken too."""
    inner = block.get(str(block.get("type")))
    if isinstance(inner, str):
        return {"url": inner}
    return inner if isinstance(inner, dict) else {}
