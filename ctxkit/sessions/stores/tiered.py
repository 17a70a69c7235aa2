"""Sessions in two stores: a hot one while they are in use, an archive for what they have behind them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from uuid import uuid4

from ctxkit.errors import ConfigError, ConflictError, SessionError, StoreError
from ctxkit.sessions.closing import Closing
from ctxkit.sessions.halves import ARCHIVED, MOVED, OF_ARCHIVE, half_in, is_archived
from ctxkit.sessions.store import SessionInfo, Store, checked_id
from ctxkit.sessions.stores import store_of
from ctxkit.sessions.stores.base import conflict, no_such_position

__all__ = ["TieredStore"]

PAGE = 500
"""Records that are moved at once."""

LOOKS = 20
"""Times that a move compares the two stores before it leaves records to a later one; each time but the first somebody
rewrote them just then, or the archive does not keep what it is given."""

MOVING, MOVING_S = "move", 600.0
"""Lease in the archive of whoever moves a session, and its seconds. A `delete` takes it away; a hot store that loses the
session does not, which is how the two are told apart."""


class TieredStore(Closing):
    """A hot store over an archive.

    The hot store always has the head of a session: its position, its keys, its leases. So all that is written is
    decided there. The bytes of a session that was left alone move to the archive; a mark stays in the place of
    each, and is read from the archive when it is asked for. A session that is written to again just goes on.

    Moving copies, compares, and only then empties; a crash at any point leaves records in both places, which is
    mended by moving again. Should the hot store lose a session, it goes on from what the archive has of it.

    One of the two alone has no whole session any more. It may be read: the archive gives what was moved there, which
    may be older than the session, and the hot store says of a moved record that it is elsewhere. What changes a session
    for good is refused there (SplitSessionError): `delete` and `sweep` of `ctxkit.sessions.retention`, the finishing
    of erasures, an import. That is known from the first move of a session on, in the hot store from the end of that
    move; `Store.delete` itself and the writes of a `Session` do not ask. For each session that is to be kept in the
    archive alone, export it and import it into another store; an archive whose hot store is gone for good is opened
    under a new, empty one.

    Args:
        hot: where sessions are written, Redis perhaps; or the address of it (see `open_store`).
        archive: where they are kept, PostgreSQL perhaps; or the address of it.
        idle_s: seconds without a write after which `move_idle` moves a session.
        clock: seconds since 1970; it has to agree with the clock of the hot store.

    Raises:
        ConfigError: one of the stores is none, or both are the same.
    """

    def __init__(
        self,
        hot: Store | str,
        archive: Store | str,
        *,
        idle_s: float = 1800.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._hot = store_of(hot)
        self._archive = store_of(archive)
        if self._hot is self._archive:
            raise ConfigError("the hot store and the archive are the same", path="archive")
        self._idle_s = idle_s
        self._clock = clock

    def __repr__(self) -> str:
        return f"TieredStore({self._hot!r}, {self._archive!r})"

    async def move_idle(self) -> list[str]:
        """Move the sessions that nobody has written to for `idle_s` seconds to the archive; their ids.

        To be called every few minutes, by one process or several. A session that is written to meanwhile, or that a
        process was moving when it died, is left to a later call.

        Raises:
            SessionError: a session could not be moved, its archive lacks records perhaps; the others were.
        """
        before = self._clock() - self._idle_s
        idle = [each for each in await self._hot.sessions() if each.touched <= before]
        moved: list[str] = []
        failed: list[SessionError] = []
        for each in idle:
            try:
                if each.size > each.position * len(MOVED) and await self._moved(each.id):
                    moved.append(each.id)
            except StoreError:
                raise
            except SessionError as error:
                failed.append(error)
        if failed:
            raise failed[0]
        return moved

    async def _moved(self, session: str) -> bool:
        """Whether a session was moved; False when somebody else was at it."""
        if await is_archived(self._hot, session):  # the two stores were mistaken for each other
            raise half_in(session, OF_ARCHIVE)
        holder = uuid4().hex
        try:
            if not await self._archive.lease(session, MOVING, holder, MOVING_S):
                return False
            if not await self._hot.lease(session, MOVING, "nobody", 0.0):
                raise ConfigError(f"{self!r}: both are one store, under two names", path="archive")
            moved = await self._emptied(session)
            if await self._deleted(session):
                await self._archive.delete(session)
                return False
            return moved
        finally:
            await self._archive.release(session, MOVING, holder)

    async def _deleted(self, session: str) -> bool:
        """Whether a session was deleted while it was moved, and not merely lost by the hot store."""
        gone = await self._hot.info(session) is None
        return gone and await self._archive.lease(session, MOVING, "nobody", 0.0)

    async def _emptied(self, session: str) -> bool:
        """Whether all records are in the archive and have left their marks."""
        try:
            upto = await self._copied(session)
            pages = range(1, upto + 1, PAGE)
            return all([await self._marked(session, at, min(at + PAGE - 1, upto)) for at in pages])
        except ConflictError:
            return False

    async def _marked(self, session: str, first: int, last: int) -> bool:
        """Leave marks for these records once both stores were found to have the same; whether it came to that.

        What the archive has otherwise it gets from the hot store, and both are looked at again: it may have been
        rewritten between the look and the write, and then the archive got old bytes. The next look finds them: the hot
        store has what was rewritten, since only a move leaves marks, and one moves at a time.

        The archive is read first and `rewrite` goes to the archive last: whatever is rewritten at any moment is seen
        here, or it reaches the archive after the marks were left.
        """
        for _ in range(LOOKS):
            kept = await self._archive.read(session, after=first - 1, upto=last)
            page = await self._hot.read(session, after=first - 1, upto=last)
            there = {at: _body(body) for at, body in enumerate(page, first) if body != MOVED}
            stale = {at: body for at, body in there.items() if kept[at - first : at - first + 1] != [body]}
            if not stale:
                if there:
                    await self._hot.rewrite(session, dict.fromkeys(there, MOVED))
                return True
            await self._archive.rewrite(session, stale)
        return False

    async def _copied(self, session: str) -> int:
        """The position up to which the archive has the session now."""
        held = await self._archive.info(session)
        position = held.position if held else 0
        key = "" if held and await is_archived(self._archive, session) else ARCHIVED
        checkpoints = await self._checkpoints(session)
        async for first, page in self._pages(self._hot, session, position):
            if MOVED in page:
                raise await self._lacking(session, first + page.index(MOVED))
            bodies = [_body(body) for body in page]
            position, key = await self._archive.append(session, bodies, after=first - 1, key=key), ""
        for checkpoint in checkpoints:
            await self._archive.save_checkpoint(session, *checkpoint)
        if checkpoints and checkpoints != await self._checkpoints(session):  # something was erased, perhaps
            await self._archive.rewrite(session, {})
        return position

    async def _checkpoints(self, session: str) -> list[tuple[int, bytes]]:
        """Those of the hot store, the older first."""
        found: list[tuple[int, bytes]] = []
        upto: int | None = None
        while (held := await self._hot.checkpoint(session, upto=upto)) is not None:
            found.insert(0, held)
            upto = held[0] - 1
        return found

    async def _lacking(self, session: str, position: int) -> SessionError:
        """Why a record that was moved was not there: another process has moved it just now, or it is lost."""
        held = await self._archive.info(session)
        if held is not None and held.position >= position:
            return conflict(session, after=position - 1, position=held.position)
        return SessionError(f"the archive lacks record {position} of session {session!r}", session=session)

    @staticmethod
    async def _pages(store: Store, session: str, after: int) -> AsyncIterator[tuple[int, list[bytes]]]:
        """The records behind a position, some at a time, each time with the position of the first."""
        while page := await store.read(session, after=after, upto=after + PAGE):
            yield after + 1, page
            after += len(page)

    async def append(
        self, session: str, bodies: Sequence[bytes], *, after: int, key: str = "", limited: bool = True
    ) -> int:
        checked_id(session)
        held = list(map(_hot_body, bodies))
        if after == 0:
            await self._revive(session)
        try:
            return await self._hot.append(session, held, after=after, key=key, limited=limited)
        except ConflictError as error:
            if error.position or after <= 0:
                raise
        await self._revive(session)
        return await self._hot.append(session, held, after=after, key=key, limited=limited)

    async def _revive(self, session: str) -> None:
        """A session that the hot store does not know, and the archive does, begins where the archive ends."""
        if await self._hot.info(session) is not None:
            return
        held = await self._archive.info(session)
        if held is not None:
            try:
                await self._hot.append(session, [MOVED] * held.position, after=0, limited=False)
            except ConflictError:
                return  # another one has done it

    async def read(self, session: str, *, after: int = 0, upto: int | None = None) -> list[bytes]:
        first = max(after, 0) + 1
        found = await self._hot.read(session, after=after, upto=upto)
        if not found:
            known = await self._hot.info(session)
            return [] if known else await self._archive.read(session, after=after, upto=upto)
        moved = [at for at, body in enumerate(found) if body == MOVED]
        bodies = list(map(_body, found))
        if moved:
            kept = await self._archive.read(session, after=first + moved[0] - 1, upto=first + moved[-1])
            if len(kept) < moved[-1] - moved[0]:
                raise await self._lacking(session, first + moved[0] + len(kept))
            for at in moved:
                bodies[at] = kept[at - moved[0]]
        return bodies

    async def info(self, session: str) -> SessionInfo | None:
        return _joined(await self._hot.info(session), await self._archive.info(session))

    async def sessions(self) -> list[SessionInfo]:
        hot = {each.id: each for each in await self._hot.sessions()}
        archive = {each.id: each for each in await self._archive.sessions()}
        joined = (_joined(hot.get(id), archive.get(id)) for id in sorted({*hot, *archive}))
        return [each for each in joined if each is not None]

    async def rewrite(self, session: str, bodies: Mapping[int, bytes]) -> None:
        """Put other bytes in the place of records; see `Store.rewrite`.

        The hot store is what is read, and it changes last, at once: so when anything fails, what was not done is
        still to be seen in the log, and is done by who does it again. For that it gets the records back that are
        in the archive alone, unless all of them are: then the archive changes at once. It keeps them until the next
        move, so that a process that moves the session at the same moment still has them to compare with.

        Only such a process may put old bytes into the archive again. They are rewritten once more for that, by that
        process too, and by the next move when both fail.
        """
        await self._revive(session)
        head = await self._hot.info(session)
        position = head.position if head else 0
        for at in bodies:
            if not 1 <= at <= position:
                raise no_such_position(session, wrong=at, position=position)
        await self._hot.rewrite(session, {})  # what a checkpoint says is read no more
        moved = await self._marks_among(session, bodies)
        if len(moved) < len(bodies):
            await self._fetched(session, moved)
        await self._rewrite_archive(session, bodies)
        if len(moved) < len(bodies):
            await self._hot.rewrite(session, {at: _hot_body(body) for at, body in bodies.items()})
            await self._rewrite_archive(session, bodies)

    async def _fetched(self, session: str, moved: Sequence[int]) -> None:
        """Put records into the hot store that the archive has."""
        for page in _runs(moved):
            kept = await self._archive.read(session, after=page[0] - 1, upto=page[-1])
            if len(kept) < len(page):
                raise await self._lacking(session, page[len(kept)])
            await self._hot.rewrite(session, dict(zip(page, map(_hot_body, kept), strict=True)))

    async def _marks_among(self, session: str, positions: Iterable[int]) -> list[int]:
        """Those of the positions at which the hot store has a mark, in order."""
        found = []
        for page in _runs(sorted(positions)):
            held = await self._hot.read(session, after=page[0] - 1, upto=page[-1])
            found += [at for at, body in zip(page, held, strict=False) if body == MOVED]
        return found

    async def _rewrite_archive(self, session: str, bodies: Mapping[int, bytes]) -> None:
        """Rewrite those of the records that the archive has by now."""
        held = await self._archive.info(session)
        if held is not None:
            there = {at: body for at, body in bodies.items() if at <= held.position}
            await self._archive.rewrite(session, there)

    async def delete(self, session: str) -> None:
        await self._hot.delete(session)
        # the second, so that a move that copies meanwhile sees that it is gone
        await self._archive.delete(session)
        if await self._hot.read(session, upto=1) == [MOVED]:  # a write between the two has called it back
            await self._hot.delete(session)

    async def save_checkpoint(self, session: str, position: int, body: bytes) -> None:
        await self._hot.save_checkpoint(session, position, body)

    async def checkpoint(self, session: str, *, upto: int | None = None) -> tuple[int, bytes] | None:
        """The newest checkpoint; the archive is asked only for a session that has begun to move there."""
        held = await self._hot.checkpoint(session, upto=upto)
        if held is not None or await self._hot.read(session, upto=1) not in ([], [MOVED]):
            return held
        return await self._archive.checkpoint(session, upto=upto)

    async def lease(self, session: str, name: str, holder: str, seconds: float) -> bool:
        return await self._hot.lease(session, name, holder, seconds)

    async def release(self, session: str, name: str, holder: str) -> None:
        await self._hot.release(session, name, holder)

    async def close(self) -> None:
        try:
            await self._hot.close()
        finally:
            await self._archive.close()


def _hot_body(body: bytes) -> bytes:
    """A record as the hot store has it."""
    return MOVED + body if body.startswith(MOVED) else body


def _runs(positions: Sequence[int]) -> Iterator[list[int]]:
    """Neighbours together, no more than a page of them."""
    run: list[int] = []
    for at in positions:
        if run and (at != run[-1] + 1 or len(run) == PAGE):
            yield run
            run = []
        run.append(at)
    if run:
        yield run


def _body(held: bytes) -> bytes:
    """The record that `_hot_body` made it of."""
    return held[1:] if held.startswith(MOVED) else held


def _joined(hot: SessionInfo | None, archive: SessionInfo | None) -> SessionInfo | None:
    """What there is to know of a session in one or both; while it is in both its size may be told too large."""
    if hot is None or archive is None:
        return hot or archive
    return replace(hot, size=max(hot.size - archive.position * len(MOVED), 0) + archive.size)
