"""Comparing: what changed from one request to another, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ctxkit.archive import Kept
from ctxkit.core.provider import Entry
from ctxkit.sessions.sent import Origin, Sent

__all__ = ["Difference", "differences"]

Fates = Mapping[int, tuple[str, Kept]]
"""What was done last to each item, and the handle of its original; see `explain.fates`."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One entry that is not in both of two requests as it is, or one fact that is not in force in both.

    Attributes:
        what: "came" (new), "came back", "left", "shortened", "changed" (made longer, or otherwise other).
        id: of the item; its position in the input, below 0 for what ctxkit wrote.
        kind: of the later entry, of the earlier one where it left; "system" and "tools" for what stands beside, "fact"
            for a fact.
        tokens_before, tokens_after: its size.
        by, why: who decided, and the reason.
        handle: the name of the original, "" for none.
        into: id of the summary or stand-in of the later request that it is in now, None for none.
        says: what a fact says.
    """

    what: str
    id: int
    kind: str
    tokens_before: int = 0
    tokens_after: int = 0
    by: str = ""
    why: str = ""
    handle: str = ""
    into: int | None = None
    says: str = ""


def differences(earlier: Sent, later: Sent, fates: Fates) -> list[Difference]:
    """What left, then what was changed and what came, each in wire order."""
    before, after = _by_item(earlier), _by_item(later)
    left = [_left(origin, later, fates) for key, (_, origin) in before.items() if key not in after]
    found = list(_beside(earlier, later))
    for key, (entry, origin) in after.items():
        if key not in before:
            found.append(_came(origin, earlier))
        elif before[key][0] != entry:
            found.append(_changed(before[key][1], origin))
    return [*left, *found]


def _by_item(sent: Sent) -> dict[tuple[int, bool, int], tuple[Entry, Origin]]:
    """The entries of a request by item; several that stand in for results of one are told apart by their order."""
    found: dict[tuple[int, bool, int], tuple[Entry, Origin]] = {}
    for entry, origin in zip(sent.messages, sent.entries, strict=True):
        pending, number = origin.kind == "pending", 0
        while (origin.id, pending, number) in found:
            number += 1
        found[origin.id, pending, number] = entry, origin
    return found


def _left(origin: Origin, later: Sent, fates: Fates) -> Difference:
    told = Difference("left", origin.id, origin.kind, tokens_before=origin.tokens)
    if origin.kind == "pending":
        return replace(told, why="its call is answered, or not there any more")
    if origin.id < 0:
        return replace(told, why=_WRITTEN.get(origin.kind, "ctxkit wrote it anew"))
    into = next((each for each in later.entries if any(origin.id in span for span in each.stands_for)), None)
    if into is not None:
        why, by = into.why or "a late result stands in the step of its call", into.by
        return replace(told, by=by, why=why, handle=into.handle, into=into.id)
    if origin.id in fates:
        handle, kept = fates[origin.id]
        return replace(told, by=kept.by, why=kept.why, handle=handle)
    return replace(told, why="it was taken back")


_WRITTEN = {
    "note": "its facts stand in the profile now, or not any more",
    "profile": "the facts in force are others now",
    "ledger": "what tools told is other now",
    "summary": "a newer summary covers it, or what it stood for is back",
    "gap": "it is covered otherwise now",
}


def _came(origin: Origin, earlier: Sent) -> Difference:
    covered = any(origin.id in span for each in earlier.entries for span in each.stands_for)
    back = origin.id >= 0 and origin.kind != "pending" and (covered or origin.record < earlier.position)
    what = "came back" if back else "came"
    why = "it was erased since" if origin.erased else origin.why
    return Difference(what, origin.id, origin.kind, 0, origin.tokens, origin.by, why, origin.handle)


def _changed(before: Origin, after: Origin) -> Difference:
    shorter = after.tokens < before.tokens and after.kind == "edited"
    why = after.why or ("it is as it arrived again" if after.kind == "message" else "")
    if after.erased or before.erased:
        why = "it was erased since"
    return Difference(
        "shortened" if shorter else "changed",
        after.id,
        after.kind,
        before.tokens,
        after.tokens,
        after.by,
        why,
        after.handle or before.handle,
    )


def _beside(earlier: Sent, later: Sent) -> Iterator[Difference]:
    for part in ("system", "tools"):
        one, two = getattr(earlier, part), getattr(later, part)
        if one != two:
            what = "came" if one is None else "left" if two is None else "changed"
            yield Difference(what, -1, part, earlier.tokens.get(part, 0), later.tokens.get(part, 0))
