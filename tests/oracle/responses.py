"""Rules R1 to R21 of the OpenAI Responses input list."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

USER_PARTS = {"input_text", "input_image", "input_file", "input_audio"}
MODEL_PARTS = {"output_text", "refusal"}
HOSTED = {
    "mcp_call",
    "mcp_list_tools",
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
}
PAIRS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "computer_call": "computer_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "tool_search_call": "tool_search_output",
    "program": "program_output",
}
OUTPUTS = {output: call for call, output in PAIRS.items()}
APPROVAL = ("mcp_approval_request", "mcp_approval_response")
PREFIXES = {"reasoning": "rs", "function_call": "fc", "message": "msg", "compaction": "cmp"}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
OTHERS = {
    "reasoning",
    "compaction",
    "compaction_trigger",
    "item_reference",
    "additional_tools",
    "configuration_update",
}
KNOWN_KEYS = {
    "message": {"type", "role", "content", "id", "status", "phase"},
    "reasoning": {"type", "id", "summary", "content", "encrypted_content", "status"},
    "function_call": {"type", "id", "call_id", "name", "arguments", "status", "namespace", "caller", "async"},
    "function_call_output": {"type", "id", "call_id", "output", "status", "caller"},
}
NEEDS: dict[str, dict[str, type]] = {
    "function_call": {"call_id": str, "name": str, "arguments": str},
    "custom_tool_call": {"call_id": str, "name": str, "input": str},
    "computer_call": {"id": str, "call_id": str, "pending_safety_checks": list, "status": str},
    "local_shell_call": {"id": str, "call_id": str, "action": dict},
    "shell_call": {"call_id": str, "action": dict},
    "apply_patch_call": {"call_id": str, "operation": dict, "status": str},
    "mcp_approval_request": {"id": str},
    "mcp_approval_response": {"approval_request_id": str, "approve": bool},
    "program": {"call_id": str, "fingerprint": str},
    "compaction": {"encrypted_content": str},
    "item_reference": {"id": str},
    **{kind: {"id": str} for kind in HOSTED},
}


def kind_of(item: dict[str, Any]) -> str:
    """The type of an item; a message may leave it out."""
    kind = item.get("type")
    return "message" if kind is None and "role" in item else str(kind)


def model_made(item: dict[str, Any]) -> bool:
    """Whether the model made it: an assistant message, any call, any hosted call."""
    kind = kind_of(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return kind in PAIRS or kind in HOSTED or kind in (APPROVAL[0], "item_reference")


def call_key(item: dict[str, Any]) -> Any:
    """The key that joins a call or an output with its partner."""
    match kind_of(item):
        case "local_shell_call_output" | "mcp_approval_request":
            return item.get("id")
        case "mcp_approval_response":
            return item.get("approval_request_id")
    return item.get("call_id")


def check(items: list[dict[str, Any]], system: Any) -> list[str]:
    """Every violation of one input list."""
    found = [] if system is None or isinstance(system, str) else ["shape: system: instructions are a string"]
    for i, item in enumerate(items):
        found += [f"{rule}: input[{i}]: {what}" for rule, what in _item(item)]
    found += _pairs(items)
    found += _reasoning(items)
    found += _programs(items)
    counted = Counter(
        item["id"]
        for item in items
        if isinstance(item.get("id"), str)
        and kind_of(item) not in ("item_reference", "local_shell_call_output")
    )
    found += [f"R6: input: id {name!r} {count} times" for name, count in counted.items() if count > 1]
    triggers = [i for i, item in enumerate(items[:-1]) if kind_of(item) == "compaction_trigger"]
    return found + [f"R17: input[{i}]: compaction_trigger is not last" for i in triggers]


def _item(item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    kind = kind_of(item)
    known = (
        kind == "message" or kind in PAIRS or kind in OUTPUTS or kind in APPROVAL or kind in HOSTED | OTHERS
    )
    if not known:
        yield "shape", f"type {kind!r}"
        return
    for key, wanted in NEEDS.get(kind, {}).items():
        if not isinstance(item.get(key), wanted):
            yield "shape", f"{kind} needs {key} as {wanted.__name__}"
    strange = set(item) - KNOWN_KEYS.get(kind, set(item))
    if strange:
        yield "R19", f"unknown fields {sorted(strange)}"
    if kind == "reasoning" and not isinstance(item.get("summary"), list):
        yield "R11", "reasoning without summary list"
    name = item.get("id")
    prefix = PREFIXES.get(kind)
    if prefix and isinstance(name, str) and not name.startswith(prefix + "_") and not UUID.fullmatch(name):
        yield "R14", f"id {name!r} does not begin with {prefix}"
    if kind == "message":
        yield from _message(item)
    if kind in OUTPUTS:
        yield from _output(kind, item)


def _message(item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant", "system", "developer"):
        yield "shape", f"role {role!r}"
        return
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        yield "shape", "content is neither string nor list"
        return
    wanted = MODEL_PARTS if role == "assistant" else USER_PARTS
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in wanted:
            yield "R15", f"part {kind!r} in a message from {role}"


def _output(kind: str, item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    output = item.get("output")
    match kind:
        case "function_call_output" | "custom_tool_call_output":
            parts = isinstance(output, list) and all(_is_input_part(part) for part in output)
            right = isinstance(output, str) or parts
        case "local_shell_call_output":
            right = isinstance(output, str)
        case "computer_call_output":
            right = _is_screenshot(output)
        case "shell_call_output":
            right = (
                isinstance(output, list) and bool(output) and all(_is_shell_output(part) for part in output)
            )
        case "apply_patch_call_output":
            right = item.get("status") in ("completed", "failed") and (
                output is None or isinstance(output, str)
            )
        case "tool_search_output":
            right = isinstance(item.get("tools"), list)
        case _:
            right = True
    if not right:
        yield "R16", f"{kind} has a payload of the wrong type"


def _is_input_part(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in USER_PARTS


def _is_screenshot(output: Any) -> bool:
    if not isinstance(output, dict) or output.get("type") != "computer_screenshot":
        return False
    url = output.get("image_url")
    by_url = isinstance(url, str) and url.startswith(("data:image/", "https://", "http://"))
    return by_url or isinstance(output.get("file_id"), str)


def _is_shell_output(part: Any) -> bool:
    if not isinstance(part, dict) or not isinstance(part.get("outcome"), dict):
        return False
    return isinstance(part.get("stdout"), str) and isinstance(part.get("stderr"), str)


def _server_side(item: dict[str, Any]) -> bool:
    """A tool search that the server ran: recorded with a call id and no output, too, and answered normally."""
    search = kind_of(item) in ("tool_search_call", "tool_search_output")
    return search and (item.get("call_id") is None or item.get("execution") == "server")


def _pairs(items: list[dict[str, Any]]) -> Iterator[str]:
    calls: dict[tuple[str, Any], int] = {}
    answered: set[tuple[str, Any]] = set()
    for i, item in enumerate(items):
        kind = kind_of(item)
        if _server_side(item):
            continue
        if kind in PAIRS or kind == APPROVAL[0]:
            yield from _new_call(calls, kind, item, i)
        elif kind in OUTPUTS or kind == APPROVAL[1]:
            key = (OUTPUTS.get(kind, APPROVAL[0]), call_key(item))
            if key not in calls:
                yield f"R1: input[{i}]: output for {key[1]!r} without call"
            elif key in answered:
                yield f"R5: input[{i}]: second output for {key[1]!r}"
            answered.add(key)
    last_call_free = _last_of_others(items)
    for key, i in calls.items():
        if key not in answered and not items[i].get("async"):
            if i > last_call_free:
                yield f"R2-end: input[{i}]: call {key[1]!r} waits at the end"
            elif key[0] != APPROVAL[0]:
                yield f"R2: input[{i}]: call {key[1]!r} has no output"


def _new_call(calls: dict[tuple[str, Any], int], kind: str, item: dict[str, Any], i: int) -> Iterator[str]:
    key = (kind, call_key(item))
    if any(key[1] == other and other_kind != APPROVAL[0] for other_kind, other in calls):
        yield f"R5: input[{i}]: call_id {key[1]!r} used before"
    calls[key] = i


def _last_of_others(items: list[dict[str, Any]]) -> int:
    """Index of the last item that ends a step: a message that is not the model's; a call before it is no open end."""
    ends = [
        i
        for i, item in enumerate(items)
        if kind_of(item) == "message" and item.get("role") in ("user", "assistant")
    ]
    return ends[-1] if ends else -1


def _reasoning(items: list[dict[str, Any]]) -> Iterator[str]:
    for i, item in enumerate(items):
        if kind_of(item) != "reasoning":
            continue
        after = next((entry for entry in items[i + 1 :] if kind_of(entry) != "reasoning"), None)
        if after is None or not model_made(after):
            yield f"R7: input[{i}]: reasoning is not followed by what it led to"
        elif kind_of(after) == "message" and item.get("id") and not (after.get("id") and after.get("status")):
            yield f"R10: input[{i}]: the message after a reasoning with id has no id or status"


def _programs(items: list[dict[str, Any]]) -> Iterator[str]:
    programs = {item.get("call_id") for item in items if kind_of(item) == "program"}
    for i, item in enumerate(items):
        caller = item.get("caller")
        if isinstance(caller, dict) and "caller_id" in caller and caller["caller_id"] not in programs:
            yield f"R20: input[{i}]: the program that made this call is not there"
