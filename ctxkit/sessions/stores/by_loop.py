"""One client for each event loop: drivers tie their connections to the loop that opened them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from ctxkit.errors import StoreError

__all__ = ["ByLoop"]

T = TypeVar("T")


class ByLoop(Generic[T]):
    """Clients by the event loop that uses them.

    Args:
        make: makes a client for the loop that is running.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._closed = False
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, T] = WeakKeyDictionary()

    def here(self) -> T:
        """The client of the loop that is running.

        Raises:
            StoreError: they were taken away.
        """
        if self._closed:
            raise StoreError("the store was closed; open another", session="")
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            for ended in [each for each in list(self._clients) if each.is_closed()]:
                self._clients.pop(ended, None)
            self._clients[loop] = self._make()
        return self._clients[loop]

    def taken(self) -> T | None:
        """The client of the loop that is running, None when there was none; there are no clients from now on."""
        self._closed = True
        return self._clients.pop(asyncio.get_running_loop(), None)
