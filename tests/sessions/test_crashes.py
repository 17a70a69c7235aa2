"""What was acknowledged outlasts its writer, and its server: they are killed at any moment, ten times in a quick run, five
hundred times in a long one."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ctxkit.sessions.stores import open_store
from tests.servers.postgres import Postgres, postgres
from tests.servers.valkey import Valkey, valkey
from tests.sessions import talking
from tests.sessions.crashing import SESSION, Killed, checked, kill_writers

KILLS = 500 if os.environ.get("CTXKIT_HYPOTHESIS") == "long" else 10
KINDS = ["sqlite", "redis", "postgresql"]


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path / 'sessions.db'}"


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Valkey | Postgres]:
    """A server that may be killed: Valkey with an append-only file that is written before it answers, or PostgreSQL."""
    with valkey(append_only=True) if request.param == "redis" else postgres() as running:
        yield running


@pytest.fixture
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where to write, on a server of its own."""
    if request.param == "sqlite":
        yield request.getfixturevalue("sqlite")
        return
    with valkey(append_only=True) if request.param == "redis" else postgres() as running:
        yield running.url


def crash_of(server: Valkey | Postgres) -> Callable[[], None]:
    """Kills a server and starts it again."""

    def crash() -> None:
        server.kill()
        server.start()

    return crash


@pytest.mark.parametrize("address", KINDS, indirect=True)
async def test_killed_writers_lose_nothing_that_was_acknowledged(address: str) -> None:
    killed = kill_writers(address, kills=KILLS, seed=7)
    async with open_store(address) as store:
        assert await checked(store, killed) >= 2 * KILLS


@pytest.mark.parametrize("server", ["redis", "postgresql"], indirect=True)
async def test_a_killed_server_loses_nothing_that_it_acknowledged(server: Valkey | Postgres) -> None:
    killed = kill_writers(server.url, kills=KILLS, seed=8, crash=crash_of(server))
    async with open_store(server.url) as store:
        assert await checked(store, killed) >= 2 * KILLS


@pytest.mark.parametrize("address", KINDS, indirect=True)
async def test_a_session_of_killed_workers_has_all_that_was_acknowledged(address: str) -> None:
    await check_session(address, kill_writers(address, kills=KILLS, seed=9, talk=True))


@pytest.mark.parametrize("server", ["redis", "postgresql"], indirect=True)
async def test_a_session_on_a_killed_server_has_all_that_was_acknowledged(server: Valkey | Postgres) -> None:
    killed = kill_writers(server.url, kills=KILLS, seed=10, talk=True, crash=crash_of(server))
    await check_session(server.url, killed)


async def check_session(address: str, killed: Killed) -> None:
    """Each writer's messages are there once and in order: all that were acknowledged, and perhaps the one that it was at.
    That one is there once when it is added again with its key."""
    told = Counter(key.split("/")[0] for key in killed.acknowledged)
    async with open_store(address) as store:
        there = await talking.said(store, SESSION)
        for name in killed.names:
            numbers = there.get(name, [])
            assert numbers == [*range(len(numbers))]
            assert told[name] <= len(numbers) <= told[name] + 1
        for name in killed.names[-3:]:
            await talking.add_again(store, SESSION, name, told[name])
            assert (await talking.said(store, SESSION))[name] == [*range(told[name] + 1)]


async def test_a_file_is_sound_after_its_writers_were_killed(sqlite: str) -> None:
    kill_writers(sqlite, kills=3, seed=11)
    connection = sqlite3.connect(sqlite.removeprefix("sqlite:"))
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
