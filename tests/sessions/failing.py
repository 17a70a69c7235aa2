"""A store that goes down at a given call, before or after that call was carried out."""

from __future__ import annotations

from typing import Any

from ctxkit.errors import StoreError
from ctxkit.sessions.store import Store

__all__ = ["Failing"]

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


class Failing:
    """A store that is down from its call number `at` on, which counts from 0.

    Args:
        after: that call is carried out, and its answer is lost.
        back: calls after which the store is there again; it never is without a number.
    """

    def __init__(self, store: Store, at: int, *, after: bool, back: int | None = None) -> None:
        self._store = store
        self._at = at
        self._after = after
        self._back = back
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if name not in CALLS:
            return method

        async def called(*args: Any, **more: Any) -> Any:
            number, self.calls = self.calls, self.calls + 1
            down = number >= self._at and (self._back is None or number < self._at + self._back)
            if down and not (self._after and number == self._at):
                raise StoreError("the store is down", session="")
            given = await method(*args, **more)
            if down:
                raise StoreError("the answer was lost", session="")
            return given

        return called
