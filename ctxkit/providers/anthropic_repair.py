"""Mending a history that breaks the wire rules of Anthropic Messages, without inventing content."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from ctxkit.core.provider import Entry, Repair
from ctxkit.providers.anthropic_blocks import THINKING, blocks_of, joined, unreadable
from ctxkit.providers.anthropic_entry_repair import is_empty, tidied
from ctxkit.providers.anthropic_pairing import paired, renamed
from ctxkit.providers.anthropic_rules import (
    MOST_MARKS,
    marked_blocks,
    may_precede_system,
    server_strays,
    violations,
)
from ctxkit.providers.anthropic_slots import Note, Slot, with_blocks, without_blocks
from ctxkit.providers.common import kind_of

__all__ = ["repaired"]

_MOST_ROUNDS = 4
"""One mend can uncover another (neighbours join when what stood between them goes); two rounds are usual."""

_Step = Callable[[list[Slot], list[Note]], list[Slot]]


def repaired(entries: Sequence[Entry]) -> tuple[list[Entry], list[Repair]]:
    """A history without the violations that can be mended, and what was done, in the order of the entries.

    What stays: calls without a result (A1), with their ids (A6, A7), a first message from the assistant (A8), words among the results for
    which a server call waits (A23), blocks of a wrong role (A25), a loop that lost its thinking (A16), system text
    for which no place follows (A24), arguments that are no object (A7), and entries that cannot be read.
    """
    if not violations(entries):
        return list(entries), []
    slots = [Slot(origin, entry) for origin, entry in enumerate(entries)]
    notes: list[Note] = []
    steps: tuple[_Step, ...] = (_tidy, _systems, _server, paired, renamed, _tail, _marks)
    for _ in range(_MOST_ROUNDS):
        known = len(notes)
        for step in steps:
            slots = step(slots, notes)
        if len(notes) == known:
            break
    repairs = [Repair(note.rule, note.origin, note.message) for note in notes]
    return [slot.entry for slot in slots], sorted(repairs, key=lambda repair: repair.index)


def _tidy(slots: list[Slot], notes: list[Note]) -> list[Slot]:
    """A7 (arguments), A10, A11, A15, A20 (marks on thinking), A26: what is wrong inside one entry."""
    kept: list[Slot] = []
    for number, slot in enumerate(slots):
        entry, done = tidied(slot.entry)
        notes += [Note(rule, slot.origin, message) for rule, message in done]
        prefill = number == len(slots) - 1 and entry is slot.entry
        if is_empty(entry) and not (prefill and entry["role"] == "assistant"):
            notes.append(Note("A10", slot.origin, "removed the empty message"))
        else:
            kept.append(Slot(slot.origin, entry))
    return kept


def _server(slots: list[Slot], notes: list[Note]) -> list[Slot]:
    """A21, A22: a server call without its result can never be answered, and the reverse."""
    unanswered, orphans, _ = server_strays(joined([slot.entry for slot in slots]))
    for placed in unanswered:
        notes.append(Note("A21", slots[placed.entry].origin, f"removed {placed.kind} that has no result"))
    for placed in orphans:
        notes.append(Note("A22", slots[placed.entry].origin, f"removed {placed.kind} that has no call"))
    return without_blocks(slots, {(placed.entry, placed.index) for placed in (*unanswered, *orphans)})


def _systems(slots: list[Slot], notes: list[Note]) -> list[Slot]:
    """A24: system text moves on to the next place where it may stand, and joins what stands there."""
    others = [slot for slot in slots if not _is_system(slot)]
    if len(others) == len(slots):
        return slots
    place = _next_places(others)
    gaps: list[list[Slot]] = [[] for _ in range(len(others) + 1)]
    seen = 0
    for slot in slots:
        if not _is_system(slot):
            seen += 1
            continue
        target = place[seen] if place[seen] is not None else seen
        gaps[target].append(slot)
        if target != seen:
            notes.append(Note("A24", slot.origin, "moved the system text behind the next user message"))
    arranged: list[Slot] = []
    for number, gap in enumerate(gaps):
        arranged += _merged_systems(gap, notes) if place[number] == number else gap
        arranged += others[number : number + 1]
    return arranged


def _is_system(slot: Slot) -> bool:
    return not unreadable(slot.entry) and slot.entry["role"] == "system"


def _next_places(others: Sequence[Slot]) -> list[Any]:
    """For each gap the number of the first gap, itself included, in which system text may stand; None if none."""
    places: list[Any] = [None] * (len(others) + 1)
    found: int | None = None
    for gap in range(len(others), 0, -1):
        after = others[gap].entry if gap < len(others) else None
        followed = after is None or (not unreadable(after) and after["role"] == "assistant")
        if followed and may_precede_system(others[gap - 1].entry):
            found = gap
        places[gap] = found
    places[0] = found
    return places


def _merged_systems(systems: list[Slot], notes: list[Note]) -> list[Slot]:
    if len(systems) < 2 or any(set(slot.entry) != {"role", "content"} for slot in systems):
        return systems
    notes += [Note("A24", slot.origin, "joined it to the system text before it") for slot in systems[1:]]
    content = [block for slot in systems for _, block in blocks_of(slot.entry)]
    return [Slot(systems[0].origin, {"role": "system", "content": content})]


def _tail(slots: list[Slot], notes: list[Note]) -> list[Slot]:
    """A13, A19: what the last message ends in."""
    if not slots or unreadable(slots[-1].entry) or slots[-1].entry["role"] != "assistant":
        return slots
    slot, content = slots[-1], slots[-1].entry["content"]
    if isinstance(content, str):
        content, is_text = [{"type": "text", "text": content}] if content else [], True
    else:
        content, is_text = list(content), False
    before = len(notes)
    while content and kind_of(content[-1]) in THINKING:
        content.pop()
        notes.append(Note("A19", slot.origin, "removed the thinking in which the last message ended"))
    if content and kind_of(content[-1]) == "text" and (text := content[-1]["text"]) != text.rstrip():
        content[-1] = {**content[-1], "text": text.rstrip()}
        notes.append(Note("A13", slot.origin, "removed the white space in which the last message ended"))
    if len(notes) == before:
        return slots
    changed = content[0]["text"] if is_text else content
    return [*slots[:-1], *([Slot(slot.origin, {**slot.entry, "content": changed})] if changed else [])]


def _marks(slots: list[Slot], notes: list[Note]) -> list[Slot]:
    """A20: the newest marks stay, as they spare the most."""
    doomed: dict[tuple[int, int], set[int]] = defaultdict(set)
    for number, index, inner in list(marked_blocks([slot.entry for slot in slots]))[:-MOST_MARKS]:
        doomed[number, index].add(inner)
        notes.append(Note("A20", slots[number].origin, "removed a cache_control mark"))
    changed = {
        (number, index): _unmarked(slots[number].entry["content"][index], places)
        for (number, index), places in doomed.items()
    }
    return with_blocks(slots, changed)


def _unmarked(block: dict[str, Any], places: set[int]) -> dict[str, Any]:
    """The block without the marks at these places of its content, without its own if -1 is among them."""
    kept = _bare(block) if -1 in places else dict(block)
    if places - {-1}:
        inner = enumerate(block["content"])
        kept["content"] = [_bare(nested) if index in places else nested for index, nested in inner]
    return kept


def _bare(block: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key != "cache_control"}
