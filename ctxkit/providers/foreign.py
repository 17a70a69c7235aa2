"""Messages of another format: told by what only that format has, so that the error says which one it is."""

from __future__ import annotations

from typing import Any

from ctxkit.errors import ProviderFormatError
from ctxkit.providers.common import path_text

__all__ = ["refuse_foreign", "refuse_other_vendor", "response_format"]

_BLOCKS = {
    "tool_use": "anthropic",
    "tool_result": "anthropic",
    "server_tool_use": "anthropic",
    "input_text": "openai-responses",
    "output_text": "openai-responses",
    "input_image": "openai-responses",
    "image_url": "openai-chat",
    "input_audio": "openai-chat",
}
"""Types of content blocks that one format alone has. Thinking is not among them: other vendors use it on Chat."""

_VENDORS = {
    "openai": ("openai-chat", "openai-responses"),
    "anthropic": ("anthropic",),
    "google": ("gemini",),
}
"""Packages of the vendors' SDKs, and the formats that their objects are of."""


def refuse_foreign(entry: dict[str, Any], format: str, *path: str | int) -> None:
    """Raise ProviderFormatError when an entry, which stands at `path`, is of another format."""
    found = _looks_like(entry)
    if found not in ("", format):
        raise ProviderFormatError(
            f"this looks like {found}; is format={format!r} right?", format=format, path=path_text(*path)
        )


def _looks_like(entry: dict[str, Any]) -> str:
    if "parts" in entry and "content" not in entry:
        return "gemini"
    if entry.get("tool_calls") or entry.get("role") == "tool":
        return "openai-chat"
    if isinstance(entry.get("call_id"), str):
        return "openai-responses"
    content = entry.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and isinstance(block.get("type"), str) and block["type"] in _BLOCKS:
            return _BLOCKS[block["type"]]
    return ""


def response_format(message: object) -> str:
    """The format of which the JSON of a whole response is, by what no entry of a request has; "" for what is none."""
    match message:
        case {"object": "response", "output": list()}:
            return "openai-responses"
        case {"type": "message", "id": str(), "content": list(), "stop_reason": _, "usage": _}:
            return "anthropic"
        case {"role": _} | {"parts": _}:
            return ""
        case {"choices": list()}:
            return "openai-chat"
        case {"candidates": _} | {"promptFeedback": _} | {"prompt_feedback": _}:
            return "gemini"
    return ""


def refuse_other_vendor(message: object, format: str) -> None:
    """Raise ProviderFormatError when an object is made by the SDK of a vendor that has another format, or is a response's
    JSON of another format."""
    found = response_format(message)
    if found not in ("", format):
        raise ProviderFormatError(
            f"this is a response of {found}; is format={format!r} right?", format=format
        )
    package = type(message).__module__.partition(".")[0]
    formats = _VENDORS.get(package, (format,))
    if format not in formats:
        raise ProviderFormatError(
            f"{type(message).__name__} is an object of the {package} SDK, which is {' or '.join(formats)}",
            format=format,
        )
