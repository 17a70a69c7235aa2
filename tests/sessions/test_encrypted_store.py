"""EncryptedStore over every kind of thing that may go wrong with a key or a record."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit import (
    ConfigError,
    EncryptedStore,
    Limits,
    MemoryStore,
    SessionError,
    SQLiteStore,
    Store,
    TieredStore,
)
from ctxkit.sessions.halves import MOVED
from ctxkit.sessions.stores.encrypted import OVERHEAD
from ctxkit.testing import StoreSuite

KEY, OTHER = bytes(range(32)), bytes(range(100, 132))


class TestEncryptedStore(StoreSuite):
    """What every store does; the limit of a session is for the encrypted bytes, so its store has that test."""

    test_a_session_over_the_limit_is_refused = None

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "sessions.db"

    async def open_store(self, limits: Limits) -> Store:
        wider = Limits(limits.record + OVERHEAD, limits.session)
        return EncryptedStore(SQLiteStore(self.path, limits=wider, clock=self.clock), KEY)


async def test_nothing_readable_is_on_the_disk(tmp_path: Path) -> None:
    async with EncryptedStore(SQLiteStore(tmp_path / "s.db"), KEY) as store:
        await store.append("s", [b"allergic to peanuts"], after=0)
        await store.save_checkpoint("s", 1, b"peanuts again")
        for path in tmp_path.iterdir():
            assert b"peanuts" not in path.read_bytes()


async def test_the_same_record_is_never_the_same_bytes() -> None:
    inner = MemoryStore()
    store = EncryptedStore(inner, KEY)
    await store.append("s", [b"same", b"same"], after=0)
    first, second = await inner.read("s")
    assert first != second
    assert await store.read("s") == [b"same", b"same"]


async def test_keys_are_changed_by_putting_the_new_one_first() -> None:
    inner = MemoryStore()
    await EncryptedStore(inner, KEY).append("s", [b"old"], after=0)
    both = EncryptedStore(inner, [OTHER, KEY])
    await both.append("s", [b"new"], after=1)
    assert await both.read("s") == [b"old", b"new"]
    assert await EncryptedStore(inner, OTHER).read("s", after=1) == [b"new"]
    with pytest.raises(
        SessionError, match="record 1 of session 's' was not encrypted with any of these keys"
    ):
        await EncryptedStore(inner, OTHER).read("s")


async def _two_sessions() -> tuple[MemoryStore, EncryptedStore]:
    inner = MemoryStore()
    store = EncryptedStore(inner, KEY)
    await store.append("a", [b"first", b"second"], after=0)
    await store.append("b", [b"other"], after=0)
    return inner, store


async def test_records_cannot_change_places() -> None:
    inner, store = await _two_sessions()
    first, second = await inner.read("a")
    await inner.rewrite("a", {1: second, 2: first})
    with pytest.raises(SessionError, match="record 1 of session 'a' was changed or moved"):
        await store.read("a")


async def test_records_cannot_be_put_into_another_session() -> None:
    inner, store = await _two_sessions()
    await inner.rewrite("b", {1: (await inner.read("a"))[0]})
    with pytest.raises(SessionError, match="changed or moved"):
        await store.read("b")


async def test_a_checkpoint_is_no_record() -> None:
    inner, store = await _two_sessions()
    await inner.save_checkpoint("a", 1, (await inner.read("a"))[0])
    with pytest.raises(SessionError, match="record checkpoint 1 of session 'a' was changed or moved"):
        await store.checkpoint("a")


@pytest.mark.parametrize("at", [0, 5, 12, 25, -1])
async def test_a_changed_byte_is_seen(at: int) -> None:
    inner, store = await _two_sessions()
    body = bytearray((await inner.read("b"))[0])
    body[at] ^= 1
    await inner.rewrite("b", {1: bytes(body)})
    with pytest.raises(SessionError):
        await store.read("b")


@pytest.mark.parametrize("body", [b"", b"\x01", b"plain text of a store without encryption"])
async def test_what_was_never_encrypted_is_told(body: bytes) -> None:
    inner = MemoryStore()
    await inner.append("s", [body], after=0)
    with pytest.raises(SessionError, match="not encrypted with any of these keys"):
        await EncryptedStore(inner, KEY).read("s")


@pytest.mark.parametrize("keys", [b"", b"short", [KEY, b"short"], ["text" * 8]])
def test_what_is_no_key_is_refused_and_not_shown(keys: object) -> None:
    with pytest.raises(ConfigError, match=r"32 random bytes") as raised:
        EncryptedStore(MemoryStore(), keys)  # type: ignore[arg-type]
    assert "short" not in str(raised.value)


def test_a_key_is_not_shown() -> None:
    key = os.urandom(32)
    store = EncryptedStore(MemoryStore(), key)
    assert repr(key)[2:12] not in f"{store!r}{vars(store)}"


async def test_sizes_are_those_of_what_was_given_wherever_it_is() -> None:
    hot, archive = MemoryStore(), MemoryStore()
    tiers = TieredStore(hot, archive, idle_s=0.0)
    store = EncryptedStore(tiers, KEY)
    await store.append("s", [b"x" * 50, b"y" * 30, b""], after=0)
    assert await _size(store) == 80
    assert await tiers.move_idle() == ["s"]
    assert await _size(store) == await _size(EncryptedStore(archive, KEY)) == 80
    assert await _size(EncryptedStore(hot, KEY)) == 3  # of marks, as without a key
    await store.append("s", [b"z"], after=3)
    assert await _size(store) == 81
    assert 0 <= await _size(EncryptedStore(hot, KEY)) <= 4


async def _size(store: Store) -> int:
    """Of the only session, which is told alike in both ways."""
    (listed,) = await store.sessions()
    info = await store.info("s")
    assert info == listed
    return listed.size


@given(st.lists(st.integers(0, 60), min_size=1, max_size=9), st.integers(0, 9))
async def test_a_size_is_never_negative_nor_too_large(sizes: list[int], moved: int) -> None:
    inner = MemoryStore()
    await EncryptedStore(inner, KEY).append("s", [b"x" * size for size in sizes], after=0)
    marks = range(1, min(moved, len(sizes)) + 1)
    await inner.rewrite("s", dict.fromkeys(marks, MOVED))
    told = await _size(EncryptedStore(inner, KEY))
    assert 0 <= told <= len(marks) + sum(sizes[len(marks) :])
    if len(marks) in (0, len(sizes)):
        assert told == len(marks) + sum(sizes[len(marks) :])


async def test_a_size_of_what_was_never_encrypted_is_none_below_zero() -> None:
    inner = MemoryStore()
    await inner.append("s", [b""] * 3, after=0)
    assert await _size(EncryptedStore(inner, KEY)) == 0
