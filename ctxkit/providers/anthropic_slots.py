"""Entries on the way through a repair, each with its place in the payload before it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Note", "Slot", "with_blocks", "without_blocks"]


@dataclass(frozen=True, slots=True)
class Slot:
    """An entry, and the index that it (or what it was made from) had before the repair."""

    origin: int
    entry: Any


@dataclass(frozen=True, slots=True)
class Note:
    """What was done for which rule, about the entry that was at `origin`."""

    rule: str
    origin: int
    message: str


def with_blocks(slots: Sequence[Slot], changed: Mapping[tuple[int, int], Any]) -> list[Slot]:
    """The slots with other blocks at these (slot, block) places."""
    by_slot: dict[int, dict[int, Any]] = defaultdict(dict)
    for (number, index), block in changed.items():
        by_slot[number][index] = block
    arranged = list(slots)
    for number, blocks in by_slot.items():
        slot = slots[number]
        content = [blocks.get(index, block) for index, block in enumerate(slot.entry["content"])]
        arranged[number] = Slot(slot.origin, {**slot.entry, "content": content})
    return arranged


def without_blocks(slots: Sequence[Slot], doomed: set[tuple[int, int]]) -> list[Slot]:
    """The slots without the blocks at these (slot, block) places; a slot that loses its last block goes."""
    touched = {number for number, _ in doomed}
    kept: list[Slot] = []
    for number, slot in enumerate(slots):
        if number not in touched:
            kept.append(slot)
            continue
        blocks = slot.entry["content"]
        content = [block for index, block in enumerate(blocks) if (number, index) not in doomed]
        if content:
            kept.append(Slot(slot.origin, {**slot.entry, "content": content}))
    return kept
