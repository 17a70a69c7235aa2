"""PostgresStore, on a real server."""

from __future__ import annotations

import asyncio
import time
import uuid
from typing import Any

import psycopg
import pytest

from ctxkit import ConfigError, ConflictError, Limits, PostgresStore, Store, StoreError
from ctxkit.testing import StoreSuite
from tests.servers.postgres import postgres


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


async def _run(url: str, *statements: str) -> None:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        for statement in statements:
            await connection.execute(statement)  # type: ignore[arg-type]


async def test_one_call_that_begins_a_session_made_many_times_at_once_begins_it_once(
    postgres_url: str,
) -> None:
    async with PostgresStore(postgres_url, schema=f"t{uuid.uuid4().hex}") as store:
        await asyncio.gather(*(store.info("none") for _ in range(10)))  # opens ten connections
        for session in "abcdef":
            calls = [store.append(session, [b"one", b"two"], after=0, key="k") for _ in range(10)]
            assert await asyncio.gather(*calls) == [2] * 10
            assert await store.read(session) == [b"one", b"two"]


async def test_a_session_that_is_begun_while_none_is_deleted_is_whole(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema, begun = f"t{uuid.uuid4().hex}", list[int]()
    async with (
        PostgresStore(postgres_url, schema=schema) as one,
        PostgresStore(postgres_url, schema=schema) as two,
    ):
        assert await two.sessions() == []
        execute = psycopg.AsyncCursor.execute

        async def executed(cursor: Any, query: Any, *arguments: Any, **named: Any) -> Any:
            given = await execute(cursor, query, *arguments, **named)
            if "DELETE" in str(query) and not begun:
                begun.append(1)
                await two.append("s", [b"anew"], after=0)
            return given

        monkeypatch.setattr(psycopg.AsyncCursor, "execute", executed)
        await one.delete("s")
        assert await two.read("s") == [b"anew"]
        assert await two.append("s", [b"more"], after=1) == 2


async def test_a_role_that_may_make_no_schema_uses_the_one_that_it_has(postgres_url: str) -> None:
    schema, role = f"t{uuid.uuid4().hex}", f"r{uuid.uuid4().hex}"
    await _run(postgres_url, f"CREATE ROLE {role} LOGIN", f"CREATE SCHEMA {schema} AUTHORIZATION {role}")
    async with PostgresStore(postgres_url.replace("postgres@", f"{role}@"), schema=schema) as store:
        assert await store.append("s", [b"one"], after=0) == 1


async def test_a_role_that_may_make_no_table_uses_those_that_are_there(postgres_url: str) -> None:
    schema, role = f"t{uuid.uuid4().hex}", f"r{uuid.uuid4().hex}"
    async with PostgresStore(postgres_url, schema=schema) as store:
        await store.append("s", [b"one"], after=0)
    rights = f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}"
    await _run(postgres_url, f"CREATE ROLE {role} LOGIN", f"GRANT USAGE ON SCHEMA {schema} TO {role}", rights)
    async with PostgresStore(postgres_url.replace("postgres@", f"{role}@"), schema=schema) as store:
        assert await store.append("s", [b"two"], after=1) == 2


async def test_what_a_role_takes_for_isolation_changes_nothing(postgres_url: str) -> None:
    role = f"r{uuid.uuid4().hex}"
    isolation = f"ALTER ROLE {role} SET default_transaction_isolation = 'serializable'"
    await _run(postgres_url, f"CREATE ROLE {role} LOGIN SUPERUSER", isolation)
    url = f"{postgres_url.replace('postgres@', f'{role}@')}?options=-c%20application_name%3Dmine"
    async with PostgresStore(url, schema=f"t{uuid.uuid4().hex}") as store:
        await asyncio.gather(*(store.info("none") for _ in range(10)))
        for session in "abc":
            for after in range(4):
                calls = [store.append(session, [b"one"], after=after) for _ in range(10)]
                given = await asyncio.gather(*calls, return_exceptions=True)
                assert [type(each) for each in given if each != after + 1] == [ConflictError] * 9


async def test_a_server_that_was_killed_and_came_back_has_what_it_acknowledged() -> None:
    with postgres() as server:
        async with PostgresStore(server.url, timeout_s=2) as store:
            await store.append("s", [b"one"], after=0, key="k")
            server.kill()
            with pytest.raises(StoreError, match="PostgreSQL failed"):
                await store.append("s", [b"two"], after=1, key="l")
            server.start()
            assert await store.append("s", [b"one"], after=0, key="k") == 1
            assert await store.append("s", [b"two"], after=1, key="l") == 2
            assert await store.read("s") == [b"one", b"two"]


async def test_many_wait_for_a_server_that_is_not_there_no_longer_than_one() -> None:
    async with PostgresStore("postgresql://127.0.0.1:1/none", timeout_s=0.2) as store:
        told = await asyncio.gather(*(store.read("s") for _ in range(20)), return_exceptions=True)
        assert [type(each) for each in told] == [StoreError] * 20
        assert len({id(each.__cause__) for each in told if isinstance(each, StoreError)}) == 1


@pytest.mark.parametrize("password", ["sec%zzret", "sec ret"])
def test_an_address_that_cannot_be_read_is_not_shown(password: str) -> None:
    with pytest.raises(ConfigError, match="%25 for a % in the password") as raised:
        PostgresStore(f"postgresql://user:{password}@host/database")
    assert "sec" not in f"{raised.value}{raised.value.__cause__}"
    assert raised.value.__suppress_context__


async def test_many_may_make_the_tables_at_once(postgres_url: str) -> None:
    schema = f"t{uuid.uuid4().hex}"
    stores = [PostgresStore(postgres_url, schema=schema) for _ in range(8)]
    assert await asyncio.gather(*(each.sessions() for each in stores)) == [[]] * 8
    for each in stores:
        await each.close()


async def test_tables_of_a_later_version_are_left_alone(postgres_url: str) -> None:
    schema = f"t{uuid.uuid4().hex}"
    async with PostgresStore(postgres_url, schema=schema) as store:
        await store.append("s", [b"one"], after=0)
    await _run(postgres_url, f"INSERT INTO {schema}.version VALUES (99)")
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
