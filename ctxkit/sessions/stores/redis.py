"""Sessions in Redis, or what speaks its protocol (Valkey)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

from ctxkit.errors import ConfigError
from ctxkit.sessions.closing import Closing
from ctxkit.sessions.store import CHECKPOINTS, UNLIMITED, Limits, SessionInfo, checked_id, checked_key
from ctxkit.sessions.stores.base import conflict, failed, no_such_position, not_installed, text_bytes, wholly
from ctxkit.sessions.stores.by_loop import ByLoop
from ctxkit.sessions.stores.redis_scripts import APPEND, CHECKPOINT, LEASE, RELEASE, REWRITE

if TYPE_CHECKING:
    from redis.asyncio import Redis

__all__ = ["RedisStore"]

PARTS = ("log", "meta", "keys", "checkpoints", "leases")
"""What a session has, a key each."""

PAGE = 500
"""Sessions that are asked for at once."""


class RedisStore(Closing):
    """Sessions on a Redis server, for any number of tasks, event loops and processes.

    Each write is one script, so it is wholly there or not at all. How durable it is the server says: with
    `appendonly yes` and `appendfsync always` an acknowledged write outlasts a crash, with `everysec` all but the last
    second does, without an append-only file all since the last snapshot is lost. A server that evicts keys when it is
    full (any `maxmemory-policy` but `noeviction`) loses sessions in part. The keys of a session have one hash tag, so
    they lie on one node of a cluster; the set of all sessions is a key of its own.

    Args:
        address: as in `redis://localhost:6379/0`; it may hold a password, which is never shown.
        prefix: of all keys, without braces and colons: a colon ends it.
        ttl_s: seconds after its last write in which a session vanishes; kept for good without it. Below a
            `TieredStore` it has to be longer than it takes until `move_idle` has moved the session.
        limits: what it takes.
        clock: seconds since 1970, for `touched` and leases; by default the server's own.
        timeout_s: seconds to wait for the server, after which there is a StoreError.

    Raises:
        ConfigError: the address or the prefix cannot be right, or `redis` is not installed.
    """

    def __init__(
        self,
        address: str,
        *,
        prefix: str = "ctxkit",
        ttl_s: int | None = None,
        limits: Limits | None = None,
        clock: Callable[[], float] | None = None,
        timeout_s: float = 10.0,
    ) -> None:
        if not prefix or set(prefix) & set("{}:"):
            raise ConfigError(
                f"a prefix is a text without braces and colons, not {prefix!r:.60}", path="prefix"
            )
        self._prefix = prefix
        self._ttl = ttl_s
        self._limits = limits or Limits()
        self._clock = clock
        self._clients: ByLoop[Redis] = ByLoop(lambda: _client(address, timeout_s))
        _client(address, timeout_s)  # an address that cannot be right is told at once

    def __repr__(self) -> str:
        return f"RedisStore(prefix={self._prefix!r})"

    @wholly
    async def append(
        self, session: str, bodies: Sequence[bytes], *, after: int, key: str = "", limited: bool = True
    ) -> int:
        limits, named = self._limits if limited else UNLIMITED, text_bytes(checked_key(key))
        async with self._server(session, writes=True) as server:
            begins = bool(bodies) and after == 0
            if begins:
                await server.sadd(self._index, session)
            arguments = [
                after,
                named,
                limits.record,
                limits.session,
                self._now(),
                self._ttl or 0,
                *bodies,
            ]
            keys = self._keys(session, 4)
            said, position, size = await server.register_script(APPEND)(keys, arguments)
            if begins:  # whoever found no session a moment ago has taken it off the list
                await server.sadd(self._index, session)
        if said == b"conflict":
            raise conflict(session, after=after, position=position)
        if said == b"limit":
            limits.check(bodies, session=session, held=size)
        return int(position)

    @wholly
    async def read(self, session: str, *, after: int = 0, upto: int | None = None) -> list[bytes]:
        start, end = max(after, 0), -1 if upto is None else upto - 1
        async with self._server(session) as server:
            if upto is not None and upto <= start:
                return []
            return list(await server.lrange(self._key(session, "log"), start, end))

    @wholly
    async def info(self, session: str) -> SessionInfo | None:
        async with self._server(session) as server:
            return (await self._infos(server, [session]))[0]

    async def _infos(self, server: Any, sessions: Sequence[str]) -> list[SessionInfo | None]:
        pipeline = server.pipeline(transaction=False)
        for session in sessions:
            pipeline.hmget(self._key(session, "meta"), "position", "size", "touched")
        return [_info(*each) for each in zip(sessions, await pipeline.execute(), strict=True)]

    @wholly
    async def sessions(self) -> list[SessionInfo]:
        async with self._reached("") as server:
            listed = sorted(name.decode() for name in await server.smembers(self._index))
            found = []
            for start in range(0, len(listed), PAGE):
                page = listed[start : start + PAGE]
                for session, info in zip(page, await self._infos(server, page), strict=True):
                    if info is None:
                        await self._unlist(server, session)
                    else:
                        found.append(info)
            return found

    async def _unlist(self, server: Any, session: str) -> None:
        """Take a session that is gone off the list, unless somebody has begun it anew meanwhile."""
        await server.srem(self._index, session)
        if await server.exists(self._key(session, "meta")):
            await server.sadd(self._index, session)

    @wholly
    async def rewrite(self, session: str, bodies: Mapping[int, bytes]) -> None:
        pairs = [each for at, body in bodies.items() for each in (at, body)]
        async with self._server(session, writes=True) as server:
            keys = [self._key(session, part) for part in ("log", "meta", "checkpoints")]
            said, wrong, position = await server.register_script(REWRITE)(keys, pairs)
        if said == b"wrong":
            raise no_such_position(session, wrong=wrong, position=position)

    @wholly
    async def delete(self, session: str) -> None:
        async with self._server(session, writes=True) as server:
            await server.delete(*self._keys(session, len(PARTS)))
            await self._unlist(server, session)

    @wholly
    async def save_checkpoint(self, session: str, position: int, body: bytes) -> None:
        async with self._server(session, writes=True) as server:
            keys = [self._key(session, part) for part in ("log", "checkpoints")]
            await server.register_script(CHECKPOINT)(keys, [position, body, CHECKPOINTS])

    @wholly
    async def checkpoint(self, session: str, *, upto: int | None = None) -> tuple[int, bytes] | None:
        async with self._server(session) as server:
            held = await server.hgetall(self._key(session, "checkpoints"))
        there = [int(at) for at in held if upto is None or int(at) <= upto]
        return (max(there), held[b"%d" % max(there)]) if there else None

    @wholly
    async def lease(self, session: str, name: str, holder: str, seconds: float) -> bool:
        arguments = [text_bytes(name), text_bytes(holder), seconds, self._now()]
        async with self._server(session, writes=True) as server:
            return bool(await server.register_script(LEASE)([self._key(session, "leases")], arguments))

    @wholly
    async def release(self, session: str, name: str, holder: str) -> None:
        arguments = [text_bytes(name), text_bytes(holder)]
        async with self._server(session, writes=True) as server:
            await server.register_script(RELEASE)([self._key(session, "leases")], arguments)

    @wholly
    async def close(self) -> None:
        client = self._clients.taken()
        if client is not None:
            await client.aclose()

    @property
    def _index(self) -> str:
        return f"{self._prefix}:sessions"

    def _key(self, session: str, part: str) -> str:
        return f"{{{self._prefix}:{session}}}:{part}"

    def _keys(self, session: str, count: int) -> list[str]:
        return [self._key(session, part) for part in PARTS[:count]]

    def _now(self) -> str:
        return "" if self._clock is None else repr(self._clock())

    def _server(self, session: str, *, writes: bool = False) -> AbstractAsyncContextManager[Any]:
        return self._reached(checked_id(session), writes=writes)

    @asynccontextmanager
    async def _reached(self, session: str, *, writes: bool = False) -> AsyncIterator[Any]:
        """The server, for one call; what its driver raises is a StoreError."""
        from redis.exceptions import RedisError

        try:
            yield self._clients.here()
        except (RedisError, OSError, TimeoutError) as error:
            raise failed(f"Redis failed: {type(error).__name__}: {error}", session, writes=writes) from error


def _info(session: str, meta: Sequence[bytes | None]) -> SessionInfo | None:
    position, size, touched = meta
    if position is None or size is None or touched is None:
        return None
    return SessionInfo(session, int(position), int(size), float(touched))


def _client(address: str, timeout_s: float) -> Redis:
    try:
        from redis.asyncio import Redis
    except ImportError as error:
        raise not_installed("Redis needs its driver", "redis") from error
    try:
        return Redis.from_url(address, socket_timeout=timeout_s, socket_connect_timeout=timeout_s)
    except ValueError:  # it is not shown as the cause: it may quote a part of the password
        raise ConfigError(
            "the address of a Redis is like redis://localhost:6379/0 or rediss://user:password@host:6379, with "
            "%2F for a / in the password",
            path="store",
        ) from None
