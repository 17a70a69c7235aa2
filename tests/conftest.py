"""Hypothesis profiles: `quick` for every run, `long` for `make test-long`; and servers for the tests of stores: one for
each worker and run, started when a test first asks for it; and plugins of a test's own."""

import os
from collections.abc import Iterator

import pluggy
import pytest
from hypothesis import HealthCheck, settings

from ctxkit import hooks
from tests.servers.postgres import postgres
from tests.servers.valkey import valkey

settings.register_profile("quick", max_examples=20, deadline=None, derandomize=True, print_blob=False)
settings.register_profile(
    "long", max_examples=2_000, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False
)
settings.load_profile(os.environ.get("CTXKIT_HYPOTHESIS", "quick"))


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> pluggy.PluginManager:
    """No plugin but those that a test registers; `plugins=()` is for a test that registers none."""
    manager = pluggy.PluginManager(hooks.GROUP)
    manager.add_hookspecs(hooks.Hooks)
    monkeypatch.setattr(hooks, "_loaded", lambda: hooks._Loaded(manager))
    return manager


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """Address of a Valkey, or of the server named in CTXKIT_TEST_REDIS_URL; whoever writes there uses a prefix."""
    if given := os.environ.get("CTXKIT_TEST_REDIS_URL"):
        yield given
        return
    with valkey() as server:
        yield server.url


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Address of a PostgreSQL, or of the server named in CTXKIT_TEST_POSTGRES_URL; whoever writes there uses a
    schema."""
    if given := os.environ.get("CTXKIT_TEST_POSTGRES_URL"):
        yield given
        return
    with postgres() as server:
        yield server.url
