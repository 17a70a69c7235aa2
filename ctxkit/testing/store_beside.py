"""What every store does with checkpoints and leases, as tests."""

from __future__ import annotations

from ctxkit.testing.store_case import StoreCase

__all__ = ["Checkpoints", "Leases"]

ID = "patient-7"


class Checkpoints(StoreCase):
    """Saved, found, replaced, dropped."""

    async def test_the_newest_checkpoint_is_found_with_its_position(self) -> None:
        body = bytes(range(256)) * 1_000
        async with self.opened() as store:
            await store.append(ID, [b"x"] * 5, after=0)
            assert await store.checkpoint(ID) is None
            await store.save_checkpoint(ID, 2, b"second")
            assert await store.checkpoint(ID) == (2, b"second")
            await store.save_checkpoint(ID, 4, body)
            assert await store.checkpoint(ID) == (4, body)

    async def test_the_newest_two_are_kept_by_position(self) -> None:
        async with self.opened() as store:
            await store.append(ID, [b"x"] * 12, after=0)
            for position in (3, 12, 10, 5, 11):
                await store.save_checkpoint(ID, position, b"%d" % position)
            assert await store.checkpoint(ID) == (12, b"12")
            assert await store.checkpoint(ID, upto=11) == (11, b"11")
            assert await store.checkpoint(ID, upto=10) is None

    async def test_a_checkpoint_upto_a_position(self) -> None:
        async with self.opened() as store:
            await store.append(ID, [b"x"] * 9, after=0)
            await store.save_checkpoint(ID, 3, b"three")
            await store.save_checkpoint(ID, 7, b"seven")
            found = [await store.checkpoint(ID, upto=upto) for upto in (0, 2, 3, 6, 7, 8, 99)]
            three, seven = (3, b"three"), (7, b"seven")
            assert found == [None, None, three, three, seven, seven, seven]

    async def test_one_at_the_same_position_is_replaced(self) -> None:
        async with self.opened() as store:
            await store.append(ID, [b"x"] * 2, after=0)
            await store.save_checkpoint(ID, 1, b"first")
            await store.save_checkpoint(ID, 2, b"old")
            await store.save_checkpoint(ID, 2, b"")
            assert await store.checkpoint(ID) == (2, b"")
            assert await store.checkpoint(ID, upto=1) == (1, b"first")

    async def test_a_checkpoint_beyond_the_log_is_not_kept(self) -> None:
        async with self.opened() as store:
            await store.save_checkpoint(ID, 1, b"of nothing")
            assert await store.info(ID) is None
            await store.append(ID, [b"x"], after=0)
            assert await store.checkpoint(ID) is None
            await store.save_checkpoint(ID, 1, b"kept")
            await store.save_checkpoint(ID, 2, b"beyond")
            assert await store.checkpoint(ID) == (1, b"kept")

    async def test_a_checkpoint_does_not_touch_the_session(self) -> None:
        async with self.opened() as store:
            await store.append(ID, [b"one"], after=0)
            before = await store.info(ID)
            await self.pass_time(self.lease_s)
            await store.save_checkpoint(ID, 1, b"kept")
            assert await store.info(ID) == before
            assert await store.read(ID) == [b"one"]

    async def test_checkpoints_belong_to_their_session(self) -> None:
        async with self.opened() as store:
            for session in ("a", "b"):
                await store.append(session, [b"x"] * 3, after=0)
            await store.save_checkpoint("a", 2, b"a")
            await store.save_checkpoint("b", 3, b"b")
            await store.delete("b")
            assert await store.checkpoint("a") == (2, b"a")
            assert await store.checkpoint("b") is None


class Leases(StoreCase):
    """Taken, extended, run out, given back."""

    async def test_a_lease_has_one_holder(self) -> None:
        async with self.opened() as store:
            assert await store.lease(ID, "compaction", "first", 600) is True
            assert await store.lease(ID, "compaction", "second", 600) is False
            assert await store.lease(ID, "compaction", "first", 600) is True

    async def test_leases_of_other_names_and_sessions_are_others(self) -> None:
        names = ("compaction", "compaction:2", "Compaction", "压缩", "it's; --", "n" * 500, "\ud83e")
        async with self.opened() as store:
            for name in names:
                assert await store.lease(ID, name, "first", 600), name
                assert not await store.lease(ID, name, "second", 600), name
            assert await store.lease("other", "compaction", "second", 600)

    async def test_a_lease_runs_out(self) -> None:
        async with self.opened() as store:
            assert await store.lease(ID, "compaction", "first", self.lease_s)
            await self.pass_time(self.lease_s)
            assert await store.lease(ID, "compaction", "second", 600)
            assert not await store.lease(ID, "compaction", "first", 600)

    async def test_an_extended_lease_lasts_longer(self) -> None:
        async with self.opened() as store:
            assert await store.lease(ID, "compaction", "first", self.lease_s)
            assert await store.lease(ID, "compaction", "first", 10 * self.lease_s + 600)
            await self.pass_time(2 * self.lease_s)
            assert not await store.lease(ID, "compaction", "second", 600)

    async def test_a_lease_that_ran_out_can_be_taken_again_by_its_holder(self) -> None:
        async with self.opened() as store:
            assert await store.lease(ID, "compaction", "first", self.lease_s)
            await self.pass_time(2 * self.lease_s)
            assert await store.lease(ID, "compaction", "first", 600)
            assert not await store.lease(ID, "compaction", "second", 600)

    async def test_a_released_lease_is_free(self) -> None:
        async with self.opened() as store:
            await store.lease(ID, "compaction", "first", 600)
            await store.release(ID, "compaction", "first")
            assert await store.lease(ID, "compaction", "second", 600)

    async def test_holders_with_any_characters(self) -> None:
        async with self.opened() as store:
            for at, holder in enumerate(("\ud83e", "\udd84", "\ud83e\udd84", "患者", "it's; --")):
                assert await store.lease(ID, f"{at}", holder, 600), repr(holder)
                assert not await store.lease(ID, f"{at}", holder[:-1], 600), repr(holder)
                await store.release(ID, f"{at}", holder)
                assert await store.lease(ID, f"{at}", "another", 600), repr(holder)

    async def test_only_the_holder_releases(self) -> None:
        async with self.opened() as store:
            await store.release(ID, "compaction", "first")
            await store.lease(ID, "compaction", "first", 600)
            await store.release(ID, "compaction", "second")
            await store.release(ID, "other", "first")
            await store.release("other", "compaction", "first")
            assert not await store.lease(ID, "compaction", "second", 600)

    async def test_a_lease_neither_makes_nor_touches_a_session(self) -> None:
        async with self.opened() as store:
            await store.lease(ID, "compaction", "first", 600)
            assert await store.info(ID) is None
            await store.append(ID, [b"one"], after=0)
            before = await store.info(ID)
            await self.pass_time(self.lease_s)
            await store.lease(ID, "compaction", "first", 600)
            await store.release(ID, "compaction", "first")
            assert await store.info(ID) == before
