"""Mending a Responses input: what breaks a wire rule and can be put right without inventing content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ctxkit.core.items import Role
from ctxkit.core.provider import Entry, Repair
from ctxkit.providers.common import text_of, text_of_json
from ctxkit.providers.openai_responses_items import (
    CALL_TYPES,
    OUTPUT_TYPES,
    PLACEHOLDER_ID,
    native_output,
    without_id,
)
from ctxkit.providers.openai_responses_rules import (
    Pairs,
    Seen,
    has_foreign_prefix,
    look,
    orphans_of_programs,
    paired,
    runs,
)

__all__ = ["mended"]

_LONGEST_ID = 64
"""Characters of a call id. Source: the maximum that OpenAI's API names when it refuses a longer one."""


def mended(entries: Sequence[Entry]) -> tuple[list[Entry], list[Repair]]:
    """See `Provider.repair`. What stays: open calls (R2), what is no item, screenshots and shell outputs of a
    wrong type (R16), a reference after reasoning in full (R9)."""
    bench = _Bench(list(enumerate(entries)))
    for step in (_fields, _copies, _pairs, _programs, _reasoning, _triggers):
        step(bench, look([entry for _, entry in bench.rows]))
    return [entry for _, entry in bench.rows], sorted(bench.repairs, key=lambda repair: repair.index)


@dataclass(slots=True)
class _Bench:
    """The entries under repair, each with its index in the payload as it came."""

    rows: list[tuple[int, Entry]]
    repairs: list[Repair] = field(default_factory=list)

    def note(self, rule: str, at: int, message: str) -> None:
        self.repairs.append(Repair(rule, self.rows[at][0], message))

    def write(self, at: int, entry: Entry) -> None:
        self.rows[at] = (self.rows[at][0], entry)

    def leave_out(self, gone: set[int]) -> None:
        self.rows = [row for at, row in enumerate(self.rows) if at not in gone]


def _fields(bench: _Bench, seen: Sequence[Seen]) -> None:
    for at, item in enumerate(seen):
        if item.shape is None:
            continue
        entry = item.entry
        if item.type == "reasoning" and not isinstance(entry.get("summary"), list):
            entry = {**entry, "summary": []}
            bench.note("R11", at, "empty summary added")
        bare = without_id(entry) if has_foreign_prefix(item) else None
        if bare is not None:
            entry = bare
            bench.note("R14", at, "id of another type removed")
        typed = _with_types(entry, item.type)
        if typed is not entry:
            bench.note("R16", at, "written in the JSON type that is wanted")
        roled = _with_roles(typed, item.type)
        if roled is not typed:
            bench.note("R15", at, "text parts named as the role has them")
        bench.write(at, roled)


def _with_types(entry: Entry, kind: str) -> Entry:
    match kind:
        case "function_call" if not isinstance(entry.get("arguments"), str):
            arguments = entry.get("arguments")
            return {**entry, "arguments": "{}" if arguments is None else text_of_json(arguments)}
        case "custom_tool_call" if not isinstance(entry.get("input"), str):
            return {**entry, "input": _text(entry.get("input"))}
        case "function_call_output" | "custom_tool_call_output" | "local_shell_call_output":
            output = entry.get("output")
            native = native_output(kind, None, "" if output is None else output)
            return entry if native is output else {**entry, "output": native}
        case "apply_patch_call_output" if not isinstance(entry.get("output"), str | None):
            return {**entry, "output": _text(entry["output"])}
    return entry


def _with_roles(entry: Entry, kind: str) -> Entry:
    content = entry.get("content")
    if kind != "message" or not isinstance(content, list):
        return entry
    blocks = [_named_for(block, entry.get("role") == "assistant") for block in content]
    changed = any(new is not old for new, old in zip(blocks, content, strict=True))
    return {**entry, "content": blocks} if changed else entry


def _named_for(block: dict[str, Any], from_model: bool) -> dict[str, Any]:
    match block:
        case {"type": "input_text" | "text"} if from_model:
            return {**block, "type": "output_text"}
        case {"type": "output_text" | "text"} if not from_model:
            return {
                **{key: block[key] for key in block if key not in ("annotations", "logprobs")},
                "type": "input_text",
            }
        case {"type": "refusal", "refusal": str() as refusal} if not from_model:
            return {"type": "input_text", "text": refusal}
    return block


def _copies(bench: _Bench, seen: Sequence[Seen]) -> None:
    """Of items with one id the first stays; a later one that says something else goes on without id where it
    can."""
    first: dict[str, int] = {}
    gone: set[int] = set()
    parted = False
    for at, item in enumerate(seen):
        id = item.entry.get("id") if isinstance(item.entry, dict) else None
        named = isinstance(id, str) and id != PLACEHOLDER_ID and item.type != "local_shell_call_output"
        copy = named and first.setdefault(str(id), at) != at
        if copy and item.shape is not None:
            bare = None if _equal(item.entry, seen[first[str(id)]].entry) else _unnamed(item)
            if bare is None:
                gone.add(at)
                bench.note("R6", at, "an item with an id that an earlier one has is left out")
                parted = parted or item.role is Role.REASONING
                continue
            bench.write(at, bare)
            bench.note("R6", at, "an id that an earlier item has is removed")
        elif parted and item.role is Role.MODEL:
            bench.write(at, without_id(item.entry) or item.entry)
        parted = parted and item.role is Role.REASONING
    bench.leave_out(gone)


def _unnamed(item: Seen) -> Entry | None:
    """The item without id; an approval request keeps it, since it is renamed with its answer."""
    return item.entry if item.type == "mcp_approval_request" else without_id(item.entry)


def _equal(one: Entry, other: Entry) -> bool:
    try:
        return one == other
    except RecursionError:
        return False


def _pairs(bench: _Bench, seen: Sequence[Seen]) -> None:
    pairs = paired(seen)
    late = _early_outputs(seen, pairs)
    for output in late:
        bench.note("R1", output, "the output moves behind its call")
    gone = {*pairs.orphans, *pairs.doubled} - late.keys()
    for output in gone:
        rule = "R5" if output in pairs.doubled else "R1"
        bench.note(rule, output, "an output without a call of its own is left out")
    outputs = {call: output for output, call in (pairs.answers | late).items()}
    _rename(bench, seen, pairs.repeated, outputs)
    moved = {call: bench.rows[output] for output, call in late.items()}
    kept = ((at, row) for at, row in enumerate(bench.rows) if at not in gone and at not in late)
    bench.rows = [piece for at, row in kept for piece in ((row, moved[at]) if at in moved else (row,))]


def _early_outputs(seen: Sequence[Seen], pairs: Pairs) -> dict[int, int]:
    """Outputs that stand before their call, with that call."""
    open_calls: dict[tuple[str, str], list[int]] = {}
    for at in reversed(pairs.open):
        for call in _calls(seen[at]):
            open_calls.setdefault((call[0], call[1]), []).append(at)
    found: dict[int, int] = {}
    for output in pairs.orphans:
        shape = seen[output].shape
        id = shape.results[0].id if shape else None
        calls = open_calls.get((OUTPUT_TYPES[seen[output].type], id or ""), [])
        if calls:
            found[output] = calls.pop()
    return found


def _calls(item: Seen) -> list[tuple[str, str]]:
    return [(call.kind, call.id or "") for call in item.shape.calls] if item.shape else []


def _rename(bench: _Bench, seen: Sequence[Seen], repeated: Sequence[int], outputs: dict[int, int]) -> None:
    taken = {id for item in seen for _, id in _calls(item)}
    used: dict[str, int] = {}
    for at in repeated:
        call_type = CALL_TYPES[seen[at].type]
        old = seen[at].entry[call_type.key]
        new = _fresh(old, taken, used)
        bench.write(at, {**bench.rows[at][1], call_type.key: new})
        bench.note("R5", at, f"call id {old[:_LONGEST_ID]!r}, which an earlier call has, becomes {new!r}")
        output = outputs.get(at)
        if output is not None:
            bench.write(output, {**bench.rows[output][1], call_type.output_key: new})


def _fresh(old: str, taken: set[str], used: dict[str, int]) -> str:
    """The first of `old_2`, `old_3`, ... that no call has."""
    number = used.get(old, 1)
    while True:
        number += 1
        suffix = f"_{number}"
        new = old[: _LONGEST_ID - len(suffix)] + suffix
        if new not in taken:
            used[old] = number
            taken.add(new)
            return new


def _programs(bench: _Bench, seen: Sequence[Seen]) -> None:
    orphans = set(orphans_of_programs(seen))
    answers = paired(seen).answers
    gone = orphans | {output for output, call in answers.items() if call in orphans}
    gone |= {call for output, call in answers.items() if output in orphans}
    for at in sorted(gone):
        bench.note("R20", at, "what a program did is left out, since the program is not there")
    bench.leave_out(gone)


def _reasoning(bench: _Bench, seen: Sequence[Seen]) -> None:
    gone: set[int] = set()
    for run in runs(seen):
        follower = seen[run.end].entry if run.end < len(seen) else {}
        if run.rule == "R10" and follower.get("id"):
            bench.write(run.end, {**follower, "status": "completed"})
            bench.note("R10", run.end, "status of a finished message added")
            continue
        bare = without_id(follower) if run.rule == "R9" else follower
        if not run.rule or bare is None:
            continue
        if run.end < len(seen):
            bench.write(run.end, bare)
        gone.update(range(run.start, run.end))
        for at in range(run.start, run.end):
            bench.note(run.rule, at, "reasoning without the item that it belongs to is left out")
    bench.leave_out(gone)


def _triggers(bench: _Bench, seen: Sequence[Seen]) -> None:
    gone = {at for at, item in enumerate(seen[:-1]) if item.type == "compaction_trigger"}
    for at in sorted(gone):
        bench.note("shape", at, "a compaction_trigger that is not the last item is left out")
    bench.leave_out(gone)


def _text(value: Any) -> str:
    return "" if value is None else text_of(value)
