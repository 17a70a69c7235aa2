"""OpenAI Chat Completions, and the servers that speak it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctxkit.core.items import Call, Part, Shape, Weight
from ctxkit.core.provider import Entry, Repair, Violation
from ctxkit.errors import PlanError, ProviderFormatError
from ctxkit.providers.common import dump_model, text_of
from ctxkit.providers.openai_chat_parts import (
    REASONING_KEYS,
    parts_of,
    weight_of,
    weight_of_content,
    with_content,
)
from ctxkit.providers.openai_chat_repair import mended
from ctxkit.providers.openai_chat_rules import problems
from ctxkit.providers.openai_chat_shape import FORMAT, call_ids, given_to, result_id, shape_of, shown

__all__ = ["OpenAIChat"]

_MAY_BE_NULL = ("content", "refusal")
"""Keys that a message of a response often has without a value, and that a request takes so."""


class OpenAIChat:
    """The `messages` of Chat Completions, `tool_calls` and the old `function_call` alike; see `Provider`.

    Reasoning that compatible servers put on assistant messages is kept with tool calls, where they ask for it
    back, and may be stripped elsewhere. Media inside a tool message go with its result when that is rewritten.
    """

    name = FORMAT
    field = "messages"
    joins_runs = False
    results_adjacent = True
    one_result_entry = False
    strips_open_turn = False
    unique_call_ids = False
    thinks_first = False
    certain = frozenset(["C4", "C7", "C8", "C9", "C14"])
    intrinsic = frozenset(["C7", "C8", "C9", "C14"])

    def dump(self, message: object) -> list[Entry]:
        """A message as it is; a ChatCompletionMessage as a dict of what was set; the first choice of a completion, the
        SDK's or its JSON.

        What the SDK's `parse` helper adds for its caller (`parsed`, `parsed_arguments`) is left out, and so are keys
        without a value but for those that a request may have so.
        """
        given = message if isinstance(message, dict) else dump_model(message) or {}
        match given:
            case {"role": _}:
                return [given if given is message else _sent_back(given)]
            case {"choices": [{"message": dict() as found}, *_]}:
                return [_sent_back(found)]
            case {"choices": _}:
                raise ProviderFormatError("the response holds no choice with a message", format=FORMAT)
        if given is message:
            return [given]
        raise ProviderFormatError(
            f"{type(message).__name__} is no message; pass a dict, a ChatCompletionMessage or a ChatCompletion",
            format=FORMAT,
        )

    def shape(self, entry: Entry, *, index: int = 0) -> Shape:
        """What grouping needs to know of `messages[index]`; raises ProviderFormatError."""
        return shape_of(entry, index)

    def parts(self, entry: Entry) -> tuple[Part, ...]:
        """The parts of a message: reasoning, content, refusal and audio, calls."""
        return parts_of(entry)

    def arguments(self, entry: Entry) -> list[str]:
        """See `Provider`."""
        return [text_of(given) for given in given_to(entry)]

    def with_part(self, entry: Entry, part: Part, content: Any) -> Entry:
        """A copy of `entry` with `content` for `part`. Arguments may also be given as text, of a JSON object
        unless the call is a custom one; empty texts are allowed. Raises PlanError."""
        return with_content(entry, part, content)

    def strip(self, entries: Sequence[Entry]) -> list[Entry | None]:
        """The messages without reasoning; one with calls, or with nothing beside it, keeps it.

        Source: DeepSeek and Moonshot refuse a message with `tool_calls` that lacks its `reasoning_content`.
        """
        return [_stripped(entry) for entry in entries]

    def author(self, entry: Entry) -> str:
        """The `name` of a user or an assistant; that of other messages names no person."""
        name = entry.get("name")
        return name if entry.get("role") in ("user", "assistant") and isinstance(name, str) else ""

    def stand_in(self, text: str) -> Entry:
        """A user message of `text` alone."""
        return {"role": "user", "content": text}

    def arranged(self, entries: Sequence[Entry], marks: Sequence[bool]) -> list[tuple[int, Entry]]:
        """As they are: a stand-in may stand anywhere between steps."""
        return list(enumerate(entries))

    def answer(self, entries: Sequence[Entry], call: Call, text: str) -> list[Entry]:
        """The unit with one message more, at the end of the run that follows the caller. Raises PlanError if no
        message makes this call."""
        if call.id is None:
            made = {"role": "function", "name": call.name, "content": text}
        else:
            made = {"role": "tool", "tool_call_id": call.id, "content": text}
        return _inserted(entries, made)

    def without_results(self, entry: Entry, calls: frozenset[str]) -> Entry | None:
        """None: a message has one result, and nothing beside it."""
        return None

    def place(self, entries: Sequence[Entry], late: Entry) -> list[Entry]:
        """The unit with `late` at the end of the run that follows its caller. Raises PlanError if there is none."""
        return _inserted([entry for entry in entries if entry is not late], late)

    def weigh(self, entry: Entry) -> Weight:
        """What to count of a message; see `weight_of` for the source of the envelopes."""
        return weight_of(entry)

    def weigh_system(self, system: Any) -> Weight:
        """What to count of system text (str, parts or a message) as the system message that it would be."""
        return weight_of_content(system)

    def violations(self, entries: Sequence[Entry], *, system: Any = None) -> list[Violation]:
        """The wire rules C1 to C14 that a request with this history would break; "shape" for what is no message.

        A call that waits at the end of the list is C6. Chat has no system text beside the list.
        """
        return problems(entries)

    def repair(self, entries: Sequence[Entry]) -> tuple[list[Entry], list[Repair]]:
        """A history without these violations, but for calls without a result (C1, C6), calls without a name (C14),
        what has no message's shape, and an empty list (C9)."""
        return mended(entries)


def _sent_back(message: Entry) -> Entry:
    kept = {
        key: value
        for key, value in message.items()
        if key != "parsed" and (value is not None or key in _MAY_BE_NULL)
    }
    if isinstance(calls := kept.get("tool_calls"), list):
        kept["tool_calls"] = [_call_sent_back(call) for call in calls]
    return kept


def _call_sent_back(call: Any) -> Any:
    match call:
        case {"function": {"parsed_arguments": _} as function}:
            left = {key: value for key, value in function.items() if key != "parsed_arguments"}
            return {**call, "function": left}
    return call


def _stripped(entry: Entry) -> Entry:
    if entry.get("role") != "assistant" or entry.get("tool_calls") or entry.get("function_call"):
        return entry
    if not any(key in entry for key in REASONING_KEYS):
        return entry
    if all(entry.get(key) is None for key in ("content", "refusal", "audio")):
        return entry
    return {key: value for key, value in entry.items() if key not in REASONING_KEYS}


def _inserted(entries: Sequence[Entry], result: Entry) -> list[Entry]:
    at = _caller(entries, result) + 1
    while at < len(entries) and entries[at].get("role") in ("tool", "function"):
        at += 1
    return [*entries[:at], result, *entries[at:]]


def _caller(entries: Sequence[Entry], result: Entry) -> int:
    """Index of the last message whose call `result` answers."""
    wanted = result_id(result)
    for index in range(len(entries) - 1, -1, -1):
        if wanted is None:
            match entries[index].get("function_call"):
                case {"name": name} if name == result.get("name"):
                    return index
        elif any(call_id == wanted for _, call_id in call_ids(entries[index])):
            return index
    named = shown(wanted) if wanted is not None else str(result.get("name"))
    raise PlanError(f"no message of this unit makes the call {named}; its result belongs to another unit")
