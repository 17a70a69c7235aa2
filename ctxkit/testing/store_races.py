"""What every store does when many write at once, and when they are cancelled, as tests."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress

from ctxkit.errors import ConflictError
from ctxkit.sessions.store import Store
from ctxkit.testing.store_case import StoreCase, raising

__all__ = ["Races"]

ID = "patient-7"


class Races(StoreCase):
    """Two stores on the same data, many tasks, cancellation."""

    async def test_two_stores_on_the_same_data_see_each_other(self) -> None:
        async with self.opened() as one, self.opened() as two:
            assert await one.append(ID, [b"one"], after=0, key="k") == 1
            assert await two.read(ID) == [b"one"]
            assert await two.append(ID, [b"two"], after=1) == 2
            with raising(ConflictError) as raised:
                await one.append(ID, [b"late"], after=1)
            assert raised.error.position == 2
            assert await two.append(ID, [b"again"], after=0, key="k") == 1
            await one.save_checkpoint(ID, 2, b"kept")
            assert await two.checkpoint(ID) == (2, b"kept")
            assert await one.lease(ID, "compaction", "one", 600)
            assert not await two.lease(ID, "compaction", "two", 600)
            assert await one.info(ID) == await two.info(ID)
            await two.delete(ID)
            assert await one.sessions() == []

    async def test_what_was_written_is_there_when_the_store_is_opened_again(self) -> None:
        async with self.opened() as first:
            await first.append(ID, [b"one", b"two"], after=0, key="k")
            await first.save_checkpoint(ID, 1, b"kept")
            before = await first.info(ID)
            async with self.opened() as second:
                await second.append("other", [b"x"], after=0)
            assert await first.read("other") == [b"x"]
        async with self.opened() as third:
            assert await third.read(ID) == [b"one", b"two"]
            assert await third.info(ID) == before
            assert await third.checkpoint(ID) == (1, b"kept")
            assert await third.append(ID, [b"again"], after=0, key="k") == 2

    async def test_of_many_that_append_behind_the_same_position_one_does(self) -> None:
        async with self.opened() as one, self.opened() as two:
            calls = [store.append(ID, [b"%d" % n], after=0) for n in range(20) for store in (one, two)]
            given = await asyncio.gather(*calls, return_exceptions=True)
            assert [each for each in given if not isinstance(each, ConflictError)] == [1]
            assert await one.read(ID) == [b"%d" % (given.index(1) // 2)]

    async def test_one_call_made_many_times_at_once_writes_once(self) -> None:
        async with self.opened() as one, self.opened() as two:
            await one.append(ID, [b"zero"], after=0)
            calls = [
                store.append(ID, [b"a", b"b"], after=1, key="k") for _ in range(20) for store in (one, two)
            ]
            assert await asyncio.gather(*calls) == [3] * 40
            assert await two.read(ID) == [b"zero", b"a", b"b"]

    async def test_fifty_tasks_lose_double_and_reorder_nothing(self) -> None:
        async with self.opened() as one, self.opened() as two:
            tasks = [_writes(store, f"{at}", 4) for at, store in enumerate([one, two] * 25)]
            placed = [place for told in await asyncio.gather(*tasks) for place in told]
            there = await one.read(ID)
            assert len(there) == 400
            assert sorted(position for position, _ in placed) == list(range(2, 401, 2))
            for position, bodies in placed:
                assert there[position - 2 : position] == bodies, "what was acknowledged is not in its place"
            for at in range(50):
                own = [each for each in there if each.split(b"/")[0] == b"%d" % at]
                assert own == [b"%d/%d/%d" % (at, n, part) for n in range(4) for part in range(2)]

    async def test_a_lease_asked_for_by_many_at_once_has_one_holder(self) -> None:
        async with self.opened() as one, self.opened() as two:
            calls = [store.lease(ID, "compaction", f"{n}", 600) for n, store in enumerate([one, two] * 10)]
            assert sorted(await asyncio.gather(*calls)) == [False] * 19 + [True]

    async def test_a_cancelled_append_is_wholly_in_or_wholly_out(self) -> None:
        chance = random.Random(7)
        async with self.opened() as store:
            written: list[bytes] = []
            for n in range(60):
                bodies = [b"%d/%d" % (n, part) for part in range(3)]
                before = len(written)
                await _cancelled(store, bodies, before, f"{n}", chance.choice([0, 0, 1, 2, 5, 20]) / 4_000)
                assert await store.read(ID) in (written, written + bodies), f"append {n} is in part"
                assert await store.append(ID, bodies, after=before, key=f"{n}") == before + 3
                written += bodies
                assert await store.read(ID) == written

    async def test_fifty_tasks_that_are_cancelled_at_any_moment_leave_a_whole_log(self) -> None:
        chance = random.Random(11)
        async with self.opened() as one, self.opened() as two:
            tasks = [asyncio.create_task(_writes(s, f"{at}", 9)) for at, s in enumerate([one, two] * 25)]
            for task in chance.sample(tasks, 50):
                await asyncio.sleep(chance.random() / 500)
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for store in (one, two):  # what was cancelled late has ended before the next call of its store
                await store.read(ID)
            there = await one.read(ID)
            assert there == await two.read(ID)
            _is_whole(there)
            info = await two.info(ID)
            assert (info.position if info else 0) == len(there)
            assert await one.append(ID, [b"end"], after=len(there)) == len(there) + 1

    async def test_other_calls_that_are_cancelled_leave_the_store_usable(self) -> None:
        chance = random.Random(13)
        async with self.opened() as store:
            await store.append(ID, [b"x" * 50_000] * 4, after=0)
            for n in range(10):
                calls = (
                    store.read(ID),
                    store.sessions(),
                    store.save_checkpoint(ID, 3, b"c" * 50_000),
                    store.lease(ID, f"{n}", "holder", 600),
                    store.rewrite(ID, {2: b"y" * 50_000, 3: b"y" * 50_000}),
                )
                tasks = [asyncio.ensure_future(each) for each in calls]
                await asyncio.sleep(chance.random() / 1_000)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                _, second, third, _ = await store.read(ID)
                assert second == third, "a rewrite is in part"
            assert await store.append(ID, [b"end"], after=4) == 5


async def _writes(store: Store, name: str, times: int) -> list[tuple[int, list[bytes]]]:
    """Append two records so many times, trying again after each conflict; what was acknowledged, and at which
    position."""
    placed: list[tuple[int, list[bytes]]] = []
    after = 0
    for n in range(times):
        bodies = [f"{name}/{n}/{part}".encode() for part in range(2)]
        while len(placed) == n:
            try:
                after = await store.append(ID, bodies, after=after, key=f"{name}/{n}")
                placed.append((after, bodies))
            except ConflictError as conflict:
                after = conflict.position
    return placed


async def _cancelled(store: Store, bodies: list[bytes], after: int, key: str, seconds: float) -> None:
    task = asyncio.create_task(store.append(ID, bodies, after=after, key=key))
    await asyncio.sleep(seconds)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def _is_whole(there: list[bytes]) -> None:
    """Appends of two stand together; those of one task in order, from its first, each once."""
    told = [each.decode().split("/") for each in there]
    for first, second in zip(told[::2], told[1::2], strict=True):
        assert first[:2] == second[:2], "an append is in part"
        assert (first[2], second[2]) == ("0", "1")
    for name in {each[0] for each in told}:
        counted = [int(n) for who, n, part in told if (who, part) == (name, "0")]
        assert counted == list(range(len(counted))), "an append was lost, doubled or reordered"
