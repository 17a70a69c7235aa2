"""ByLoop: a client for each event loop, and none for those that have ended."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from ctxkit import StoreError
from ctxkit.sessions.stores.by_loop import ByLoop


class Client:
    """Holds its loop, as the clients of drivers do."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()


async def _here(clients: ByLoop[Client]) -> Client:
    assert clients.here() is clients.here()
    return clients.here()


def test_each_loop_has_a_client_of_its_own() -> None:
    clients = ByLoop(Client)
    first, second = asyncio.new_event_loop(), asyncio.new_event_loop()
    try:
        one, two = (each.run_until_complete(_here(clients)) for each in (first, second))
        assert (one.loop, two.loop) == (first, second)
        assert first.run_until_complete(_here(clients)) is one
    finally:
        first.close()
        second.close()


def test_the_client_of_a_loop_that_has_ended_is_let_go() -> None:
    clients = ByLoop(Client)
    held = [weakref.ref(asyncio.run(_here(clients))) for _ in range(5)]
    gc.collect()
    assert [each() is None for each in held] == [True] * 4 + [False]


async def test_there_is_none_after_they_were_taken() -> None:
    clients = ByLoop(Client)
    client = clients.here()
    assert clients.taken() is client
    assert clients.taken() is None
    with pytest.raises(StoreError, match="the store was closed"):
        clients.here()
