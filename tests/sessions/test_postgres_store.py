"""PostgresStore, on a real server."""

from __future__ import annotations

import asyncio
import time
import uuid

import pytest

from ctxkit import ConfigError, Limits, PostgresStore, Store, StoreError
from ctxkit.testing import StoreSuite


class TestPostgresStore(StoreSuite):
    """What every store does."""

    @pytest.fixture(autouse=True)
    def _place(self, postgres_url: str) -> None:
        self.url, self.schema = postgres_url, f"t{uuid.uuid4().hex}"

    async def open_store(self, limits: Limits) -> Store:
        return PostgresStore(self.url, schema=self.schema, limits=limits, clock=self.clock)


class TestByTheServersClock(TestPostgresStore):
    """The same, with the time of the server."""

    lease_s = 0.2

    async def open_store(self, limits: Limits) -> Store:
        return PostgresStore(self.url, schema=self.schema, limits=limits)

    async def pass_time(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def time(self) -> float:
        return time.time()


async def test_many_may_make_the_tables_at_once(postgres_url: str) -> None:
    schema = f"t{uuid.uuid4().hex}"
    stores = [PostgresStore(postgres_url, schema=schema) for _ in range(8)]
    assert await asyncio.gather(*(each.sessions() for each in stores)) == [[]] * 8
    for each in stores:
        await each.close()


async def test_tables_of_a_later_version_are_left_alone(postgres_url: str) -> None:
    import psycopg

    schema = f"t{uuid.uuid4().hex}"
    async with PostgresStore(postgres_url, schema=schema) as store:
        await store.append("s", [b"one"], after=0)
    async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as connection:
        await connection.execute(f"INSERT INTO {schema}.version VALUES (99)")  # type: ignore[arg-type]
    async with PostgresStore(postgres_url, schema=schema) as store:
        with pytest.raises(ConfigError, match="version 99"):
            await store.read("s")


async def test_a_server_that_is_not_there_is_a_store_error() -> None:
    async with PostgresStore("postgresql://user:secret@127.0.0.1:1/none", timeout_s=0.5) as store:
        with pytest.raises(StoreError, match="PostgreSQL failed") as raised:
            await store.append("s", [b"content"], after=0)
        assert raised.value.session == "s"
        assert "secret" not in f"{raised.value}{store!r}"
        assert "content" not in str(raised.value)


@pytest.mark.parametrize("schema", ["", "Upper", "a b", 'x"; DROP TABLE sessions; --', "x" * 64])
def test_a_schema_is_a_name(schema: str) -> None:
    with pytest.raises(ConfigError, match="a schema is up to 63"):
        PostgresStore("postgresql://localhost/none", schema=schema)
