"""Rules G1 to G15 of Gemini contents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

DATA = {
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
}


def camel(key: str) -> str:
    """A key of a part in camelCase."""
    return re.sub(r"_([a-z])", lambda letter: letter[1].upper(), key)


def parts_of(content: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of a content, their own keys in camelCase."""
    parts = content.get("parts")
    listed = parts if isinstance(parts, list) else []
    return [{camel(key): value for key, value in part.items()} for part in listed if isinstance(part, dict)]


def having(content: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The parts that have `key`."""
    return [part for part in parts_of(content) if part.get(key) is not None]


def is_model(content: dict[str, Any]) -> bool:
    """Whether the model made it."""
    return content.get("role") == "model"


def opens_turn(content: dict[str, Any]) -> bool:
    """A user content that is not only function responses."""
    if is_model(content):
        return False
    return any("functionResponse" not in part for part in parts_of(content))


def check(contents: list[dict[str, Any]], system: Any) -> list[str]:
    """Every violation of one list of contents."""
    found = (
        []
        if system is None or isinstance(system, (str, dict, list))
        else ["shape: system: of the wrong type"]
    )
    for i, content in enumerate(contents):
        found += [f"{rule}: contents[{i}]: {what}" for rule, what in _content(content)]
    found += _steps(contents)
    return found + list(_signatures(contents)) + list(_server_pairs(contents))


def _content(content: dict[str, Any]) -> Iterator[tuple[str, str]]:
    role = content.get("role")
    if role not in ("user", "model", "function", None):
        yield "shape", f"role {role!r}"
    if set(content) - {"role", "parts"}:
        yield "shape", f"unknown fields {sorted(set(content) - {'role', 'parts'})}"
    if not isinstance(content.get("parts"), list) or not content["parts"]:
        yield "G10", "no parts"
        return
    for part in content["parts"]:
        if not isinstance(part, dict):
            yield "G10", "a part that is no object"
    for part in parts_of(content):
        yield from _part(part, model=is_model(content))
    if having(content, "functionResponse") and (having(content, "inlineData") or having(content, "fileData")):
        yield "G15", "binary parts beside function responses"


def _part(part: dict[str, Any], *, model: bool) -> Iterator[tuple[str, str]]:
    data = [key for key in DATA if part.get(key) is not None]
    if len(data) != 1:
        yield "G10", f"a part with {len(data)} data fields"
        return
    if data == ["text"] and not isinstance(part["text"], str):
        yield "G10", "text is no string"
    if data == ["functionCall"]:
        call = part["functionCall"]
        if not model:
            yield "G1", "a functionCall that is not the model's"
        if not isinstance(call, dict) or not call.get("name"):
            yield "G4", "a functionCall without name"
        elif {"thoughtSignature", "thought_signature"} & set(call):
            yield "G6", "the signature is inside functionCall"
        elif not isinstance(call.get("args", {}), dict):
            yield "shape", "args is no object"
    if data == ["functionResponse"]:
        response = part["functionResponse"]
        if model:
            yield "G2", "a functionResponse from the model"
        if not isinstance(response, dict) or not isinstance(response.get("response"), dict):
            yield "G11", "response is no object"


def _steps(contents: list[dict[str, Any]]) -> Iterator[str]:
    waiting: list[dict[str, Any]] = []
    first_call = -1
    for i, content in enumerate(contents):
        calls = [part["functionCall"] for part in having(content, "functionCall")]
        responses = [part["functionResponse"] for part in having(content, "functionResponse")]
        if is_model(content):
            if calls and not waiting:
                first_call = i
            if calls and not any(not is_model(before) for before in contents[:i]):
                yield f"G1: contents[{i}]: no user turn before the call"
            waiting += calls
        elif responses and not waiting:
            yield f"G2: contents[{i}]: responses without calls right before"
        elif waiting:
            yield from _answer(waiting, responses, content, i, last=i == len(contents) - 1)
            waiting = []
    if waiting:
        yield f"G13: contents[{first_call}]: calls wait at the end"


def _answer(
    calls: list[Any], responses: list[Any], content: dict[str, Any], i: int, *, last: bool
) -> Iterator[str]:
    if len(responses) < len(calls) and last and not opens_turn(content) and _match(calls, responses):
        yield f"G13: contents[{i}]: some calls wait at the end"
    elif len(responses) != len(calls):
        yield f"G3: contents[{i}]: {len(responses)} responses to {len(calls)} calls"
    elif not _match(calls, responses):
        yield f"G4: contents[{i}]: names or ids of calls and responses differ"


def _match(calls: list[Any], responses: list[Any]) -> bool:
    def keys(entries: list[Any], *, ids: bool) -> Counter[tuple[Any, Any]]:
        return Counter((e.get("name"), e.get("id") if ids else None) for e in entries if isinstance(e, dict))

    ids = all(isinstance(e, dict) and e.get("id") for e in [*calls, *responses])
    return not keys(responses, ids=ids) - keys(calls, ids=ids)


def current_turn(contents: list[dict[str, Any]]) -> int:
    """Index of the last user content that is not only responses, -1 if there is none."""
    return max((i for i, content in enumerate(contents) if opens_turn(content)), default=-1)


def first_calls(contents: list[dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The first functionCall part of each step, with the index of its content."""
    in_step = False
    for i, content in enumerate(contents):
        if not is_model(content):
            in_step = False
            continue
        calls = having(content, "functionCall")
        if calls and not in_step:
            in_step = True
            yield i, calls[0]


def _signatures(contents: list[dict[str, Any]]) -> Iterator[str]:
    start = current_turn(contents)
    firsts = [(i, part) for i, part in first_calls(contents) if i > start]
    if not any(part.get("thoughtSignature") for _, part in firsts):
        return
    for i, part in firsts:
        if not part.get("thoughtSignature"):
            yield f"G5: contents[{i}]: the first call of a step of the current turn lacks its signature"


def _server_pairs(contents: list[dict[str, Any]]) -> Iterator[str]:
    for i, content in enumerate(contents):
        executed = len(having(content, "executableCode")) - len(having(content, "codeExecutionResult"))
        if executed:
            yield f"G14: contents[{i}]: executableCode and codeExecutionResult do not pair"
        calls = Counter(part["toolCall"].get("id") for part in having(content, "toolCall"))
        results = Counter(part["toolResponse"].get("id") for part in having(content, "toolResponse"))
        if calls != results:
            yield f"G14: contents[{i}]: toolCall and toolResponse do not pair"
