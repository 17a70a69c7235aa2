"""Stores at whose calls something goes wrong, or at which somebody else comes between."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Collection, Iterator
from typing import Any

import pytest

from ctxkit.errors import StoreError
from ctxkit.sessions.store import Store

__all__ = ["Failing", "Flaky", "Meeting", "interrupted"]

CALLS = frozenset(
    {
        "append",
        "read",
        "info",
        "sessions",
        "rewrite",
        "delete",
        "save_checkpoint",
        "checkpoint",
        "lease",
        "release",
    }
)


class _Interposed:
    """A store with something that happens before its calls, and after them.

    Args:
        numbers: for the calls, which are counted from 0; two stores that share them are counted together.
        of: the calls that are counted.

    Attributes:
        calls: how many there were here.
    """

    def __init__(
        self, store: Store, *, numbers: Iterator[int] | None = None, of: Collection[str] = CALLS
    ) -> None:
        self._store = store
        self._numbers = numbers if numbers is not None else itertools.count()
        self._of = of
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if name not in self._of:
            return method

        async def called(*args: Any, **more: Any) -> Any:
            number, self.calls = next(self._numbers), self.calls + 1
            await self._before(number)
            given = await method(*args, **more)
            await self._after(number)
            return given

        return called

    async def _before(self, number: int) -> None:
        """What happens before a call is carried out."""

    async def _after(self, number: int) -> None:
        """What happens before it gives an answer."""


class Failing(_Interposed):
    """A store that is down from its call number `at` on.

    Args:
        after: that call is carried out, and its answer is lost.
        back: calls after which the store is there again; it never is without a number.
    """

    def __init__(
        self,
        store: Store,
        at: int,
        *,
        after: bool,
        back: int | None = None,
        numbers: Iterator[int] | None = None,
    ) -> None:
        super().__init__(store, numbers=numbers)
        self._at = at
        self._answer_lost = after
        self._back = back

    def _is_down(self, number: int) -> bool:
        return number >= self._at and (self._back is None or number < self._at + self._back)

    async def _before(self, number: int) -> None:
        if self._is_down(number) and not (self._answer_lost and number == self._at):
            raise StoreError("the store is down", session="")

    async def _after(self, number: int) -> None:
        if self._is_down(number):
            raise StoreError("the answer was lost", session="")


class Flaky(_Interposed):
    """A store whose writes fail as it is told.

    Attributes:
        fails: how the next appends fail, the last first: "before" they are carried out, or "after"; "" is none.
        gives_away: whether everybody gets the lease who asks, as when those of others have run out.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store, of={"append"})
        self.fails: list[str] = []
        self.gives_away = False

    async def _before(self, number: int) -> None:
        if self.fails[-1:] == ["before"]:
            self.fails.pop()
            raise StoreError("the line is down", session="")

    async def _after(self, number: int) -> None:
        if self.fails and self.fails.pop() == "after":
            raise StoreError("the answer was lost", session="")

    async def lease(self, session: str, name: str, holder: str, seconds: float) -> bool:
        return self.gives_away or await self._store.lease(session, name, holder, seconds)


class Meeting(_Interposed):
    """A store at whose call number `at` somebody else does something first, in the store behind it.

    Args:
        of: the calls that are counted.
    """

    def __init__(
        self,
        store: Store,
        at: int,
        met: Callable[[], Awaitable[object]],
        *,
        numbers: Iterator[int] | None = None,
        of: Collection[str] = CALLS,
    ) -> None:
        super().__init__(store, numbers=numbers, of=of)
        self._at = at
        self._met = met

    async def _before(self, number: int) -> None:
        if number == self._at:
            await self._met()


async def interrupted(store: Store, erase: Callable[[], Awaitable[Any]]) -> None:
    """An erasure whose worker dies before it rewrites anything."""

    async def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    store.rewrite = crash  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        await erase()
    del store.rewrite
