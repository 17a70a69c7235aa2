"""What every store does with the records of sessions, as tests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from ctxkit.errors import ConfigError, ConflictError, SessionLimitError
from ctxkit.sessions.store import Limits, Store
from ctxkit.testing.store_case import StoreCase, raising

__all__ = ["Logs"]

ID = "patient-7"
UNUSUAL = (
    "k" * 2_000,
    "患者的第三次提问，键很长",
    'it\'s "quoted" `here` \\ and % _ * ? [a-z]',
    "'); DROP TABLE sessions; --",
    "a:b/c\nd\te f",
    "𝄞🩺é",
    " ",
    "0",
    "\ud83e",
    "\ud83e \udd84",
)
NO_KEYS = (7, None, b"k", ["k"], {"k": 1}, True)
BAD_IDS = (
    "",
    "-a",
    " a",
    "a b",
    "a\n",
    "é",
    "患者",
    "a" * 201,
    "a'b",
    "a\x00b",
    "../a",
    "a*",
    "{a}",
    "a;b",
    7,
    None,
)


class Logs(StoreCase):
    """Append, read, rewrite, delete, and what there is to know of a session."""

    async def test_a_log_gives_back_what_was_appended(self) -> None:
        async with self.opened() as store:
            assert await store.append(ID, [b"one", b"two"], after=0) == 2
            assert await store.append(ID, [b"three"], after=2) == 3
            assert await store.read(ID) == [b"one", b"two", b"three"]

    async def test_bodies_of_all_bytes_and_sizes(self) -> None:
        every = bytes(range(256))
        bodies = [b"", every, every * 4_096, b"\x00", "患者 ☤".encode(), b"\xff\xfe", b"\r\n\x1a"]
        async with self.opened() as store:
            assert await store.append(ID, bodies, after=0) == 7
            there = await store.read(ID)
            assert [len(each) for each in there] == [len(each) for each in bodies]
            assert there == bodies, "a body is not what was appended"
            await _is(store, position=7, size=sum(map(len, bodies)))

    async def test_many_bodies_in_one_append(self) -> None:
        bodies = [b"%d" % n for n in range(1_500)]
        async with self.opened() as store:
            assert await store.append(ID, bodies, after=0) == 1_500
            assert await store.read(ID) == bodies
            assert await store.read(ID, after=1_498) == [b"1498", b"1499"]

    async def test_an_append_behind_another_position_writes_nothing(self) -> None:
        async with self.opened() as store:
            await _refused_at(store, 0, after=1)
            assert await store.info(ID) is None
            await store.append(ID, [b"one", b"two"], after=0)
            for wrong in (0, 1, 3, 1_000):
                await _refused_at(store, 2, after=wrong)
            assert await store.read(ID) == [b"one", b"two"]
            assert await store.append(ID, [b"three"], after=2) == 3

    async def test_a_refused_append_does_not_use_its_key(self) -> None:
        async with self.opened() as store:
            await store.append(ID, [b"one"], after=0)
            with raising(ConflictError):
                await store.append(ID, [b"two"], after=0, key="k")
            assert await store.append(ID, [b"two"], after=1, key="k") == 2
            assert await store.read(ID) == [b"one", b"two"]

    async def test_an_append_without_bodies_writes_nothing(self) -> None:
        async with self.opened() as store:
            assert await store.append(ID, [], after=0) == 0
            assert await store.info(ID) is None
            assert await store.sessions() == []
            await store.append(ID, [b"one"], after=0)
            before = await store.info(ID)
            await self.pass_time(self.lease_s)
            assert await store.append(ID, [], after=1, key="k") == 1
            for wrong in (0, 2):
                with raising(ConflictError):
                    await store.append(ID, [], after=wrong)
            assert await store.info(ID) == before
            assert await store.append(ID, [b"two"], after=1, key="k") == 2

    async def test_a_key_that_was_used_writes_nothing_and_gives_its_position(self) -> None:
        async with self.opened() as store:
            assert await store.append(ID, [b"one", b"two"], after=0, key="a") == 2
            assert await store.append(ID, [b"one", b"two"], after=0, key="a") == 2
            assert await store.append(ID, [b"three"], after=2, key="b") == 3
            assert await store.append(ID, [b"four"], after=3) == 4
            before = await store.info(ID)
            await self.pass_time(self.lease_s)
            for after in (0, 2, 4, 99):
                assert await store.append(ID, [b"else"], after=after, key="a") == 2
            assert await store.append(ID, [], after=0, key="b") == 3
            assert await store.read(ID) == [b"one", b"two", b"three", b"four"]
            assert await store.info(ID) == before

    async def test_behind_minus_one_a_key_tells_whether_it_was_used(self) -> None:
        async with self.opened() as store:
            await _refused_at(store, 0, after=-1)
            await store.append(ID, [b"one", b"two"], after=0, key="k")
            assert await store.append(ID, [], after=-1, key="k") == 2
            with raising(ConflictError):
                await store.append(ID, [], after=-1, key="another")
            with raising(ConflictError):
                await store.append(ID, [], after=-1)
            assert await store.read(ID) == [b"one", b"two"]

    async def test_appends_without_key_are_not_the_same_call(self) -> None:
        async with self.opened() as store:
            assert await store.append(ID, [b"one"], after=0, key="") == 1
            assert await store.append(ID, [b"one"], after=1, key="") == 2
            assert await store.read(ID) == [b"one", b"one"]

    async def test_a_key_belongs_to_its_session(self) -> None:
        async with self.opened() as store:
            await store.append("a", [b"one", b"two"], after=0, key="k")
            assert await store.append("b", [b"other"], after=0, key="k") == 1
            assert await store.append("a", [], after=0, key="k") == 2
            assert await store.read("b") == [b"other"]

    async def test_unusual_keys(self) -> None:
        async with self.opened() as store:
            for at, key in enumerate(UNUSUAL):
                assert await store.append(ID, [b"%d" % at], after=at, key=key) == at + 1, repr(key)
            for at, key in enumerate(UNUSUAL):
                assert await store.append(ID, [b"again"], after=0, key=key) == at + 1, repr(key)
            await _is(store, position=len(UNUSUAL), size=len(UNUSUAL))

    async def test_what_is_no_text_is_no_key(self) -> None:
        async with self.opened() as store:
            for bad in NO_KEYS:
                with raising(ConfigError):
                    await store.append(ID, [b"x"], after=0, key=bad)  # type: ignore[arg-type]
            assert await store.sessions() == []

    async def test_a_range_is_read_from_behind_one_position_upto_another(self) -> None:
        bodies = [b"one", b"two", b"three", b"four", b"five"]
        async with self.opened() as store:
            await store.append(ID, bodies, after=0)
            for after in range(-1, 7):
                behind = [(at, body) for at, body in enumerate(bodies, 1) if at > after]
                assert await store.read(ID, after=after) == [body for _, body in behind], after
                for upto in range(-1, 7):
                    there = await store.read(ID, after=after, upto=upto)
                    assert there == [body for at, body in behind if at <= upto], (after, upto)

    async def test_nothing_is_read_of_a_session_that_is_not_there(self) -> None:
        async with self.opened() as store:
            assert await store.read(ID) == []
            assert await store.read(ID, after=3, upto=5) == []
            assert await store.info(ID) is None
            assert await store.sessions() == []

    async def test_info_tells_position_size_and_when_it_was_touched(self) -> None:
        async with self.opened() as store:
            for at in range(3):
                await self.pass_time(self.lease_s)
                await store.append(ID, [b"four", b"seven.."], after=2 * at)
                info = await _is(store, position=2 * at + 2, size=11 * at + 11)
                assert abs(info - self.time()) < max(1.0, self.lease_s / 2), (
                    "touched is not the time of writing"
                )

    async def test_reading_does_not_touch_a_session(self) -> None:
        async with self.opened() as store:
            await store.append(ID, [b"one"], after=0)
            before = await store.info(ID)
            await self.pass_time(self.lease_s)
            await store.read(ID)
            await store.sessions()
            await store.checkpoint(ID)
            assert await store.info(ID) == before

    async def test_all_sessions_by_id(self) -> None:
        ids = [
            "B",
            "a",
            "Z9",
            "10",
            "9",
            "a-b",
            "a.b",
            "a/b",
            "a:b",
            "a=b",
            "a@b",
            "a_b",
            "aB",
            "a" * 200,
            "a+b",
        ]
        async with self.opened() as store:
            for at, each in enumerate(ids):
                await store.append(each, [b"x" * at], after=0)
            there = await store.sessions()
            assert [each.id for each in there] == sorted(ids)
            assert there == [await store.info(each) for each in sorted(ids)]
            assert {each.id: each.size for each in there} == {each: at for at, each in enumerate(ids)}

    async def test_sessions_do_not_mix(self) -> None:
        ids = ("a", "a:1", "a/1", "A", "a.1", "a1", "1", "a" * 200)
        async with self.opened() as store:
            for each in ids:
                await store.append(each, [each.encode()] * 2, after=0)
            await store.delete("a")
            await store.rewrite("A", {1: b"new"})
            assert await store.read("a") == []
            assert await store.read("A") == [b"new", b"A"]
            for each in ids[1:3] + ids[4:]:
                assert await store.read(each) == [each.encode()] * 2, each

    async def test_a_rewrite_puts_other_bytes_in_the_place_of_records(self) -> None:
        async with self.opened() as store:
            await store.append(ID, [b"one", b"two", b"three"], after=0, key="k")
            touched = await _is(store, position=3, size=11)
            await self.pass_time(self.lease_s)
            await store.rewrite(ID, {1: b"", 3: b"\x00 a longer one"})
            assert await store.read(ID) == [b"", b"two", b"\x00 a longer one"]
            assert await _is(store, position=3, size=17) == touched, "a rewrite touched the session"
            assert await store.append(ID, [b"four"], after=3) == 4
            assert await store.append(ID, [b"again"], after=0, key="k") == 3

    async def test_a_rewrite_drops_the_checkpoints(self) -> None:
        async with self.opened() as store:
            for session in (ID, "other"):
                await store.append(session, [b"one", b"two"], after=0)
                await store.save_checkpoint(session, 1, b"first")
                await store.save_checkpoint(session, 2, b"second")
            await store.rewrite(ID, {2: b"new"})
            assert await store.checkpoint(ID) is None
            assert await store.checkpoint(ID, upto=1) is None
            assert await store.checkpoint("other") == (2, b"second")
            await store.save_checkpoint(ID, 2, b"anew")
            assert await store.checkpoint(ID) == (2, b"anew")

    async def test_a_rewrite_at_a_position_that_does_not_exist_changes_nothing(self) -> None:
        async with self.opened() as store:
            with raising(ConflictError) as raised:
                await store.rewrite(ID, {1: b"new"})
            assert raised.error.position == 0
            assert await store.info(ID) is None
            await store.append(ID, [b"one", b"two"], after=0)
            await store.save_checkpoint(ID, 2, b"kept")
            for wrong in (0, 3, 99):
                with raising(ConflictError) as raised:
                    await store.rewrite(ID, {1: b"new", wrong: b"new"})
                assert (raised.error.session, raised.error.position) == (ID, 2)
            assert await store.read(ID) == [b"one", b"two"]
            assert await store.checkpoint(ID) == (2, b"kept")
            await _is(store, position=2, size=6)

    async def test_a_deleted_session_is_gone_with_all_that_was_beside_it(self) -> None:
        async with self.opened() as store:
            await store.append(ID, [b"one", b"two"], after=0, key="k")
            await store.save_checkpoint(ID, 2, b"old")
            assert await store.lease(ID, "compaction", "first", 600)
            await store.delete(ID)
            assert await store.info(ID) is None
            assert await store.sessions() == []
            assert await store.read(ID) == []
            assert await store.checkpoint(ID) is None
            assert await store.lease(ID, "compaction", "second", 600), "the lease outlived its session"
            with raising(ConflictError):
                await store.append(ID, [b"three"], after=2)
            assert await store.append(ID, [b"anew"], after=0, key="k") == 1, "the key outlived its session"
            assert await store.read(ID) == [b"anew"]
            assert await store.checkpoint(ID) is None

    async def test_deleting_what_is_not_there_does_nothing(self) -> None:
        async with self.opened() as store:
            await store.append("other", [b"one"], after=0)
            await store.delete(ID)
            await store.delete(ID)
            assert [each.id for each in await store.sessions()] == ["other"]

    async def test_a_record_over_the_limit_is_refused(self) -> None:
        async with self.opened(Limits(record=1_000, session=3_000)) as store:
            await _too_large(store, [b"fits", b"x" * 1_001], after=0)
            assert await store.info(ID) is None
            assert await store.append(ID, [b"x" * 1_000], after=0, key="large") == 1

    async def test_a_session_over_the_limit_is_refused(self) -> None:
        async with self.opened(Limits(record=1_000, session=3_000)) as store:
            assert await store.append(ID, [b"x" * 1_000] * 2, after=0) == 2
            await _too_large(store, [b"x" * 500, b"x" * 501], after=2)
            await _is(store, position=2, size=2_000)
            assert await store.append(ID, [b"x" * 500] * 2, after=2, key="k") == 4
            await _too_large(store, [b"x"], after=4)
            assert await store.append(ID, [b"x" * 9_999], after=0, key="k") == 4
            await store.rewrite(ID, {1: b""})
            assert await store.append(ID, [b"x" * 1_000], after=4) == 5

    async def test_an_append_that_is_not_limited_is_taken_however_full_the_session_is(self) -> None:
        async with self.opened(Limits(record=1_000, session=3_000)) as store:
            assert await store.append(ID, [b"x" * 1_000] * 2, after=0) == 2
            assert await store.append(ID, [b"y" * 1_500], after=2, key="k", limited=False) == 3
            assert await store.append(ID, [b"y" * 1_500], after=2, key="k", limited=False) == 3
            with raising(ConflictError):
                await store.append(ID, [b"z"], after=2, limited=False)
            await _too_large(store, [b"x" * 1_001], after=3)
            assert await store.read(ID, after=2) == [b"y" * 1_500]
            await _is(store, position=3, size=3_500)
            assert await store.append("other", [b"y" * 4_000], after=0, limited=False) == 1

    async def test_errors_do_not_tell_what_records_say(self) -> None:
        async with self.opened(Limits(record=10)) as store:
            await store.append(ID, [b"secret"], after=0)
            with raising(ConflictError) as conflict:
                await store.append(ID, [b"secret"], after=0)
            with raising(SessionLimitError) as limit:
                await store.append(ID, [b"secret" * 9], after=1)
            with raising(ConflictError) as wrong:
                await store.rewrite(ID, {5: b"secret"})
            told = [conflict.error, limit.error, wrong.error, store]
            assert not [each for each in told if "secret" in f"{each} {each!r}"]
            assert ID in str(conflict.error)

    async def test_what_is_no_session_id_is_refused_by_every_method(self) -> None:
        async with self.opened() as store:
            for bad in BAD_IDS:
                for name, call in _calls(store, bad).items():
                    try:
                        await call()
                    except ConfigError:
                        continue
                    raise AssertionError(f"{name} took {bad!r} for a session id")
            assert await store.sessions() == []


async def _is(store: Store, *, position: int, size: int) -> float:
    """When the session was touched, which has to be there with this position and size."""
    info = await store.info(ID)
    assert info is not None, f"{ID} is not there"
    assert (info.id, info.position, info.size) == (ID, position, size)
    return info.touched


async def _refused_at(store: Store, position: int, *, after: int) -> None:
    with raising(ConflictError) as raised:
        await store.append(ID, [b"not", b"written"], after=after)
    assert (raised.error.session, raised.error.position) == (ID, position)


async def _too_large(store: Store, bodies: Sequence[bytes], *, after: int) -> None:
    with raising(SessionLimitError) as raised:
        await store.append(ID, bodies, after=after, key="large")
    assert raised.error.session == ID


def _calls(store: Store, session: object) -> dict[str, Callable[[], Awaitable[object]]]:
    """Every method that takes a session id."""
    bad: str = session  # type: ignore[assignment]  # what is no str has to be refused as well
    return {
        "append": lambda: store.append(bad, [b"x"], after=0),
        "read": lambda: store.read(bad),
        "info": lambda: store.info(bad),
        "rewrite": lambda: store.rewrite(bad, {}),
        "delete": lambda: store.delete(bad),
        "save_checkpoint": lambda: store.save_checkpoint(bad, 1, b"x"),
        "checkpoint": lambda: store.checkpoint(bad),
        "lease": lambda: store.lease(bad, "name", "holder", 60),
        "release": lambda: store.release(bad, "name", "holder"),
    }
