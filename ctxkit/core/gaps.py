"""Gaps: what is written where units were left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ctxkit.core.edits import Replace
from ctxkit.core.items import Item
from ctxkit.core.marks import handle_of
from ctxkit.core.state import Meter

__all__ = ["Gap", "Names", "Taken", "close_gaps", "ids_of", "inside", "is_of_turn"]

SUMMARY = "Summary, not an instruction"
"""The title of a summary. Behind it the handle names the fence too: it does not occur in what it holds."""

Taken = Callable[[str, tuple[range, ...]], bool]
"""Whether a handle is in use for other originals than these."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A unit that was left out, and the edit that put a summary in its place, if one did."""

    turn: int
    items: tuple[Item, ...]
    summary: Replace | None = None


def is_of_turn(item: Item) -> bool:
    """Whether an item keeps its turn alive: system text and the profile belong to none, a stand-in only marks."""
    return item.made != "gap" and not item.in_front


def ids_of(items: Iterable[Item]) -> tuple[range, ...]:
    """Ids of the originals that items are or stand for, as sorted ranges without overlap."""
    merged: list[range] = []
    first = last = -1
    for start, stop in sorted(_spans(items)):
        if start > last:
            if last > first:
                merged.append(range(first, last))
            first = start
        last = max(last, stop)
    return (*merged, range(first, last)) if last > first else tuple(merged)


def _spans(items: Iterable[Item]) -> Iterator[tuple[int, int]]:
    for item in items:
        if item.id >= 0:
            yield item.id, item.id + 1
        for span in item.stands_for:
            yield span.start, span.stop


class Names:
    """The handles under which the originals of items can be read; what is in the same items is read once."""

    def __init__(self, taken: Taken) -> None:
        self._taken = taken
        self._known: dict[tuple[int, ...], str] = {}

    def of(self, items: Sequence[Item], *, beside: str = "") -> str:
        """The same items always get the same handle, unless it occurs in the text `beside` it."""
        key = tuple(item.id for item in items)
        if key not in self._known:
            self._known[key] = self._made(items, "")
        handle = self._known[key]
        return self._made(items, beside) if handle in beside else handle

    def _made(self, items: Sequence[Item], beside: str) -> str:
        ids = ids_of(items)
        contents = [[[span.start, span.stop] for span in ids], *(item.raw for item in items)]
        return handle_of(contents, taken=lambda handle: handle in beside or self._taken(handle, ids))


def close_gaps(
    slots: Sequence[Item | Gap], next_synthetic: int, meter: Meter, names: Names
) -> tuple[list[Item], dict[str, tuple[range, ...]]]:
    """Items and gaps in wire order, with one entry for each run of gaps in a turn that stays; and the originals
    behind each handle that such an entry names.

    A summary stands at the first of its gaps; a stand-in that is there already is taken into the run beside it.
    """
    kept_turns = {slot.turn for slot in slots if isinstance(slot, Item) and is_of_turn(slot)}
    summarised: dict[int, list[Item]] = {}
    for slot in slots:
        if isinstance(slot, Gap) and slot.summary is not None:
            summarised.setdefault(id(slot.summary), []).extend(slot.items)
    written: list[Item] = []
    named: dict[str, tuple[range, ...]] = {}
    for run in _runs(slots):
        if isinstance(run, Item):
            if run.made != "gap" or run.turn in kept_turns:
                written.append(run)
            continue
        summary = next((gap.summary for gap in run if gap.summary and id(gap.summary) in summarised), None)
        if summary is None and run[0].turn not in kept_turns:
            continue
        items = [item for gap in run if summary is None or gap.summary is not summary for item in gap.items]
        if summary is not None:
            items += summarised.pop(id(summary))
        handle = names.of(items, beside=summary.text if summary is not None else "")
        written.append(_entry(next_synthetic - len(named), run[0].turn, handle, items, summary, meter))
        named[handle] = written[-1].stands_for
    return written, named


def _entry(
    id: int, turn: int, handle: str, items: Sequence[Item], summary: Replace | None, meter: Meter
) -> Item:
    """A stand-in or a summary as an item."""
    ids = ids_of(items)
    if summary is None:
        count = sum(map(len, ids))
        text = f"{count} earlier {'entry' if count == 1 else 'entries'} left out here: {handle}"
    else:
        text = f"{SUMMARY} <{handle}>\n{summary.text}\n</{handle}>"
    raw, shape, tokens = meter.note(text)
    by, made = ("", "gap") if summary is None else (summary.by, "summary")
    return Item(id, raw, shape, id, turn, tokens, "summary", by, made, ids)  # type: ignore[arg-type]


def inside(text: str) -> str:
    """What stands between the fences of a summary that was written as this text."""
    return text.partition("\n")[2].rpartition("\n")[0]


def _runs(slots: Sequence[Item | Gap]) -> Iterator[Item | list[Gap]]:
    """The slots; gaps of one turn that touch each other in one list, up to where another summary begins, with the
    stand-ins between them."""
    run: list[Gap] = []
    for slot in slots:
        if isinstance(slot, Item) and slot.made == "gap":
            slot = Gap(slot.turn, (slot,))
        if run and not (isinstance(slot, Gap) and _touch(run, slot)):
            yield from _closed(run)
            run = []
        if isinstance(slot, Item):
            yield slot
        else:
            run.append(slot)
    if run:
        yield from _closed(run)


def _touch(run: Sequence[Gap], gap: Gap) -> bool:
    summary = next((each.summary for each in run if each.summary is not None), None)
    return gap.turn == run[0].turn and (summary is None or gap.summary in (None, summary))


def _closed(run: list[Gap]) -> Iterator[Item | list[Gap]]:
    """A run of gaps; a stand-in that nothing was added to stays the item that it is."""
    if len(run) == 1 and run[0].summary is None and run[0].items[0].made == "gap":
        yield run[0].items[0]
    else:
        yield run
