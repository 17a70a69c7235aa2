"""What stores share: how they end a call, what they say when they refuse, and how they write a text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from ctxkit.errors import ConfigError, ConflictError, StoreError, without_extra

__all__ = ["conflict", "failed", "is_there", "no_such_position", "not_installed", "text_bytes", "wholly"]

P = ParamSpec("P")
T = TypeVar("T")


def conflict(session: str, *, after: int, position: int) -> ConflictError:
    """An append behind `after`, when the session stands at `position`."""
    stands = f"stands at position {position}" if position else "is not there"
    return ConflictError(
        f"session {session!r} {stands}, the append was for behind {after}; read what is new and try again",
        session=session,
        position=position,
    )


def is_there(session: str, *, position: int, instead: str) -> ConflictError:
    """A session that was to be begun, and is there with `position` records; `instead` says what to do."""
    return ConflictError(
        f"there is a session {session!r} already; {instead}", session=session, position=position
    )


def no_such_position(session: str, *, wrong: int, position: int) -> ConflictError:
    """A rewrite at `wrong`, when the session stands at `position`."""
    return ConflictError(
        f"session {session!r} has {position} records, there is none at position {wrong}; nothing was rewritten",
        session=session,
        position=position,
    )


def failed(what: str, session: str, *, writes: bool) -> StoreError:
    """A call that a server did not carry out, as far as is known.

    Args:
        what: which server, and why.
        writes: whether the call was to write something.
    """
    unknown = "; whether a write was carried out is not known, repeat it with the same key" if writes else ""
    return StoreError(f"{what}{unknown}", session=session)


def not_installed(what: str, extra: str) -> ConfigError:
    """What is said when the package is missing that a store needs."""
    return without_extra(what, extra, path="store")


def text_bytes(text: str) -> bytes:
    """A text as bytes, lone surrogates too."""
    return text.encode("utf-8", "surrogatepass")


def wholly(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """A method of a store that, cancelled, ends what it is at before it lets go.

    So whatever is asked next sees what came of it, and no connection is dropped in the middle of an answer.
    """

    @wraps(method)
    async def ended(*args: P.args, **kwargs: P.kwargs) -> T:
        work = asyncio.ensure_future(method(*args, **kwargs))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait([work])
            if not work.cancelled():
                work.exception()  # looked at: the caller has gone
            raise

    return ended
