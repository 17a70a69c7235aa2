"""Messages of another format: told by what only that format has, so that the error says which one it is."""

from __future__ import annotations

from typing import Any

from ctxkit.errors import ProviderFormatError
from ctxkit.providers import FORMATS
from ctxkit.providers.common import path_text

__all__ = ["formats_told_by", "refuse_foreign", "refuse_other_vendor", "response_format"]

_ALL = frozenset(FORMATS)
_CHAT, _RESPONSES, _ANTHROPIC, _GEMINI = (frozenset({format}) for format in FORMATS)

_BLOCKS = {
    "tool_use": _ANTHROPIC,
    "tool_result": _ANTHROPIC,
    "server_tool_use": _ANTHROPIC,
    "input_text": _RESPONSES,
    "output_text": _RESPONSES,
    "input_image": _RESPONSES,
    "image_url": _CHAT,
    "input_audio": _CHAT,
}
"""Types of content blocks that one format alone has. Thinking is not among them: other vendors use it on Chat."""

_ITEMS = frozenset(
    {
        "additional_tools",
        "apply_patch_call",
        "apply_patch_call_output",
        "code_interpreter_call",
        "compaction",
        "compaction_trigger",
        "computer_call",
        "computer_call_output",
        "configuration_update",
        "custom_tool_call",
        "custom_tool_call_output",
        "file_search_call",
        "function_call",
        "function_call_output",
        "image_generation_call",
        "item_reference",
        "local_shell_call",
        "local_shell_call_output",
        "mcp_approval_request",
        "mcp_approval_response",
        "mcp_call",
        "mcp_list_tools",
        "program",
        "program_output",
        "reasoning",
        "shell_call",
        "shell_call_output",
        "tool_search_call",
        "tool_search_output",
        "web_search_call",
    }
)
"""Types of entries that Responses alone has. "message" is not among them: servers of other formats take it too."""

_ROLES = {
    "developer": _CHAT | _RESPONSES,
    "system": _ALL - _GEMINI,
    "assistant": _ALL - _GEMINI,
}
"""The formats that have a role, where they are several but not all."""

_VENDORS = {
    "openai": ("openai-chat", "openai-responses"),
    "anthropic": ("anthropic",),
    "google": ("gemini",),
}
"""Packages of the vendors' SDKs, and the formats that their objects are of."""


def refuse_foreign(entry: dict[str, Any], format: str, *path: str | int) -> None:
    """Raise ProviderFormatError when an entry, which stands at `path`, is of another format."""
    told = formats_told_by(entry)
    if format not in told:
        looks = " or ".join(sorted(told))
        raise ProviderFormatError(
            f"this looks like {looks}; is format={format!r} right?", format=format, path=path_text(*path)
        )


def formats_told_by(entry: dict[str, Any]) -> frozenset[str]:
    """The formats that an entry can be of, by the first thing in it that not all of them have; all where nothing tells."""
    if "parts" in entry and "content" not in entry:
        return _GEMINI
    get = entry.get
    role = get("role")
    if get("tool_calls") or role in ("tool", "function"):
        return _CHAT
    kind, content = get("type"), get("content")
    if isinstance(get("call_id"), str) or (isinstance(kind, str) and kind in _ITEMS):
        return _RESPONSES
    if isinstance(content, list):
        for block in content:
            if isinstance(block, dict) and isinstance(block.get("type"), str) and block["type"] in _BLOCKS:
                return _BLOCKS[block["type"]]
    return _ROLES.get(role, _ALL) if isinstance(role, str) else _ALL


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
