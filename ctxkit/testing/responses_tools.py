"""The kinds of calls and hosted tools of the Responses format, for generated conversations."""

from __future__ import annotations

from typing import Any, Protocol

from ctxkit.core.provider import Entry
from ctxkit.testing.script import Use
from ctxkit.testing.texts import png

__all__ = ["call_pair", "hosted"]

_SHOT = "data:image/png;base64," + png(1280, 720)


class _Ids(Protocol):
    def next_id(self, prefix: str) -> str: ...
    def next_call(self) -> str: ...
    def next_opaque(self, size: int = ...) -> str: ...
    def tool_name(self, tool: int) -> str: ...


def call_pair(ids: _Ids, use: Use, form: int) -> tuple[Entry, Entry]:
    """A call and its output; `form` picks the kind, a function call for most."""
    match form:
        case 8:
            return _custom(ids, use)
        case 9:
            return _shell(ids, use)
        case 10:
            return _local_shell(ids, use)
        case 11:
            return _patch(ids, use)
        case 12:
            return _computer(ids)
        case 13:
            return _approval(ids, use)
        case 14:
            return _tool_search(ids)
        case _:
            return _function(ids, use)


def hosted(ids: _Ids, form: int) -> Entry:
    """One item of a tool that ran at the provider, result inside."""
    match form % 6:
        case 0:
            action = {"type": "search", "query": "news of 2026-03-14"}
            return {
                "type": "web_search_call",
                "id": ids.next_id("ws"),
                "status": "completed",
                "action": action,
            }
        case 1:
            found = [{"file_id": "file-1", "filename": "a.txt", "score": 0.5, "text": "what was found"}]
            return {
                "type": "file_search_call",
                "id": ids.next_id("fs"),
                "status": "completed",
                "queries": ["a"],
                "results": found,
            }
        case 2:
            return {
                "type": "code_interpreter_call",
                "id": ids.next_id("ci"),
                "status": "completed",
                "container_id": "cntr_1",
                "code": "print(6 * 7)",
                "outputs": [{"type": "logs", "logs": "42\n"}],
            }
        case 3:
            return {
                "type": "image_generation_call",
                "id": ids.next_id("ig"),
                "status": "completed",
                "result": png(1024, 1024),
            }
        case 4:
            return {
                "type": "mcp_call",
                "id": ids.next_id("mcp"),
                "server_label": "wiki",
                "name": "ask",
                "arguments": "{}",
                "output": "The wiki says 42.",
            }
        case _:
            tools = [{"name": "ask", "input_schema": {"type": "object"}}]
            return {
                "type": "mcp_list_tools",
                "id": ids.next_id("mcpl"),
                "server_label": "wiki",
                "tools": tools,
            }


def _function(ids: _Ids, use: Use) -> tuple[Entry, Entry]:
    call_id = ids.next_call()
    call = {
        "type": "function_call",
        "id": ids.next_id("fc"),
        "call_id": call_id,
        "name": ids.tool_name(use.tool),
        "arguments": use.arguments,
        "status": "completed",
    }
    return call, {"type": "function_call_output", "call_id": call_id, "output": _output(use)}


def _output(use: Use) -> Any:
    text = {"type": "input_text", "text": use.result}
    match use.form:
        case 6:
            return ""
        case 7:
            return [text]
        case 8:
            return [text, {"type": "input_image", "image_url": _SHOT}]
        case 9:
            return [
                text,
                {
                    "type": "input_file",
                    "filename": "a.pdf",
                    "file_data": "data:application/pdf;base64,JVBERi0x",
                },
            ]
    return use.result


def _custom(ids: _Ids, use: Use) -> tuple[Entry, Entry]:
    call_id = ids.next_call()
    name = ids.tool_name(use.tool)
    call = {"type": "custom_tool_call", "id": ids.next_id("ctc"), "call_id": call_id, "name": name}
    call["input"] = use.arguments
    return call, {"type": "custom_tool_call_output", "call_id": call_id, "output": use.result}


def _shell(ids: _Ids, use: Use) -> tuple[Entry, Entry]:
    call_id = ids.next_call()
    action = {"commands": ["ls -l", "cat notes.md"], "timeout_ms": 1000}
    call = {"type": "shell_call", "id": ids.next_id("sh"), "call_id": call_id, "action": action}
    outcome = {"type": "exit", "exit_code": 0}
    output = [{"stdout": use.result, "stderr": "", "outcome": outcome}]
    return call | {"status": "completed"}, {"type": "shell_call_output", "call_id": call_id, "output": output}


def _local_shell(ids: _Ids, use: Use) -> tuple[Entry, Entry]:
    call_id = ids.next_call()
    action = {"type": "exec", "command": ["cat", "notes.md"], "env": {}}
    call = {"type": "local_shell_call", "id": ids.next_id("lsh"), "call_id": call_id, "action": action}
    return call | {"status": "completed"}, {
        "type": "local_shell_call_output",
        "id": call_id,
        "output": use.result,
    }


def _patch(ids: _Ids, use: Use) -> tuple[Entry, Entry]:
    call_id = ids.next_call()
    operation = {"type": "update_file", "path": "src/app.py", "diff": "@@\n-a\n+b\n"}
    call = {"type": "apply_patch_call", "id": ids.next_id("apc"), "call_id": call_id, "operation": operation}
    output = {"type": "apply_patch_call_output", "call_id": call_id, "status": "completed"}
    if use.form % 2:
        output |= {"status": "failed", "output": use.result}
    return call | {"status": "completed"}, output


def _computer(ids: _Ids) -> tuple[Entry, Entry]:
    call_id = ids.next_call()
    call = {
        "type": "computer_call",
        "id": ids.next_id("cu"),
        "call_id": call_id,
        "action": {"type": "screenshot"},
        "pending_safety_checks": [],
        "status": "completed",
    }
    shot = {"type": "computer_screenshot", "image_url": _SHOT}
    return call, {"type": "computer_call_output", "call_id": call_id, "output": shot}


def _approval(ids: _Ids, use: Use) -> tuple[Entry, Entry]:
    request_id = ids.next_id("mcpr")
    call = {"type": "mcp_approval_request", "id": request_id, "server_label": "wiki", "name": "ask"}
    call["arguments"] = use.arguments
    return call, {"type": "mcp_approval_response", "approval_request_id": request_id, "approve": True}


def _tool_search(ids: _Ids) -> tuple[Entry, Entry]:
    call_id = ids.next_call()
    call = {
        "type": "tool_search_call",
        "id": ids.next_id("tsc"),
        "call_id": call_id,
        "arguments": {"queries": ["weather"]},
        "execution": "client",
        "status": "completed",
    }
    tools = [{"type": "function", "name": "get_weather", "parameters": {"type": "object"}}]
    output = {"type": "tool_search_output", "call_id": call_id, "execution": "client", "tools": tools}
    return call, output | {"status": "completed"}
