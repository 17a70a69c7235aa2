"""Addresses of stores: wherever a store may stand, and what is said of those that are mistyped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ctxkit import ConfigError, EncryptedStore, MemoryStore, SQLiteStore, TieredStore, open_store

KEY = bytes(range(32))


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("sqlight:foo.db", "not 'sqlight'...; did you mean sqlite:?"),
        ("SQLITE:z.db", "did you mean sqlite:?"),
        ("reddis://localhost", "did you mean redis:?"),
        ("Memory:", "did you mean memory:?"),
        ("file:foo.db", "not 'file'..."),
        ("sqlite://y.db", "write the path as it is, sqlite:chats.db for one from here"),
        ("sqlite:///y.db", "sqlite:/data/chats.db for one from the root"),
        ("sqlite://user:secret@host/y.db", "write the path as it is"),
    ],
)
def test_what_no_store_has_for_an_address_makes_no_file(
    address: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as raised:
        open_store(address)
    assert told in str(raised.value)
    assert "secret" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_an_address_is_a_text() -> None:
    with pytest.raises(ConfigError, match="the address of a store is a text, not 5"):
        open_store(5)  # type: ignore[arg-type]


async def test_a_store_around_another_takes_its_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cryptography")
    monkeypatch.chdir(tmp_path)
    async with EncryptedStore(TieredStore("memory:", "sqlite:archive.db", idle_s=0), KEY) as store:
        assert await store.append("s", [b"one"], after=0) == 1
        assert await store.read("s") == [b"one"]
        assert "SQLiteStore('" in repr(store)
    async with EncryptedStore("sqlite:kept.db", KEY) as store:
        await store.append("s", [b"one"], after=0)
    async with SQLiteStore("kept.db") as plain:
        assert (await plain.read("s"))[0][:1] == b"\x01"


@pytest.mark.parametrize("wrong", [None, 5, object(), Path("a.db")])
def test_what_is_no_store_is_refused_at_once(wrong: Any) -> None:
    pytest.importorskip("cryptography")
    for made in (
        lambda: EncryptedStore(wrong, KEY),
        lambda: TieredStore(wrong, MemoryStore()),
        lambda: TieredStore(MemoryStore(), wrong),
    ):
        with pytest.raises(ConfigError, match="a store is an object of ctxkit's, an address"):
            made()
    with pytest.raises(ConfigError, match="the address of a store is"):
        TieredStore("memory:", "sqlight:archive.db")


def test_an_address_without_a_path_asks_for_it() -> None:
    with pytest.raises(ConfigError, match="which file"):
        open_store("sqlite:")


def test_no_key_is_told_from_a_wrong_one() -> None:
    with pytest.raises(ConfigError, match="there is no key"):
        EncryptedStore("memory:", [])
