"""Writers that talk in one session, with compactions and requests meanwhile; and what has to be there after.

Run as a program it adds messages by several tasks, through two `Session`s, a line for each message that was acknowledged:

    python -m tests.sessions.talking sqlite:/tmp/sessions.db patient-7 run-1 3 5
    run-1.0/0
    run-1.2/0

which is the key of the message: `run-1.2/0` is the first of task 2. Two addresses with a comma between them are those of
a hot store and its archive, to which everything moves all the time. The last two arguments are the number of tasks, and
of the messages of each; without the last it goes on until it is killed.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
from typing import Any

from ctxkit import Budget
from ctxkit.preparation import Preparation, Settings
from ctxkit.sessions.log import Log
from ctxkit.sessions.session import Session
from ctxkit.sessions.store import Store
from ctxkit.sessions.stores import open_store
from ctxkit.sessions.stores.tiered import TieredStore

__all__ = ["add_again", "open_at", "said", "talk_in"]

BUDGET = Budget(window=1_500, reply=100, min_gain=0)
WORKERS = 2
PAUSE = 2
"""A request, a compaction or a move comes after so many messages of a task that makes them."""


def open_at(address: str) -> Store:
    """The store at an address; the two stores at two, as one."""
    hot, _, archive = address.partition(",")
    if not archive:
        return open_store(hot)
    return TieredStore(open_store(hot), open_store(archive), idle_s=-1.0)


async def said(store: Store, id: str) -> dict[str, list[int]]:
    """The numbers of the messages of each writer, in the order in which they are in the session.

    The log reads the same from its first record and from its checkpoint.
    """
    session, whole = await _opened(store, id), _whole(store, id)
    await whole.refresh()
    assert session._history.state == whole.history.state
    assert session._log.book == whole.book
    numbers: dict[str, list[int]] = {}
    for item in whole.history.archive.log:
        name, number = item.raw["content"].split(":")[0].split("/")
        numbers.setdefault(name, []).append(int(number))
    return numbers


async def add_again(store: Store, id: str, name: str, number: int) -> None:
    """The message that a writer was at when it was killed, perhaps; as one does who does not know whether it came."""
    await _say(await _opened(store, id), name, number)


def _whole(store: Store, id: str) -> Log:
    preparation = Preparation(Settings("openai-chat", BUDGET))
    return Log(store, id, preparation.history, preparation.provider, lambda: 0.0)


async def _opened(store: Store, id: str) -> Session:
    return await Session.open(id, store, format="openai-chat", budget=BUDGET, strategy="hybrid")


async def _say(session: Session, name: str, number: int) -> None:
    entry: dict[str, Any] = {"role": "user", "content": f"{name}/{number}: and some words that fill it up"}
    await session.add(entry, key=f"{name}/{number}")


async def talk_in(store: Store, id: str, run: str, tasks: int, times: int | None) -> None:
    """Say so many messages by each of so many tasks; without an end when that is None."""
    workers = [await _opened(store, id) for _ in range(WORKERS)]
    await asyncio.gather(
        *(_talk_on(workers[task % WORKERS], f"{run}.{task}", task, times) for task in range(tasks))
    )


async def _talk(address: str, id: str, run: str, tasks: int, times: int | None) -> None:
    async with open_at(address) as store:
        await talk_in(store, id, run, tasks, times)


async def _talk_on(session: Session, name: str, task: int, times: int | None) -> None:
    """Task 0 compacts, task 1 prepares requests, task 2 moves to an archive if there is one; the others only talk."""
    for number in itertools.count() if times is None else range(times):
        await _say(session, name, number)
        print(f"{name}/{number}", flush=True)
        if number % PAUSE == PAUSE - 1 and task == 0:
            await session.compact()
        if number % PAUSE == PAUSE - 1 and task == 1:
            await session.prepare()
        if number % PAUSE == PAUSE - 1 and task == 2 and isinstance(session.store, TieredStore):
            await session.store.move_idle()


if __name__ == "__main__":
    address, id, run, tasks, *times = sys.argv[1:]
    asyncio.run(_talk(address, id, run, int(tasks), int(times[0]) if times else None))
