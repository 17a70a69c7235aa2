"""Sessions in PostgreSQL."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

from ctxkit.errors import ConfigError
from ctxkit.sessions.closing import Closing
from ctxkit.sessions.store import CHECKPOINTS, UNLIMITED, Limits, SessionInfo, checked_id, checked_key
from ctxkit.sessions.stores.base import conflict, failed, no_such_position, not_installed, text_bytes, wholly
from ctxkit.sessions.stores.by_loop import ByLoop
from ctxkit.sessions.stores.postgres_tables import migrate

if TYPE_CHECKING:
    from psycopg import AsyncConnection
    from psycopg_pool import AsyncConnectionPool

__all__ = ["PostgresStore"]

LAST = 2**63 - 1  # the largest bigint

READ_COMMITTED = r"-c default_transaction_isolation=read\ committed"
"""Whatever a role or a database has for its own: whoever waited for a lock has to see what was written."""

APPEND = """
WITH moved AS (
    UPDATE sessions SET position = %(last)s, size = size + %(size)s,
        touched = coalesce(%(now)s, extract(epoch FROM clock_timestamp()))
    WHERE id = %(session)s AND position = %(after)s AND size + %(size)s <= %(limit)s
        AND NOT EXISTS (SELECT FROM keys WHERE session = %(session)s AND key = %(key)s)
    RETURNING id
), written AS (
    INSERT INTO records SELECT id, %(after)s + number, body
    FROM moved, unnest(%(bodies)s::bytea[]) WITH ORDINALITY AS given (body, number)
), named AS (
    INSERT INTO keys SELECT id, %(key)s, %(last)s FROM moved WHERE %(key)s <> ''::bytea
)
SELECT EXISTS (SELECT FROM moved), (SELECT position FROM keys WHERE session = %(session)s AND key = %(key)s),
    (SELECT position FROM sessions WHERE id = %(session)s)
"""


class PostgresStore(Closing):
    """Sessions in a PostgreSQL database, for any number of tasks, event loops, processes and machines.

    Each write is a transaction; an acknowledged one is as durable as the server makes commits (`synchronous_commit`).
    The tables are made when the store is first used, and brought up to date when a newer ctxkit uses them; a role that
    may not make any can use those that are there.

    Args:
        address: as in `postgresql://user:password@host/database`; it is never shown.
        schema: that the tables are in; made if it is not there.
        connections: the most that one event loop opens.
        limits: what it takes.
        clock: seconds since 1970, for `touched` and leases; by default the server's own.
        timeout_s: seconds to wait for a connection, after which there is a StoreError.

    Raises:
        ConfigError: the address or the schema is none, or `psycopg` is not installed.
    """

    def __init__(
        self,
        address: str,
        *,
        schema: str = "ctxkit",
        connections: int = 10,
        limits: Limits | None = None,
        clock: Callable[[], float] | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        if re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema) is None:
            raise ConfigError(
                f"a schema is up to 63 small letters, digits and _, not {schema!r:.60}", path="schema"
            )
        options = f"{_options(address)} -c search_path={schema} {READ_COMMITTED}"
        self._schema = schema
        self._limits = limits or Limits()
        self._clock = clock
        self._pools = ByLoop(lambda: _Pool(address, schema, options, connections, timeout_s))

    def __repr__(self) -> str:
        return f"PostgresStore(schema={self._schema!r})"

    @wholly
    async def append(
        self, session: str, bodies: Sequence[bytes], *, after: int, key: str = "", limited: bool = True
    ) -> int:
        checked_id(session)
        checked_key(key)
        limits = self._limits if limited else UNLIMITED
        quick = after > 0 and bodies
        at_once = await self._appended_at_once(session, bodies, after, key, limits) if quick else 0
        if at_once:
            return at_once
        async with self._transaction(session) as sql:
            if given := await _keyed(sql, session, key):
                return given
            position, size = await _locked(sql, session)
            if given := await _keyed(sql, session, key):
                return given  # whoever held the lock has used it
            if after != position:
                raise conflict(session, after=after, position=position)
            limits.check(bodies, session=session, held=size)
            if not bodies:
                return position
            return await self._written(sql, session, bodies, key, position)

    async def _appended_at_once(
        self, session: str, bodies: Sequence[bytes], after: int, key: str, limits: Limits
    ) -> int:
        """The position, when one statement could tell: mostly the session is at `after`, or clearly beyond it.

        A key that leads to a position up to `after` was committed before this began, so the statement sees it.
        """
        size, last = sum(map(len, bodies)), after + len(bodies)
        if max(map(len, bodies)) > limits.record:
            return 0
        asked = {"session": session, "after": after, "last": last, "size": size, "now": self._now()}
        asked |= {"key": text_bytes(key), "bodies": list(bodies), "limit": limits.session}
        async with self._statement(session, writes=True) as sql:
            await sql.execute(APPEND, asked)
            moved, known, position = await sql.fetchone()
        if not moved and not known and (position or 0) > after:
            raise conflict(session, after=after, position=position)
        return last if moved else known or 0

    async def _written(self, sql: Any, session: str, bodies: Sequence[bytes], key: str, position: int) -> int:
        last = position + len(bodies)
        await sql.execute(
            "INSERT INTO sessions VALUES (%s, %s, %s, coalesce(%s, extract(epoch FROM clock_timestamp()))) "
            "ON CONFLICT (id) DO UPDATE SET position = excluded.position, "
            "size = sessions.size + excluded.size, touched = excluded.touched WHERE sessions.position = %s",
            (session, last, sum(map(len, bodies)), self._now(), position),
        )
        if sql.rowcount != 1:  # somebody has begun the session meanwhile, perhaps with the same call
            if given := await _keyed(sql, session, key):
                return given
            raise conflict(session, after=position, position=(await _locked(sql, session))[0])
        await sql.executemany(
            "INSERT INTO records VALUES (%s, %s, %s)",
            [(session, at, body) for at, body in enumerate(bodies, position + 1)],
        )
        if key:
            await sql.execute("INSERT INTO keys VALUES (%s, %s, %s)", (session, text_bytes(key), last))
        return last

    @wholly
    async def read(self, session: str, *, after: int = 0, upto: int | None = None) -> list[bytes]:
        asked = (checked_id(session), after, LAST if upto is None else upto)
        async with self._statement(session) as sql:
            await sql.execute(
                "SELECT body FROM records WHERE session = %s AND position > %s AND position <= %s ORDER BY position",
                asked,
            )
            return [bytes(body) for (body,) in await sql.fetchall()]

    @wholly
    async def info(self, session: str) -> SessionInfo | None:
        checked_id(session)
        async with self._statement(session) as sql:
            await sql.execute("SELECT id, position, size, touched FROM sessions WHERE id = %s", (session,))
            row = await sql.fetchone()
            return SessionInfo(*row) if row else None

    @wholly
    async def sessions(self) -> list[SessionInfo]:
        async with self._statement("") as sql:
            await sql.execute("SELECT id, position, size, touched FROM sessions ORDER BY id")
            return [SessionInfo(*row) for row in await sql.fetchall()]

    @wholly
    async def rewrite(self, session: str, bodies: Mapping[int, bytes]) -> None:
        checked_id(session)
        async with self._transaction(session) as sql:
            position, _ = await _locked(sql, session)
            for at, body in bodies.items():
                if not 1 <= at <= position:
                    raise no_such_position(session, wrong=at, position=position)
                await sql.execute(
                    "UPDATE sessions SET size = size + %s - (SELECT length(body) FROM records "
                    "WHERE session = %s AND position = %s) WHERE id = %s",
                    (len(body), session, at, session),
                )
                await sql.execute(
                    "UPDATE records SET body = %s WHERE session = %s AND position = %s", (body, session, at)
                )
            await sql.execute("DELETE FROM checkpoints WHERE session = %s", (session,))

    @wholly
    async def delete(self, session: str) -> None:
        checked_id(session)
        async with self._transaction(session) as sql:
            position, _ = await _locked(sql, session)
            await sql.execute("DELETE FROM leases WHERE session = %s", (session,))
            if not position:
                return  # no lock is held: somebody may begin it at this moment
            for table in ("records", "keys", "checkpoints"):
                await sql.execute(f"DELETE FROM {table} WHERE session = %s", (session,))
            await sql.execute("DELETE FROM sessions WHERE id = %s", (session,))

    @wholly
    async def save_checkpoint(self, session: str, position: int, body: bytes) -> None:
        checked_id(session)
        async with self._transaction(session) as sql:
            held, _ = await _locked(sql, session)
            if not held or position > held:
                return
            await sql.execute(
                "INSERT INTO checkpoints VALUES (%s, %s, %s) "
                "ON CONFLICT (session, position) DO UPDATE SET body = excluded.body",
                (session, position, body),
            )
            await sql.execute(
                "DELETE FROM checkpoints WHERE session = %s AND position NOT IN (SELECT position FROM checkpoints "
                "WHERE session = %s ORDER BY position DESC LIMIT %s)",
                (session, session, CHECKPOINTS),
            )

    @wholly
    async def checkpoint(self, session: str, *, upto: int | None = None) -> tuple[int, bytes] | None:
        asked = (checked_id(session), LAST if upto is None else upto)
        async with self._statement(session) as sql:
            await sql.execute(
                "SELECT position, body FROM checkpoints WHERE session = %s AND position <= %s "
                "ORDER BY position DESC LIMIT 1",
                asked,
            )
            row = await sql.fetchone()
            return (row[0], bytes(row[1])) if row else None

    @wholly
    async def lease(self, session: str, name: str, holder: str, seconds: float) -> bool:
        checked_id(session)
        now = "coalesce(%(now)s, extract(epoch FROM clock_timestamp()))"
        async with self._statement(session, writes=True) as sql:
            await sql.execute(
                f"INSERT INTO leases VALUES (%(session)s, %(name)s, %(holder)s, {now} + %(seconds)s) "
                "ON CONFLICT (session, name) DO UPDATE SET holder = excluded.holder, until = excluded.until "
                f"WHERE leases.holder = excluded.holder OR leases.until <= {now}",
                {
                    "session": session,
                    "name": text_bytes(name),
                    "holder": text_bytes(holder),
                    "seconds": seconds,
                    "now": self._now(),
                },
            )
            return bool(sql.rowcount == 1)

    @wholly
    async def release(self, session: str, name: str, holder: str) -> None:
        held = (checked_id(session), text_bytes(name), text_bytes(holder))
        async with self._statement(session, writes=True) as sql:
            await sql.execute("DELETE FROM leases WHERE session = %s AND name = %s AND holder = %s", held)

    @wholly
    async def close(self) -> None:
        pool = self._pools.taken()
        if pool is not None:
            await pool.close()

    def _now(self) -> float | None:
        return None if self._clock is None else self._clock()

    @asynccontextmanager
    async def _transaction(self, session: str) -> AsyncIterator[Any]:
        """A cursor in a transaction of its own; what the driver raises is a StoreError."""
        async with self._statement(session, writes=True) as sql, sql.connection.transaction():
            yield sql

    @asynccontextmanager
    async def _statement(self, session: str, *, writes: bool = False) -> AsyncIterator[Any]:
        """A cursor for one statement, which is a transaction of its own; errors as in `_transaction`."""
        import psycopg
        import psycopg_pool

        connections = self._pools.here()
        try:
            pool = await connections.opened()
            async with pool.connection() as connection, connection.cursor() as cursor:
                yield cursor
        except (psycopg.Error, psycopg_pool.PoolTimeout, psycopg_pool.PoolClosed, OSError) as error:
            waited = isinstance(error, psycopg_pool.PoolTimeout)
            why = f"{error}{connections.refused}" if waited else type(error).__name__
            raise failed(f"PostgreSQL failed: {why}", session, writes=writes) from error


class _Pool:
    """The connections of one event loop, opened and migrated at the first use.

    Attributes:
        refused: why the last attempt to connect failed, behind a colon; "" when it did not.
    """

    def __init__(self, address: str, schema: str, options: str, connections: int, timeout_s: float) -> None:
        self._address = address
        self._schema = schema
        self._options = options
        self._connections = connections
        self._timeout_s = timeout_s
        self._opening: asyncio.Task[AsyncConnectionPool] | None = None
        self.refused = ""

    async def opened(self) -> AsyncConnectionPool:
        """All who ask at once wait for one attempt; whoever asks after it has failed makes another."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._made())
        return await asyncio.shield(self._opening)

    async def _made(self) -> AsyncConnectionPool:
        from psycopg_pool import AsyncConnectionPool

        pool = AsyncConnectionPool(
            self._address,
            min_size=0,
            max_size=self._connections,
            timeout=self._timeout_s,
            open=False,
            connection_class=self._noting(),
            kwargs={"options": self._options, "autocommit": True},
            check=AsyncConnectionPool.check_connection,
        )
        await pool.open()
        try:
            async with pool.connection() as connection:
                await migrate(connection, self._schema)
        except BaseException:
            self._opening = None
            await pool.close()
            raise
        return pool

    def _noting(self) -> type[AsyncConnection]:
        """Connections that leave a note of why there is none."""
        from psycopg import AsyncConnection, Error

        pool = self

        class Noting(AsyncConnection):
            @classmethod
            async def connect(cls, *given: Any, **settings: Any) -> Self:
                try:
                    connection = await super().connect(*given, **settings)
                except (Error, OSError) as error:
                    pool.refused = f": {_reason(error)}"
                    raise
                pool.refused = ""
                return connection

        return Noting

    async def close(self) -> None:
        if self._opening is not None:
            await (await self.opened()).close()


def _reason(error: Exception) -> str:
    """The first line of what the driver says, less what it quotes: hosts and roles, or what it takes for one."""
    said = str(error).strip() or type(error).__name__
    return re.sub(r"'[^']*'|\"[^\"]*\"", "...", said.splitlines()[0])


def _options(address: str) -> str:
    """Those that an address gives to the server itself."""
    try:
        import psycopg_pool  # noqa: F401
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as error:
        raise not_installed("PostgreSQL needs its driver", "postgres") from error
    try:
        return str(conninfo_to_dict(address).get("options") or "")
    except ProgrammingError:  # it is not shown as the cause: it may quote a part of the password
        raise ConfigError(
            "the address of a PostgreSQL is like postgresql://user:password@host/database, with %2F for a / and %25 "
            "for a % in the password",
            path="store",
        ) from None


async def _keyed(sql: Any, session: str, key: str) -> int:
    """The position that this key gave, 0 when it was not used."""
    if not key:
        return 0
    await sql.execute("SELECT position FROM keys WHERE session = %s AND key = %s", (session, text_bytes(key)))
    row = await sql.fetchone()
    return row[0] if row else 0


async def _locked(sql: Any, session: str) -> tuple[int, int]:
    """Position and size of a session, zeros when there is none; others wait until the transaction ends."""
    await sql.execute("SELECT position, size FROM sessions WHERE id = %s FOR UPDATE", (session,))
    row = await sql.fetchone()
    return (row[0], row[1]) if row else (0, 0)
