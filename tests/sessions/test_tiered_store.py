"""TieredStore: one store to whoever uses it, wherever the bytes are, also when it breaks in the middle."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit import ConflictError, Limits, MemoryStore, SQLiteStore, Store, StoreError, TieredStore
from ctxkit.testing import StoreSuite
from ctxkit.testing.store_case import MovingClock

DAY = 86_400.0


class TestTieredStore(StoreSuite):
    """What every store does."""

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path

    async def open_store(self, limits: Limits) -> Store:
        hot = SQLiteStore(self.path / "hot.db", limits=limits, clock=self.clock)
        archive = SQLiteStore(self.path / "archive.db", clock=self.clock)
        return TieredStore(hot, archive, clock=self.clock)


class TestAlwaysMoved(TestTieredStore):
    """The same, when all there is was moved before each call; the limit of a session is for what is hot."""

    test_a_session_over_the_limit_is_refused = None

    async def open_store(self, limits: Limits) -> Store:
        return _Moving(await super().open_store(limits))  # type: ignore[return-value]


class _Moving:
    def __init__(self, store: Any) -> None:
        self._store = store
        store._idle_s = 0.0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name in ("close", "sessions", "info", "lease", "release"):
            return found

        async def after_a_move(*args: Any, **named: Any) -> Any:
            await self._store.move_idle()
            return await found(*args, **named)

        return after_a_move

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._store.close()


class Breaking:
    """A store that breaks at one of its calls, before it or after it."""

    def __init__(self, store: MemoryStore, calls: itertools.count[int], at: int, after: bool) -> None:
        self._store, self._calls, self._at, self._after = store, calls, at, after

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)

        async def call(*args: Any, **named: Any) -> Any:
            breaks = next(self._calls) == self._at
            if breaks and not self._after:
                raise StoreError("broken", session="s")
            given = await found(*args, **named)
            if breaks:
                raise StoreError("broken", session="s")
            return given

        return call


def _bodies(count: int, first: int = 0) -> list[bytes]:
    return [f"record {first + number}".encode() for number in range(count)] + [b"", b"\xfe", b"\xfe\xfex"]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(14))
async def test_a_move_that_breaks_anywhere_loses_nothing_and_can_be_repeated(at: int, after: bool) -> None:
    clock = MovingClock()
    hot, archive = MemoryStore(clock=clock), MemoryStore(clock=clock)
    whole = TieredStore(hot, archive, clock=clock)
    bodies = _bodies(40)
    await whole.append("s", bodies, after=0, key="k")
    await whole.save_checkpoint("s", 7, b"checkpoint")
    clock.now += DAY
    calls = itertools.count()
    broken = TieredStore(Breaking(hot, calls, at, after), Breaking(archive, calls, at, after), clock=clock)  # type: ignore[arg-type]
    try:
        await broken.move_idle()
    except StoreError:
        assert await whole.read("s") == bodies
        assert await whole.read("s", after=3, upto=9) == bodies[3:9]
        await whole.move_idle()
    assert next(calls) < 14, "more calls than are tried"
    assert await hot.read("s") == [b"\xfe"] * len(bodies)
    assert await archive.read("s") == bodies
    assert await whole.read("s") == bodies
    assert await whole.checkpoint("s") == (7, b"checkpoint")
    assert await whole.append("s", bodies, after=0, key="k") == len(bodies)
    assert [(each.id, each.position) for each in await whole.sessions()] == [("s", len(bodies))]


async def test_a_session_that_is_written_to_again_goes_on_where_it_was() -> None:
    clock = MovingClock()
    hot, archive = MemoryStore(clock=clock), MemoryStore(clock=clock)
    store = TieredStore(hot, archive, clock=clock)
    await store.append("s", [b"one", b"two"], after=0)
    clock.now += 1799
    assert await store.move_idle() == []
    clock.now += 1
    assert await store.move_idle() == ["s"]
    assert await store.move_idle() == []
    with pytest.raises(ConflictError):
        await store.append("s", [b"late"], after=1)
    assert await store.append("s", [b"three"], after=2) == 3
    assert await store.read("s") == [b"one", b"two", b"three"]
    assert await hot.read("s") == [b"\xfe", b"\xfe", b"three"]
    clock.now += 1800
    assert await store.move_idle() == ["s"]
    assert await archive.read("s") == [b"one", b"two", b"three"]


async def test_a_hot_store_that_lost_a_session_goes_on_from_the_archive() -> None:
    clock = MovingClock()
    hot, archive = MemoryStore(clock=clock), MemoryStore(clock=clock)
    store = TieredStore(hot, archive, idle_s=0.0, clock=clock)
    await store.append("s", [b"one", b"two"], after=0)
    await store.move_idle()
    await hot.delete("s")
    assert await store.read("s") == [b"one", b"two"]
    with pytest.raises(ConflictError) as raised:
        await store.append("s", [b"anew"], after=0)
    assert raised.value.position == 2
    await hot.delete("s")
    assert await store.append("s", [b"three"], after=2) == 3
    assert await store.read("s") == [b"one", b"two", b"three"]


async def test_what_is_erased_is_in_neither_store() -> None:
    clock = MovingClock()
    hot, archive = MemoryStore(clock=clock), MemoryStore(clock=clock)
    store = TieredStore(hot, archive, idle_s=0.0, clock=clock)
    await store.append("s", [b"secret", b"two"], after=0)
    await store.save_checkpoint("s", 2, b"secret too")
    await store.move_idle()
    await store.append("s", [b"three"], after=2)
    await store.rewrite("s", {1: b"gone"})
    assert b"secret" not in b"".join([*await hot.read("s"), *await archive.read("s")])
    assert await store.checkpoint("s") is None
    assert await store.read("s") == [b"gone", b"two", b"three"]


STEPS = st.lists(
    st.tuples(st.sampled_from(["append", "move", "rewrite", "lose", "checkpoint"]), st.integers(0, 5)),
    max_size=25,
)


@given(STEPS)
async def test_whatever_moves_it_reads_as_if_nothing_did(steps: Sequence[tuple[str, int]]) -> None:
    clock, model = MovingClock(), list[bytes]()
    hot, archive = MemoryStore(clock=clock), MemoryStore(clock=clock)
    store = TieredStore(hot, archive, idle_s=0.0, clock=clock)
    for number, (what, size) in enumerate(steps):
        if what == "append":
            fresh = _bodies(size, number)[size // 2 :]
            assert await store.append("s", fresh, after=len(model)) == len(model) + len(fresh)
            model += fresh
        elif what == "move":
            await store.move_idle()
        elif what == "rewrite" and size < len(model):
            await store.rewrite("s", {size + 1: f"rewritten {number}".encode()})
            model[size] = f"rewritten {number}".encode()
        elif what == "checkpoint":
            await store.save_checkpoint("s", min(size, len(model)), b"checkpoint")
        elif what == "lose":
            await store.move_idle()
            await hot.delete("s")
        assert await store.read("s") == model
        assert await store.read("s", after=size, upto=size + 2) == model[size : size + 2]
