"""Wire rules of Chat Completions, and what breaks them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ctxkit.core.provider import Entry, Violation
from ctxkit.errors import ProviderFormatError
from ctxkit.providers.common import path_text
from ctxkit.providers.openai_chat_parts import MEDIA_TYPES
from ctxkit.providers.openai_chat_shape import FORMAT, call_ids, result_id, shape_of, shown

__all__ = ["NOT_IN_NAMES", "Pairs", "callees", "is_bad_name", "may_lack_content", "paired", "problems"]

_CALLED = (("function", "arguments"), ("custom", "input"))
NOT_IN_NAMES = re.compile(r"[\s<|\\/>]")


def problems(entries: object) -> list[Violation]:
    """Every rule that `entries` break as the `messages` of a request, in their order."""
    if not isinstance(entries, Sequence) or isinstance(entries, str | bytes):
        return [Violation("shape", -1, "messages", "the messages are a list")]
    if not entries:
        return [Violation("C9", -1, "messages", "the list of messages is empty")]
    found = [problem for index, entry in enumerate(entries) for problem in _entry_problems(entry, index)]
    found.extend(_pairing_problems(entries, paired(entries)))
    return sorted(found, key=lambda problem: problem.index)


# Pairing: which tool message answers which call.


@dataclass(slots=True)
class Pairs:
    """Calls and their results, by index; a call is (index of its message, number in it)."""

    answers: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Result to call, for results in their run and for late ones."""
    late: list[int] = field(default_factory=list)
    doubled: dict[int, int] = field(default_factory=dict)
    """Result to the earlier result of the same run that has the same id."""
    orphans: list[int] = field(default_factory=list)
    run_end: dict[int, int] = field(default_factory=dict)
    """Caller to the first entry after the run of its tool messages."""
    open: list[tuple[int, int]] = field(default_factory=list)


def paired(entries: Sequence[object]) -> Pairs:
    """Pairs by position first: a result belongs to the step in whose run it stands, else to the newest call of
    its id that waits."""
    pairs = Pairs()
    waiting: dict[str, list[tuple[int, int]]] = {}
    caller = -1
    answered: dict[str, int] = {}
    for index, entry in enumerate(entries):
        wanted = result_id(entry)
        if wanted is not None:
            _pair(pairs, waiting.get(wanted), answered, index=index, wanted=wanted, caller=caller)
            continue
        pairs.run_end[caller] = index
        caller, answered = -1, {}
        for number, call_id in reversed(list(call_ids(entry))):
            waiting.setdefault(call_id, []).append((index, number))
            caller = index
    pairs.run_end[caller] = len(entries)
    pairs.open = sorted(call for calls in waiting.values() for call in calls)
    return pairs


def _pair(
    pairs: Pairs,
    waiting: list[tuple[int, int]] | None,
    answered: dict[str, int],
    *,
    index: int,
    wanted: str,
    caller: int,
) -> None:
    if waiting and waiting[-1][0] == caller:
        pairs.answers[index] = waiting.pop()
        answered[wanted] = index
    elif wanted in answered:
        pairs.doubled[index] = answered[wanted]
    elif waiting:
        pairs.answers[index] = waiting.pop()
        pairs.late.append(index)
    else:
        pairs.orphans.append(index)


# Violations.


def _pairing_problems(entries: Sequence[Any], pairs: Pairs) -> Iterator[Violation]:
    for caller, number in pairs.open:
        pending = pairs.run_end[caller] == len(entries)
        where = "at the end of the list" if pending else f"before messages[{pairs.run_end[caller]}]"
        yield _unanswered(entries, caller, number, rule="C6" if pending else "C1", where=where)
    strays: set[int] = set()
    for index in pairs.late:
        caller, number = pairs.answers[index]
        stray = pairs.run_end[caller]
        yield _unanswered(entries, caller, number, rule="C1", where=f"before messages[{stray}]")
        message = (
            f"the result comes late: its call is in messages[{caller}], messages[{stray}] stands between"
        )
        yield Violation("C2", index, path_text("messages", index), message)
        if stray not in strays:
            strays.add(stray)
            message = f"it stands between a call in messages[{caller}] and its result in messages[{index}]"
            yield Violation("C3", stray, path_text("messages", stray), message)
    for index, first in pairs.doubled.items():
        message = f"messages[{first}] has answered the call {shown(entries[index]['tool_call_id'])} already"
        yield Violation("C4", index, path_text("messages", index, "tool_call_id"), message)
    for index in pairs.orphans:
        message = f"no call {shown(entries[index]['tool_call_id'])} waits for a result here"
        yield Violation("C2", index, path_text("messages", index), message)


def _unanswered(entries: Sequence[Any], caller: int, number: int, *, rule: str, where: str) -> Violation:
    call_id = shown(entries[caller]["tool_calls"][number]["id"])
    path = path_text("messages", caller, "tool_calls", number)
    return Violation(rule, caller, path, f"the call {call_id} has no result {where}")


def _entry_problems(entry: object, index: int) -> Iterator[Violation]:
    try:
        shape_of(entry, index)
    except ProviderFormatError as error:
        message = str(error).removeprefix(f"{FORMAT}: {error.path}: ")
        yield Violation(error.rule or "shape", index, error.path, message)
        return
    assert isinstance(entry, dict)  # or `shape_of` would have raised
    if "name" in entry and is_bad_name(entry["name"]):
        message = r"a name is a string without blanks or < | \ / >"
        yield Violation("C12", index, path_text("messages", index, "name"), message)
    yield from _content_problems(entry, index)
    if entry["role"] == "assistant":
        yield from _call_problems(entry, index)


def _content_problems(entry: Entry, index: int) -> Iterator[Violation]:
    content = entry.get("content")
    if isinstance(content, str):
        return
    if content is None and not may_lack_content(entry):
        message = f"the content of this {entry['role']} message is null"
        yield Violation("C8", index, path_text("messages", index, "content"), message)
    elif content == []:
        message = "the list of content parts is empty"
        yield Violation("C9", index, path_text("messages", index, "content"), message)
    elif isinstance(content, list) and entry["role"] != "user":
        for number, block in enumerate(content):
            if block["type"] in MEDIA_TYPES:
                message = f"only user messages may hold a part of type {block['type']}"
                yield Violation("C11", index, path_text("messages", index, "content", number), message)


def _call_problems(entry: Entry, index: int) -> Iterator[Violation]:
    if entry.get("tool_calls") == []:
        message = "the list of tool calls is empty; leave the key out"
        yield Violation("C7", index, path_text("messages", index, "tool_calls"), message)
    for path, holder, key in callees(entry):
        if not holder.get("name"):
            yield Violation("C14", index, path_text("messages", index, *path, "name"), "the name is empty")
        if not isinstance(holder.get(key), str):
            yield Violation(
                "C14", index, path_text("messages", index, *path, key), f"the {key} are no string"
            )
    seen: set[str] = set()
    for number, call_id in call_ids(entry):
        if call_id in seen:
            path_to_id = path_text("messages", index, "tool_calls", number, "id")
            yield Violation(
                "C4", index, path_to_id, f"another call of this message has the id {shown(call_id)}"
            )
        seen.add(call_id)


def may_lack_content(entry: Entry) -> bool:
    if entry["role"] == "assistant":
        return any(entry.get(key) for key in ("tool_calls", "function_call", "refusal", "audio"))
    return bool(entry["role"] == "function")


def is_bad_name(name: object) -> bool:
    return name is not None and (not isinstance(name, str) or not name or bool(NOT_IN_NAMES.search(name)))


def callees(entry: Entry) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any], str]]:
    """Path, object and key of the arguments of each call; what is malformed is left out."""
    if isinstance(old := entry.get("function_call"), dict):
        yield ("function_call",), old, "arguments"
    calls = entry.get("tool_calls")
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        for kind, key in _CALLED:
            if isinstance(call, dict) and isinstance(call.get(kind), dict):
                yield ("tool_calls", number, kind), call[kind], key
