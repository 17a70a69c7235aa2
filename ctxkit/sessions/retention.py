"""Retention: how long sessions are kept whole, what is left of them after, and how they go with their children."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from ctxkit.errors import ConfigError, CtxkitError, SessionError, StoreError
from ctxkit.history import ERASES
from ctxkit.sessions.erasing import drop_older, erase_newest
from ctxkit.sessions.families import Family, children_in, descendants, family_of, parent_in
from ctxkit.sessions.halves import check_whole
from ctxkit.sessions.records import TAKES_OUT, Record, told_in
from ctxkit.sessions.store import SessionInfo, Store
from ctxkit.sessions.stored import log_of

__all__ = ["Deleted", "Retention", "Swept", "delete", "descendants", "idle", "sweep"]

DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Retention:
    """How long sessions are kept whole.

    Attributes:
        days: after so many days without a record only the facts in force stay.
        children: a session and those that were begun for it are kept as long as one of them is written to, and go
            together; without it each goes by itself.

    Raises:
        ConfigError: a number of days that is none.
    """

    days: float = 90.0
    children: bool = True

    def __post_init__(self) -> None:
        if not _is_number(self.days) or not self.days >= 0:
            raise ConfigError(
                f"retention takes a number of days, 0 or more, not {self.days!r:.60}", path="days"
            )


def _is_number(value: object) -> bool:
    """Whether it is a number, and none that is too large to reckon with."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return not math.isnan(value)
    except OverflowError:
        return False


@dataclass
class Swept:
    """What a sweep did.

    Attributes:
        retained: sessions of which only the facts in force are left now.
        finished: sessions from which what had been taken out was erased, since a crash had come between.
        failed: sessions that could not be swept, and why; the next sweep tries again.
    """

    retained: list[str] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


async def sweep(store: Store, retention: Retention | None = None, now: float | None = None) -> Swept:
    """Go over all sessions of a store: finish erasures that a crash interrupted, and take out of those that nobody wrote
    to for so long everything but the facts in force.

    A session that somebody writes to meanwhile is left alone. So is one that cannot be read, or of which this store has a
    half (see `TieredStore`): `Swept.failed` names it.
    A sweep that was interrupted anywhere is made up for by the next one; two at once do no harm.

    Args:
        retention: how long; 90 days by default.
        now: seconds since 1970, by default as the clock of this machine has them.

    Raises:
        ConfigError: `now` is no number.
        SessionError: the sessions could not be listed.
    """
    at = time.time() if now is None else now
    if not _is_number(at):
        raise ConfigError(f"now is a number of seconds since 1970, not {now!r:.60}", path="now")
    kept = retention or Retention()
    found = {info.id: info for info in await store.sessions()}
    sweeping = _Sweeping(store, found, at - kept.days * DAY_S, kept.children)
    swept = Swept()
    for info in found.values():
        try:
            if await _finish(store, info):
                swept.finished.append(info.id)
            if await sweeping.is_old(info):
                swept.retained += await sweeping.retain(info)
        except CtxkitError as error:
            swept.failed[info.id] = str(error)
    return swept


async def idle(store: Store, retention: Retention, now: float | None = None) -> list[str]:
    """The sessions that nobody wrote to for so long and that hold more than facts, as far as their last records tell:
    those that a sweep takes something out of, unless they go with others that are in use."""
    limit = (time.time() if now is None else now) - retention.days * DAY_S
    return [
        info.id
        for info in await store.sessions()
        if info.touched <= limit and await _last_kind_or_none(store, info) not in ERASES
    ]


async def _last_kind_or_none(store: Store, info: SessionInfo) -> str:
    """What the last record of a session is, "" when it cannot be read either."""
    try:
        return await _last_kind(store, info)
    except StoreError:
        raise
    except SessionError:
        return ""


async def _finish(store: Store, info: SessionInfo) -> bool:
    """Do what was left of an erasure; only behind the last record there can be one."""
    if await _last_kind(store, info) not in TAKES_OUT:
        return False
    log = await log_of(store, info.id)
    await log.open()
    return log.position == info.position and (await erase_newest(log) or await drop_older(log))


async def _last_kind(store: Store, info: SessionInfo) -> str:
    """What the last record of a session is, "" when it was deleted meanwhile."""
    last = await store.read(info.id, after=info.position - 1, upto=info.position)
    return str(told_in(last[0], session=info.id, position=info.position)["kind"]) if last else ""


@dataclass
class _Sweeping:
    """One sweep: what it found, and until when a session may have been written to that is old."""

    store: Store
    found: dict[str, SessionInfo]
    limit: float
    together: bool
    _children: dict[str, list[str]] = field(default_factory=dict)

    async def is_old(self, info: SessionInfo) -> bool:
        """Whether nobody wrote for so long, or since there was nothing left but facts: that is a record too."""
        return info.touched <= self.limit or await _last_kind(self.store, info) in ERASES

    async def retain(self, info: SessionInfo) -> list[str]:
        """Retain a session, with its children first when they go together; which ones that came to."""
        family = [info]
        if self.together:
            if await self._goes_with_parent(info.id):
                return []
            children = await descendants(self.store, info.id)
            family = [self.found[id] for id in children if id in self.found] + family
        if not all([await self.is_old(each) for each in family]):
            return []
        return [each.id for each in family if await _retained(self.store, each)]

    async def _goes_with_parent(self, id: str) -> bool:
        """Whether it is a child, as it says itself and its parent does: a copy of a child is none."""
        parent = await parent_in(self.store, id)
        if parent not in self.found:
            return False
        if parent not in self._children:
            self._children[parent] = await children_in(self.store, parent)
        return id in self._children[parent]


async def _retained(store: Store, info: SessionInfo) -> bool:
    """Take everything but the facts out of a session that is as it was when it was listed."""
    if await _last_kind(store, info) in ERASES:
        return False
    await check_whole(store, info.id)
    log = await log_of(store, info.id)
    await log.open()

    def made(at: float) -> Record | None:
        if log.position != info.position:
            return None
        return Record("retention", at, log.history.retaining(), log.book.left())

    if await log.write(made) is None:
        return False
    await erase_newest(log)
    return True


@dataclass(frozen=True, slots=True)
class Deleted:
    """What was deleted.

    Attributes:
        ids: the sessions, the one that was named last.
        unread: those of which it is not known whether they have children, or are children, since their logs could not
            be read; and why.
    """

    ids: tuple[str, ...]
    unread: dict[str, str]


async def delete(store: Store, id: str, *, children: bool = True) -> Deleted:
    """Drop a session for good, after its children and theirs; nothing happens when there is none.

    A session whose log cannot be read goes all the same, without the children that it may have.

    Args:
        children: without them it is the session alone.

    Raises:
        SplitSessionError: one of them is in two stores, and this is one of the two; nothing is deleted.
        StoreError: the store cannot be reached.
    """
    family = await family_of(store, id) if children else Family([id], {})
    for each in family.ids:
        await check_whole(store, each)
    for each in family.ids:
        await store.delete(each)
    return Deleted(tuple(family.ids), family.unread)
