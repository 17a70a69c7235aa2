"""Transfer: the log of a session as a file, and back, byte for byte.

The file is JSON Lines in UTF-8, for any store to read whichever wrote it:

- `{"ctxkit": "session", "v": 1, "session": ID, "records": N}`
- one line a record: `{"position": 1, "body": TEXT, "chain": HASH}`, or `"base64"` for a body that is not UTF-8
- `{"end": N, "chain": HASH}`

HASH is SHA-256 in hex: of the first line as JSON, then each of the hash before it and the body. So a record that is
changed, left out, moved or added is found, and so is a file that ends too soon. Whoever can write the file can make a
new chain: it tells accidents, and who keeps the last hash elsewhere can tell the rest.

Checkpoints, keys of calls and leases are no part of it: a checkpoint is made again from the log, the others are of
use for hours. So a call that had a key and is repeated after an import counts again.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import uuid
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from ctxkit.errors import ConflictError, ConversationError, SessionError, StoreError
from ctxkit.sessions.appending import append
from ctxkit.sessions.halves import MOVED, check_whole, moved_from
from ctxkit.sessions.paging import PAGE, bodies, record
from ctxkit.sessions.records import MALFORMED, from_bytes, to_bytes, told_in
from ctxkit.sessions.store import Store, checked_id
from ctxkit.sessions.stores.base import is_there, wholly

__all__ = ["Transferred", "export_log", "import_log"]

VERSION = 1
"""Version of the file."""

LONGEST = 256_000_000
"""Bytes of the longest line that is read; a record at the usual limit of a store takes an eighth of it, escaped."""

PAGE_BYTES = 8_000_000
"""Bytes of records after which what was read is written."""


@dataclass(frozen=True, slots=True)
class Transferred:
    """What was carried over: the session, how many records, and the last hash of their chain."""

    session: str
    records: int
    chain: str


async def export_log(store: Store, session: str, file: BinaryIO) -> Transferred:
    """Write the log of a session to a file, as far as it has come when this begins.

    Nothing is written of one whose first record cannot be read. Others are written as they are: what is damaged too.

    Raises:
        ConversationError: there is no such session.
        SessionError: its first record is none: it is encrypted, perhaps, and the store was opened without a key.
        SplitSessionError: the bytes of a record are in another store.
        StoreError: the store cannot be reached.
    """
    info = await store.info(checked_id(session))
    if info is None:
        raise ConversationError(f"there is no session {session!r}")
    await record(store, session, 1)
    head = {"ctxkit": "session", "v": VERSION, "session": session, "records": info.position}
    file.write(to_bytes(head) + b"\n")
    chain = _first(head)
    async for position, body in bodies(store, session, upto=info.position):
        if body == MOVED:
            raise moved_from(session, position)
        chain = _next(chain, body)
        file.write(to_bytes({"position": position, **_body_json(body), "chain": chain}) + b"\n")
    file.write(to_bytes({"end": info.position, "chain": chain}) + b"\n")
    return Transferred(session, info.position, chain)


async def import_log(store: Store, file: BinaryIO, *, session: str = "") -> Transferred:
    """Write the log in a file to a store; the whole file is checked before anything is written.

    Args:
        file: one that can be read twice.
        session: the id that the session gets, by default the one that it had.

    Raises:
        ConflictError: there is a session with that id, or somebody wrote to this one before it was there as a whole;
            what is there stays.
        SessionError: the file is none of these, it ends too soon, something in it was changed, or its first record is
            none, encrypted perhaps; nothing is written.
        SplitSessionError: the store has a half of a session with that id; nothing is written.
        SessionLimitError, StoreError: the store did not take it; nothing of it is kept, or the error says that a part
            may be.
    """
    reading = _Reading(file)
    for position, body in enumerate(reading.bodies(), 1):
        if position == 1:
            _check_first(body, reading.session)
    wanted = checked_id(session or reading.session)
    await check_whole(store, wanted)
    file.seek(0)
    writing = _Writing(store, wanted)
    try:
        for page in _pages(_Reading(file).bodies()):
            await writing.add(page)
    except ConflictError:
        raise
    except (Exception, asyncio.CancelledError) as error:
        await writing.take_back(error)
        raise
    return Transferred(wanted, reading.records, reading.chain)


def _check_first(body: bytes, session: str) -> None:
    """Refuse a log whose first record is none.

    Raises:
        SessionError: as `told_in` raises it.
    """
    try:
        told_in(body, session=session, position=1)
    except SessionError as error:
        raise SessionError(
            f"the file holds no log that can be read; export it again where it can be: {error}",
            session=session,
        ) from error


class _Writing:
    """One import into a store; each page has a key, by which this import knows what is its own."""

    def __init__(self, store: Store, session: str) -> None:
        self._store = store
        self._session = session
        self._name = uuid.uuid4().hex
        self._pages = 0
        self._position = 0
        self._most = 0

    async def add(self, page: list[bytes]) -> None:
        """Write a page behind those before."""
        self._pages += 1
        self._most = self._position + len(page)
        key = self._key(self._pages)
        try:
            self._position = await append(self._store, self._session, page, after=self._position, key=key)
        except ConflictError as error:
            if self._position:
                raise
            instead = "give this one another id (session=..., on the command line --as ID)"
            raise is_there(self._session, position=error.position, instead=instead) from error

    def _key(self, page: int) -> str:
        return f"import {self._name} {page}"

    async def take_back(self, error: BaseException) -> None:
        """Delete what was written, if anything was, and nobody else's session.

        Raises:
            StoreError: the store does not let it; `error` is the cause.
        """
        try:
            await self._delete()
        except SessionError as failed:
            raise StoreError(
                f"a part of session {self._session!r} may be left ({failed}): delete it before you import it again",
                session=self._session,
            ) from error

    @wholly
    async def _delete(self) -> None:
        try:
            # without records, only a key that was used gives a position when there is a session
            begun = await append(self._store, self._session, [], after=0, key=self._key(1))
        except ConflictError:
            return
        info = await self._store.info(self._session) if begun else None
        if info is not None and info.position <= self._most:
            await self._store.delete(self._session)


def _pages(bodies: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Records, as many at once as may be written at once."""
    page: list[bytes] = []
    for body in bodies:
        page.append(body)
        if len(page) == PAGE or sum(map(len, page)) >= PAGE_BYTES:
            yield page
            page = []
    if page:
        yield page


class _Reading:
    """A file that is read, line by line, and checked.

    Attributes:
        session: the id that the log had.
        records: how many it has.
        chain: the hash up to the record that was read last.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._line = 0
        self.session = ""
        self.records = 0
        self.chain = ""

    def bodies(self) -> Iterator[bytes]:
        """The records in order, once each line was found to be right."""
        try:
            yield from self._bodies()
        except (*MALFORMED, OSError, EOFError, zlib.error) as error:
            raise self._wrong("cannot be read", error) from error

    def _bodies(self) -> Iterator[bytes]:
        head = self._next_line()
        if head.get("ctxkit") != "session":
            raise self._wrong("is no log of a session: `ctxkit session export` writes one")
        if head["v"] != VERSION:
            raise self._wrong(
                f"is of version {head['v']!r:.20}, and this ctxkit reads {VERSION}: upgrade ctxkit-core"
            )
        self.session, self.records, self.chain = head["session"], head["records"], _first(head)
        for position in range(1, self.records + 1):
            line = self._next_line()
            body = _body_from(line)
            if line["position"] != position or line["chain"] != _next(self.chain, body):
                raise self._wrong(
                    "does not follow what is before it: it was changed, moved, or one was left out"
                )
            self.chain = line["chain"]
            yield body
        if self._next_line() != {"end": self.records, "chain": self.chain} or self._file.read(1):
            raise self._wrong("is not the end that belongs to this log")

    def _next_line(self) -> dict[str, Any]:
        self._line += 1
        line = self._file.readline(LONGEST)
        if not line.endswith(b"\n"):
            raise self._wrong("is cut off" if line else "is missing: the file ends too soon")
        told = from_bytes(line)
        if not isinstance(told, dict):
            raise TypeError
        return told

    def _wrong(self, what: str, error: Exception | None = None) -> SessionError:
        why = f" ({type(error).__name__})" if error is not None else ""
        return SessionError(f"line {self._line} of the file {what}{why}", session=self.session)


def _first(head: dict[str, Any]) -> str:
    return hashlib.sha256(to_bytes(head)).hexdigest()


def _next(chain: str, body: bytes) -> str:
    return hashlib.sha256(bytes.fromhex(chain) + body).hexdigest()


def _body_json(body: bytes) -> dict[str, str]:
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}


def _body_from(line: dict[str, Any]) -> bytes:
    if "body" in line:
        return str(line["body"]).encode()
    return base64.b64decode(line["base64"], validate=True)
