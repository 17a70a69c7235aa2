"""TieredStore: a move and a rewrite whose calls come in any order leave no old bytes in either store."""

from __future__ import annotations

from collections.abc import Coroutine, Generator, Iterator, Sequence
from types import coroutine
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxkit import MemoryStore, TieredStore
from tests.sessions.failing import CALLS

MOVE, REWRITE = 0, 1

BODIES = [f"secret {number}".encode() for number in range(1, 7)]

LAYOUTS = ("hot", "moved in part", "moved and put back in part", "moved")
"""What of the six records is in the archive before."""

MOST = 20
"""One more call than either makes alone."""


@coroutine
def _turn() -> Generator[None, None, None]:
    yield


class _Stepped:
    """A store each of whose calls waits for its turn."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        async def called(*args: Any, **more: Any) -> Any:
            await _turn()
            return await method(*args, **more)

        return called if name in CALLS else method


def _ran(coro: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine gives that waits for nobody."""
    try:
        coro.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits")


def _interleaved(two: Sequence[Coroutine[Any, Any, Any]], order: Iterator[int]) -> None:
    """One call of one of the two after the other, in this order; when one is at its end, the other to its own."""
    going = [*two]
    while going:
        turn = next(order, MOVE)
        one = two[turn] if two[turn] in going else going[0]
        try:
            one.send(None)
        except StopIteration:
            going.remove(one)


def _laid_out(layout: str) -> tuple[MemoryStore, MemoryStore, TieredStore]:
    """A session whose records are all secret, in the two stores as its layout says."""
    hot, archive = MemoryStore(), MemoryStore()
    whole = TieredStore(hot, archive, idle_s=-1.0)
    early = {"hot": 0, "moved": 6}.get(layout, 4)
    if early:
        _ran(whole.append("s", BODIES[:early], after=0))
        _ran(whole.save_checkpoint("s", 2, b"secret checkpoint"))
        _ran(whole.move_idle())
    if early < len(BODIES):
        _ran(whole.append("s", BODIES[early:], after=early))
    if layout == "moved and put back in part":
        _ran(whole.rewrite("s", {2: BODIES[1], 5: BODIES[4]}))
        assert _ran(hot.read("s"))[:3] == [b"\xfe", BODIES[1], b"\xfe"]
    _ran(whole.save_checkpoint("s", 3, b"secret checkpoint"))
    return hot, archive, whole


def _tried(layout: str, which: Sequence[int], order: Iterator[int]) -> None:
    hot, archive, whole = _laid_out(layout)
    stepped = TieredStore(_Stepped(hot), _Stepped(archive), idle_s=-1.0)
    new = {at: f"gone {at}".encode() for at in which}
    done = [new.get(at, body) for at, body in enumerate(BODIES, 1)]
    _interleaved((stepped.move_idle(), stepped.rewrite("s", new)), order)
    assert _ran(whole.read("s")) == done
    old = {BODIES[at - 1] for at in which} | {b"secret checkpoint"}
    for each in (hot, archive):
        log = each._logs.get("s")
        assert not log or not old.intersection([*log.bodies, *log.checkpoints.values()])
    _ran(whole.move_idle())
    assert (_ran(hot.read("s")), _ran(archive.read("s"))) == ([b"\xfe"] * 6, done)


def _runs(*lengths: int) -> Iterator[int]:
    """So many calls of the rewrite, then of the move, and so on; then the rewrite to its end, and the move to its own."""
    turn = REWRITE
    for length in lengths:
        yield from [turn] * length
        turn = MOVE if turn == REWRITE else REWRITE
    yield from [REWRITE] * MOST


@pytest.mark.parametrize("which", [(5,), (2, 4, 5), (1, 2)], ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_neither_store_has_old_bytes_whoever_comes_between_whom(layout: str, which: Sequence[int]) -> None:
    """A rewrite so far, a move so far, a little more of the rewrite, the rest of the move; and the other way round."""
    for first in range(MOST):
        for second in range(MOST):
            _tried(layout, which, _runs(first, second))
            _tried(layout, which, _runs(first, second, 1, MOST))
            _tried(layout, which, _runs(0, first, second, MOST))


@given(
    st.sampled_from(LAYOUTS),
    st.sets(st.integers(1, 6), min_size=1),
    st.lists(st.sampled_from([MOVE, REWRITE]), max_size=2 * MOST),
)
@example("hot", {5}, [*_runs(4, 11)])
def test_neither_store_has_old_bytes_in_whatever_order(
    layout: str, which: set[int], order: Sequence[int]
) -> None:
    _tried(layout, sorted(which), iter(order))
