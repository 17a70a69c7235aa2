"""What was acknowledged outlasts its writer: writers are killed at any moment, ten times in a quick run, five hundred
times in a long one."""

import os
import sqlite3
from pathlib import Path

import pytest

from tests.sessions.crashing import checked, kill_writers, opened

KILLS = 500 if os.environ.get("CTXKIT_HYPOTHESIS") == "long" else 10


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path / 'sessions.db'}"


@pytest.mark.parametrize("kind", ["sqlite"])
async def test_killed_writers_lose_nothing_that_was_acknowledged(
    kind: str, request: pytest.FixtureRequest
) -> None:
    address: str = request.getfixturevalue(kind)
    killed = kill_writers(address, kills=KILLS, seed=7)
    async with opened(address) as store:
        assert await checked(store, killed) >= 2 * KILLS


async def test_a_file_is_sound_after_its_writers_were_killed(sqlite: str) -> None:
    kill_writers(sqlite, kills=3, seed=11)
    connection = sqlite3.connect(sqlite.removeprefix("sqlite:"))
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
