"""Whatever happens, in whatever order: each store keeps what a model of a session says it must."""

from __future__ import annotations

from hypothesis import Phase, settings

from ctxkit.sessions.store import Store
from ctxkit.sessions.stores.memory import MemoryStore
from tests.sessions.machine import SessionMachine


class InMemory(SessionMachine):
    async def open_store(self) -> Store:
        return MemoryStore()


PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""A run of a machine is not shrunk: that takes many minutes, and the steps are readable as they are."""

TestInMemory = InMemory.TestCase
TestInMemory.settings = settings(stateful_step_count=40, phases=PHASES)
