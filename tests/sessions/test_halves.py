"""A session that is in two tiers, asked of one of them alone: nothing is destroyed there, and it is said why."""

from __future__ import annotations

import io
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ctxkit import (
    EncryptedStore,
    MemoryStore,
    Retention,
    Session,
    SessionError,
    SplitSessionError,
    SQLiteStore,
    Store,
    StoreError,
    TieredStore,
    sweep,
)
from ctxkit.errors import ConfigError
from ctxkit.sessions.erasing import finish_erasures
from ctxkit.sessions.halves import ARCHIVED, check_whole, is_archived
from ctxkit.sessions.log import Log
from ctxkit.sessions.records import Record
from ctxkit.sessions.retention import delete
from ctxkit.sessions.stored import log_of, stored
from ctxkit.sessions.transfer import export_log, import_log
from ctxkit.sessions.verifying import verify

KEY = bytes(range(32))
SETTINGS: dict[str, Any] = {"format": "openai-chat", "budget": {"window": 4_000, "reply": 200}}
LATER = 10 * 86_400.0


@dataclass
class Tiers:
    """The two stores, and how one of them, or both as one, are opened."""

    hot: Store
    archive: Store
    wrapped: Callable[[Store], Store]

    def __post_init__(self) -> None:
        self.tiered = TieredStore(self.hot, self.archive, idle_s=0.0)
        self.whole = self.wrapped(self.tiered)

    def half(self, which: str) -> Store:
        return self.wrapped(self.hot if which == "hot" else self.archive)

    async def said(self, id: str, text: str = "I am allergic to sesame.", parent: str = "") -> None:
        if parent:
            above = await Session.open(parent, self.whole, **SETTINGS)
            await above.child(id)
        session = await Session.open(id, self.whole, **SETTINGS)
        await session.add({"role": "user", "content": text})

    async def shown(self, id: str = "s") -> list[dict[str, Any]]:
        return (await Session.open(id, self.whole, **SETTINGS)).messages


def _pair(kind: str, folder: Path, request: pytest.FixtureRequest) -> tuple[Store, Store]:
    if kind == "memory":
        return MemoryStore(), MemoryStore()
    if kind == "sqlite":
        return SQLiteStore(folder / "hot.db"), SQLiteStore(folder / "archive.db")
    from ctxkit import PostgresStore, RedisStore

    hot = RedisStore(request.getfixturevalue("redis_url"), prefix=uuid4().hex, ttl_s=3_600)
    return hot, PostgresStore(request.getfixturevalue("postgres_url"), schema=f"t{uuid4().hex}")


@pytest.fixture(params=["memory", "memory encrypted", "sqlite", "sqlite encrypted", "servers"])
async def tiers(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Tiers]:
    """Two messages: one in the archive, one that came after the move."""
    kind, _, encrypted = request.param.partition(" ")
    if encrypted:
        pytest.importorskip("cryptography")
    stores = _pair(kind, tmp_path, request)
    made = Tiers(*stores, (lambda store: EncryptedStore(store, KEY)) if encrypted else lambda store: store)
    async with made.tiered:
        await made.said("s")
        assert await made.tiered.move_idle() == ["s"]
        await made.said("s", "I sit on the aisle.")
        yield made


async def _gone_over(store: Store) -> None:
    """What `gc` does, for one session."""
    await (await stored(store, "s")).finish_erasures()


async def _finished(store: Store) -> None:
    await finish_erasures(await log_of(store, "s"))


async def _imported(store: Store) -> None:
    other, file = MemoryStore(), io.BytesIO()
    await other.append("s", [b'{"v":1,"kind":"session","at":0}'], after=0)
    await export_log(other, "s", file)
    file.seek(0)
    await import_log(store, file)


async def _deleted(store: Store) -> None:
    await delete(store, "s")


async def _deleted_alone(store: Store) -> None:
    await delete(store, "s", children=False)


async def _contents(tiers: Tiers) -> list[object]:
    return [(await each.read("s"), await each.info("s")) for each in (tiers.hot, tiers.archive)]


@pytest.mark.parametrize("do", [_deleted, _deleted_alone, _finished, _gone_over, _imported])
@pytest.mark.parametrize("which", ["hot", "archive"])
async def test_what_changes_a_session_for_good_is_refused_by_one_half(
    tiers: Tiers, which: str, do: Callable[[Store], Awaitable[None]]
) -> None:
    before = await _contents(tiers)
    with pytest.raises(
        SplitSessionError, match=r"in two stores.* TieredStore\(hot, archive\).*--archive"
    ) as raised:
        await do(tiers.half(which))
    assert raised.value.session == "s"
    assert await _contents(tiers) == before
    assert len(await tiers.shown()) == 2


@pytest.mark.parametrize("which", ["hot", "archive"])
async def test_a_sweep_tells_of_it_and_does_the_others(tiers: Tiers, which: str) -> None:
    half = tiers.half(which)
    await Tiers(half, MemoryStore(), lambda store: store).said("own")
    before = await _contents(tiers)
    swept = await sweep(half, Retention(days=1), time.time() + LATER)
    assert swept.retained == ["own"]
    assert list(swept.failed) == ["s"]
    assert "in two stores" in swept.failed["s"]
    assert await _contents(tiers) == before
    assert len(await tiers.shown()) == 2


@pytest.mark.parametrize("what", ["pop", "clear", "retain_structure"])
async def test_nothing_is_erased_in_the_archive_alone(tiers: Tiers, what: str) -> None:
    session, before = await Session.open("s", tiers.half("archive"), **SETTINGS), await _contents(tiers)
    with pytest.raises(SplitSessionError):
        await getattr(session, what)()
    assert await _contents(tiers) == before
    assert [each["content"] for each in await tiers.shown()] == [
        "I am allergic to sesame.",
        "I sit on the aisle.",
    ]


async def test_an_archive_is_known_without_its_key(tiers: Tiers) -> None:
    pytest.importorskip("cryptography")
    before = await _contents(tiers)
    with pytest.raises(SplitSessionError):
        await delete(EncryptedStore(tiers.archive, b"w" * 32), "s")
    assert await _contents(tiers) == before


async def test_both_together_do_it_all(tiers: Tiers) -> None:
    await _gone_over(tiers.whole)
    await tiers.tiered.move_idle()
    swept = await sweep(tiers.whole, Retention(days=1), time.time() + LATER)
    assert (swept.retained, swept.failed) == (["s"], {})
    assert await tiers.shown() == []
    await delete(tiers.whole, "s")
    for each in (tiers.hot, tiers.archive):
        assert await each.sessions() == []
        assert not await is_archived(each, "s")
    await tiers.said("s", "Anew.")
    await delete(tiers.half("hot"), "s")  # it was not moved yet
    assert await tiers.shown() == []


async def test_the_archive_may_be_read(tiers: Tiers) -> None:
    archive = tiers.half("archive")
    assert [each["content"] for each in (await stored(archive, "s")).messages] == ["I am allergic to sesame."]
    assert (await verify(archive, "s")).findings == ()
    file = io.BytesIO()
    assert (await export_log(archive, "s", file)).records == 2


async def test_the_hot_store_says_of_a_mark_what_it_is(tiers: Tiers) -> None:
    hot = tiers.half("hot")
    with pytest.raises(
        SplitSessionError, match=r"record 1 of session 's' cannot be read here.*in an archive"
    ):
        await stored(hot, "s")
    with pytest.raises(SplitSessionError, match="record 1 of session 's'"):
        await export_log(hot, "s", io.BytesIO())
    (finding,) = (await verify(hot, "s")).findings
    assert "in an archive" in finding.message


async def test_nothing_is_written_to_find_out(tiers: Tiers) -> None:
    before = await _contents(tiers)
    assert [await is_archived(each, "s") for each in (tiers.hot, tiers.archive, tiers.whole)] == [
        False,
        True,
        False,
    ]
    assert not await is_archived(tiers.hot, "nobody")
    assert await _contents(tiers) == before


async def test_a_store_that_was_taken_for_the_hot_one_is_told(tiers: Tiers) -> None:
    swapped = TieredStore(tiers.archive, tiers.hot, idle_s=0.0)
    before = await _contents(tiers)
    with pytest.raises(SplitSessionError):
        await swapped.move_idle()
    for do in (_deleted, _gone_over, _imported):
        with pytest.raises(SplitSessionError):
            await do(tiers.wrapped(swapped))
    assert await _contents(tiers) == before


@pytest.mark.parametrize("moved", ["parent", "child"])
@pytest.mark.parametrize("which", ["hot", "archive"])
async def test_a_family_of_which_one_is_in_two_stores_stays_as_a_whole(which: str, moved: str) -> None:
    tiers = Tiers(MemoryStore(), MemoryStore(), lambda store: store)
    await tiers.said("parent")
    await tiers.said("child", parent="parent")
    await tiers.tiered.move_idle()
    half = tiers.half(which)
    stays = {"parent": "child", "child": "parent"}[moved]
    file = io.BytesIO()
    await export_log(tiers.whole, stays, file)  # that one is whole in this store
    file.seek(0)
    await half.delete(stays)
    await import_log(half, file)
    with pytest.raises(SplitSessionError):
        await delete(half, "parent")
    assert sorted(each.id for each in await half.sessions()) == ["child", "parent"]


async def test_an_erasure_that_broke_is_finished_by_both_alone() -> None:
    tiers = Tiers(MemoryStore(), MemoryStore(), lambda store: store)
    await tiers.said("s", "the code is 4711")
    log = (await Session.open("s", tiers.whole, **SETTINGS))._log
    await _clear_unfinished(log)
    await tiers.tiered.move_idle()
    swept = await sweep(tiers.archive)
    assert "in two stores" in swept.failed["s"]
    assert (await sweep(tiers.whole)).finished == ["s"]
    assert b"code is 4711" not in b"".join([*await tiers.hot.read("s"), *await tiers.archive.read("s")])


async def _clear_unfinished(log: Log) -> None:
    await log.write(lambda at: Record("clear", at, log.history.clearing()))


async def test_what_was_archived_before_it_was_known_is_known_from_the_next_move_on() -> None:
    tiers = Tiers(MemoryStore(), MemoryStore(), lambda store: store)
    await tiers.said("s")
    await tiers.archive.append("s", await tiers.hot.read("s"), after=0)  # as an older ctxkit moved it
    assert not await is_archived(tiers.archive, "s")
    await tiers.said("s", "I sit on the aisle.")
    for _ in range(2):
        await tiers.tiered.move_idle()
        assert await is_archived(tiers.archive, "s")
        await tiers.said("s", "And on.")
    assert len(await tiers.shown()) == 4


async def test_a_hot_store_that_lost_a_session_is_not_begun_anew_by_asking(tiers: Tiers) -> None:
    """So that a session is as old as it was."""
    await tiers.tiered.move_idle()
    await tiers.hot.delete("s")
    await check_whole(tiers.whole, "s")
    assert await tiers.hot.info("s") is None
    assert (await sweep(tiers.whole, Retention(days=1), time.time() + LATER)).retained == ["s"]


async def test_a_store_that_is_down_is_not_taken_for_a_whole_one() -> None:
    class Down(MemoryStore):
        async def append(self, *_: Any, **__: Any) -> int:
            raise StoreError("down", session="s")

    with pytest.raises(StoreError, match="down"):
        await delete(Down(), "s")


async def test_what_cannot_be_read_with_these_keys_is_deleted_all_the_same() -> None:
    pytest.importorskip("cryptography")
    store = MemoryStore()
    await Tiers(EncryptedStore(store, KEY), MemoryStore(), lambda store: store).said("s")
    other = EncryptedStore(store, bytes(32))
    with pytest.raises(SessionError, match="was not encrypted with any of these keys"):
        await other.read("s")
    await delete(other, "s")
    assert await store.sessions() == []


async def test_one_store_is_no_pair() -> None:
    store = MemoryStore()
    with pytest.raises(ConfigError, match="the same"):
        TieredStore(store, store)


async def test_the_mark_goes_with_the_session(tiers: Tiers) -> None:
    await tiers.archive.delete("s")
    assert not await is_archived(tiers.archive, "s")
    assert await tiers.archive.append("s", [b"own"], after=0, key=f"not {ARCHIVED}") == 1
    await delete(tiers.half("archive"), "s")
