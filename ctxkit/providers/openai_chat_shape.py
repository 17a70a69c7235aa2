"""What one Chat Completions message is: its role, its calls, the call that it answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ctxkit.core.items import Call, Result, Role, Shape
from ctxkit.errors import ProviderFormatError
from ctxkit.providers.common import path_text, string_of
from ctxkit.providers.foreign import refuse_foreign

__all__ = ["FORMAT", "ROLES", "call_ids", "given_to", "result_id", "shape_of", "shown"]

FORMAT = "openai-chat"
ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def shape_of(entry: object, index: int) -> Shape:
    """What grouping needs to know of `messages[index]`.

    Raises ProviderFormatError for what is no message: see `Provider.shape`.
    """
    if not isinstance(entry, dict):
        raise _wrong((index,), f"a message is a JSON object, not {_json_type(entry)}")
    refuse_foreign(entry, FORMAT, "messages", index)
    role = entry.get("role")
    match role:
        case "system" | "developer":
            shape = Shape(Role.SYSTEM)
        case "user":
            shape = Shape(Role.USER, words=True)
        case "assistant":
            shape = Shape(Role.MODEL, calls=tuple(_calls(entry, index)))
        case "tool":
            shape = Shape(
                Role.TOOL, results=(Result(_tool_call_id(entry, index), string_of(entry.get("name"))),)
            )
        case "function":
            shape = Shape(Role.TOOL, results=(Result(None, _function_name(entry, index)),))
        case str():
            raise _wrong(
                (index, "role"), f"there is no role {shown(role)}; use user, assistant, tool or system"
            )
        case _:
            raise _wrong((index, "role"), f"a message needs a role, one of {', '.join(ROLES)}")
    _check_content(entry.get("content"), index)
    return shape


def call_ids(entry: object) -> Iterator[tuple[int, str]]:
    """Number and id of each call of an assistant message that can be paired, whatever else is wrong with it."""
    if not isinstance(entry, dict) or entry.get("role") != "assistant":
        return
    calls = entry.get("tool_calls")
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        if isinstance(call, dict) and isinstance(call.get("id"), str):
            yield number, call["id"]


def given_to(entry: dict[str, Any]) -> Iterator[Any]:
    """What each call of a message was given: its arguments or input, else the call as it is."""
    if isinstance(old := entry.get("function_call"), dict):
        yield old.get("arguments", old)
    for call in entry.get("tool_calls") or ():
        function, custom = call.get("function"), call.get("custom")
        if isinstance(function, dict) and "arguments" in function:
            yield function["arguments"]
        elif isinstance(custom, dict) and "input" in custom:
            yield custom["input"]
        else:
            yield call


def result_id(entry: object) -> str | None:
    """Id of the call that a tool message answers; None for other messages."""
    if not isinstance(entry, dict) or entry.get("role") != "tool":
        return None
    found = entry.get("tool_call_id")
    return found if isinstance(found, str) else None


def shown(text: str) -> str:
    """`text` in quotes and short enough for a message."""
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def _calls(entry: dict[str, Any], index: int) -> Iterator[Call]:
    old = entry.get("function_call")
    if old is not None:
        yield Call(None, _callee(old, (index, "function_call")))
    calls = entry.get("tool_calls")
    if calls is None:
        return
    if not isinstance(calls, list):
        raise _wrong((index, "tool_calls"), f"tool_calls is a list, not {_json_type(calls)}")
    for number, call in enumerate(calls):
        yield _call(call, (index, "tool_calls", number))


def _call(call: object, path: tuple[str | int, ...]) -> Call:
    if not isinstance(call, dict):
        raise _wrong(path, f"a tool call is a JSON object, not {_json_type(call)}")
    call_id = call.get("id")
    if not isinstance(call_id, str):
        raise _wrong((*path, "id"), "a tool call needs an id, a string, for its result to name")
    kind = call.get("type")
    if kind == "custom" or (kind is None and "custom" in call):
        return Call(call_id, _callee(call.get("custom"), (*path, "custom")), kind="custom")
    if kind == "function" or kind is None:
        return Call(call_id, _callee(call.get("function"), (*path, "function")))
    if isinstance(kind, str):
        return Call(call_id, kind, kind=kind)
    raise _wrong((*path, "type"), f"the type of a tool call is a string, not {_json_type(kind)}")


def _callee(holder: object, path: tuple[str | int, ...]) -> str:
    if not isinstance(holder, dict):
        raise _wrong(path, f"a call names what it calls in a JSON object here, not in {_json_type(holder)}")
    name = holder.get("name")
    if not isinstance(name, str):
        raise _wrong((*path, "name"), "a call needs a name, a string", rule="C14")
    return name


def _tool_call_id(entry: dict[str, Any], index: int) -> str:
    found = entry.get("tool_call_id")
    if not isinstance(found, str):
        raise _wrong(
            (index, "tool_call_id"), "a tool message needs the id, a string, of the call that it answers"
        )
    return found


def _function_name(entry: dict[str, Any], index: int) -> str:
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        raise _wrong((index, "name"), "a function message needs the name of its function", rule="C13")
    return name


def _check_content(content: object, index: int) -> None:
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list):
        raise _wrong(
            (index, "content"), f"content is a string, a list of parts or null, not {_json_type(content)}"
        )
    for number, part in enumerate(content):
        path = (index, "content", number)
        if not isinstance(part, dict):
            raise _wrong(path, f"a content part is a JSON object, not {_json_type(part)}")
        kind = part.get("type")
        if not isinstance(kind, str):
            raise _wrong((*path, "type"), "a content part needs a type, a string such as text")
        if kind in ("text", "refusal") and not isinstance(part.get(kind), str):
            raise _wrong(
                (*path, kind), f"the {kind} of a {kind} part is a string, not {_json_type(part.get(kind))}"
            )


def _json_type(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list() | tuple():
            return "a list"
        case dict():
            return "an object"
    return type(value).__name__


def _wrong(path: tuple[str | int, ...], message: str, *, rule: str = "") -> ProviderFormatError:
    return ProviderFormatError(message, format=FORMAT, path=path_text("messages", *path), rule=rule)
