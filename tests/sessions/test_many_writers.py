"""Fifty tasks in each of four processes write one session, with compactions meanwhile: nothing is lost, nothing comes
twice, and what each of them said is in its order."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from ctxkit.sessions.stores.memory import MemoryStore
from ctxkit.sessions.stores.tiered import TieredStore
from tests.sessions import talking
from tests.sessions.crashing import ROOT

PROCESSES, TASKS = 4, 50
TIMES = 40 if os.environ.get("CTXKIT_HYPOTHESIS") == "long" else 5
"""Messages of each task."""


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path / 'sessions.db'}"


@pytest.fixture
def tiered_url(tmp_path: Path, redis_url: str) -> str:
    return f"{redis_url},sqlite:{tmp_path / 'archive.db'}"


@pytest.mark.parametrize("kind", ["sqlite_url", "redis_url", "postgres_url", "tiered_url"])
async def test_tasks_and_processes_lose_nothing(kind: str, request: pytest.FixtureRequest) -> None:
    address, id = request.getfixturevalue(kind), uuid.uuid4().hex
    runs = [f"run-{number}" for number in range(PROCESSES)]
    command = [sys.executable, "-m", "tests.sessions.talking", address, id]
    running = [
        subprocess.Popen(
            [*command, run, str(TASKS), str(TIMES)],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for run in runs
    ]
    assert [(each.communicate(timeout=600)[1], each.returncode) for each in running] == [(b"", 0)] * PROCESSES
    async with talking.open_at(address) as store:
        assert await talking.said(store, id) == {
            f"{run}.{task}": [*range(TIMES)] for run in runs for task in range(TASKS)
        }
        assert b'"kind":"compaction"' in b"".join(await store.read(id))
        if isinstance(store, TieredStore):
            assert await store._archive.read(id)
        await store.delete(id)


async def test_tasks_of_one_process_lose_nothing_in_memory() -> None:
    async with MemoryStore() as store:
        await talking.talk_in(store, "s", "run-0", TASKS, TIMES)
        assert await talking.said(store, "s") == {f"run-0.{task}": [*range(TIMES)] for task in range(TASKS)}
