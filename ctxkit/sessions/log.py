"""Log: the records of one session, as one worker knows them; reads them, folds them, writes behind them."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import groupby
from typing import TypeVar

from ctxkit.archive import NotLoaded
from ctxkit.core.provider import Provider
from ctxkit.errors import ConfigError, ConflictError, CtxkitError, SessionError, StoreError
from ctxkit.history import History
from ctxkit.sessions.appending import append, is_used
from ctxkit.sessions.book import Book
from ctxkit.sessions.checkpoints import checkpoint_bytes, restore_checkpoint
from ctxkit.sessions.erasing import erase_newest, erasure
from ctxkit.sessions.halves import check_whole
from ctxkit.sessions.loop_lock import LoopLock
from ctxkit.sessions.paging import records
from ctxkit.sessions.records import (
    DOES_NOT_FIT,
    TAKES_OUT,
    Record,
    arrived_in,
    legible,
    record_bytes,
    record_from,
    told_in,
)
from ctxkit.sessions.store import Store, checked_key

__all__ = ["Log"]

T = TypeVar("T")

SURE_S = 1.0
"""Seconds after which a write looks first whether the log is still the one that was read: a store knows a log by its
position, and one that was deleted and begun anew may have come to the same."""

LONGEST_PAUSE_S = 0.1
"""Longest pause after a lost race; the pauses are random and double, so that many writers get through."""

CHECKPOINT_RECORDS = 500
"""Records after which a checkpoint is made, if they have as many bytes as the last checkpoint had."""


class Log:
    """The log of one session.

    What a caller wants to write is made as records from the conversation as it is, written behind the position up to
    which the log was read, and only then folded. When somebody else was first, what they wrote is read and folded, and
    the records are made anew.

    Args:
        store: where the log is kept.
        id: the session.
        history: a new one; the log is folded into it.
        provider: the wire format.
        clock: seconds since 1970.

    Attributes:
        parent: what the record that begins the session names as the one it is begun for; set before that is written.
    """

    def __init__(
        self, store: Store, id: str, history: History, provider: Provider, clock: Callable[[], float]
    ) -> None:
        self.store = store
        self.id = id
        self.history = history
        self.book = Book()
        self.position = 0
        self.parent = ""
        self._provider = provider
        self._clock = clock
        self._lock = LoopLock()
        self._unsure, self._looked = True, 0.0
        self._seen: tuple[int, float | None] = (0, None)
        self._newest_at: float | None = None
        self._since_checkpoint = [0, 0]
        self._checkpoint_size = 0

    async def open(self, *, upto: int | None = None, strict: bool = False) -> None:
        """Read the log, as far as a position; from the newest checkpoint on, or from its start when that cannot be read.

        Args:
            strict: a checkpoint that cannot be read is raised; the next report tells it otherwise.
        """
        wrong: SessionError | None = None
        try:
            await self._restore(upto)
        except StoreError:
            raise
        except SessionError as error:
            if strict:
                raise
            wrong = error
        await self._catch_up(upto)
        self.history.was_told()
        if wrong is not None:
            self.history.announce(
                f"the log was read from its start: {wrong}; `ctxkit session verify` drops the checkpoint"
            )

    async def _restore(self, upto: int | None) -> None:
        kept = await self.store.checkpoint(self.id, upto=upto)
        if kept is None:
            return
        position, body = kept
        book = restore_checkpoint(body, self.history, session=self.id)
        if book is not None:
            self.book, self.position, self._checkpoint_size = book, position, len(body)
            self._seen = (position, None)
            self._check_format()

    def _check_format(self) -> None:
        if self.book.format not in ("", self._provider.name):
            raise ConfigError(
                f"session {self.id!r} holds messages of the format {self.book.format}, not {self._provider.name}",
                path="format",
            )

    async def refresh(self) -> None:
        """Read what others have written since."""
        async with self._lock:
            await self._catch_up()

    async def _catch_up(self, upto: int | None = None) -> None:
        for body in await self._newer(upto):
            at = self.position + 1
            with legible(self.id, at, fault=DOES_NOT_FIT):
                record = record_from(body, self.history.state, session=self.id, position=at)
                self._take(record, len(body))
            if at == 1:
                self._check_format()
        self._seen = (self.position, self._newest_at)
        self._unsure, self._looked = False, time.monotonic()

    async def _newer(self, upto: int | None) -> list[bytes]:
        """The records behind those that are known, of the log that they are from: what was read last has to be there
        still, from the time that it had. Erasures leave both as they are."""
        seen, _ = self._seen
        if seen == self.position:
            held = await self.store.read(self.id, after=max(0, seen - 1), upto=upto)
            self._check_same(held[:1])
            return held[1:] if seen else held
        self._check_same(await self.store.read(self.id, after=seen - 1, upto=seen) if seen else [])
        return await self.store.read(self.id, after=self.position, upto=upto)

    def _check_same(self, held: list[bytes]) -> None:
        """Refuse to go on in a log that is not the one that was read: it was deleted, and perhaps begun anew."""
        position, at = self._seen
        if not position:
            return
        now = told_in(held[0], session=self.id, position=position)["at"] if held else None
        if now is None or at not in (None, now):
            self._unsure = True
            raise SessionError(
                f"session {self.id!r} was deleted since it was opened here; open it again", session=self.id
            )
        if self.position == position:
            self._newest_at = now

    def _take(self, record: Record, size: int) -> None:
        self.book.fold(record, self.position + 1, self._provider)
        if record.step is not None:
            self.history.take(record.step)
        self.history.archive.erase(record.gone)
        self.position += 1
        self._newest_at = record.at
        self._since_checkpoint[0] += 1
        self._since_checkpoint[1] += size

    async def write(self, make: Callable[[float], Record | None], *, key: str = "") -> Record | None:
        """Write the record that `make` makes from the conversation as it is, and fold it.

        Args:
            make: is given the time; it is called again when somebody else was first, or when originals had to be read.
                None when there is nothing to write.
            key: names this write; one that the session has seen before does nothing.

        Returns:
            What was written, None when there was nothing, or when the key was used before.

        Raises:
            SessionLimitError: the record or the session would be too large.
            StoreError: the store failed again and again; it is not known whether the record was written.
        """
        async with self._lock:
            if self._unsure or time.monotonic() - self._looked > SURE_S:
                await self._catch_up()
            record = await self._written(make, key)
            await self._make_checkpoint()
            return record

    async def _written(self, make: Callable[[float], Record | None], key: str) -> Record | None:
        attempt, own = 0, checked_key(key) or uuid.uuid4().hex
        while True:
            await self.finish_erasing()
            try:
                record = await self._made(make)
            except CtxkitError:
                if not key or not await is_used(self.store, self.id, key):
                    raise
                return None  # it was written before, and could not be again
            if record is None:
                return None
            if record.kind in TAKES_OUT:
                await check_whole(self.store, self.id)
            bodies = self._bodies(record)
            self._unsure = True
            try:
                limited = record.kind not in TAKES_OUT
                position = await append(
                    self.store, self.id, bodies, after=self.position, key=own, limited=limited
                )
            except ConflictError:
                await asyncio.sleep(random.uniform(0, min(0.001 * 2 ** min(attempt, 10), LONGEST_PAUSE_S)))
                attempt += 1
                await self._catch_up()
                continue
            if key and not await self._wrote(bodies, position):
                await self._catch_up()
                return None
            self._unsure = False
            self._fold(record, bodies)
            return record

    async def finish_erasing(self) -> None:
        """Finish what the newest record should have taken out. Nothing is written behind such a record before that, so
        that it is enough to look at the last one."""
        if self.position and self.position == self.book.erased_at:
            await erase_newest(self)

    async def _made(self, make: Callable[[float], Record | None]) -> Record | None:
        """The record, made from the conversation as it is in the store where it cannot be made as it is here."""
        while True:
            position = self.position
            try:
                return await self.paged(lambda: make(self._clock()))
            except CtxkitError:
                await self._catch_up()
                if self.position == position:
                    raise

    async def _wrote(self, bodies: Sequence[bytes], position: int) -> bool:
        """Whether it is these records that a key has led to, not those of an earlier call."""
        after = position - len(bodies)
        return after == self.position and await self.store.read(self.id, after=after, upto=position) == [
            *bodies
        ]

    def _bodies(self, record: Record) -> list[bytes]:
        """The record as bytes, behind the one that begins the session if it is the first."""
        body = record_bytes(record, self.history.state)
        if self.position:
            return [body]
        begun = self.begun(record.at)
        return [record_bytes(begun, self.history.state), body]

    def begun(self, at: float) -> Record:
        """The record that begins the session."""
        named = {"parent": self.parent} if self.parent else {}
        return Record("session", at, data={"format": self._provider.name, **named})

    def _fold(self, record: Record, bodies: Sequence[bytes]) -> None:
        if len(bodies) > 1:
            self._take(self.begun(record.at), len(bodies[0]))
            self._seen = (1, record.at)
        self._take(record, len(bodies[-1]))

    async def paged(self, work: Callable[[], T]) -> T:
        """What some work comes to that may want originals which were not read yet."""
        while True:
            try:
                return work()
            except NotLoaded as missing:
                await self.load(missing.ids)

    async def paged_plan(self, work: Callable[[], Awaitable[T]]) -> T:
        """The same for work that is awaited: a plan of a strategy."""
        while True:
            try:
                return await work()
            except NotLoaded as missing:
                await self.load(missing.ids)

    async def load(self, ids: Iterable[int]) -> None:
        """Read originals from the store."""
        archive, ids = self.history.archive, tuple(ids)
        archive.missed.clear()
        with legible(self.id):
            wanted = sorted({self.book.position_of(id) for id in ids})
        for first, last in _runs(wanted):
            async for at, told in records(self.store, self.id, after=first - 1, upto=last):
                with legible(self.id, at):
                    archive.read |= {item.id: item for item in arrived_in(told) if item.id < archive.first}
        lost = [id for id in ids if id not in archive.read and not archive.is_erased(id)]
        if lost and await self._is_taken_out(self.position):
            raise ConflictError(
                f"messages[{lost[0]}] of session {self.id!r} was taken out by another worker just now; try again",
                session=self.id,
                position=self.position,
            )
        if lost:
            raise SessionError(
                f"messages[{lost[0]}] of session {self.id!r} is in no record of its log: it was altered; a backup or an "
                "export may have it whole",
                session=self.id,
            )

    async def _is_taken_out(self, after: int) -> bool:
        """Whether somebody has taken something out behind a position."""
        since = await self.store.read(self.id, after=after)
        return any(told_in(each, session=self.id)["kind"] in TAKES_OUT for each in since)

    async def _make_checkpoint(self) -> None:
        """Write one where it is due; the next write tries again when that fails, or when somebody is erasing."""
        records, size = self._since_checkpoint
        if records < CHECKPOINT_RECORDS or size < self._checkpoint_size:
            return
        try:
            async with erasure(self, wait=False) as ours:
                if ours:
                    await self.keep_checkpoint()
        except StoreError as error:
            self.history.announce(f"no checkpoint could be written, the next write tries again: {error}")

    async def checkpoint(self) -> None:
        """Write a checkpoint of what was read so far."""
        async with erasure(self):
            await self.keep_checkpoint()

    async def keep_checkpoint(self) -> None:
        """The same for who has the erasure to himself: none is written when another worker has taken something out since,
        which it may hold. Who takes something out after that look waits, and drops it."""
        body = await self.paged(lambda: checkpoint_bytes(self.history, self.book))
        written = self.position
        if await self._is_taken_out(written):
            return
        await self.store.save_checkpoint(self.id, written, body)
        self._since_checkpoint, self._checkpoint_size = [0, 0], len(body)


def _runs(positions: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Neighbouring positions as (first, last)."""
    for _, run in groupby(enumerate(positions), lambda pair: pair[1] - pair[0]):
        numbers = [position for _, position in run]
        yield numbers[0], numbers[-1]
