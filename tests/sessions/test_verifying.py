"""`verify` says that a log is right when it is, and what is wrong with it when it is not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from ctxkit import Budget, ConversationError, EncryptedStore, MemoryStore, Session, Store
from ctxkit.sessions.stored import stored
from ctxkit.sessions.verifying import Verified, verify
from tests.sessions.failing import interrupted

SETTINGS: dict[str, Any] = {"format": "openai-chat", "budget": Budget(window=900, reply=100, min_gain=0)}


async def written(store: Store) -> Session:
    session = await Session.open("s", store, **SETTINGS)
    for number in range(30):
        await session.add({"role": "user", "content": f"{number}: where is the order W{number:07}?"})
        await session.add({"role": "assistant", "content": f"{number}: the order W{number:07} is on its way"})
        await session.prepare()
    return session


def verified(change: Callable[[MemoryStore, Session], Any]) -> Verified:
    async def run() -> Verified:
        store = MemoryStore()
        await change(store, await written(store))
        return await verify(store, "s")

    return asyncio.run(run())


async def nothing(store: MemoryStore, session: Session) -> None:
    """The log as it was written."""


async def checkpointed(store: MemoryStore, session: Session) -> None:
    await session._log.checkpoint()


def test_a_log_that_is_right() -> None:
    for change, checkpoint in ((nothing, False), (checkpointed, True)):
        found = verified(change)
        assert found.findings == ()
        assert (found.requests, found.sealed) == (30, 30)
        assert bool(found.checkpoint) is checkpoint


def test_so_it_is_after_everything_that_can_be_done() -> None:
    async def change(store: MemoryStore, session: Session) -> None:
        await session.name("here")
        await session.undo()
        await session.redo()
        await session.rollback("here")
        await session.pop()
        await session._log.checkpoint()

    found = verified(change)
    assert found.findings == ()
    assert 0 < found.sealed < found.requests


@pytest.mark.parametrize("change", ["clear", "retain_structure"])
def test_and_when_all_was_taken_out(change: str) -> None:
    async def cleared(store: MemoryStore, session: Session) -> None:
        await getattr(session, change)()

    found = verified(cleared)
    assert (found.findings, found.requests) == ((), 0)
    assert found.checkpoint


async def _rewritten(store: MemoryStore, position: int, body: bytes) -> None:
    await store.rewrite("s", {position: body})


def test_a_record_that_cannot_be_read() -> None:
    async def change(store: MemoryStore, session: Session) -> None:
        await _rewritten(store, 7, b"{")

    (finding,) = verified(change).findings
    assert finding.position == 7
    assert finding.message.startswith("record 7 of session 's' cannot be read (JSONDecodeError)")


def test_a_record_that_does_not_fit() -> None:
    async def change(store: MemoryStore, session: Session) -> None:
        told = json.loads((await store.read("s"))[6])
        told["step"]["change"] = {"items": [99, [0, 1]], "facts": 3}
        await _rewritten(store, 7, json.dumps(told).encode())

    (finding,) = verified(change).findings
    assert finding.position == 7
    assert "does not fit what is before it" in finding.message


def test_a_message_that_was_altered() -> None:
    async def change(store: MemoryStore, session: Session) -> None:
        records = await store.read("s")
        (at,) = [at for at, body in enumerate(records, 1) if b"29: the order" in body]
        await _rewritten(store, at, records[at - 1].replace(b"W0000029", b"W0000028"))

    (finding,) = verified(change).findings
    assert "does not match its seal" in finding.message


def test_a_wrong_checkpoint_is_dropped() -> None:
    async def change(store: MemoryStore, session: Session) -> None:
        await session._log.checkpoint()
        kept = await store.checkpoint("s")
        assert kept is not None
        await store.save_checkpoint("s", kept[0], kept[1].replace(b'"turn":30', b'"turn":31'))

    async def run() -> None:
        store = MemoryStore()
        await change(store, await written(store))
        (finding,) = (await verify(store, "s")).findings
        assert finding.message.startswith("the checkpoint was wrong, and is dropped: the conversation")
        assert await store.checkpoint("s") is None
        assert (await verify(store, "s")).findings == ()

    asyncio.run(run())


@pytest.mark.parametrize("what", ["pop", "clear"])
def test_an_erasure_that_a_crash_interrupted(what: str) -> None:
    """It is found, and finished by the next who tidies up."""

    async def run() -> None:
        store = MemoryStore()
        session = await written(store)
        await interrupted(store, getattr(session, what))
        (finding,) = (await verify(store, "s")).findings
        assert "is still there; `ctxkit session gc` finishes that" in finding.message
        assert await (await stored(store, "s")).finish_erasures()
        assert not any(b"29: the order" in body for body in await store.read("s"))
        assert (await verify(store, "s")).findings == ()
        assert not await (await stored(store, "s")).finish_erasures()

    asyncio.run(run())


def test_a_session_that_is_not_there() -> None:
    with pytest.raises(ConversationError, match="there is no session 'nobody'"):
        asyncio.run(verify(MemoryStore(), "nobody"))


@pytest.mark.parametrize("other", [None, bytes(32)], ids=["no key", "another key"])
def test_what_is_wrong_with_every_record_is_said_once(other: bytes | None) -> None:
    pytest.importorskip("cryptography")

    async def run() -> Verified:
        inner = MemoryStore()
        await written(EncryptedStore(inner, bytes(range(32))))
        return await verify(EncryptedStore(inner, other) if other else inner, "s")

    found = asyncio.run(run())
    (finding,) = found.findings
    assert found.records > 30
    assert finding.position == 0
    assert finding.message.startswith(
        f"none of its {found.records} records can be read; record 1 of session 's' "
    )
    assert ("any of these keys" if other else "EncryptedStore with its keys") in finding.message


def test_of_two_keys_each_record_that_has_another_is_told() -> None:
    pytest.importorskip("cryptography")

    async def run() -> Verified:
        inner, old, new = MemoryStore(), bytes(32), bytes(range(32))
        await EncryptedStore(inner, old).append("s", [b"{}"] * 2, after=0)
        await EncryptedStore(inner, [new, old]).append("s", [b'{"v":1,"kind":"erased","at":1}'] * 2, after=2)
        return await verify(EncryptedStore(inner, new), "s")

    assert [each.position for each in asyncio.run(run()).findings] == [1, 2]
