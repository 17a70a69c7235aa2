"""What the tests of a store stand on: how a store is opened, and a clock that tests move."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cached_property
from typing import Generic, TypeVar

from ctxkit.sessions.store import Limits, Store

__all__ = ["MovingClock", "Raised", "StoreCase", "raising"]

Kind = TypeVar("Kind", bound=BaseException)


class MovingClock:
    """Seconds since 1970 that pass when a test says so; a store takes it as its `clock`."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


class StoreCase:
    """How the tests come by stores; `StoreSuite` tells what is to be overridden.

    Attributes:
        lease_s: seconds of a lease that a test waits out.
    """

    lease_s: float = 60.0

    @cached_property
    def clock(self) -> MovingClock:
        """The clock of this test's stores."""
        return MovingClock()

    async def open_store(self, limits: Limits) -> Store:
        """A store, empty for each test; opened again in the same test, it is on the same data."""
        raise NotImplementedError("a StoreSuite needs an open_store() that opens the store to be tested")

    async def pass_time(self, seconds: float) -> None:
        """Let so many seconds pass for the stores."""
        self.clock.now += seconds

    def time(self) -> float:
        """Now, as the stores see it, to a second or so."""
        return self.clock()

    @asynccontextmanager
    async def opened(self, limits: Limits | None = None) -> AsyncIterator[Store]:
        """A store that is closed in the end."""
        async with await self.open_store(limits or Limits()) as store:
            yield store


class Raised(Generic[Kind]):
    """What was raised, when the block is done."""

    error: Kind


@contextmanager
def raising(kind: type[Kind]) -> Iterator[Raised[Kind]]:
    """A block in which exactly this error has to be raised."""
    raised: Raised[Kind] = Raised()
    try:
        yield raised
    except kind as error:
        raised.error = error
    else:
        raise AssertionError(f"no {kind.__name__} was raised")
    assert type(raised.error) is kind, f"{type(raised.error).__name__} was raised, not {kind.__name__}"
