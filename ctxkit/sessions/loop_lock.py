"""Loop lock: keeps the tasks of one event loop apart, whichever loop that is."""

from __future__ import annotations

import asyncio

__all__ = ["LoopLock"]


class LoopLock:
    """An `asyncio.Lock` for what lives longer than a loop: a later one, as of another `asyncio.run`, has its own."""

    def __init__(self) -> None:
        self._held: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()
        if self._held is None or self._held[0] is not loop:
            self._held = loop, asyncio.Lock()
        await self._held[1].acquire()

    async def __aexit__(self, *_: object) -> None:
        assert self._held is not None  # it was entered
        self._held[1].release()
