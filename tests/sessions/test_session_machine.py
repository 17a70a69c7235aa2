"""Whatever happens, in whatever order: each store keeps what a model of a session says it must."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import rule, run_state_machine_as_test

from ctxkit.sessions.store import Store
from ctxkit.sessions.stores.encrypted import EncryptedStore
from ctxkit.sessions.stores.memory import MemoryStore
from ctxkit.sessions.stores.postgres import PostgresStore
from ctxkit.sessions.stores.redis import RedisStore
from ctxkit.sessions.stores.sqlite import SQLiteStore
from ctxkit.sessions.stores.tiered import TieredStore
from tests.sessions.machine import WORKERS
from tests.sessions.wide_machine import WideMachine

LONG = os.environ.get("CTXKIT_HYPOTHESIS") == "long"
STEPS = 40
"""Steps of one machine."""

AT_LEAST = 20_000
"""Steps of a long run on each store."""


class InMemory(WideMachine):
    def __init__(self) -> None:
        super().__init__()
        self.memory = MemoryStore()

    async def open_store(self) -> Store:
        return self.memory


def test_in_memory() -> None:
    run(InMemory, quick=10)


class InTwo(WideMachine):
    """Two stores of which the second has what was moved; all that is there moves now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.hot, self.archive = MemoryStore(), MemoryStore()

    async def open_store(self) -> Store:
        return TieredStore(self.hot, self.archive, idle_s=-1.0)

    def places(self) -> Sequence[Store]:
        return self.hot, self.archive

    @rule(worker=WORKERS)
    def move(self, worker: int) -> None:
        self.run(self.stores[worker].move_idle())


def test_tiered() -> None:
    run(InTwo, quick=8)


def test_encrypted() -> None:
    pytest.importorskip("cryptography")

    class Encrypted(InMemory):
        async def open_store(self) -> Store:
            return EncryptedStore(self.memory, b"k" * 32)

    run(Encrypted, quick=4)


def test_sqlite(tmp_path: Path) -> None:
    class OnSQLite(WideMachine):
        async def open_store(self) -> Store:
            return SQLiteStore(tmp_path / "sessions.db")

    run(OnSQLite, quick=3)


def test_redis(redis_url: str) -> None:
    class OnRedis(WideMachine):
        async def open_store(self) -> Store:
            return RedisStore(redis_url, prefix="machine")

    run(OnRedis, quick=3)


def test_postgres(postgres_url: str) -> None:
    class OnPostgres(WideMachine):
        async def open_store(self) -> Store:
            return PostgresStore(postgres_url, schema="machine")

    run(OnPostgres, quick=3)


def run(machine: type[WideMachine], *, quick: int) -> None:
    """So many machines in a quick run, `AT_LEAST` steps in a long one: some machines stop early.

    A run of a machine is not shrunk: that takes many minutes, and the steps are readable as they are.
    """
    machines = AT_LEAST * 5 // 4 // STEPS if LONG else quick
    phases = (Phase.explicit, Phase.reuse, Phase.generate)
    run_state_machine_as_test(
        machine, settings=settings(max_examples=machines, stateful_step_count=STEPS, phases=phases)
    )
    assert machine.steps >= (AT_LEAST if LONG else STEPS)
