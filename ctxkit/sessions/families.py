"""Families: which sessions of a store were begun for which."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import TypeVar

from ctxkit.errors import SessionError, SplitSessionError, StoreError
from ctxkit.sessions.paging import record
from ctxkit.sessions.records import legible
from ctxkit.sessions.store import Store
from ctxkit.sessions.stored import log_of

__all__ = ["Family", "children_in", "descendants", "family_of", "parent_in"]

T = TypeVar("T")


@dataclass
class Family:
    """A session with its children and theirs.

    Attributes:
        ids: each before its parent, so that the session itself is the last.
        unread: those whose logs cannot be read, and why: children that they may have are not in `ids`, nor is such a
            one itself, unless the family is its own.
    """

    ids: list[str] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)


async def parent_in(store: Store, id: str) -> str:
    """The session that one was begun for, as its own first record tells; "" for none, and when it is not there.

    Raises:
        SessionError: that record cannot be read.
    """
    if await store.info(id) is None:
        return ""
    told = await record(store, id, 1)
    with legible(id, 1):
        parent = told.get("data", {}).get("parent", "")
        if not isinstance(parent, str):
            raise TypeError
    return parent


async def children_in(store: Store, id: str) -> list[str]:
    """The sessions that the log of one names as its children; [] when it is not there.

    They need not be: a log is copied, and the child that it names is another's. What a child says itself counts too.

    Raises:
        SessionError: the log cannot be read.
    """
    if await store.info(id) is None:
        return []
    log = await log_of(store, id)
    await log.open()
    return list(log.book.children)


async def family_of(store: Store, id: str) -> Family:
    """A session with its children and theirs, as far as their logs can be read.

    Raises:
        SplitSessionError: the bytes of one are in another store.
        StoreError: the store cannot be reached.
    """
    family, waiting, seen = Family(), [id], {id}
    while waiting:
        each = waiting.pop()
        family.ids.append(each)
        for child in await _read(children_in(store, each), [], each, family):
            if child not in seen and await _read(parent_in(store, child), "", child, family) == each:
                seen.add(child)
                waiting.append(child)
    family.ids.reverse()
    return family


async def _read(reading: Awaitable[T], otherwise: T, id: str, family: Family) -> T:
    """What the log of a session tells, or that it cannot be read."""
    try:
        return await reading
    except (StoreError, SplitSessionError):
        raise
    except SessionError as error:
        family.unread[id] = str(error)
        return otherwise


async def descendants(store: Store, id: str) -> list[str]:
    """The children of a session in a store, and theirs, each before its parent; [] when there is no such session.

    Raises:
        SessionError: a log cannot be read.
    """
    family = await family_of(store, id)
    for each, why in family.unread.items():
        raise SessionError(why, session=each)
    return family.ids[:-1]
