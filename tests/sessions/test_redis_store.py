"""RedisStore, on a real server."""

from __future__ import annotations

import uuid

import pytest

from ctxkit import ConfigError, Limits, RedisStore, Store, StoreError
from ctxkit.testing import StoreSuite


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
        import asyncio

        await asyncio.sleep(seconds)

    def time(self) -> float:
        import time

        return time.time()


async def test_a_session_vanishes_when_its_time_is_over(redis_url: str) -> None:
    import asyncio

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


@pytest.mark.parametrize("address", ["", "localhost", "http://host"])
def test_an_address_that_is_none_says_what_one_is(address: str) -> None:
    with pytest.raises(ConfigError, match="redis://localhost:6379/0"):
        RedisStore(address)
