"""Tidying: erasures that a crash interrupted, found and finished."""

from __future__ import annotations

from dataclasses import dataclass

from ctxkit.core.marks import marked
from ctxkit.history import ERASES
from ctxkit.sessions.log import Log
from ctxkit.sessions.paging import record, records
from ctxkit.sessions.records import arrived_json, legible
from ctxkit.sessions.sent import ERASED

__all__ = ["Unfinished", "erase_popped", "finish_erasures", "finish_newest", "unfinished_erasures"]


@dataclass(frozen=True, slots=True)
class Unfinished:
    """What should have been taken out of a log and is still in it.

    Attributes:
        before: all records before this position; 0 for none.
        ids: items that were taken back.
    """

    before: int = 0
    ids: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.before or self.ids)


async def unfinished_erasures(log: Log) -> Unfinished:
    """What should have been taken out of a log as far as it was read, and is still in it."""
    before, held, popped = 0, False, set()
    async for position, told in records(log.store, log.id, upto=log.position):
        if told["kind"] in ERASES and held:
            before = position
        held = held or told["kind"] not in ("session", "erased")
        with legible(log.id, position):
            popped.add(told.get("step", {}).get("popped"))
    popped.discard(None)
    return Unfinished(before, await _still_there(log, frozenset(popped), before) if popped else frozenset())


async def _still_there(log: Log, popped: frozenset[int], before: int) -> frozenset[int]:
    found = set[int]()
    async for position, told in records(log.store, log.id, after=before, upto=log.position):
        with legible(log.id, position):
            found |= {each["id"] for each in arrived_json(told) if not each.get("erased")} & popped
    return frozenset(found)


async def finish_erasures(log: Log) -> Unfinished:
    """Take out what should have been taken out; what that was."""
    left = await unfinished_erasures(log)
    if left.before:
        await log.erase_before(left.before)
    if left.ids:
        await erase_popped(log, left.ids)
    return left


async def finish_newest(log: Log) -> bool:
    """Take out what the newest record that takes anything out did not come to; whether there was any.

    It reads two records, or what has to be written anew.
    """
    at = log.book.erased_at
    told = await record(log.store, log.id, at)
    if told["kind"] == "erased":  # by another worker, who took more out
        return False
    with legible(log.id, at):
        popped = told["step"].get("popped")
        before = at - 1 if popped is None else log.book.position_of(popped)
    there = await record(log.store, log.id, before)
    with legible(log.id, before):
        held = any(item["id"] == popped and not item.get("erased") for item in arrived_json(there))
    if popped is None and there["kind"] not in ("session", "erased"):
        await log.erase_before(at)
    elif held:
        await erase_popped(log, frozenset((popped,)))
    else:
        return False
    return True


async def erase_popped(log: Log, ids: frozenset[int]) -> None:
    """Take what was taken back out of a log, for good."""
    gone = log.history.setting.meter.provider.stand_in(marked(ERASED))
    for id in sorted(ids):
        await log.erase(frozenset((id,)), gone)
