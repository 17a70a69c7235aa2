"""One payload, or more, for each rule that the oracle knows: `BAD` breaks it, `LOST` loses it in compression."""

from __future__ import annotations

from typing import Any

Entry = dict[str, Any]
CHAT, RESPONSES, ANTHROPIC, GEMINI = "openai-chat", "openai-responses", "anthropic", "gemini"

# Chat


def _user(words: Any = "hi") -> Entry:
    return {"role": "user", "content": words}


def _caller(*ids: str) -> Entry:
    calls = [{"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}} for name in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _tool(name: str, words: Any = "done") -> Entry:
    return {"role": "tool", "tool_call_id": name, "content": words}


def _said(words: Any = "hello") -> Entry:
    return {"role": "assistant", "content": words}


def _with_call(**changes: Any) -> list[Entry]:
    caller = _caller("a")
    caller["tool_calls"][0]["function"] |= changes
    return [_user(), caller, _tool("a")]


_IMAGE = {"type": "image_url", "image_url": {"url": "https://img.example/a.png"}}

_CHAT: list[tuple[str, list[Any]]] = [
    ("C1", [_user(), _caller("a", "b"), _tool("a"), _said()]),
    ("C1", [_user(), _caller("a"), _user()]),
    ("C2", [_tool("a"), _user()]),
    ("C2", [_user(), _caller("a"), _tool("a"), _tool("b")]),
    ("C3", [_user(), _caller("a"), _user("wait"), _tool("a")]),
    ("C3", [_user(), _caller("a", "b"), _tool("a"), {"role": "system", "content": "x"}, _tool("b")]),
    ("C4", [_user(), _caller("a"), _tool("a"), _tool("a")]),
    ("C4", [_user(), _caller("a", "a"), _tool("a")]),
    ("C6", [_user(), _caller("a")]),
    ("C6", [_user(), _caller("a", "b"), _tool("b")]),
    ("C7", [_user(), {"role": "assistant", "content": "x", "tool_calls": []}]),
    ("C8", [_user(), {"role": "assistant", "content": None}]),
    ("C8", [_user(), _caller("a"), _tool("a", None)]),
    ("C9", []),
    ("C9", [_user([])]),
    ("C11", [_user(), _caller("a"), _tool("a", [_IMAGE])]),
    ("C11", [_user(), _said([_IMAGE])]),
    ("C12", [{"role": "user", "content": "x", "name": "conversation summary"}]),
    ("C13", [_user(), {"role": "function", "content": "x"}]),
    ("C14", _with_call(name="")),
    ("C14", _with_call(arguments={})),
    ("shape", [{"role": "narrator", "content": "x"}]),
]

# Responses


def _fc(name: str, **more: Any) -> Entry:
    return {"type": "function_call", "call_id": name, "name": "f", "arguments": "{}", **more}


def _out(name: str, output: Any = "done") -> Entry:
    return {"type": "function_call_output", "call_id": name, "output": output}


def _rs(name: str = "rs_1", **more: Any) -> Entry:
    return {"type": "reasoning", "id": name, "summary": [], "encrypted_content": "gAAA" + name, **more}


def _msg(name: str = "msg_1") -> Entry:
    content = [{"type": "output_text", "text": "hello", "annotations": []}]
    return {"type": "message", "role": "assistant", "id": name, "status": "completed", "content": content}


_SHOT_CALL = {
    "type": "computer_call",
    "id": "cu_1",
    "call_id": "c",
    "pending_safety_checks": [],
    "status": "completed",
}
_SHELL_CALL = {"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}}
_LOCAL_CALL = {"type": "local_shell_call", "id": "lsh_1", "call_id": "l", "action": {"type": "exec"}}
_PATCH_CALL = {"type": "apply_patch_call", "call_id": "p", "operation": {"type": "x"}, "status": "completed"}

_RESPONSES: list[tuple[str, list[Any]]] = [
    ("R1", [_out("a"), _user()]),
    ("R1", [_user(), _out("a"), _fc("a")]),
    ("R1", [_user(), {"type": "custom_tool_call", "call_id": "a", "name": "f", "input": ""}, _out("a")]),
    ("R2", [_user(), _fc("a"), _user()]),
    ("R2", [_user(), _fc("a"), _fc("b"), _out("b"), _said()]),
    ("R2-end", [_user(), _fc("a")]),
    ("R5", [_user(), _fc("a"), _out("a"), _out("a")]),
    ("R5", [_user(), _fc("a"), _out("a"), _user(), _fc("a"), _out("a")]),
    ("R6", [_user(), _msg(), _user(), _msg()]),
    ("R7", [_user(), _rs()]),
    ("R7", [_user(), _rs(), _user()]),
    ("R7", [_user(), _fc("a"), _rs(), _out("a")]),
    ("R7", [_user(), _rs("rs_1"), _rs("rs_2"), _user()]),
    ("R10", [_user(), _rs(), _said()]),
    ("R11", [_user(), {"type": "reasoning", "id": "rs_1"}, _msg()]),
    ("R14", [_user(), {**_msg(), "id": "item_1"}]),
    ("R15", [_user(), _said([{"type": "input_text", "text": "x"}])]),
    ("R15", [_user([{"type": "output_text", "text": "x"}])]),
    ("R16", [_user(), _SHOT_CALL, {"type": "computer_call_output", "call_id": "c", "output": "[omitted]"}]),
    ("R16", [_user(), _SHELL_CALL, {"type": "shell_call_output", "call_id": "s", "output": "[cleared]"}]),
    ("R16", [_user(), _LOCAL_CALL, {"type": "local_shell_call_output", "id": "l", "output": []}]),
    ("R16", [_user(), _PATCH_CALL, {"type": "apply_patch_call_output", "call_id": "p", "output": "x"}]),
    ("R16", [_user(), _fc("a"), _out("a", {"x": 1})]),
    ("R16", [_user(), _fc("a"), _out("a", [{"type": "output_text", "text": "x"}])]),
    ("R17", [{"type": "compaction_trigger"}, _user()]),
    ("R19", [_user(), {**_msg(), "metadata": {}}]),
    ("R20", [_user(), _fc("a", caller={"type": "program", "caller_id": "p"}), _out("a")]),
    ("shape", [{"type": "mystery"}]),
    ("shape", [_user(), {**_fc("a"), "arguments": {}}, _out("a")]),
]

# Anthropic


def _use(name: str = "a", **more: Any) -> Entry:
    return {"type": "tool_use", "id": name, "name": "f", "input": {}, **more}


def _result(name: str = "a", **more: Any) -> Entry:
    return {"type": "tool_result", "tool_use_id": name, "content": "done", **more}


def _text(words: str = "hello", **more: Any) -> Entry:
    return {"type": "text", "text": words, **more}


def _thought(words: str = "hm", signature: str = "sig1") -> Entry:
    return {"type": "thinking", "thinking": words, "signature": signature}


_SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
_FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "web_search_result", "encrypted_content": "enc1"}],
}
_MARKED = _text(cache_control={"type": "ephemeral"})
_NOTE = {"role": "system", "content": "note"}

_ANTHROPIC: list[tuple[str, list[Any]]] = [
    ("A1", [_user(), _said([_use()]), _user(), _said()]),
    ("A1", [_user(), _said([_use("a"), _use("b")]), _user([_result("a")]), _said(), _user()]),
    ("A1", [_user(), _said([_use("a"), _use("b")]), _user([_result("a"), _text()])]),
    ("A1-end", [_user(), _said([_use()])]),
    ("A1-end", [_user(), _said([_use("a"), _use("b")]), _user([_result("b")])]),
    ("A2", [_user([_result()])]),
    ("A2", [_user(), _said([_use()]), _user(), _said(), _user([_result()])]),
    ("A3", [_user(), _said([_use()]), _user([_text(), _result()])]),
    ("A3", [_user(), _said([_use("a"), _use("b")]), _user([_result("a"), _text(), _result("b")])]),
    ("A3", [_user(), _said([_use()]), _user("wait"), _user([_result()])]),
    ("A5", [_user(), _said([_use()]), _user([_result(), _result()])]),
    ("A6", [_user(), _said([_use()]), _user([_result()]), _said([_use()]), _user([_result()])]),
    ("A7", [_user(), _said([_use("a b")]), _user([_result("a b")])]),
    ("A7", [_user(), _said([_use(input="{}")]), _user([_result()])]),
    ("A8", [_said(), _user()]),
    ("A8", [_said([_use()]), _user([_result()])]),
    ("A10", [_user(""), _said()]),
    ("A10", [_user(), _said([]), _user()]),
    ("A11", [_user([_text("")])]),
    ("A11", [_user([_text(" ")])]),
    ("A11", [_user(" \n")]),
    ("A11", [_user(), _said([_use()]), _user([_result(content=[_text("")])])]),
    ("A13", [_user(), _said("well \n")]),
    ("A15", [_user(), _said([{"type": "thinking", "thinking": "x"}, _text()])]),
    ("A15", [_user(), _said([{"type": "redacted_thinking"}, _text()])]),
    ("A16", [_user(), _said([_thought(), _text()]), _user(), _said([_use()]), _user([_result()])]),
    ("A19", [_user(), _said([_text(), _thought()])]),
    ("A20", [_user([_MARKED] * 5)]),
    ("A20", [_user(), _said([_thought() | {"cache_control": {"type": "ephemeral"}}, _text()])]),
    ("A21", [_user(), _said([_SEARCH, _text()]), _user()]),
    ("A21", [_user(), _said([_SEARCH, _use()]), _user([_result(), _text()]), _said([_FOUND])]),
    ("A22", [_user(), _said([_FOUND, _text()])]),
    ("A24", [_user(), _said(), _NOTE, _user()]),
    ("A24", [_user(), _NOTE, _user()]),
    ("A25", [_user([_use()])]),
    ("A25", [_user(), _said([_result()])]),
    ("A26", [{"role": "user", "content": "x", "name": "bob"}]),
    ("A27", [_said([{"type": "compaction", "content": ""}]), _user()]),
    ("shape", [{"role": "tool", "content": "x"}]),
]

# Gemini


def _ask(*parts: Entry) -> Entry:
    return {"role": "user", "parts": list(parts) or [{"text": "hi"}]}


def _model(*parts: Entry) -> Entry:
    return {"role": "model", "parts": list(parts)}


def _call(name: str = "f", *, sign: str = "", **more: Any) -> Entry:
    part: Entry = {"functionCall": {"name": name, "args": {}, **more}}
    return part | {"thoughtSignature": sign} if sign else part


def _resp(name: str = "f", response: Any = None, **more: Any) -> Entry:
    return {
        "functionResponse": {"name": name, "response": {"ok": True} if response is None else response, **more}
    }


_BLOB = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}

_GEMINI: list[tuple[str, list[Any]]] = [
    ("G1", [_model(_call()), _ask(_resp())]),
    ("G1", [_ask(_call())]),
    ("G2", [_ask(_resp())]),
    ("G2", [_ask(), _model({"text": "x"}), _ask(_resp())]),
    ("G3", [_ask(), _model(_call("f"), _call("g")), _ask(_resp("f")), _model({"text": "x"})]),
    ("G3", [_ask(), _model(_call()), _ask(), _model({"text": "x"})]),
    ("G3", [_ask(), _model(_call("f"), _call("g")), _ask(_resp("f")), _ask(_resp("g"))]),
    ("G4", [_ask(), _model(_call("f")), _ask(_resp("g"))]),
    ("G4", [_ask(), _model(_call(id="1")), _ask(_resp(id="2"))]),
    ("G5", [_ask(), _model(_call(sign="s1")), _ask(_resp()), _model(_call()), _ask(_resp())]),
    ("G6", [_ask(), _model(_call(thoughtSignature="s1")), _ask(_resp())]),
    ("G10", [_ask(), _model()]),
    ("G10", [_ask({"thoughtSignature": "s1"})]),
    ("G10", [_ask({"text": "x", **_BLOB})]),
    ("G11", [_ask(), _model(_call()), _ask(_resp(response="[cleared]"))]),
    ("G11", [_ask(), _model(_call()), _ask(_resp(response=["x"]))]),
    ("G13", [_ask(), _model(_call())]),
    ("G13", [_ask(), _model(_call("f"), _call("g")), _ask(_resp("g"))]),
    ("G14", [_ask(), _model({"executableCode": {"code": "1"}}, {"text": "x"})]),
    ("G14", [_ask(), _model({"toolCall": {"id": "1"}}, {"toolResponse": {"id": "2"}})]),
    ("G15", [_ask(), _model(_call()), _ask(_resp(), _BLOB)]),
    ("shape", [{"role": "assistant", "parts": [{"text": "x"}]}]),
]

BAD: list[tuple[str, str, list[Any]]] = [
    (rule, format, messages)
    for format, cases in ((CHAT, _CHAT), (RESPONSES, _RESPONSES), (ANTHROPIC, _ANTHROPIC), (GEMINI, _GEMINI))
    for rule, messages in cases
]

# What a compression may lose

_SYSTEM = {"role": "system", "content": "be kind"}
_LOOP = [_user(), _said([_thought(), _use("a")]), _user([_result("a")])]
_SPARSE = [*_LOOP, _said([_use("b")]), _user([_result("b")]), _said([_use("c")]), _user([_result("c")])]
_SIGNED = [_ask(), _model(_call(sign="s1")), _ask(_resp())]
_BOUND = [_user(), _rs(), _fc("a", id="fc_1"), _out("a"), _user("more")]
_COMPACTED = [{"type": "compaction", "encrypted_content": "e1"}, _user()]
_SUMMARY = [_said([{"type": "compaction", "content": "so far"}]), _user()]
_TOOLS = {"type": "additional_tools", "role": "developer", "tools": []}

LOST: list[tuple[str, str, list[Any], list[Any]]] = [
    ("system", CHAT, [_SYSTEM, _user()], [_user()]),
    ("system", CHAT, [_SYSTEM, _user()], [{"role": "system", "content": "be"}, _user()]),
    ("system", RESPONSES, [_SYSTEM, _user()], [_user(), _SYSTEM]),
    ("user", CHAT, [_user("a"), _said(), _user("b")], [_user("a"), _said()]),
    ("user", GEMINI, [_ask()], [_ask({"text": "h"})]),
    ("user", ANTHROPIC, [_user([_text("a"), _text("b")])], [_user([_text("a")])]),
    ("words", ANTHROPIC, [*_LOOP[:2], _user([_result("a"), _text("stop")])], _LOOP),
    ("words", GEMINI, [*_SIGNED[:2], _ask(_resp(), {"text": "stop"})], _SIGNED),
    ("order", CHAT, [_user("a"), _said("b"), _user("c")], [_said("b"), _user("a"), _user("c")]),
    ("order", RESPONSES, [_user(), _fc("a"), _out("a"), _fc("b"), _out("b")], [_user(), _fc("b"), _out("b"), _fc("a"), _out("a")]),
    ("open", CHAT, [_user(), _caller("a", "b"), _tool("a", "long")], [_user(), _caller("a", "b"), _tool("a", "l")]),
    ("open", CHAT, [_user(), _caller("a")], [_user()]),
    ("open", RESPONSES, [_user(), _fc("a")], [_user()]),
    ("open", ANTHROPIC, [_user(), _said([_use()])], [_user()]),
    ("open", GEMINI, [_ask(), _model(_call())], [_ask()]),
    ("extra", CHAT, [_user()], [{**_user(), "compressed": True}, _user()]),
    ("extra", RESPONSES, [_user()], [_msg(), _user()]),
    ("C12", CHAT, [_user()], [{"role": "user", "content": "so far", "name": "summary"}, _user()]),
    ("R7", RESPONSES, _BOUND, [_user(), _rs(), _fc("b", id="fc_1"), _out("b"), _user("more")]),
    ("R8", RESPONSES, _BOUND, [_user(), *_BOUND[2:]]),
    ("R12", RESPONSES, _BOUND, [_user(), _rs(encrypted_content="gAA…"), *_BOUND[2:]]),
    ("R17", RESPONSES, _COMPACTED, [_user()]),
    ("R21", RESPONSES, [_TOOLS, _user()], [_user()]),
    ("A4", ANTHROPIC, [_user(), _said([_use("a"), _use("b")]), _user([_result("a"), _result("b")])],
     [_user(), _said([_use("a"), _use("b")]), _user([_result("a")]), _user([_result("b")])]),
    ("A15", ANTHROPIC, _LOOP, [_user(), _said([_thought("h"), _use("a")]), _LOOP[2]]),
    ("A15", ANTHROPIC, _LOOP, [_user(), _said([_use("a"), _thought()]), _LOOP[2]]),
    ("A16", ANTHROPIC, _LOOP, [_user(), _said([_use("a")]), _LOOP[2]]),
    ("A16", ANTHROPIC, _SPARSE, [_user(), *_SPARSE[5:]]),
    ("A16", ANTHROPIC, _SPARSE, [*_SPARSE[:3], _user("[one step]"), *_SPARSE[5:]]),
    ("A16", ANTHROPIC, _SPARSE, [*_SPARSE[:2], _user([_result("a"), _text("[one step]")]), *_SPARSE[5:]]),
    ("A21", ANTHROPIC, [_user(), _said([_SEARCH, _FOUND])], [_user(), _said([_SEARCH, _FOUND | {"content": []}])]),
    ("A27", ANTHROPIC, _SUMMARY, [_user()]),
    ("G5", GEMINI, _SIGNED, [_ask(), _model(_call()), _ask(_resp())]),
    ("G7", GEMINI, _SIGNED, [_ask(), _model(_call(sign="s")), _ask(_resp())]),
    ("G7", GEMINI, _SIGNED, [_ask(), _model({"text": "", "thoughtSignature": "s1"}, _call()), _ask(_resp())]),
]  # fmt: skip
