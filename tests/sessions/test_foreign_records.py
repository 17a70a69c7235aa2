"""A log that another store wraps, opened without that one: what is said."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest

from ctxkit import (
    Budget,
    EncryptedStore,
    MemoryStore,
    Session,
    SessionError,
    SQLiteStore,
    Store,
    TieredStore,
)
from ctxkit.cli import main

KEY = bytes(range(32))


async def opened(store: Store, id: str = "s") -> Session:
    return await Session.open(id, store, format="openai-chat", budget=Budget(window=4_000))


async def test_a_log_that_is_encrypted_says_so() -> None:
    pytest.importorskip("cryptography")
    store = MemoryStore()
    await (await opened(EncryptedStore(store, KEY))).add({"role": "user", "content": "Where is W5362037?"})
    with pytest.raises(SessionError, match=r"^record 1 of session 's' .*perhaps it is encrypted.* keys"):
        await opened(store)
    assert len((await opened(EncryptedStore(store, KEY))).messages) == 1


async def test_a_log_that_was_moved_to_an_archive_says_so() -> None:
    hot, archive = MemoryStore(), MemoryStore()
    tiered = TieredStore(hot, archive, idle_s=0)
    await (await opened(tiered)).add({"role": "user", "content": "Where is W5362037?"})
    assert await tiered.move_idle() == ["s"]
    with pytest.raises(SessionError, match=r"^record 1 of session 's' .*perhaps its bytes are in an archive"):
        await opened(hot)
    assert len((await opened(archive)).messages) == 1


async def _fill(path: Path) -> None:
    async with EncryptedStore(SQLiteStore(path), KEY) as store:
        await (await opened(store)).add({"role": "user", "content": "Where is W5362037?"})


def test_the_command_line_names_its_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cryptography")
    path = tmp_path / "e.db"
    asyncio.run(_fill(path))
    assert main(["session", "show", "s", "--store", f"sqlite:{path}"]) == 3
    assert "perhaps it is encrypted" in (said := capsys.readouterr().err)
    assert "--key-file" in said
    keys = tmp_path / "keys"
    keys.write_bytes(base64.b64encode(KEY))
    assert main(["session", "show", "s", "--store", f"sqlite:{path}", "--key-file", str(keys)]) == 0
