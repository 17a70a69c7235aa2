"""What was taken out of a session stays out, whoever else is at work on it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ctxkit import Budget, MemoryStore, ProviderFormatError, Session
from ctxkit.sessions.checkpoints import checkpoint_bytes

SETTINGS: dict[str, Any] = {"format": "openai-chat", "budget": Budget(window=900, reply=100, min_gain=0)}
SECRET = "the code of the door is 4471-QX"


async def told(store: MemoryStore) -> Session:
    session = await Session.open("s", store, **SETTINGS)
    await session.add({"role": "user", "content": "How do I get in?"})
    await session.add({"role": "user", "content": SECRET})
    return session


@pytest.mark.parametrize("what", ["pop", "clear", "retain_structure"])
def test_a_checkpoint_that_another_worker_made_before_goes(what: str) -> None:
    async def run() -> None:
        store = MemoryStore()
        session, other = await told(store), await Session.open("s", store, **SETTINGS)
        assert SECRET.encode() in checkpoint_bytes(other._history, other._log.book)
        await getattr(session, what)()
        await other._log.checkpoint()
        kept = await store.checkpoint("s")
        assert kept is None or SECRET.encode() not in kept[1]
        await other.add({"role": "user", "content": "Thanks."})
        assert other.position == len(await store.read("s"))

    asyncio.run(run())


@pytest.mark.parametrize("what", ["pop", "clear"])
def test_a_fork_has_nothing_that_an_interrupted_erasure_left(what: str) -> None:
    async def run() -> None:
        store = MemoryStore()
        session = await told(store)

        async def crash(*_: Any) -> None:
            raise KeyboardInterrupt

        store.rewrite = crash  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            await getattr(session, what)()
        del store.rewrite  # type: ignore[method-assign]
        await (await Session.open("s", store, **SETTINGS)).fork("t")
        for id in "st":
            assert not any(SECRET.encode() in body for body in await store.read(id))

    asyncio.run(run())


@pytest.mark.parametrize("format", ["openai-chat", "openai-responses", "anthropic", "gemini"])
def test_no_empty_request_is_made_when_everything_was_taken_back(format: str) -> None:
    async def run() -> None:
        text = {"parts": [{"text": "Hi"}]} if format == "gemini" else {"content": "Hi"}
        session = await Session.open("s", MemoryStore(), **{**SETTINGS, "format": format})
        begun = session.position
        for back in (session.pop, lambda: session.rollback(begun)):
            await session.add({"role": "user", **text})
            assert (await session.prepare()).messages == [{"role": "user", **text}]
            await back()
            with pytest.raises(ProviderFormatError, match="would refuse this"):
                await session.prepare()

    asyncio.run(run())
