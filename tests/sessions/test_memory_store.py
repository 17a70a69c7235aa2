"""MemoryStore."""

import asyncio
import threading

import pytest

from ctxkit.errors import ConflictError
from ctxkit.sessions.store import Limits, Store
from ctxkit.sessions.stores.memory import MemoryStore
from ctxkit.testing import StoreSuite


class TestMemoryStore(StoreSuite):
    """What every store does. There is one object for all who open it: memory has no other address."""

    store: MemoryStore | None = None

    async def open_store(self, limits: Limits) -> Store:
        self.store = self.store or MemoryStore(limits=limits, clock=self.clock)
        return self.store


def test_event_loops_of_many_threads_share_a_store() -> None:
    store = MemoryStore()

    async def write(name: str) -> None:
        after = 0
        for n in range(200):
            while True:
                try:
                    after = await store.append("s", [f"{name}/{n}".encode()], after=after)
                    break
                except ConflictError as conflict:
                    after = conflict.position

    threads = [threading.Thread(target=lambda name=name: asyncio.run(write(name))) for name in "abcd"]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    there = asyncio.run(store.read("s"))
    for name in "abcd":
        own = [each for each in there if each.startswith(name.encode())]
        assert own == [f"{name}/{n}".encode() for n in range(200)]
    assert len(there) == 800


async def test_what_it_gives_is_not_what_it_holds() -> None:
    store = MemoryStore()
    await store.append("s", [b"one"], after=0)
    (await store.read("s")).append(b"two")
    assert await store.read("s") == [b"one"]
    with pytest.raises(ConflictError, match="stands at position 1, the append was for behind 0"):
        await store.append("s", [b"two"], after=0)
