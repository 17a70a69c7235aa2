"""Explain: where each entry of a conversation is now, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ctxkit.archive import Archive, Kept
from ctxkit.core.items import NOBODY, Item, Role, Writer
from ctxkit.core.state import State
from ctxkit.core.view import View

__all__ = ["Explanation", "explain", "fates", "fates_of"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The fate of one entry.

    Attributes:
        position: where it stands in the input, counted from 0.
        fate: "present", "pinned", "moved" (a late result, to its call), "shortened", "stripped" (of reasoning),
            "summarised" or "dropped".
        why: the reason on record.
        by: the kind of the strategy that decided, "" for none.
        handle: the name under which the original can be read, "" for what is present as it arrived.
        writer: who wrote it, where and when, as far as somebody said.
    """

    position: int
    fate: str
    why: str = ""
    by: str = ""
    handle: str = ""
    writer: Writer = NOBODY

    def __str__(self) -> str:
        """As in "messages[3] dropped by drop-oldest: the oldest, until the target is met (ctx:480647)"."""
        by = f" by {self.by}" if self.by else ""
        why = f": {self.why}" if self.why else ""
        handle = f" ({self.handle})" if self.handle else ""
        return f"messages[{self.position}] {self.fate}{by}{why}{handle}"


def explain(view: View, archive: Archive) -> list[Explanation]:
    """One explanation for each entry that ever arrived, in order."""
    last = fates(archive)
    there = {item.id: item for item in view.state.items}
    merged = {id for item in view.state.items if item.id >= 0 for span in item.stands_for for id in span}
    arrived = archive.items(range(view.state.next_id))
    told = (_explained(item, there.get(item.id), last.get(item.id), view, merged) for item in arrived)
    return [replace(each, writer=item.writer) for item, each in zip(arrived, told, strict=True)]


def fates(archive: Archive) -> dict[int, tuple[str, Kept]]:
    """What was done last to each entry that a compaction touched, and the handle of its original."""
    last: dict[int, tuple[str, Kept]] = {}
    for handle, kept in archive.kept.items():
        if kept.fate:
            last.update({id: (handle, kept) for span in kept.ids for id in span})
    return last


def fates_of(archive: Archive, ids: Iterable[int]) -> dict[int, tuple[str, Kept]]:
    """What `fates` says of a few entries; looks at the newest compactions first and ends with the last of these found."""
    wanted, last = set(ids), dict[int, tuple[str, Kept]]()
    for handle, kept in reversed(archive.kept.items()):
        found = {id for id in wanted if any(id in span for span in kept.ids)} if kept.fate else set()
        last.update(dict.fromkeys(found, (handle, kept)))
        wanted -= found
        if not wanted:
            break
    return last


def _explained(
    item: Item, now: Item | None, last: tuple[str, Kept] | None, view: View, merged: set[int]
) -> Explanation:
    gone = now is None and item.id not in merged
    changed = now is not None and bool(now.edited) and now.raw is not item.raw
    if last is not None and (gone or changed):
        handle, kept = last
        return Explanation(item.id, kept.fate, kept.why, kept.by, handle)
    if changed or item.id in merged:
        return Explanation(item.id, "moved", "a result that came late stands with its call, or as a note")
    if item.unit in view.fixed:
        return Explanation(item.id, "pinned", *_held(item, view.state))
    return Explanation(item.id, "present", "as it arrived")


def _held(item: Item, state: State) -> tuple[str, str]:
    """Why nothing may change an entry, and who said so, "" for the rules of every conversation."""
    for pin in state.pins:
        if pin.unit == item.unit and (pin.until is None or state.turn <= pin.until):
            until = "until it is unpinned" if pin.until is None else f"until turn {pin.until}"
            return pin.why or until, pin.by
    if item.region == "system":
        return "system text", ""
    if item.shape.keep:
        return "a change of settings for all that follows", ""
    if any(call.unit == item.unit for call in state.open):
        return "its call waits for a result", ""
    if item.shape.role is Role.COMPACTION:
        return "the provider's own newest summary", ""
    return "the newest of what the user said", ""
