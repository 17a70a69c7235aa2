"""Store: where the logs of sessions are kept. A store knows bytes and positions, nothing of conversations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from ctxkit.errors import ConfigError, SessionLimitError

__all__ = ["UNLIMITED", "Limits", "SessionInfo", "Store", "checked_id", "checked_key", "checked_store"]


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One session in a store.

    Attributes:
        id: its id.
        position: of its last record, which is how many there are.
        size: bytes of its records; more while a store has some of them twice.
        touched: when it was last written to, in seconds since 1970, by the clock of the store.
    """

    id: str
    position: int
    size: int
    touched: float


@dataclass(frozen=True, slots=True)
class Limits:
    """What a store takes: `record` bytes in one record, `session` bytes in all records of a session."""

    record: int = 16_000_000
    session: int = 4_000_000_000

    def check(self, bodies: Sequence[bytes], *, session: str, held: int) -> None:
        """Refuse what is too large.

        Args:
            held: bytes that the session holds already.

        Raises:
            SessionLimitError: a record, or the session with these records, would be over its limit.
        """
        largest = max(map(len, bodies), default=0)
        if largest > self.record:
            raise SessionLimitError(
                f"a record of {largest} bytes is over the limit of {self.record}; keep what is so large "
                "outside the conversation, or raise Limits(record=...)",
                session=session,
            )
        size = held + sum(map(len, bodies))
        if size > self.session:
            raise SessionLimitError(
                f"session {session!r} would have {size} bytes, over the limit of {self.session}; begin a new "
                "session, or raise Limits(session=...)",
                session=session,
            )


UNLIMITED = Limits(record=2**53, session=2**53)
"""What is asked instead of a store's own limits when they are not asked."""


class Store(Protocol):
    """An append-only log of records for each session, with what is kept beside it: checkpoints and leases.

    A record is bytes; its position counts from 1 in its session. All methods may be called by many tasks, threads'
    event loops and processes at once. What is acknowledged is durable as far as the store says so. A session comes
    into being with its first record. `ctxkit.testing.StoreSuite` holds what every store has to do, as tests.

    Raises (all methods):
        StoreError: the store could not be reached or failed; it is not known whether a write was carried out.
        ConfigError: a session id that is none (see `checked_id`).
    """

    async def append(
        self, session: str, bodies: Sequence[bytes], *, after: int, key: str = "", limited: bool = True
    ) -> int:
        """Write records behind position `after`, all or none; the position of the last of them.

        Without bodies nothing is written, `key` neither, and `after` is given back; it has to be right all the same.
        Cancelled, it is carried out wholly or not at all, and whatever the same store is asked next sees which.

        Args:
            after: position of the last record that the writer knows; 0 for a session that is not there yet. No session
                is at -1: so, without bodies, it is asked whether a key was used.
            key: names this call, a text of any characters. A key that was used before in this session writes nothing
                and gives the position that it gave then, whatever `after` is, so that a call may be repeated when its
                answer was lost.
            limited: whether limits are asked. They are not for a record that takes others out, as they are not by
                `rewrite`: what has to go goes, however full a session is.

        Raises:
            ConflictError: the session has gone beyond `after` (or is not there yet); nothing was written.
            ConfigError: the key is no text.
            SessionLimitError: a record or the session would be too large; nothing was written.
        """
        ...

    async def read(self, session: str, *, after: int = 0, upto: int | None = None) -> list[bytes]:
        """The records behind position `after`, in order, as far as `upto` (that one too); [] for none."""
        ...

    async def info(self, session: str) -> SessionInfo | None:
        """What there is to know of a session, None when there is none."""
        ...

    async def sessions(self) -> list[SessionInfo]:
        """All sessions, by id."""
        ...

    async def rewrite(self, session: str, bodies: Mapping[int, bytes]) -> None:
        """Put other bytes in the place of records, by position, all or none, and drop the session's checkpoints.

        What stood there is gone for good. Positions that do not exist are a ConflictError. `touched` stays as it was;
        `size` follows. Limits are not asked: what has to go may have to be put in longer words.
        """
        ...

    async def delete(self, session: str) -> None:
        """Drop a session with its checkpoints, keys and leases; nothing happens when there is none."""
        ...

    async def save_checkpoint(self, session: str, position: int, body: bytes) -> None:
        """Keep a checkpoint; the newest `CHECKPOINTS` (by position) are kept. Does not touch the session.

        One at the same position is replaced; one that is older than all that are kept is not kept.

        Nothing happens when the session is not there or has not come as far as `position`.
        """
        ...

    async def checkpoint(self, session: str, *, upto: int | None = None) -> tuple[int, bytes] | None:
        """The newest checkpoint (at most at position `upto`) with its position, None when there is none."""
        ...

    async def lease(self, session: str, name: str, holder: str, seconds: float) -> bool:
        """Take or extend a lease; False when another holder has it and it has not run out.

        It runs out `seconds` from now. The session need not be there, and is not touched.
        """
        ...

    async def release(self, session: str, name: str, holder: str) -> None:
        """Give a lease back; nothing happens when another holder has it."""
        ...

    async def close(self) -> None:
        """Let go of connections and files; a store that was closed is not used again."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


CHECKPOINTS = 2
"""Checkpoints that a store keeps of a session."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+=/-]{0,199}")


def checked_id(session: str) -> str:
    """A session id as it is: 1 to 200 ASCII letters, digits and `._:@+=/-`, a letter or digit first.

    Raises:
        ConfigError: it is none.
    """
    if not isinstance(session, str) or _ID.fullmatch(session) is None:
        raise ConfigError(
            f"a session id is 1 to 200 ASCII letters, digits and . _ : @ + = / -, the first a letter or digit; "
            f"not {session!r:.80}",
            path="session",
        )
    return session


def checked_key(key: str) -> str:
    """The key of a call as it is.

    Raises:
        ConfigError: it is no text.
    """
    if not isinstance(key, str):
        raise ConfigError(f"the key of a call is a text, not {key!r:.60}", path="key")
    return key


def checked_store(store: Any) -> Store:
    """A store as it is.

    Raises:
        ConfigError: it is none.
    """
    lacking = [name for name in _METHODS if not callable(getattr(store, name, None))]
    if lacking:
        raise ConfigError(
            f"a store is an object of ctxkit's, an address, or what has the methods of `Store`; {type(store).__name__} "
            f"has no {lacking[0]}",
            path="store",
        )
    checked: Store = store
    return checked


_METHODS = (
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
    "close",
)
