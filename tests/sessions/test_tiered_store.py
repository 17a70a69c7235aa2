"""TieredStore: one store to whoever uses it, wherever the bytes are, also when it breaks in the middle."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit import (
    ConfigError,
    ConflictError,
    Limits,
    MemoryStore,
    Session,
    SessionError,
    SQLiteStore,
    Store,
    StoreError,
    TieredStore,
)
from ctxkit.sessions.stores.tiered import MOVING_S
from ctxkit.sessions.verifying import verify
from ctxkit.testing import StoreSuite
from ctxkit.testing.store_case import MovingClock
from tests.sessions.failing import Failing, Meeting

DAY = 86_400.0
SETTINGS: dict[str, Any] = {"format": "openai-chat", "budget": {"window": 4_000, "reply": 200}}
CALLS = 25
"""One more than a move of one session makes, which compares once more when something was rewritten meanwhile."""
COPIED = 11
"""Calls after which a move has copied the records."""


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


def _broken(
    stores: tuple[MemoryStore, MemoryStore],
    calls: Iterator[int],
    at: int,
    after: bool,
    dead: bool,
    clock: MovingClock,
) -> TieredStore:
    """One whose stores break at one of the calls to both; if it is `dead` they are not there from then on."""
    back = None if dead else 1
    failing = (Failing(each, at, after=after, back=back, numbers=calls) for each in stores)
    return TieredStore(*failing, clock=clock)


def _bodies(count: int, first: int = 0) -> list[bytes]:
    return [f"record {first + number}".encode() for number in range(count)] + [b"", b"\xfe", b"\xfe\xfex"]


@pytest.mark.parametrize("dead", [False, True], ids=["once", "dead"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(CALLS))
async def test_a_move_that_breaks_anywhere_loses_nothing_and_can_be_repeated(
    at: int, after: bool, dead: bool
) -> None:
    clock = MovingClock()
    hot, archive = MemoryStore(clock=clock), MemoryStore(clock=clock)
    whole = TieredStore(hot, archive, clock=clock)
    bodies = _bodies(40)
    await whole.append("s", bodies, after=0, key="k")
    await whole.save_checkpoint("s", 7, b"checkpoint")
    clock.now += DAY
    calls = itertools.count()
    broken = _broken((hot, archive), calls, at, after, dead, clock)
    try:
        await broken.move_idle()
    except StoreError:
        assert await whole.read("s") == bodies
        assert await whole.read("s", after=3, upto=9) == bodies[3:9]
        clock.now += MOVING_S * dead  # a process that died gives no lease back
        await whole.move_idle()
    assert next(calls) < CALLS, "more calls than are tried"
    assert await hot.read("s") == [b"\xfe"] * len(bodies)
    assert await archive.read("s") == bodies
    assert await whole.read("s") == bodies
    assert await whole.checkpoint("s") == (7, b"checkpoint")
    assert await whole.append("s", bodies, after=0, key="k") == len(bodies)
    assert [(each.id, each.position) for each in await whole.sessions()] == [("s", len(bodies))]


async def _met(
    at: int, what: Callable[[TieredStore], Awaitable[object]]
) -> tuple[TieredStore, Sequence[MemoryStore]]:
    """A store, hot and archive, where one session was moved and somebody else did something at a call of the move."""
    clock = MovingClock()
    stores = MemoryStore(clock=clock), MemoryStore(clock=clock)
    whole = TieredStore(*stores, clock=clock)
    await whole.append("s", [b"secret one", b"two", b"three"], after=0)
    await whole.save_checkpoint("s", 2, b"secret too")
    clock.now += DAY
    calls = itertools.count()
    mover = TieredStore(
        *(Meeting(each, at, lambda: what(whole), numbers=calls) for each in stores), clock=clock
    )
    await mover.move_idle()
    if (count := next(calls)) <= at:
        await what(whole)
    assert count < CALLS, "more calls than are tried"
    clock.now += DAY
    return whole, stores


@pytest.mark.parametrize("at", range(CALLS))
async def test_what_is_rewritten_at_any_moment_of_a_move_stays_so(at: int) -> None:
    store, stores = await _met(at, lambda store: store.rewrite("s", {1: b"gone", 3: b"gone too"}))
    for _ in range(2):
        assert await store.read("s") == [b"gone", b"two", b"gone too"]
        assert await store.checkpoint("s") is None
        await store.move_idle()
        await store.move_idle()
    for each in stores:
        assert b"secret" not in b"".join(await each.read("s"))
        assert await each.checkpoint("s") is None


@pytest.mark.parametrize("at", range(CALLS))
async def test_a_checkpoint_of_before_an_erasure_is_not_moved(at: int) -> None:
    """Who erases keeps a new checkpoint at once."""

    async def erase(store: TieredStore) -> None:
        await store.rewrite("s", {1: b"gone"})
        await store.save_checkpoint("s", 3, b"without it")

    store, stores = await _met(at, erase)
    for _ in range(2):
        assert await store.checkpoint("s") in (None, (3, b"without it"))
        for each in stores:
            found = await each.checkpoint("s")
            older = await each.checkpoint("s", upto=2)
            assert [told for told in (found, older) if told is not None and b"secret" in told[1]] == []
        await store.move_idle()


async def test_a_session_that_is_moved_in_part_is_all_right() -> None:
    hot, archive = MemoryStore(), MemoryStore()
    store = TieredStore(hot, archive, idle_s=-1.0)
    session = await Session.open("s", store, **SETTINGS)
    await session.add({"role": "user", "content": "Where is it? " * 20})

    async def down(*_: object) -> None:
        raise StoreError("down", session="s")

    hot.rewrite = down  # type: ignore[method-assign]
    with pytest.raises(StoreError):
        await store.move_idle()
    del hot.rewrite  # type: ignore[attr-defined]
    assert (await verify(store, "s")).findings == ()


@pytest.mark.parametrize("at", range(CALLS))
async def test_what_is_deleted_at_any_moment_of_a_move_is_gone(at: int) -> None:
    store, stores = await _met(at, lambda store: store.delete("s"))
    assert await store.read("s") == []
    assert await store.sessions() == []
    assert [await each.sessions() for each in stores] == [[], []]
    assert await store.append("s", [b"anew"], after=0) == 1


@pytest.mark.parametrize("at", range(CALLS))
async def test_what_is_appended_at_any_moment_of_a_move_is_there_once(at: int) -> None:
    store, stores = await _met(at, lambda store: store.append("s", [b"four", b"five"], after=3, key="k"))
    bodies = [b"secret one", b"two", b"three", b"four", b"five"]
    assert await store.append("s", [b"four", b"five"], after=3, key="k") == 5
    assert await store.read("s") == bodies
    await store.move_idle()
    assert [await each.read("s") for each in stores] == [[b"\xfe"] * 5, bodies]


@pytest.mark.parametrize("at", range(CALLS))
async def test_a_session_is_moved_by_one_at_a_time(at: int) -> None:
    store, stores = await _met(at, lambda store: store.move_idle())
    bodies = [b"secret one", b"two", b"three"]
    assert await store.read("s") == bodies
    await store.move_idle()
    assert [await each.read("s") for each in stores] == [[b"\xfe"] * 3, bodies]
    assert await store.checkpoint("s") == (2, b"secret too")


@pytest.mark.parametrize("at", range(CALLS))
async def test_a_hot_store_that_loses_a_session_while_it_is_moved_leaves_the_archive_its_part(
    at: int,
) -> None:
    stores: list[MemoryStore] = []

    async def lose(store: Any) -> None:
        stores[:] = [store._hot, store._archive]
        await store._hot.delete("s")

    store, _ = await _met(at, lose)
    there = await store.read("s")
    assert there in ([], [b"secret one", b"two", b"three"])
    assert there == await stores[1].read("s")
    assert there or at < COPIED, "it was in the archive already"


async def test_one_session_that_cannot_be_moved_keeps_no_other_from_it() -> None:
    hot, archive = MemoryStore(), MemoryStore()
    store = TieredStore(hot, archive, idle_s=0.0)
    await store.append("a", [b"one"], after=0)
    await store.move_idle()
    await archive.delete("a")
    await store.append("a", [b"two"], after=1)
    await store.append("b", [b"other"], after=0)
    with pytest.raises(SessionError, match="the archive lacks record 1 of session 'a'"):
        await store.move_idle()
    assert await archive.read("b") == [b"other"]


async def test_both_checkpoints_are_moved() -> None:
    store = TieredStore(MemoryStore(), MemoryStore(), idle_s=0.0)
    await store.append("s", [b"longer"] * 9, after=0)
    await store.save_checkpoint("s", 3, b"three")
    await store.save_checkpoint("s", 7, b"seven")
    assert await store.move_idle() == ["s"]
    assert await store.checkpoint("s") == (7, b"seven")
    assert await store.checkpoint("s", upto=6) == (3, b"three")


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


LAYOUTS = ("hot", "copied", "moved", "moved and gone on", "moved, rewritten and gone on")
REWRITES = 30
"""One more call than a rewrite makes."""


async def _laid_out(layout: str, clock: MovingClock) -> tuple[MemoryStore, MemoryStore]:
    """A session of six records, all of them secret, in the two stores as its layout says."""
    hot, archive = MemoryStore(clock=clock), MemoryStore(clock=clock)
    whole = TieredStore(hot, archive, idle_s=0.0, clock=clock)
    bodies = [f"secret {number}".encode() for number in range(1, 7)]
    early = bodies if layout in ("hot", "copied", "moved") else bodies[:4]
    await whole.append("s", early, after=0)
    await whole.save_checkpoint("s", 3, b"secret checkpoint")
    if layout == "copied":
        broken = Failing(hot, 6, after=False)
        with pytest.raises(StoreError):
            await TieredStore(broken, archive, idle_s=0.0, clock=clock).move_idle()
        assert await hot.read("s") == await archive.read("s") == bodies
        clock.now += MOVING_S
    elif layout != "hot":
        await whole.move_idle()
        assert await hot.read("s") == [b"\xfe"] * len(early)
    if layout == "moved, rewritten and gone on":
        await whole.rewrite("s", {2: b"secret 2"})
    await whole.append("s", bodies[len(early) :], after=len(early))
    await whole.save_checkpoint("s", len(early), b"secret checkpoint")
    assert await whole.read("s") == bodies
    return hot, archive


@pytest.mark.parametrize("dead", [False, True], ids=["once", "dead"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("which", [(1, 2, 3, 4, 5, 6), (1, 2), (5, 6), (3, 4, 5), (2, 6)])
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_what_a_rewrite_that_breaks_leaves_anywhere_is_to_be_read(
    layout: str, which: tuple[int, ...], after: bool, dead: bool
) -> None:
    """So that whoever looks whether it was done sees that it was not."""
    new, broke = {at: f"gone {at}".encode() for at in which}, True
    at = 0
    while broke:
        clock = MovingClock()
        stores = await _laid_out(layout, clock)
        whole, calls = TieredStore(*stores, idle_s=0.0, clock=clock), itertools.count()
        before = await whole.read("s")
        done = [new.get(position, body) for position, body in enumerate(before, 1)]
        broken = _broken(stores, calls, at, after, dead, clock)
        broke = False
        try:
            await broken.rewrite("s", new)
        except StoreError:
            broke = True
        shown = await whole.read("s")
        assert shown in (before, done), at
        if shown == done:
            _nowhere(stores, which)
        await whole.rewrite("s", new)
        assert await whole.read("s") == done
        _nowhere(stores, which)
        await whole.move_idle()
        assert await stores[1].read("s") == await whole.read("s") == done
        at += 1
    assert at <= REWRITES


def _nowhere(stores: Sequence[MemoryStore], which: Sequence[int]) -> None:
    """Neither store has anything of these records, nor of a checkpoint."""
    for each in stores:
        log = each._logs.get("s")
        held = [*log.bodies, *log.checkpoints.values()] if log else []
        assert not [body for body in held if body in {f"secret {at}".encode() for at in which}]
        assert b"secret checkpoint" not in held


@pytest.mark.parametrize("at", range(REWRITES))
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_move_at_any_moment_of_a_rewrite_brings_nothing_back(layout: str, at: int) -> None:
    clock, which = MovingClock(), (2, 4, 5)
    stores, calls = await _laid_out(layout, clock), itertools.count()
    whole = TieredStore(*stores, idle_s=0.0, clock=clock)
    before = await whole.read("s")
    meeting = TieredStore(
        *(Meeting(each, at, whole.move_idle, numbers=calls) for each in stores), clock=clock
    )
    await meeting.rewrite("s", dict.fromkeys(which, b"gone"))
    assert await whole.read("s") == [b"gone" if n in which else body for n, body in enumerate(before, 1)]
    _nowhere(stores, which)


class Down:
    """A store that is not there, or that only gives out what it has."""

    def __init__(self, readable: MemoryStore | None = None) -> None:
        self._readable = readable

    def __getattr__(self, name: str) -> Any:
        if self._readable is not None and name in ("read", "info", "checkpoint"):
            return getattr(self._readable, name)

        async def call(*_: Any, **__: Any) -> Any:
            raise StoreError("the archive is down", session="s")

        return call


async def test_a_session_that_never_moved_needs_no_archive() -> None:
    hot, archive = MemoryStore(), MemoryStore()
    whole = TieredStore(hot, archive, idle_s=0.0)
    for id in ("moved", "hot"):
        session = await Session.open(id, whole, **SETTINGS)
        await session.add({"role": "user", "content": "Hi"})
        if id == "moved":
            await whole.move_idle()
    without = TieredStore(hot, Down())  # type: ignore[arg-type]
    session = await Session.open("hot", without, **SETTINGS)
    await session.add({"role": "assistant", "content": "Hello"})
    assert (await session.prepare()).messages == (await Session.open("hot", without, **SETTINGS)).messages
    for id in ("moved", "new"):
        with pytest.raises(StoreError, match="the archive is down"):
            await Session.open(id, without, **SETTINGS)


@pytest.mark.parametrize("twice", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize("what", ["pop", "clear", "retain_structure"])
async def test_what_could_not_be_erased_in_the_archive_is_found_and_finished(what: str, twice: bool) -> None:
    hot, archive = MemoryStore(), MemoryStore()
    store = TieredStore(hot, archive, idle_s=0.0)
    session = await Session.open("s", store, **SETTINGS)
    for text in ("Hi", "the code is 4711"):
        await session.add({"role": "user", "content": text})
    await session._log.checkpoint()
    if twice:
        await store.move_idle()
        await session.pop()
        await session.add({"role": "user", "content": "the code is 4711"})
        await session._log.checkpoint()
    await store.move_idle()
    session.store = session._log.store = TieredStore(hot, Down(archive))  # type: ignore[arg-type]
    with pytest.raises(StoreError):
        await getattr(session, what)()
    assert [each for each in (await verify(store, "s")).findings if "is still there" in each.message]
    assert await (await Session.open("s", store, **SETTINGS)).finish_erasures()
    logs = [each._logs["s"] for each in (hot, archive)]
    assert b"code is 4711" not in b"".join(
        body for log in logs for body in (*log.bodies, *log.checkpoints.values())
    )
    assert (await verify(store, "s")).findings == ()


CHOICES = st.sampled_from(["append", "move", "rewrite", "lose", "checkpoint"])
STEPS = st.lists(st.tuples(CHOICES, st.integers(0, 5)), max_size=25)
BREAKS = st.lists(st.tuples(CHOICES, st.integers(0, 5), st.integers(0, CALLS), st.booleans()), max_size=15)


async def _done(store: TieredStore, what: str, size: int, held: int, number: int) -> None:
    if what == "append":
        fresh = _fresh(size, number)
        assert await store.append("s", fresh, after=held, key=f"{number}") == held + len(fresh)
    elif what == "rewrite" and size < held:
        await store.rewrite("s", {size + 1: f"rewritten {number}".encode()})
    elif what == "checkpoint":
        await store.save_checkpoint("s", min(size, held), b"checkpoint")
    elif what in ("move", "lose"):
        await store.move_idle()


def _fresh(size: int, number: int) -> list[bytes]:
    return _bodies(size, number)[size // 2 :]


@given(BREAKS)
async def test_whatever_breaks_and_is_repeated_was_done_once(
    steps: Sequence[tuple[str, int, int, bool]],
) -> None:
    clock, model = MovingClock(), list[bytes]()
    stores = MemoryStore(clock=clock), MemoryStore(clock=clock)
    whole = TieredStore(*stores, idle_s=0.0, clock=clock)
    for number, (what, size, at, after) in enumerate(steps):
        calls, held = itertools.count(), len(model)
        broken = TieredStore(
            *(Failing(each, at, after=after, back=1, numbers=calls) for each in stores),
            idle_s=0.0,
            clock=clock,
        )
        try:
            await _done(broken, what, size, held, number)
        except StoreError:
            await _done(whole, what, size, held, number)
        if what == "append":
            model += _fresh(size, number)
        elif what == "rewrite" and size < held:
            model[size] = f"rewritten {number}".encode()
        elif what == "lose":
            await stores[0].delete("s")
        assert await whole.read("s") == model
    await whole.move_idle()
    assert await stores[1].read("s") == model


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


async def test_one_store_under_two_names_is_no_archive_of_itself(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    store = TieredStore(
        SQLiteStore(tmp_path / "a.db"), SQLiteStore(tmp_path / "sub" / ".." / "a.db"), idle_s=-1.0
    )
    async with store:
        await store.append("s", [b"one", b"two"], after=0)
        with pytest.raises(ConfigError, match="both are one store, under two names"):
            await store.move_idle()
        assert await store.read("s") == [b"one", b"two"]
