"""Rules A1 to A27 of Anthropic messages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

Block = dict[str, Any]
Turn = tuple[str, int, list[Block]]
"""Role, index of its first message, and blocks of neighbouring messages joined."""

ID = re.compile(r"[a-zA-Z0-9_-]+")
THINKING = ("thinking", "redacted_thinking")
SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
SERVER_RESULTS = (
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "advisor_tool_result",
    "mcp_tool_result",
)
MODEL_BLOCKS = {"tool_use", "compaction", "fallback", *THINKING, *SERVER_CALLS, *SERVER_RESULTS}
USER_BLOCKS = {"tool_result", "image", "document", "search_result", "container_upload"}
RESULT_BLOCKS = {"text", "image", "document", "search_result", "tool_reference"}
SYSTEM_BLOCKS = {"text", "tool_addition", "tool_removal"}
MESSAGE_KEYS = {
    "user": {"role", "content"},
    "assistant": {"role", "content"},
    "system": {"role", "content", "clear_at", "output_config"},
}


def blocks_of(message: dict[str, Any]) -> list[Block]:
    """The blocks of a message; a string is one text block."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def of_type(blocks: list[Block], *kinds: str) -> list[Block]:
    """The blocks of these types."""
    return [block for block in blocks if block.get("type") in kinds]


def check(messages: list[dict[str, Any]], system: Any) -> list[str]:
    """Every violation of one payload."""
    found = [] if system is None or isinstance(system, (str, list)) else ["shape: system: of the wrong type"]
    for i, message in enumerate(messages):
        last = i == len(messages) - 1
        found += [f"{rule}: messages[{i}]: {what}" for rule, what in _message(message, last=last)]
    found += [f"{rule}: messages[{i}]: {what}" for i, rule, what in _places(messages)]
    turns = joined(messages)
    found += [f"{rule}: messages[{i}]: {what}" for rule, i, what in _client_pairs(turns)]
    found += [f"{rule}: messages[{i}]: {what}" for rule, i, what in _server_pairs(turns)]
    found += _open_loop(messages)
    ids = Counter(block.get("id") for _, _, blocks in turns for block in of_type(blocks, "tool_use"))
    found += [f"A6: messages: tool_use id {name!r} {count} times" for name, count in ids.items() if count > 1]
    return found + _marks(messages, system)


def joined(messages: list[dict[str, Any]]) -> list[Turn]:
    """Neighbouring messages of one role as one."""
    turns: list[Turn] = []
    for i, message in enumerate(messages):
        role = str(message.get("role"))
        if turns and turns[-1][0] == role and role != "system":
            turns[-1][2].extend(blocks_of(message))
        else:
            turns.append((role, i, list(blocks_of(message))))
    return turns


def _message(message: dict[str, Any], *, last: bool) -> Iterator[tuple[str, str]]:
    role, content = message.get("role"), message.get("content")
    if role not in MESSAGE_KEYS:
        yield "shape", f"role {role!r}"
        return
    if set(message) - MESSAGE_KEYS[role]:
        yield "A26", f"unknown fields {sorted(set(message) - MESSAGE_KEYS[role])}"
    if not isinstance(content, (str, list)):
        yield "shape", "content is neither string nor list"
        return
    if not content and not (last and role == "assistant"):
        yield "A10", "empty content"
    if isinstance(content, list) and not all(isinstance(block, dict) for block in content):
        yield "shape", "a block that is no object"
    blocks = blocks_of(message)
    if content:
        yield from _texts(blocks)
    for block in blocks:
        yield from _block(role, block)
    if last and role == "assistant" and blocks:
        yield from _final(blocks)


def _texts(blocks: list[Block]) -> Iterator[tuple[str, str]]:
    texts = [block.get("text") for block in of_type(blocks, "text")]
    if any(not isinstance(text, str) or text == "" for text in texts):
        yield "A11", "an empty text block"
    elif len(texts) == len(blocks) and not any(str(text).strip() for text in texts):
        yield "A11", "all text is blank"


def _block(role: str, block: Block) -> Iterator[tuple[str, str]]:
    kind = block.get("type")
    allowed = {"user": USER_BLOCKS | {"text"}, "assistant": MODEL_BLOCKS | {"text"}, "system": SYSTEM_BLOCKS}[
        role
    ]
    if kind not in allowed:
        yield "A25", f"{kind!r} block in a message from {role}"
    if kind == "tool_use":
        if not isinstance(block.get("id"), str) or not ID.fullmatch(block["id"]):
            yield "A7", f"id {block.get('id')!r}"
        if not isinstance(block.get("input"), dict):
            yield "A7", "input is no object"
    if kind == "thinking" and not (isinstance(block.get("thinking"), str) and block.get("signature")):
        yield "A15", "thinking without text or signature"
    if kind == "redacted_thinking" and not block.get("data"):
        yield "A15", "redacted_thinking without data"
    if kind == "compaction" and not (block.get("content") is None or _filled(block["content"])):
        yield "A27", "compaction content is neither null nor a text"
    if kind == "tool_result":
        yield from _result(block)


def _filled(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _result(block: Block) -> Iterator[tuple[str, str]]:
    content = block.get("content")
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list):
        yield "shape", "tool_result content is neither string nor list"
        return
    inner = [part for part in content if isinstance(part, dict)]
    if any(part.get("type") not in RESULT_BLOCKS for part in inner) or len(inner) != len(content):
        yield "A25", "a block in a tool_result that does not belong there"
    if any(part.get("text") == "" for part in of_type(inner, "text")):
        yield "A11", "an empty text block in a tool_result"


def _final(blocks: list[Block]) -> Iterator[tuple[str, str]]:
    last = blocks[-1]
    if last.get("type") in THINKING:
        yield "A19", "the last message ends in thinking"
    text = last.get("text")
    if last.get("type") == "text" and isinstance(text, str) and text != text.rstrip():
        yield "A13", "the final assistant text ends in white space"


def _places(messages: list[dict[str, Any]]) -> Iterator[tuple[int, str, str]]:
    roles = [message.get("role") for message in messages]
    if roles and roles[0] != "user":
        first = blocks_of(messages[0])
        if not (roles[0] == "assistant" and first and first[0].get("type") == "compaction"):
            yield 0, "A8", "the first message is not from the user"
    for i, role in enumerate(roles):
        if role != "system":
            continue
        before = messages[i - 1] if i else {}
        tail = blocks_of(before)[-1:] if before.get("role") == "assistant" else []
        after_server = bool(of_type(tail, *SERVER_CALLS, *SERVER_RESULTS))
        if before.get("role") != "user" and not after_server:
            yield i, "A24", "system text does not follow a user message"
        if i + 1 < len(roles) and roles[i + 1] != "assistant":
            yield i, "A24", "system text is followed by something else than an assistant message"


def _client_pairs(turns: list[Turn]) -> Iterator[tuple[str, int, str]]:
    talk = [turn for turn in turns if turn[0] != "system"]
    for n, (role, i, blocks) in enumerate(talk):
        before = talk[n - 1] if n else ("", 0, [])
        if role == "assistant":
            if of_type(blocks, "tool_use") and n == len(talk) - 1:
                yield "A1-end", i, "calls wait at the end"
            continue
        called = (
            [block.get("id") for block in of_type(before[2], "tool_use")] if before[0] == "assistant" else []
        )
        results = [block.get("tool_use_id") for block in of_type(blocks, "tool_result")]
        for name in results:
            if name not in called:
                yield "A2", i, f"result for {name!r} without call in the previous message"
        yield from _leading(blocks, i, called)
        yield from (("A5", i, f"{name!r} answered twice") for name, k in Counter(results).items() if k > 1)
        missing = [name for name in called if name not in results]
        if missing:
            held = n == len(talk) - 1 and len(results) == len(blocks)
            yield ("A1-end" if held else "A1"), before[1], f"calls {missing} have no results"


def _leading(blocks: list[Block], i: int, called: list[Any]) -> Iterator[tuple[str, int, str]]:
    kinds = [block.get("type") == "tool_result" for block in blocks]
    if called and any(later and not earlier for earlier, later in pairwise(kinds)):
        yield "A3", i, "tool results do not lead the message, or not in one run"


def _server_pairs(turns: list[Turn]) -> Iterator[tuple[str, int, str]]:
    waiting: dict[Any, int] = {}
    for n, (role, i, blocks) in enumerate(turns):
        if role == "user":
            if waiting and len(of_type(blocks, "tool_result")) != len(blocks):
                yield "A21", i, f"server calls {list(waiting)} wait, yet the user says more than results"
                waiting = {}
            continue
        carried = set(waiting)
        for block in blocks:
            if block.get("type") in SERVER_CALLS:
                waiting[block.get("id")] = i
            elif block.get("type") in SERVER_RESULTS:
                if block.get("tool_use_id") not in waiting:
                    yield "A22", i, f"server result for {block.get('tool_use_id')!r} without call before it"
                waiting.pop(block.get("tool_use_id"), None)
        if n == len(turns) - 1:
            continue
        for name in list(waiting):
            if name in carried or not of_type(blocks, "tool_use"):
                yield "A21", i, f"server call {name!r} has no result in its turn"
                del waiting[name]


def _open_loop(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Thinking is taken to be on when there is any in the payload."""
    if not any(of_type(blocks_of(message), *THINKING) for message in messages):
        return
    start = max((i for i, message in enumerate(messages) if _speaks(message)), default=-1)
    loop = [i for i, message in enumerate(messages) if i > start and message.get("role") == "assistant"]
    tail = blocks_of(messages[-1])
    waits = bool(of_type(tail, "tool_result", "tool_use"))
    if loop and waits and not of_type(blocks_of(messages[loop[0]])[:1], *THINKING):
        yield f"A16: messages[{loop[0]}]: the open tool loop does not start with thinking, though thinking is on"


def _speaks(message: dict[str, Any]) -> bool:
    return message.get("role") == "user" and not of_type(blocks_of(message), "tool_result")


def _marks(messages: list[dict[str, Any]], system: Any) -> list[str]:
    found = []
    count = _count_marks(system)
    for i, message in enumerate(messages):
        count += _count_marks(message.get("content"))
        for block in blocks_of(message):
            bare = block.get("type") in THINKING or (block.get("type") == "text" and block.get("text") == "")
            if bare and block.get("cache_control"):
                found.append(f"A20: messages[{i}]: a cache mark on thinking or empty text")
    return [f"A20: messages: {count} cache marks", *found] if count > 4 else found


def _count_marks(value: Any) -> int:
    if not isinstance(value, list):
        return 0
    blocks = [block for block in value if isinstance(block, dict)]
    return sum(bool(block.get("cache_control")) + _count_marks(block.get("content")) for block in blocks)
