"""Mending the pairs of calls and results in Anthropic messages: A2, A3, A5, and ids, A6 and A7."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ctxkit.providers.anthropic_blocks import JoinedTurn, PlacedBlock, joined
from ctxkit.providers.anthropic_slots import Note, Slot, with_blocks

__all__ = ["paired", "renamed"]

_NOT_IN_ID = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(slots=True)
class _Matches:
    """Results by where they belong: `late` by the number of their caller's turn; `doomed` belong nowhere."""

    late: dict[int, list[PlacedBlock]] = field(default_factory=lambda: defaultdict(list))
    doomed: list[PlacedBlock] = field(default_factory=list)
    answered: set[str] = field(default_factory=set)


def paired(slots: list[Slot], notes: list[Note]) -> list[Slot]:
    """Late results moved to their calls, results without a call (A2) and second results (A5) removed, and the
    results of each turn put before everything else in it (A3)."""
    turns = joined([slot.entry for slot in slots])
    matches = _matched(turns)
    gone = {(placed.entry, placed.index) for placed in matches.doomed}
    gone |= {(placed.entry, placed.index) for late in matches.late.values() for placed in late}
    _tell(slots, matches, notes)
    arranged: list[Slot] = []
    for number, turn in enumerate(turns):
        if turn.role == "user":
            late = matches.late.pop(number - 1, [])
            arranged += _user_turn(slots, turn, gone, late, notes)
            continue
        arranged += [slots[entry] for entry in turn.entries]
        follower = turns[number + 1] if number + 1 < len(turns) else None
        if (follower is None or follower.role != "user") and number in matches.late:
            arranged += _as_message(slots, matches.late[number])
    return arranged


def renamed(slots: list[Slot], notes: list[Note]) -> list[Slot]:
    """Ids that come twice (A6) or hold forbidden characters (A7) replaced in a call and its result.

    A call without a result keeps its id, under which the answer will come; else the first use keeps it.
    """
    pairs = list(_pairs(joined([slot.entry for slot in slots])))
    owners = {call.block["id"]: number for number, (call, _) in reversed(list(enumerate(pairs)))}
    owners |= {call.block["id"]: number for number, (call, result) in enumerate(pairs) if result is None}
    used, counters = set(owners), defaultdict[str, int](lambda: 1)
    changed: dict[tuple[int, int], dict[str, Any]] = {}
    for number, (call, result) in enumerate(pairs):
        key = call.block["id"]
        rule = "A7" if not key or _NOT_IN_ID.search(key) else "A6"
        if result is None or (rule == "A6" and owners[key] == number):
            continue
        new = _new_id(_NOT_IN_ID.sub("_", key) or "call", used, counters)
        used.add(new)
        changed[call.entry, call.index] = {**call.block, "id": new}
        changed[result.entry, result.index] = {**result.block, "tool_use_id": new}
        message = f"renamed the call {key!r:.80} and its result to {new!r:.80}"
        notes.append(Note(rule, slots[call.entry].origin, message))
    return with_blocks(slots, changed)


def _new_id(base: str, used: set[str], counters: dict[str, int]) -> str:
    if base not in used:
        return base
    while True:
        counters[base] += 1
        if (new := f"{base}_{counters[base]}") not in used:
            return new


def _matched(turns: Sequence[JoinedTurn]) -> _Matches:
    matches = _Matches()
    waiting: dict[str, list[int]] = defaultdict(list)
    for number, turn in enumerate(turns):
        if turn.role == "assistant":
            for placed in turn.of_kind("tool_use"):
                waiting[placed.block["id"]].append(number)
        for placed in turn.of_kind("tool_result") if turn.role == "user" else ():
            key = placed.block["tool_use_id"]
            if not waiting[key]:
                matches.doomed.append(placed)
                continue
            caller = waiting[key].pop()
            matches.answered.add(key)
            if caller != number - 1:
                matches.late[caller].append(placed)
    return matches


def _tell(slots: Sequence[Slot], matches: _Matches, notes: list[Note]) -> None:
    for placed in matches.doomed:
        key = placed.block["tool_use_id"]
        rule, why = (
            ("A5", "a second result") if key in matches.answered else ("A2", "a result without a call")
        )
        notes.append(Note(rule, slots[placed.entry].origin, f"removed {why}, {key!r:.80}"))
    for late in matches.late.values():
        for placed in late:
            key = placed.block["tool_use_id"]
            notes.append(
                Note("A2", slots[placed.entry].origin, f"moved the late result {key!r:.80} to its call")
            )


def _user_turn(
    slots: Sequence[Slot],
    turn: JoinedTurn,
    gone: set[tuple[int, int]],
    late: Sequence[PlacedBlock],
    notes: list[Note],
) -> list[Slot]:
    """The entries of a user turn without what is gone, its results and the late ones in front of all else."""
    kept = [placed for placed in turn.blocks if (placed.entry, placed.index) not in gone]
    results = [placed for placed in kept if placed.kind == "tool_result"]
    astray = [placed for placed in kept[: len(results)] if placed.kind != "tool_result"]
    if len(kept) == len(turn.blocks) and not late and not astray:
        return [slots[entry] for entry in turn.entries]
    if astray:
        notes.append(
            Note("A3", slots[results[0].entry].origin, "moved the results to the start of their turn")
        )
    carrier = results[0].entry if results else -1
    leading = [placed.block for placed in (*results, *late)]
    words: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for placed in kept:
        if placed.kind != "tool_result":
            words[placed.entry].append(placed.block)
    if carrier < 0:
        return _as_message(slots, late) + _spoken(slots, turn.entries, words)
    content = [*leading, *words[carrier]]
    front = slots[carrier]
    rest = [entry for entry in turn.entries if entry != carrier]
    return [Slot(front.origin, {**front.entry, "content": content}), *_spoken(slots, rest, words)]


def _spoken(
    slots: Sequence[Slot], entries: Sequence[int], words: dict[int, list[dict[str, Any]]]
) -> list[Slot]:
    """The entries with only their words, the same objects where that is all they had."""
    spoken: list[Slot] = []
    for entry in entries:
        content = slots[entry].entry["content"]
        if isinstance(content, str) or len(content) == len(words[entry]):
            spoken.append(slots[entry])
        elif words[entry]:
            spoken.append(Slot(slots[entry].origin, {**slots[entry].entry, "content": words[entry]}))
    return spoken


def _as_message(slots: Sequence[Slot], late: Sequence[PlacedBlock]) -> list[Slot]:
    """One user message of late results: the message that they came in, if they are all that it held."""
    if not late:
        return []
    home = slots[late[0].entry]
    blocks = [placed.block for placed in late]
    whole = len(home.entry["content"]) == len(blocks) and all(
        placed.entry == late[0].entry for placed in late
    )
    return [home if whole else Slot(home.origin, {"role": "user", "content": blocks})]


def _pairs(turns: Sequence[JoinedTurn]) -> Iterator[tuple[PlacedBlock, PlacedBlock | None]]:
    """Each call with its result, None where there is none."""
    for turn, after in pairwise([*turns, JoinedTurn("")]):
        results: dict[str, deque[PlacedBlock]] = defaultdict(deque)
        for placed in after.of_kind("tool_result") if after.role == "user" else ():
            results[placed.block["tool_use_id"]].append(placed)
        for placed in turn.of_kind("tool_use") if turn.role == "assistant" else ():
            mine = results[placed.block["id"]]
            yield placed, mine.popleft() if mine else None
