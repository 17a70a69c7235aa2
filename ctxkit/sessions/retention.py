"""Retention: how long sessions are kept whole, what is left of them after, and how they go with their children."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from ctxkit.errors import ConfigError, CtxkitError
from ctxkit.history import ERASES
from ctxkit.sessions.records import Record, told_in
from ctxkit.sessions.store import SessionInfo, Store
from ctxkit.sessions.stored import log_of
from ctxkit.sessions.tidying import finish_newest

__all__ = ["Retention", "Swept", "delete", "descendants", "sweep"]

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
        if not isinstance(self.days, int | float) or isinstance(self.days, bool) or not self.days >= 0:
            raise ConfigError(
                f"retention takes a number of days, 0 or more, not {self.days!r:.60}", path="days"
            )


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

    A session that somebody writes to meanwhile is left alone. A sweep that was interrupted anywhere is made up for by
    the next one; two at once do no harm.

    Args:
        retention: how long; 90 days by default.
        now: seconds since 1970, by default as the clock of this machine has them.

    Raises:
        StoreError: the sessions could not be listed.
    """
    limit = (time.time() if now is None else now) - (retention or Retention()).days * DAY_S
    found = {info.id: info for info in await store.sessions()}
    swept = Swept()
    for info in found.values():
        try:
            if await _finish(store, info):
                swept.finished.append(info.id)
            if await _is_old(store, info, limit):
                swept.retained += await _retain(store, info, found, limit, retention or Retention())
        except CtxkitError as error:
            swept.failed[info.id] = str(error)
    return swept


async def _finish(store: Store, info: SessionInfo) -> bool:
    """Do what was left of an erasure; only behind the last record there can be one."""
    if await _last_kind(store, info) not in (*ERASES, "pop"):
        return False
    log = await log_of(store, info.id)
    await log.open()
    return log.position == info.position and await finish_newest(log)


async def _is_old(store: Store, info: SessionInfo, limit: float) -> bool:
    """Whether nobody wrote for so long, or since there was nothing left but facts: that is a record too."""
    return info.touched <= limit or await _last_kind(store, info) in ERASES


async def _last_kind(store: Store, info: SessionInfo) -> str:
    last = await store.read(info.id, after=info.position - 1, upto=info.position)
    return str(told_in(last[0], session=info.id)["kind"]) if last else ""


async def _retain(
    store: Store, info: SessionInfo, found: dict[str, SessionInfo], limit: float, retention: Retention
) -> list[str]:
    """Retain a session, with its children first when they go together; which ones that came to."""
    family = [info]
    if retention.children:
        if await _parent(store, info.id) in found:
            return []  # it goes with its parent
        family = [found[id] for id in await descendants(store, info.id) if id in found] + family
    if not all([await _is_old(store, each, limit) for each in family]):
        return []
    return [each.id for each in family if await _retained(store, each)]


async def _parent(store: Store, id: str) -> str:
    first = await store.read(id, upto=1)
    return str(told_in(first[0], session=id)["data"].get("parent", "")) if first else ""


async def _retained(store: Store, info: SessionInfo) -> bool:
    """Take everything but the facts out of a session that is as it was when it was listed."""
    if await _last_kind(store, info) in ERASES:
        return False
    log = await log_of(store, info.id)
    await log.open()

    def made(at: float) -> Record | None:
        if log.position != info.position:
            return None
        return Record("retention", at, log.history.retaining(), log.book.left())

    if await log.write(made) is None:
        return False
    await log.erase_before(log.position)
    return True


async def descendants(store: Store, id: str) -> list[str]:
    """The children of a session in a store, and theirs, each before its parent; [] when there is no such session.

    Raises:
        SessionError: a log cannot be read.
    """
    if await store.info(id) is None:
        return []
    log = await log_of(store, id)
    await log.open()
    found: list[str] = []
    for child in log.book.children:
        found += [*await descendants(store, child), child]
    return found


async def delete(store: Store, id: str, *, children: bool = True) -> None:
    """Drop a session for good, after its children and theirs; nothing happens when there is none.

    Args:
        children: without them it is the session alone.
    """
    for each in await descendants(store, id) if children else ():
        await store.delete(each)
    await store.delete(id)
