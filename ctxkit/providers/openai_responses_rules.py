"""The wire rules of Responses: which of them an input breaks.

Checked are R1, R2, R5 to R7, R9 to R11, R14 to R16 and R20 of `docs/wire-rules.md`, and "shape" for what is
no item. Not to be seen in one input are R8 and R13 (what the server knows of an id), R12 (whether opaque text
was changed), R18 (what the server holds) and R19 (which fields it knows this month); R3, R4, R17 and R21
refuse nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ctxkit.core.items import Role, Shape
from ctxkit.core.provider import Violation
from ctxkit.errors import ProviderFormatError
from ctxkit.providers.common import path_text
from ctxkit.providers.openai_responses_items import (
    CALL_TYPES,
    ID_PREFIXES,
    OUTPUT_TYPES,
    PLACEHOLDER_ID,
    is_native,
    program_of,
    shape_of,
    type_of,
)

__all__ = ["Pairs", "Run", "Seen", "look", "orphans_of_programs", "paired", "problems", "runs"]

_SERVED_BY = {"assistant": ("input_",), "user": ("output_", "refusal")}
"""Beginnings of the part types that the other side has; system and developer messages are like the user's."""
_CHATS = ("text", "image_url", "file")
"""Part types of Chat, which Responses has other names for."""

_PREFIXES = frozenset(ID_PREFIXES.values())
_WITH_OUTPUT = OUTPUT_TYPES.keys() - {"tool_search_output", "mcp_approval_response"}


@dataclass(frozen=True, slots=True)
class Seen:
    """An entry, its type ("" if it has none) and its shape, or the error instead of one."""

    entry: Any
    type: str
    shape: Shape | None
    error: ProviderFormatError | None = None

    @property
    def role(self) -> Role | None:
        return self.shape.role if self.shape else None


@dataclass(slots=True)
class Pairs:
    """Which output answers which call; all numbers are indexes of entries.

    Attributes:
        answers: the call of each output that has one.
        open: calls without an output, but for those that may stay open.
        orphans: outputs without a call before them.
        doubled: outputs of a call that has one already.
        repeated: calls with the id of an earlier call.
    """

    answers: dict[int, int] = field(default_factory=dict)
    open: list[int] = field(default_factory=list)
    orphans: list[int] = field(default_factory=list)
    doubled: list[int] = field(default_factory=list)
    repeated: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Run:
    """Reasoning items in a row, from `start` up to `end`, where their follower stands if there is one.

    `rule` is the rule that they break, "" if none.
    """

    start: int
    end: int
    rule: str


def look(entries: Sequence[Any]) -> list[Seen]:
    """Each entry with its type and shape; never raises."""
    return [_seen(entry, index) for index, entry in enumerate(entries)]


def problems(entries: Sequence[Any]) -> list[Violation]:
    """Every rule that a request with this input would break, in the order of the entries."""
    if not isinstance(entries, list | tuple) or not entries:
        return [Violation("shape", -1, "input", "the input is a list of at least one item")]
    seen = look(entries)
    found = [
        *_shape_problems(seen),
        *_pair_problems(seen),
        *_id_problems(seen),
        *_reasoning_problems(seen),
        *(problem for index, item in enumerate(seen) for problem in _field_problems(item, index)),
        *_program_problems(seen),
    ]
    return sorted(found, key=lambda violation: violation.index)


def paired(seen: Sequence[Seen]) -> Pairs:
    """Calls and outputs joined: an output goes to the newest turn in which such a call waits.

    Behind a reference there may be a call: as many outputs without a call as there are such references before
    them are taken for theirs.
    """
    pairs, waiting = Pairs(), _Waiting()
    called: set[tuple[bool, str]] = set()
    answered: set[tuple[str, str]] = set()
    turn = referred = 0
    for index, item in enumerate(seen):
        if item.shape is None:
            continue
        turn += item.shape.role is Role.USER
        referred += _may_be_a_call(item)
        for call in item.shape.calls:
            name = (call.kind == "mcp_approval_request", call.id or "")
            if name in called:
                pairs.repeated.append(index)
            called.add(name)
            waiting.add((call.kind, call.id or ""), index, turn)
        for result in item.shape.results:
            key = (OUTPUT_TYPES[item.type], result.id or "")
            caller = waiting.take(key)
            if caller is not None:
                pairs.answers[index] = caller
                answered.add(key)
            elif key in answered:
                pairs.doubled.append(index)
            elif referred or result.id is None:
                referred -= result.id is not None
            else:
                pairs.orphans.append(index)
    pairs.open = sorted(index for index in waiting.left() if not _deferred(seen[index]))
    return pairs


def runs(seen: Sequence[Seen]) -> Iterator[Run]:
    """Every run of reasoning items."""
    start = -1
    for index in range(len(seen) + 1):
        reasons = index < len(seen) and seen[index].role is Role.REASONING
        if reasons and start < 0:
            start = index
        elif not reasons and start >= 0:
            yield Run(
                start, index, _rule_of_run(seen[start:index], seen[index] if index < len(seen) else None)
            )
            start = -1


def orphans_of_programs(seen: Sequence[Seen]) -> list[int]:
    """Calls, outputs and program outputs whose `program` does not stand before them."""
    programs: set[str] = set()
    orphans = []
    for index, item in enumerate(seen):
        if item.shape is None:
            continue
        if _may_be_a_call(item):
            break  # what is behind the reference may be the program
        id = item.entry.get("call_id")
        if item.type == "program" and isinstance(id, str):
            programs.add(id)
        owner = id if item.type == "program_output" else program_of(item.entry)
        if owner and not (isinstance(owner, str) and owner in programs):
            orphans.append(index)
    return orphans


class _Waiting:
    """Calls without output by key; within a key by turn, the newest last."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, str], list[tuple[int, deque[int]]]] = {}

    def add(self, key: tuple[str, str], index: int, turn: int) -> None:
        turns = self._calls.setdefault(key, [])
        if not turns or turns[-1][0] != turn:
            turns.append((turn, deque()))
        turns[-1][1].append(index)

    def take(self, key: tuple[str, str]) -> int | None:
        turns = self._calls.get(key)
        if not turns:
            return None
        index = turns[-1][1].popleft()
        if not turns[-1][1]:
            turns.pop()
        return index

    def left(self) -> Iterator[int]:
        for turns in self._calls.values():
            for _, indexes in turns:
                yield from indexes


def _seen(entry: Any, index: int) -> Seen:
    kind = type_of(entry) if isinstance(entry, dict) else ""
    try:
        return Seen(entry, kind, shape_of(entry, index))
    except ProviderFormatError as error:
        return Seen(entry, kind, None, error)


def _may_be_a_call(item: Seen) -> bool:
    return item.type == "item_reference" and not item.entry["id"].startswith(("rs_", "msg_"))


def _deferred(item: Seen) -> bool:
    return item.shape is not None and all(call.deferred for call in item.shape.calls)


def _rule_of_run(run: Sequence[Seen], follower: Seen | None) -> str:
    if follower is None:
        return "R7"
    if follower.shape is None:
        return ""
    if follower.role not in (Role.MODEL, Role.COMPACTION):
        return "R7"
    references = [item for item in run if item.type == "item_reference"]
    if follower.type == "item_reference":
        return "R9" if len(references) < len(run) else ""
    if references and follower.entry.get("id"):
        return "R9"
    rebuilt = follower.type == "message" and not (follower.entry.get("id") and follower.entry.get("status"))
    return "R10" if rebuilt and any(map(_stored_by_openai, run)) else ""


def _stored_by_openai(item: Seen) -> bool:
    """Whether reasoning has an id of OpenAI's; other servers (DeepSeek) do not tie it to the message after
    it."""
    id = item.entry.get("id")
    return item.type == "reasoning" and isinstance(id, str) and id.startswith(ID_PREFIXES["reasoning"])


def _shape_problems(seen: Sequence[Seen]) -> Iterator[Violation]:
    for index, item in enumerate(seen):
        if item.error is not None:
            message = str(item.error).rpartition(f"{item.error.path}: ")[2]
            yield Violation(item.error.rule or "shape", index, item.error.path, message)
        if item.type == "compaction_trigger" and index < len(seen) - 1:
            yield Violation(
                "shape", index, path_text("input", index), "a compaction_trigger is the last item"
            )


def _pair_problems(seen: Sequence[Seen]) -> Iterator[Violation]:
    pairs = paired(seen)
    repeated = frozenset(pairs.repeated)
    for index in pairs.open:
        yield _at(seen, index, "R2", "no output found for this call")
    for index in pairs.orphans:
        yield _at(
            seen, index, "R1", f"no {OUTPUT_TYPES[seen[index].type]} with this id stands before the output"
        )
    for index in pairs.doubled:
        yield _at(seen, index, "R5", "the call has an output already")
    for index in pairs.repeated:
        yield _at(seen, index, "R5", "an earlier call has this id")
    for output, call in pairs.answers.items():
        if call in repeated:
            yield _at(seen, output, "R5", "an earlier output has this id")


def _at(seen: Sequence[Seen], index: int, rule: str, message: str) -> Violation:
    kind = seen[index].type
    call_type = CALL_TYPES.get(kind)
    key = call_type.key if call_type else CALL_TYPES[OUTPUT_TYPES[kind]].output_key
    return Violation(rule, index, path_text("input", index, key), message)


def _id_problems(seen: Sequence[Seen]) -> Iterator[Violation]:
    first: dict[str, int] = {}
    for index, item in enumerate(seen):
        id = item.entry.get("id") if isinstance(item.entry, dict) else None
        if not isinstance(id, str) or id == PLACEHOLDER_ID or item.type == "local_shell_call_output":
            continue
        if first.setdefault(id, index) != index:
            yield Violation("R6", index, path_text("input", index, "id"), f"input[{first[id]}] has this id")


def _reasoning_problems(seen: Sequence[Seen]) -> Iterator[Violation]:
    messages = {
        "R7": "the reasoning is not followed by an item that the model made",
        "R9": "the reasoning and the item after it are not both by reference or both in full",
        "R10": "the message after this reasoning has no id or no status",
    }
    for run in runs(seen):
        if run.rule:
            for index in range(run.start, run.end):
                yield Violation(run.rule, index, path_text("input", index), messages[run.rule])


def _field_problems(item: Seen, index: int) -> Iterator[Violation]:
    if item.shape is None:
        return
    entry, kind = item.entry, item.type
    if kind == "reasoning" and not isinstance(entry.get("summary"), list):
        yield Violation("R11", index, path_text("input", index, "summary"), "reasoning has a summary, a list")
    if has_foreign_prefix(item):
        message = f"an id of a {kind} begins with {ID_PREFIXES[kind]!r}"
        yield Violation("R14", index, path_text("input", index, "id"), message)
    if kind == "message":
        yield from _content_problems(entry, index)
    yield from (
        Violation("R16", index, path_text("input", index, key), message)
        for key, message in _type_problems(entry, kind)
    )


def has_foreign_prefix(item: Seen) -> bool:
    """Whether the id of an item begins as those of another type do; ids from other servers begin in any
    way."""
    id = item.entry.get("id")
    if item.type not in ID_PREFIXES or not isinstance(id, str):
        return False
    prefix = id[: id.find("_") + 1]
    return prefix in _PREFIXES and prefix != ID_PREFIXES[item.type]


def _content_problems(entry: dict[str, Any], index: int) -> Iterator[Violation]:
    content = entry.get("content")
    role = "assistant" if entry.get("role") == "assistant" else "user"
    for number, block in enumerate(content if isinstance(content, list) else ()):
        kind = block.get("type")
        if isinstance(kind, str) and (kind.startswith(_SERVED_BY[role]) or kind in _CHATS):
            path = path_text("input", index, "content", number, "type")
            yield Violation("R15", index, path, f"a message of this role has no {kind!r} parts")


def _type_problems(entry: dict[str, Any], kind: str) -> Iterator[tuple[str, str]]:
    """Keys whose values have not the JSON type that they need."""
    match kind:
        case "function_call" if not isinstance(entry.get("arguments"), str):
            yield "arguments", "arguments are JSON text"
        case "custom_tool_call" if not isinstance(entry.get("input"), str):
            yield "input", "the input of a custom tool is a string"
        case "tool_search_output" if not isinstance(entry.get("tools"), list):
            yield "tools", "a tool search finds a list of tools"
        case "mcp_approval_response" if not isinstance(entry.get("approve"), bool):
            yield "approve", "an approval says true or false"
        case "apply_patch_call_output" if entry.get("status") not in ("completed", "failed"):
            yield "status", "an applied patch has completed or failed"
    if kind in _WITH_OUTPUT and not is_native(kind, entry.get("output")):
        yield "output", f"the output of a {OUTPUT_TYPES[kind]} has another JSON type"


def _program_problems(seen: Sequence[Seen]) -> Iterator[Violation]:
    for index in orphans_of_programs(seen):
        yield Violation(
            "R20", index, path_text("input", index), "the program that it belongs to is not before it"
        )
