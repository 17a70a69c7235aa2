"""How Gemini writes a content: reading its keys in both spellings, and pairing responses with calls.

Everything here is lenient: what is not of its JSON type is read as absent. The rules say what is wrong with it.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from ctxkit.core.items import Call, Result
from ctxkit.core.pairing import OpenCalls
from ctxkit.core.provider import Entry
from ctxkit.core.state import OpenCall

__all__ = [
    "MEDIA",
    "as_object",
    "call_of",
    "calls_of",
    "data_of",
    "field",
    "hosted_gaps",
    "insert_responses",
    "is_model",
    "key_of",
    "parts_of",
    "result_of",
    "results_of",
    "role_of",
    "signature_of",
    "spelled",
    "waiting_of",
]

MEDIA = ("inlineData", "fileData")
_DATA = (
    "text",
    *MEDIA,
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
)
"""What a part may hold, exactly one of them."""
_HOSTED = {"toolResponse": "toolCall", "codeExecutionResult": "executableCode"}
_ROLES = {"user": "user", "function": "user", "model": "model"}
_SNAKE = {
    name: re.sub(r"([A-Z])", lambda capital: "_" + capital[1].lower(), name)
    for name in (*_DATA, "thoughtSignature")
}
_DATA_KEYS = {spelling: name for name in _DATA for spelling in (name, _SNAKE[name])}
_SPELLED_SNAKE = frozenset(snake for name, snake in _SNAKE.items() if snake != name)


def field(holder: Any, name: str) -> Any:
    """The value of the camelCase `name` in either spelling, None where there is none."""
    if not isinstance(holder, dict):
        return None
    value = holder.get(name)
    return holder.get(_SNAKE.get(name, name)) if value is None else value


def key_of(holder: dict[str, Any], name: str) -> str | None:
    """The spelling in which `holder` has the camelCase `name`; None where it has neither, or only null."""
    spellings = (name, _SNAKE.get(name, name))
    return next((spelling for spelling in spellings if holder.get(spelling) is not None), None)


def data_of(part: Any) -> list[str]:
    """The camelCase names of what a part holds; one, if the part is as it should be."""
    if not isinstance(part, dict):
        return []
    return [_DATA_KEYS[key] for key in part if key in _DATA_KEYS and part[key] is not None]


def spelled(entry: Entry, name: str) -> str:
    """The camelCase `name` as `entry` spells its keys."""
    snake = any(isinstance(part, dict) and not _SPELLED_SNAKE.isdisjoint(part) for part in parts_of(entry))
    return _SNAKE[name] if snake else name


def role_of(entry: Any) -> str | None:
    """ "user" or "model"; "user" where no role is given, None where it is an unknown one."""
    role = entry.get("role") if isinstance(entry, dict) else None
    if role is None:
        return "user"
    return _ROLES.get(role) if isinstance(role, str) else None


def is_model(entry: Any) -> bool:
    """Whether the model made this content."""
    return role_of(entry) == "model"


def parts_of(entry: Any) -> list[Any]:
    """The parts of a content."""
    parts = entry.get("parts") if isinstance(entry, dict) else None
    return parts if isinstance(parts, list) else []


def call_of(part: Any) -> Call | None:
    """The call that a part makes."""
    call = field(part, "functionCall")
    return Call(_word(call, "id"), _word(call, "name") or "") if isinstance(call, dict) else None


def result_of(part: Any) -> Result | None:
    """The result that a part holds."""
    response = field(part, "functionResponse")
    return (
        Result(_word(response, "id"), _word(response, "name") or "") if isinstance(response, dict) else None
    )


def calls_of(entry: Any) -> list[Call]:
    """The calls that a content makes, in order."""
    return [call for part in parts_of(entry) if (call := call_of(part)) is not None]


def results_of(entry: Any) -> list[Result]:
    """The results that a content holds, in order."""
    return [result for part in parts_of(entry) if (result := result_of(part)) is not None]


def signature_of(part: Any) -> str | bytes:
    """The thought signature of a part, "" where it has none. Bytes are what the SDK has in memory."""
    signature = field(part, "thoughtSignature")
    return signature if isinstance(signature, str | bytes) else ""


def as_object(value: Any) -> dict[str, Any]:
    """A tool's output as the JSON object that Gemini wants: a dict, or the text of one, as it is; anything else
    under the key "output"."""
    if isinstance(value, dict):
        return value
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        try:
            read = json.loads(value, parse_constant=_no_json)
        except (ValueError, RecursionError):
            return {"output": value}
        if isinstance(read, dict):
            return read
    return {"output": value}


def hosted_gaps(parts: Sequence[Any]) -> tuple[list[int], list[int]]:
    """Positions of hosted calls (`toolCall`, `executableCode`) without their result, and of results without
    their call before them, in the parts of one step."""
    waiting, places, orphans = waiting_of(()), [], []
    for at, part in enumerate(parts):
        for name in data_of(part):
            held = field(part, name)
            id = _word(held, "id") if isinstance(held, dict) else None
            if name in _HOSTED.values():
                waiting.add(OpenCall(Call(id, name), unit=0, turn=0))
                places.append(at)
            elif name in _HOSTED and waiting.take(Result(id, _HOSTED[name])) is None:
                orphans.append(at)
    return [places[key] for key, _ in waiting.left()], orphans


def waiting_of(calls: Iterable[Call]) -> OpenCalls:
    """The calls of one step as they wait for their responses; the key of each is its position among them."""
    return OpenCalls(OpenCall(call, unit=0, turn=0) for call in calls)


def insert_responses(
    parts: Sequence[Any], positions: Sequence[int | None], more: Iterable[tuple[int, Any]]
) -> list[Any]:
    """The parts of a response content with `more` responses among them, each before those to later calls.

    Args:
        parts: of the content.
        positions: for each of its responses, in order, the position of its call; None if it has none.
        more: responses to insert, as parts, each with the position of its call.
    """
    waiting = deque(sorted(more, key=lambda pair: pair[0]))
    responses = [at for at, part in enumerate(parts) if result_of(part) is not None]
    end = responses[-1] if responses else -1
    call_at = dict(zip(responses, positions, strict=True))
    merged: list[Any] = [] if responses else [part for _, part in waiting]
    for at, part in enumerate(parts):
        position = call_at.get(at)
        while position is not None and waiting and waiting[0][0] < position:
            merged.append(waiting.popleft()[1])
        merged.append(part)
        if at == end:
            merged.extend(late for _, late in waiting)
    return merged


def _no_json(constant: str) -> NoReturn:
    raise ValueError(constant)


def _word(holder: dict[str, Any], key: str) -> str | None:
    """A non-empty string; proto JSON makes no difference between an empty and an absent one."""
    word = holder.get(key)
    return word if isinstance(word, str) and word else None
