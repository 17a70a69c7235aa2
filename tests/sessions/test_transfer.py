"""A log goes to a file and back byte for byte; a file that was cut off or changed is told from a whole one."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit import (
    Budget,
    ConflictError,
    ConversationError,
    EncryptedStore,
    Limits,
    MemoryStore,
    Session,
    SessionError,
    SessionLimitError,
    Store,
    StoreError,
)
from ctxkit.sessions import appending
from ctxkit.sessions.halves import ARCHIVED, MOVED
from ctxkit.sessions.records import to_bytes
from ctxkit.sessions.transfer import export_log, import_log

KEY = bytes(range(32))

FIRST = b'{"v":1,"kind":"session","at":1.5,"data":{"format":"openai-chat"}}'
"""The record that every log begins with; what comes behind it may be anything."""

BODIES = st.lists(
    st.one_of(
        st.binary(max_size=40).filter(lambda body: body != MOVED), st.text(max_size=40).map(str.encode)
    ),
    max_size=8,
).map(lambda bodies: [FIRST, *bodies])


async def filled(bodies: list[bytes], store: MemoryStore | None = None) -> MemoryStore:
    store = store or MemoryStore()
    await store.append("s", bodies, after=0)
    return store


async def exported(store: Store, session: str = "s") -> bytes:
    file = io.BytesIO()
    await export_log(store, session, file)
    return file.getvalue()


async def imported(file: bytes, **more: Any) -> MemoryStore:
    store = MemoryStore()
    await import_log(store, io.BytesIO(file), **more)
    return store


@given(BODIES)
def test_whatever_the_records_are_they_come_back(bodies: list[bytes]) -> None:
    async def run() -> None:
        file = await exported(await filled(bodies))
        store = await imported(file)
        assert await store.read("s") == bodies
        assert await exported(store) == file

    asyncio.run(run())


@given(BODIES, st.data())
def test_no_byte_can_be_changed_or_left_out_unseen(bodies: list[bytes], data: st.DataObject) -> None:
    async def run() -> None:
        file = await exported(await filled(bodies))
        at = data.draw(st.integers(0, len(file) - 1))
        other = data.draw(st.integers(0, 255).filter(lambda byte: byte != file[at]))
        cut = file[: data.draw(st.integers(0, len(file) - 1))]
        for wrong in (file[:at] + bytes([other]) + file[at + 1 :], cut, file + b"\n"):
            store = MemoryStore()
            try:
                await import_log(store, io.BytesIO(wrong))
            except SessionError:
                assert await store.sessions() == []
            else:  # a different byte that means the same JSON, as between "é" and its escape, is no change
                (info,) = await store.sessions()
                assert await store.read(info.id) == bodies

    asyncio.run(run())


def lines(file: bytes) -> list[bytes]:
    return file.splitlines(keepends=True)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda each: each[:-1], "line 5 of the file is missing: the file ends too soon"),
        (lambda each: [*each[:-1], each[-1][:-4]], "line 5 of the file is cut off"),
        (lambda each: [each[0], *each[2:]], "line 2 of the file does not follow what is before it"),
        (lambda each: [each[0], each[2], each[1], *each[3:]], "line 2 of the file does not follow"),
        (
            lambda each: [each[0], each[1].replace(b"chat", b"Chat"), *each[2:]],
            "line 2 of the file does not follow",
        ),
        (
            lambda each: [*each[:3], b"{\n", *each[4:]],
            r"line 4 of the file cannot be read \(JSONDecodeError\)",
        ),
        (lambda each: [*each, each[1]], "line 5 of the file is not the end that belongs to this log"),
        (lambda each: [b"[]\n"], r"line 1 of the file cannot be read \(TypeError\)"),
        (lambda each: [b'{"messages": []}\n'], "line 1 of the file is no log of a session"),
        (
            lambda each: [each[0].replace(b'"v":1', b'"v":2'), *each[1:]],
            "is of version 2, and this ctxkit reads 1",
        ),
        (lambda each: [], "line 1 of the file is missing"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_written(change: Any, told: str) -> None:
    async def run() -> None:
        file = lines(await exported(await filled([FIRST, b"two", b"three"])))
        store = MemoryStore()
        with pytest.raises(SessionError, match=told):
            await import_log(store, io.BytesIO(b"".join(change(file))))
        assert await store.sessions() == []

    asyncio.run(run())


def test_a_record_of_text_is_readable_and_another_is_base64() -> None:
    async def run() -> None:
        head, _, text, binary, end = map(
            json.loads, lines(await exported(await filled([FIRST, "é".encode(), b"\xff"])))
        )
        assert head == {"ctxkit": "session", "v": 1, "session": "s", "records": 3}
        assert (text["position"], text["body"]) == (2, "é")
        assert base64.b64decode(binary["base64"]) == b"\xff"
        assert end == {"end": 3, "chain": binary["chain"]}

    asyncio.run(run())


def test_a_session_that_is_there_is_not_written_over() -> None:
    async def run() -> None:
        file = await exported(await filled([FIRST]))
        store = await filled([b"another"])
        with pytest.raises(ConflictError):
            await import_log(store, io.BytesIO(file))
        assert await store.read("s") == [b"another"]
        await import_log(store, io.BytesIO(file), session="beside")
        assert await store.read("beside") == [FIRST]

    asyncio.run(run())


def test_what_the_store_does_not_take_leaves_nothing_behind() -> None:
    async def run() -> None:
        file = await exported(await filled([FIRST, *[b"x" * 100] * 100]))
        store = MemoryStore(limits=Limits(session=8_000))
        with pytest.raises(SessionLimitError):
            await import_log(store, io.BytesIO(file))
        assert await store.sessions() == []

    asyncio.run(run())


PAGES = 3
BODIES_OF_PAGES = [FIRST, *(b"%d" % number for number in range(149))]
"""Three pages of an import."""


class Told(MemoryStore):
    """A store that is told at its appends: to be down before or after, once or for good, or to wait for ever."""

    def __init__(self, at: int, what: str) -> None:
        super().__init__()
        self.at, self.what, self.calls = at, what, 0
        self.waits = asyncio.Event()

    async def append(self, session: str, bodies: Sequence[bytes], **more: Any) -> int:
        if more["key"] == ARCHIVED:  # whether it is an archive is asked before anything is written
            return await super().append(session, bodies, **more)
        number, self.calls = self.calls, self.calls + 1
        if self.what == "cancelled" and number == self.at:
            self.waits.set()
            await asyncio.Event().wait()
        if self.what == "down" and number >= self.at:
            raise StoreError("down", session=session)
        position = await super().append(session, bodies, **more)
        if self.what == "lost" and number == self.at:
            raise StoreError("the answer was lost", session=session)
        return position


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appending, "FIRST_PAUSE_S", 0.0)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("at", range(PAGES))
def test_an_answer_that_was_lost_does_not_matter(at: int) -> None:
    async def run() -> None:
        store = Told(at, "lost")
        await import_log(store, io.BytesIO(await exported(await filled(BODIES_OF_PAGES))))
        assert await store.read("s") == BODIES_OF_PAGES

    asyncio.run(run())


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("at", range(PAGES))
def test_an_import_that_is_cancelled_leaves_nothing_and_can_be_made_again(at: int) -> None:
    async def run() -> None:
        store = Told(at, "cancelled")
        file = io.BytesIO(await exported(await filled(BODIES_OF_PAGES)))
        importing = asyncio.create_task(import_log(store, file))
        await store.waits.wait()
        importing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await importing
        assert await store.sessions() == []
        file.seek(0)
        await import_log(store, file)
        assert await store.read("s") == BODIES_OF_PAGES

    asyncio.run(run())


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("at", range(PAGES))
def test_an_import_into_a_store_that_went_down_says_that_a_part_may_be_left(at: int) -> None:
    async def run() -> None:
        store = Told(at, "down")
        with pytest.raises(
            StoreError, match=r"a part of session 's' may be left \(down\): delete it"
        ) as raised:
            await import_log(store, io.BytesIO(await exported(await filled(BODIES_OF_PAGES))))
        assert str(raised.value.__cause__) == "down"

    asyncio.run(run())


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("what", ["cancelled", "down", "limit"])
def test_nobody_elses_session_is_deleted(what: str) -> None:
    """Not even one that was imported from the same file."""

    async def run() -> None:
        file = await exported(await filled(BODIES_OF_PAGES))
        store = Told(-1, "")
        await import_log(store, io.BytesIO(file))
        store.at, store.what, store.calls = 0, what, 0
        if what == "limit":
            store._limits = Limits(session=10)
        importing = asyncio.create_task(import_log(store, io.BytesIO(file)))
        if what == "cancelled":
            await store.waits.wait()
            importing.cancel()
        with pytest.raises((StoreError, ConflictError, asyncio.CancelledError)):
            await importing
        assert await store.read("s") == BODIES_OF_PAGES

    asyncio.run(run())


@pytest.mark.usefixtures("at_once")
def test_what_somebody_wrote_behind_half_an_import_stays() -> None:
    async def run() -> None:
        store = Told(1, "cancelled")
        file = await exported(await filled(BODIES_OF_PAGES))
        importing = asyncio.create_task(import_log(store, io.BytesIO(file)))
        await store.waits.wait()
        info = await store.info("s")
        assert info is not None
        await MemoryStore.append(store, "s", [b"x"] * 100, after=info.position)
        importing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await importing
        assert (await store.read("s"))[-1] == b"x"

    asyncio.run(run())


@pytest.mark.parametrize("line", [b"[" * 100_000, b'{"a":' * 100_000, b'{"v":1e999}', b"\xff", b"9" * 5_000])
def test_json_that_nobody_can_read_is_told(line: bytes) -> None:
    async def run() -> None:
        head, *_ = lines(await exported(await filled([FIRST])))
        for number, file in enumerate([line + b"\n", head + line + b"\n"], 1):
            with pytest.raises(SessionError, match=f"line {number} of the file cannot be read"):
                await imported(file)

    asyncio.run(run())


def test_what_is_not_there_cannot_be_exported() -> None:
    async def run() -> None:
        with pytest.raises(ConversationError, match="there is no session 'nobody'"):
            await exported(MemoryStore(), "nobody")

    asyncio.run(run())


def test_a_session_goes_on_in_another_store() -> None:
    async def run() -> None:
        settings = {"format": "openai-chat", "budget": Budget(window=8_000)}
        session = await Session.open("s", await filled([], MemoryStore()), **settings)
        await session.add(
            [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "\ud800 hello"}]
        )
        await session.add({"role": "user", "content": "and now?"})
        request = await session.prepare()
        moved = await Session.open("s", await imported(await exported(session.store)), **settings)  # type: ignore[arg-type]
        assert moved.messages == request.messages
        assert (await moved.request(moved.position)).messages == request.messages
        await moved.add({"role": "assistant", "content": "Now."})
        assert moved.position == session.position + 1

    asyncio.run(run())


def test_ciphertext_is_not_exported_nor_imported() -> None:
    """Neither by who has no key, nor what an older ctxkit exported so."""

    async def run() -> None:
        inner, file = MemoryStore(), io.BytesIO()
        whole = EncryptedStore(inner, KEY)
        await whole.append("s", [FIRST, b"two"], after=0)
        with pytest.raises(SessionError, match=r"record 1 of session 's'.*it is encrypted.*--key-file"):
            await export_log(inner, "s", file)
        with pytest.raises(SessionError, match="not encrypted with any of these keys"):
            await export_log(EncryptedStore(inner, bytes(32)), "s", file)
        assert file.getvalue() == b""
        store = MemoryStore()
        for sealed in (_file(*await inner.read("s")), _file(b"\x80", FIRST)):
            with pytest.raises(
                SessionError, match="export it again where it can be: record 1 of session 's'"
            ):
                await import_log(store, io.BytesIO(sealed))
            assert await store.sessions() == []
        await import_log(store, io.BytesIO(await exported(whole)))
        assert await store.read("s") == [FIRST, b"two"]

    pytest.importorskip("cryptography")
    asyncio.run(run())


def _file(*bodies: bytes) -> bytes:
    """What an export without any look at the records would have written."""
    head = {"ctxkit": "session", "v": 1, "session": "s", "records": len(bodies)}
    chain = hashlib.sha256(to_bytes(head)).hexdigest()
    told: list[dict[str, Any]] = [head]
    for position, body in enumerate(bodies, 1):
        chain = hashlib.sha256(bytes.fromhex(chain) + body).hexdigest()
        told.append({"position": position, "base64": base64.b64encode(body).decode(), "chain": chain})
    return b"".join(to_bytes(each) + b"\n" for each in [*told, {"end": len(bodies), "chain": chain}])


def test_a_damaged_log_is_exported_as_it_is_if_it_begins_as_one() -> None:
    async def run() -> None:
        bodies = [FIRST, b"{", b"\x01\x00\xff", b""]
        assert await (await imported(await exported(await filled(bodies)))).read("s") == bodies
        with pytest.raises(SessionError, match="record 1 of session 's' cannot be read"):
            await exported(await filled([b"{", FIRST]))

    asyncio.run(run())


def test_keys_of_calls_are_no_part_of_it() -> None:
    """As the guide says."""

    async def run() -> None:
        settings: dict[str, Any] = {"format": "openai-chat", "budget": Budget(window=8_000)}
        store = MemoryStore()
        session = await Session.open("s", store, **settings)
        for _ in range(2):
            await session.add({"role": "user", "content": "Hi"}, key="one")
        assert len(session.messages) == 1
        copy = await Session.open("s", await imported(await exported(store)), **settings)
        await copy.add({"role": "user", "content": "Hi"}, key="one")
        assert len(copy.messages) == 2

    asyncio.run(run())
