"""A model over the wire for agents, and the stores that their sessions are kept in."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ctxkit.sessions.store import Store
from ctxkit.sessions.stores.memory import MemoryStore
from ctxkit.sessions.stores.sqlite import SQLiteStore
from tests.servers.failing import Server

os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"

collect_ignore_glob = [] if find_spec("agents") else ["test_*.py"]


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """A store of each embedded kind."""
    made = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "sessions.db")
    async with made:
        yield made


@pytest.fixture
async def connected() -> AsyncIterator[Callable[[Server], Any]]:
    """What makes the SDK's own model of a server, through the client of `openai`."""
    from agents import OpenAIResponsesModel
    from openai import AsyncOpenAI

    clients: list[AsyncOpenAI] = []

    def model(server: Server) -> OpenAIResponsesModel:
        clients.append(AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0))
        return OpenAIResponsesModel("scripted", clients[-1])

    yield model
    for client in clients:
        await client.close()
