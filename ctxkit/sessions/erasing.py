"""Erasing: what was taken back is taken out of a log for good, with what was made of it, by one worker at a time."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxkit.archive import Archive
from ctxkit.core.items import Writer
from ctxkit.core.marks import marked
from ctxkit.core.profile import TELLING
from ctxkit.history import ERASES, History
from ctxkit.sessions.ahead import ahead_in
from ctxkit.sessions.changes import Json, facts_from, holds
from ctxkit.sessions.halves import check_whole
from ctxkit.sessions.leases import leased
from ctxkit.sessions.paging import record, records
from ctxkit.sessions.records import arrived_in, arrived_json, legible, to_bytes

if TYPE_CHECKING:
    from ctxkit.sessions.log import Log

__all__ = [
    "ERASED",
    "Unfinished",
    "drop_older",
    "erase_newest",
    "erasure",
    "finish_erasures",
    "unfinished_erasures",
]

ERASED = "This message was taken back."
"""What stands, marked, for an entry that was taken out of the log."""

NAME = "erasure"
"""The lease that a worker takes to erase, and to write a checkpoint: others wait for it."""

LEASE_S = 5.0
"""Seconds that it lasts when its holder has died; renewed while it is at it."""


def erasure(log: Log, *, wait: bool = True) -> AbstractAsyncContextManager[bool]:
    """Be the only one who puts other bytes in the place of a session's records, or keeps a checkpoint of it. In it
    nothing that takes the lock of the log may be waited for: who has that may wait for this."""
    return leased(log.store, log.id, NAME, LEASE_S, wait=wait)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """What should have been taken out of a log and is still in it.

    Attributes:
        before: all records before this position; 0 for none.
        ids: items that were taken back.
        checkpoint: position of a checkpoint that is older than what was taken out last; 0 for none.
    """

    before: int = 0
    ids: frozenset[int] = frozenset()
    checkpoint: int = 0

    def __bool__(self) -> bool:
        return bool(self.before or self.ids or self.checkpoint)


# What is left to do


async def unfinished_erasures(log: Log) -> Unfinished:
    """What should have been taken out of a log as far as it was read, and is still in it; reads the whole log."""
    before, held, popped = 0, False, set()
    async for position, told in records(log.store, log.id, upto=log.position):
        if told["kind"] in ERASES and held:
            before = position
        held = held or told["kind"] not in ("session", "erased")
        with legible(log.id, position):
            popped.add(told.get("step", {}).get("popped"))
    popped.discard(None)
    ids = await _still_there(log, frozenset(popped), before) if popped else frozenset()
    return Unfinished(before, ids, 0 if before or ids else await _older(log))


async def _still_there(log: Log, popped: frozenset[int], before: int) -> frozenset[int]:
    found = set[int]()
    async for position, told in records(log.store, log.id, after=before, upto=log.position):
        with legible(log.id, position):
            found |= {each["id"] for each in arrived_json(told) if not each.get("erased")} & popped
    return frozenset(found)


async def _older(log: Log) -> int:
    """Position of a checkpoint from before something was taken out, 0 for none: taking out drops them all."""
    taken_out = log.book.erased_at
    kept = await log.store.checkpoint(log.id, upto=taken_out - 1) if taken_out else None
    return kept[0] if kept is not None else 0


async def _newest(log: Log) -> Unfinished:
    """What the newest record that takes anything out did not come to; reads two records."""
    at = log.book.erased_at
    told = await record(log.store, log.id, at)
    if told["kind"] == "erased":  # by another worker, who took more out
        return Unfinished()
    with legible(log.id, at):
        popped = told["step"].get("popped")
        before = at - 1 if popped is None else log.book.position_of(popped)
    there = await record(log.store, log.id, before)
    with legible(log.id, before):
        held = any(item["id"] == popped and not item.get("erased") for item in arrived_json(there))
    if popped is None:
        return Unfinished(before=at if there["kind"] not in ("session", "erased") else 0)
    return Unfinished(ids=frozenset((popped,) if held else ()))


# Doing it


async def erase_newest(log: Log) -> bool:
    """Take out what the newest record says that takes anything out; whether that was left to do.

    Nothing is written behind such a record before it is done, so that only the newest can be unfinished.
    """
    if not await _newest(log):
        return False
    async with erasure(log):
        left = await _newest(log)  # as it is now that nobody else is at it
        await _take_out(log, left)
    return bool(left)


async def finish_erasures(log: Log) -> Unfinished:
    """Take out whatever should have been taken out of a log, as far as it was read; what that was.

    Raises:
        SplitSessionError: the store has a half of the session.
    """
    await check_whole(log.store, log.id)
    async with erasure(log):
        left = await unfinished_erasures(log)
        await _take_out(log, left)
    return left


async def drop_older(log: Log) -> bool:
    """Drop checkpoints from before what was taken out last, which may hold it; whether there were any."""
    async with erasure(log):
        left = Unfinished(checkpoint=await _older(log))
        await _take_out(log, left)
    return bool(left)


async def _take_out(log: Log, left: Unfinished) -> None:
    """Take it out of a log that the store has as a whole."""
    if left:
        await check_whole(log.store, log.id)
    if left.before:
        await _rewrite(log, await _emptied(log, left.before))
    for id in sorted(left.ids):
        await _rewrite(log, await _without(log, id))
    if left.checkpoint:
        await _rewrite(log, {})


async def _rewrite(log: Log, changed: dict[int, bytes]) -> None:
    """Put other records in the place of those that are there, all at once; the checkpoints go with them."""
    await log.store.rewrite(log.id, changed)
    await log.keep_checkpoint()


async def _emptied(log: Log, position: int) -> dict[int, bytes]:
    """The records before a position, with nothing in them but for what began the session."""
    changed = {}
    async for at, told in records(log.store, log.id, upto=position - 1):
        if told["kind"] not in ("session", "erased"):
            changed[at] = to_bytes({"v": told["v"], "kind": "erased", "at": told["at"]})
    return changed


async def _without(log: Log, id: int) -> dict[int, bytes]:
    """The records that hold an item that was taken back, or what was made of it, as they are without it."""
    gone = log.history.setting.meter.provider.stand_in(marked(ERASED))
    first = log.book.position_of(id)
    arrived = await record(log.store, log.id, first)
    with legible(log.id, first):
        turn = next(each.turn for each in arrived_in(arrived) if each.id == id)
    taking = _Taking(id, turn, log.history, gone)
    changed = await _before_it(log, first, arrived.get("data", {}), gone)
    async for at, told in records(log.store, log.id, after=first - 1, upto=log.position):
        with legible(log.id, at):
            if told.get("step", {}).get("popped") == id:
                break
            if taking.out_of(told):
                changed[at] = to_bytes(told)
    return changed


async def _before_it(log: Log, first: int, arrived: Json, gone: Json) -> dict[int, bytes]:
    """The records that held an item before it arrived, and what came with it: requests, and the answer that it was
    before it was delivered."""
    changed = {}
    with legible(log.id, first):
        ahead, draft = ahead_in(arrived), arrived.get("draft")
    for at, places in ahead.items():
        told = await record(log.store, log.id, at)
        with legible(log.id, at):
            if told["kind"] == "request":
                _empty([told["data"]["new"][place] for place in places], gone)
                told["data"].pop("seal", None)
                changed[at] = to_bytes(told)
    async for at, told in records(log.store, log.id, upto=first - 1 if draft is not None else 0):
        with legible(log.id, at):
            if told["kind"] == "draft" and told["data"]["draft"] == draft:
                told["data"] |= {"entries": [gone for _ in told["data"]["entries"]], "erased": True}
                changed[at] = to_bytes(told)
    return changed


class _Taking:
    """Takes an item out of the records behind the one that it arrived with, in their order.

    What stands for it goes with it, and the reasons that strategies gave since, which may quote it. Facts that were read
    out of it go, unless another item that they were read out of is still there: out of what was remembered, out of what
    was told of the compaction that remembered them, and with every text since then that tells facts, but for those that
    are still shown, which were written without them.

    Args:
        id, turn: of the item.
        history: the conversation since it was taken back.
        gone: what stands in its place.
    """

    def __init__(self, id: int, turn: int, history: History, gone: Json) -> None:
        self._id, self._turn = id, turn
        self._archive: Archive = history.archive
        self._gone = gone
        states = (history.state, *history.undoable, *history.redoable)
        self._shown = {to_bytes(item.raw) for state in states for item in state.items if item.made in TELLING}
        self._lines: set[str] = set()
        self._keys: set[str] = set()

    def out_of(self, told: Json) -> bool:
        """Take it out of a record; whether anything was changed."""
        change, data = told.get("step", {}).get("change", {}), told.get("data", {})
        changed = self._forget([each for each in change.get("facts", ()) if self._is_from_it(each)])
        changed |= self._untell(data.get("edits", ())) | self._unexplain(told.get("step", {}), data)
        places = (*change.get("items", ()), *told.get("step", {}).get("arrived", ()), *data.get("new", ()))
        found = [each for each in places if isinstance(each, dict) and self._holds_it(each)]
        _empty(found, self._gone)
        sealed = told["kind"] == "request" and data.pop("seal", None) is not None
        return bool(found) or sealed or changed

    def _holds_it(self, item: Json) -> bool:
        """Whether JSON is the item, stands for it, or may tell facts that were read out of it."""
        told = bool(self._lines) and item.get("made") in TELLING and to_bytes(item["raw"]) not in self._shown
        return told or holds(item, self._id)

    def _is_from_it(self, fact: Json) -> bool:
        source = fact.get("source", ())
        return self._id in source and all(map(self._archive.is_popped, source))

    def _forget(self, facts: Sequence[Json]) -> bool:
        """Leave nothing of facts but their places, and what they were read out of."""
        changed = False
        for fact in facts:
            changed |= any(fact.get(name) for name in _TEXTS)
            self._lines |= {each.line for each in facts_from((fact,))}
            self._keys.add(fact["key"])
            fact |= {name: "" for name in _TEXTS if name in fact}
        return changed

    def _untell(self, edits: Sequence[Any]) -> bool:
        """Take what those facts said out of what a compaction is told to have done."""
        said = {"Remember": self._lines, "Retract": self._keys}
        found = [each for each in edits if each["detail"] in said.get(each["kind"], ())]
        for each in found:
            each |= {"detail": "", "why": ""}
        return bool(found)

    def _unexplain(self, step: Json, data: Json) -> bool:
        """Take out why it was changed, and why compactions since its turn did what they did, or failed; as
        `Archive.erase` and `Archive.forget_reasons` do."""
        past = step.get("past", {"turn": -1, "failures": ()})
        is_since = past["turn"] >= self._turn
        edits = [each for each in data.get("edits", ()) if is_since or self._id in each["positions"]]
        kept = [each for each in step.get("kept", ()) if len(each) > _KEPT_WHY and self._is_why_gone(each)]
        changed = [
            _emptied_at(each, "why") for each in (*edits, *(e for e in data.get("new", ()) if "why" in e))
        ]
        changed += [_emptied_at(each, _KEPT_WHY) for each in kept]
        changed += [_emptied_at(each, _FAILED_WHY) for each in past["failures"] if is_since]
        return any([*changed, data.pop("failures", None)])

    def _is_why_gone(self, kept: Sequence[Any]) -> bool:
        turn = kept[_KEPT_TURN] if len(kept) > _KEPT_TURN else 0
        return turn >= self._turn or any(self._id in range(*span) for span in kept[1])


def _emptied_at(told: Any, place: Any) -> bool:
    """Leave an empty text at a place of JSON; whether there was another."""
    held, told[place] = told[place], ""
    return bool(held)


_KEPT_WHY, _KEPT_TURN, _FAILED_WHY = 4, 5, 1
"""Where the reason, and the turn, stand in what `kept_json` and `past_json` write of a handle and of a failure."""

_TEXTS = ("key", "value", "subject", "place", "said_at")
"""What a fact says, and where that was said."""


def _empty(contents: Sequence[Json], gone: Json) -> None:
    """Put a stand-in in the place of what contents say; which facts they told, a digest of them, who wrote
    them, and why they stood there, are said no more."""
    for each in contents:
        each |= {"raw": gone, "erased": True}
        for told in ("facts", "key", "why", *Writer._fields):
            each.pop(told, None)
