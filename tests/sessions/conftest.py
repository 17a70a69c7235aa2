"""Servers for the tests of stores: one for each worker and run, started when a test first asks for it."""

import os
from collections.abc import Iterator

import pytest

from tests.servers.postgres import postgres
from tests.servers.valkey import valkey


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
