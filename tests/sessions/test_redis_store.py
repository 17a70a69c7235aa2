"""RedisStore, on a real server."""

from __future__ import annotations

import asyncio
import time
import traceback
import uuid
from typing import Any

import pytest
from redis.asyncio import Redis

from ctxkit import ConfigError, Limits, RedisStore, Store, StoreError
from ctxkit.testing import StoreSuite
from tests.servers.valkey import valkey


class TestRedisStore(StoreSuite):
    """What every store does."""

    @pytest.fixture(autouse=True)
    def _place(self, redis_url: str) -> None:
        self.url, self.prefix = redis_url, uuid.uuid4().hex

    async def open_store(self, limits: Limits) -> Store:
        return RedisStore(self.url, prefix=self.prefix, limits=limits, clock=self.clock)


class TestByTheServersClock(TestRedisStore):
    """The same, with the time of the server."""

    lease_s = 0.2

    async def open_store(self, limits: Limits) -> Store:
        return RedisStore(self.url, prefix=self.prefix, limits=limits)

    async def pass_time(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def time(self) -> float:
        return time.time()


async def test_a_session_vanishes_when_its_time_is_over(redis_url: str) -> None:
    async with RedisStore(redis_url, prefix=uuid.uuid4().hex, ttl_s=1) as store:
        await store.append("s", [b"one"], after=0, key="k")
        await store.save_checkpoint("s", 1, b"checkpoint")
        assert [each.id for each in await store.sessions()] == ["s"]
        await asyncio.sleep(1.3)
        assert await store.read("s") == []
        assert await store.info("s") is None
        assert await store.checkpoint("s") is None
        assert await store.sessions() == []
        assert await store.append("s", [b"anew"], after=0, key="k") == 1


async def test_a_server_that_is_not_there_is_a_store_error() -> None:
    async with RedisStore("redis://user:secret@127.0.0.1:1/0", timeout_s=0.5) as store:
        with pytest.raises(StoreError, match="Redis failed") as raised:
            await store.append("s", [b"content"], after=0)
        assert raised.value.session == "s"
        assert "secret" not in f"{raised.value}{store!r}"
        assert "content" not in str(raised.value)


async def test_a_checkpoint_vanishes_with_its_session_and_is_renewed_with_it(redis_url: str) -> None:
    prefix = uuid.uuid4().hex
    async with RedisStore(redis_url, prefix=prefix, ttl_s=600) as store, Redis.from_url(redis_url) as server:
        log, kept = (f"{{{prefix}:s}}:{part}" for part in ("log", "checkpoints"))
        await store.append("s", [b"one", b"two"], after=0)
        await server.pexpire(log, 90_000)
        await store.save_checkpoint("s", 1, b"checkpoint")
        assert await server.pexpiretime(kept) == await server.pexpiretime(log)
        await store.append("s", [b"three"], after=2)
        assert await server.pexpiretime(kept) == await server.pexpiretime(log)
        assert await server.ttl(log) > 500


async def test_a_short_lease_does_not_end_a_long_one(redis_url: str) -> None:
    prefix = uuid.uuid4().hex
    async with RedisStore(redis_url, prefix=prefix) as store, Redis.from_url(redis_url) as server:
        assert await store.lease("s", "long", "holder", 36_000)
        assert await store.lease("s", "short", "holder", 1)
        assert await server.ttl(f"{{{prefix}:s}}:leases") > 36_000


async def test_a_session_that_is_begun_while_the_list_is_tidied_is_on_it(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = uuid.uuid4().hex
    async with RedisStore(redis_url, prefix=prefix) as one, RedisStore(redis_url, prefix=prefix) as two:
        listing = Redis.sadd

        async def listed(server: Any, *arguments: Any) -> Any:
            given = await listing(server, *arguments)  # type: ignore[misc]
            await two.sessions()
            return given

        monkeypatch.setattr(Redis, "sadd", listed)
        await one.append("s", [b"one"], after=0)
        assert [each.id for each in await two.sessions()] == ["s"]


async def test_a_session_that_is_begun_while_it_is_deleted_is_on_the_list(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = uuid.uuid4().hex
    async with RedisStore(redis_url, prefix=prefix) as one, RedisStore(redis_url, prefix=prefix) as two:
        await one.append("s", [b"one"], after=0)
        deleting = Redis.delete

        async def deleted(server: Any, *keys: Any) -> Any:
            given = await deleting(server, *keys)  # type: ignore[misc]
            await two.append("s", [b"anew"], after=0)
            return given

        monkeypatch.setattr(Redis, "delete", deleted)
        await one.delete("s")
        assert await two.read("s") == [b"anew"]
        assert [each.id for each in await two.sessions()] == ["s"]


async def test_more_sessions_than_are_asked_for_at_once_are_all_listed(redis_url: str) -> None:
    async with RedisStore(redis_url, prefix=uuid.uuid4().hex) as store:
        ids = [f"s{number:04}" for number in range(1_001)]
        for id in ids:
            await store.append(id, [b"one"], after=0)
        assert [each.id for each in await store.sessions()] == ids


async def test_a_server_that_was_killed_and_came_back_has_what_it_acknowledged() -> None:
    with valkey(append_only=True) as server:
        async with RedisStore(server.url, prefix="p", timeout_s=2) as store:
            await store.append("s", [b"one"], after=0, key="k")
            server.kill()
            with pytest.raises(StoreError):
                await store.append("s", [b"two"], after=1, key="l")
            server.start()  # without the scripts that it knew
            assert await store.append("s", [b"one"], after=0, key="k") == 1
            assert await store.append("s", [b"two"], after=1, key="l") == 2
            assert await store.read("s") == [b"one", b"two"]


@pytest.mark.parametrize("address", ["redis://user:sec/ret@host:6379/0", "redis://user:secret@host:port/0"])
def test_an_address_that_cannot_be_read_is_not_shown(address: str) -> None:
    with pytest.raises(ConfigError, match="%2F for a / in the password") as raised:
        RedisStore(address)
    told = "".join(traceback.format_exception_only(raised.value)) + repr(raised.value.__cause__)
    assert "sec" not in told
    assert raised.value.__suppress_context__


@pytest.mark.parametrize("prefix", ["", "a:b", "{a}", "a}"])
def test_prefixes_cannot_run_into_ids(prefix: str) -> None:
    with pytest.raises(ConfigError, match="without braces and colons"):
        RedisStore("redis://localhost", prefix=prefix)


@pytest.mark.parametrize("address", ["", "localhost", "http://host"])
def test_an_address_that_is_none_says_what_one_is(address: str) -> None:
    with pytest.raises(ConfigError, match="redis://localhost:6379/0"):
        RedisStore(address)
