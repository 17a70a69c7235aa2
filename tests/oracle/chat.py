"""Rules C1 to C14 of OpenAI Chat Completions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
PARTS = {
    "system": {"text"},
    "developer": {"text"},
    "tool": {"text"},
    "assistant": {"text", "refusal"},
    "user": {"text", "image_url", "input_audio", "file"},
}
NAME = re.compile(r"[^\s<|\\/>]+")


def check(messages: list[dict[str, Any]], system: Any) -> list[str]:
    """Every violation of one payload, in order of the messages; those of steps come last."""
    if not messages:
        return ["C9: messages: empty list"]
    found = [] if system is None else ["shape: system: Chat has no system text beside the messages"]
    for i, message in enumerate(messages):
        found += [f"{rule}: messages[{i}]: {what}" for rule, what in _message(message)]
    return found + list(_steps(messages))


def _message(message: dict[str, Any]) -> Iterator[tuple[str, str]]:
    role = message.get("role")
    if role not in ROLES:
        yield "shape", f"role {role!r}"
        return
    yield from _content(role, message)
    name = message.get("name")
    if name is not None and not (isinstance(name, str) and NAME.fullmatch(name)):
        yield "C12", f"name {name!r}"
    if role == "function" and not message.get("name"):
        yield "C13", "function message without name"
    if role == "assistant":
        yield from _calls(message)
    elif "tool_calls" in message:
        yield "shape", f"tool_calls on role {role}"
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        yield "C2", "tool message without tool_call_id"


def _content(role: str, message: dict[str, Any]) -> Iterator[tuple[str, str]]:
    content = message.get("content")
    if content is None:
        excused = ("tool_calls", "function_call", "refusal", "audio")
        if role == "assistant" and any(message.get(key) for key in excused):
            return
        if role != "function" or "content" not in message:
            yield "C8", "no content"
    elif isinstance(content, list):
        if not content:
            yield "C9", "empty content list"
        for part in content:
            kind = part.get("type") if isinstance(part, dict) else None
            if kind not in PARTS.get(role, set()):
                yield ("C11" if kind in PARTS["user"] else "shape"), f"part {kind!r} from role {role}"
            elif kind in ("text", "refusal") and not isinstance(part.get(kind), str):
                yield "shape", f"{kind} part without text"
    elif not isinstance(content, str):
        yield "shape", f"content is a {type(content).__name__}"


def _calls(message: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if "tool_calls" not in message or message["tool_calls"] is None:
        return
    calls = message["tool_calls"]
    if not isinstance(calls, list) or not calls:
        yield "C7", "tool_calls is not a filled list"
        return
    ids = [call.get("id") for call in calls if isinstance(call, dict)]
    if len(set(map(repr, ids))) != len(calls):
        yield "C4", "one id for two calls of a message"
    for call in calls:
        body, key = _body(call)
        if not isinstance(body, dict) or not isinstance(body.get("name"), str) or not body["name"]:
            yield "C14", "a call without name"
        elif not isinstance(body.get(key), str):
            yield "C14", f"{key} is not a string"
        if not isinstance(call, dict) or not isinstance(call.get("id"), str):
            yield "C1", "a call without id"


def _body(call: Any) -> tuple[Any, str]:
    if not isinstance(call, dict):
        return None, "arguments"
    if call.get("type") == "custom":
        return call.get("custom"), "input"
    return call.get("function"), "arguments"


def _steps(messages: list[dict[str, Any]]) -> Iterator[str]:
    waiting: dict[str, int] = {}
    answered: set[str] = set()
    missed: dict[str, int] = {}
    for i, message in enumerate(messages):
        if message.get("role") == "tool":
            call_id = str(message.get("tool_call_id"))
            if call_id in waiting:
                del waiting[call_id]
                answered.add(call_id)
            elif call_id in answered:
                yield f"C4: messages[{i}]: second answer to {call_id!r}"
            elif call_id in missed:
                yield f"C3: messages[{i}]: something stands between call and answer {call_id!r}"
            else:
                yield f"C2: messages[{i}]: answer {call_id!r} without call"
            continue
        for call_id, at in waiting.items():
            yield f"C1: messages[{at}]: call {call_id!r} has no answer before messages[{i}]"
        missed |= waiting
        calls = message.get("tool_calls") if message.get("role") == "assistant" else None
        waiting = {str(call.get("id")): i for call in calls or [] if isinstance(call, dict)}
        answered = set()
    for call_id, at in waiting.items():
        yield f"C6: messages[{at}]: call {call_id!r} waits at the end"
