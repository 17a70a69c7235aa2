"""open_store: a store by its address, and what is said when there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ctxkit import ConfigError, MemoryStore, PostgresStore, RedisStore, SQLiteStore, open_store


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("memory:", MemoryStore),
        ("sqlite:sessions", SQLiteStore),
        ("folder/sessions.db", SQLiteStore),
        ("C:\\folder\\sessions.sqlite", SQLiteStore),
        ("redis://user:secret@localhost:6379/0", RedisStore),
        ("rediss://user:secret@localhost", RedisStore),
        ("postgresql://user:secret@localhost/database", PostgresStore),
        ("postgres://user:secret@localhost/database", PostgresStore),
    ],
)
def test_an_address_names_the_store(
    address: str, kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = open_store(address)
    assert type(store) is kind
    assert "secret" not in repr(store)


async def test_a_path_is_where_the_file_is(tmp_path: Path) -> None:
    async with open_store(f"sqlite:{tmp_path / 'sessions'}") as store:
        await store.append("s", [b"one"], after=0)
    assert (tmp_path / "sessions").exists()


@pytest.mark.parametrize("address", ["", "mysql://user:secret@host/database", "sessions.json"])
def test_any_other_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match=r"sqlite:PATH, redis://HOST") as raised:
        open_store(address)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("address", "driver", "extra"),
    [
        ("redis://user:secret@localhost", "redis.asyncio", "redis"),
        ("postgresql://user:secret@localhost/database", "psycopg_pool", "postgres"),
    ],
)
def test_a_driver_that_is_not_installed_is_named_by_its_extra(
    address: str, driver: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, driver, None)
    with pytest.raises(
        ConfigError, match=rf"install ctxkit-core with the extra {extra} \(in a clone"
    ) as raised:
        open_store(address)
    assert "secret" not in str(raised.value)
