"""The tables of `PostgresStore`, and how they come to be what today's version wants."""

from __future__ import annotations

from typing import Any

from ctxkit.errors import ConfigError

__all__ = ["migrate"]

MIGRATIONS = (
    """
    CREATE TABLE sessions (
        id text COLLATE "C" PRIMARY KEY, position bigint NOT NULL, size bigint NOT NULL, touched float8 NOT NULL
    );
    CREATE TABLE records (
        session text COLLATE "C", position bigint, body bytea NOT NULL, PRIMARY KEY (session, position)
    );
    CREATE TABLE keys (
        session text COLLATE "C", key bytea, position bigint NOT NULL, PRIMARY KEY (session, key)
    );
    CREATE TABLE checkpoints (
        session text COLLATE "C", position bigint, body bytea NOT NULL, PRIMARY KEY (session, position)
    );
    CREATE TABLE leases (
        session text COLLATE "C", name bytea, holder bytea NOT NULL, until float8 NOT NULL,
        PRIMARY KEY (session, name)
    );
    """,
)
"""What brings the tables from each version to the next, the first from none."""

LOCK = 0x637478_6B6974  # "ctxkit": whoever migrates has this advisory lock


async def migrate(connection: Any, schema: str) -> None:
    """Bring the tables of a schema up to today's version; several may ask for it at once.

    Raises:
        ConfigError: the tables are of a later version.
    """
    if await _version(connection, schema) == len(MIGRATIONS):
        return
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        version = await _version(connection, schema)
        if not version:
            await _begin(connection, schema)
        for number, statements in enumerate(MIGRATIONS[version:], version + 1):
            await connection.execute(statements)
            await connection.execute("INSERT INTO version VALUES (%s)", (number,))


async def _version(connection: Any, schema: str) -> int:
    """0 for no tables. The catalogue is read, not asked by `to_regclass`, which may not yet know what others made."""
    made = "SELECT FROM pg_catalog.pg_tables WHERE schemaname = %s AND tablename = 'version'"
    if (await connection.execute(made, (schema,))).rowcount == 0:
        return 0
    row = await (await connection.execute("SELECT max(number) FROM version")).fetchone()
    version: int = row[0] or 0
    if version > len(MIGRATIONS):
        raise ConfigError(
            f"the tables in schema {schema} are of version {version}, this ctxkit knows up to {len(MIGRATIONS)}: "
            "upgrade ctxkit-core",
            path="store",
        )
    return version


async def _begin(connection: Any, schema: str) -> None:
    """A schema that is there is not asked for: to ask is denied to whoever may not make one."""
    from psycopg import sql

    made = await connection.execute("SELECT FROM pg_catalog.pg_namespace WHERE nspname = %s", (schema,))
    if made.rowcount == 0:
        await connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
    await connection.execute("CREATE TABLE IF NOT EXISTS version (number int NOT NULL)")
