"""Recalled: what a session can go back to, and what can be taken out of it for good."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from ctxkit.core.facts import Fact, active_facts
from ctxkit.core.provider import Entry
from ctxkit.core.state import State
from ctxkit.errors import ConfigError, ConflictError, ConversationError
from ctxkit.explain import Explanation, explain, fates
from ctxkit.history import History, Step
from ctxkit.jsons import copied
from ctxkit.preparation import Preparation
from ctxkit.sessions.closing import Closing
from ctxkit.sessions.compacting import Compacting
from ctxkit.sessions.comparing import Difference, differences
from ctxkit.sessions.erasing import Unfinished, erase_newest, finish_erasures
from ctxkit.sessions.log import Log
from ctxkit.sessions.records import Record, record_bytes
from ctxkit.sessions.sent import RequestInfo, Sent, request_at, requests_of
from ctxkit.sessions.snapshots import Snapshots
from ctxkit.sessions.store import Store, checked_id, checked_store
from ctxkit.sessions.stores.base import is_there
from ctxkit.sessions.whereabouts import Whereabouts, facts_between, whereabouts

__all__ = ["Moment", "Recalled", "recorded"]


@dataclass(frozen=True, slots=True)
class Moment:
    """A session as it was.

    Attributes:
        position: of the last record that had been written.
        state: the conversation.
        messages: what a request with it would have held; copies.
    """

    position: int
    state: State
    messages: list[Entry]

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts that were in force."""
        return tuple(active_facts(self.state.facts).values())


class Recalled(Closing):
    """The log of a session, and ways back in it; `Session` is what users open.

    Attributes:
        id: the id of the session.
        store: where it is kept.
        preparation: format, budget, strategy and the rest; see `ctxkit.preparation`.
    """

    def __init__(
        self,
        id: str,
        store: Store,
        preparation: Preparation,
        *,
        background: bool = False,
        snapshots: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.id = checked_id(id)
        self.store = checked_store(store)
        self.preparation = preparation
        self._history = preparation.history
        self._clock = clock
        self._log = Log(store, id, self._history, preparation.provider, clock)
        self._background = background
        self._owns_store = False
        self._compacting = Compacting(self._log, preparation, background=background)
        self._snapshots = Snapshots(self._log, wanted=snapshots)

    @property
    def position(self) -> int:
        """The position of the last record that was read or written here."""
        return self._log.position

    @property
    def regions(self) -> dict[str, int]:
        """Tokens that the next request would have by region, before any compaction."""
        return dict(self.preparation.view(self._history.state).regions)

    async def refresh(self) -> None:
        """Read what other workers have written since; every write does so by itself when it has to."""
        await self._log.refresh()

    async def undo(self) -> None:
        """Take the last compaction back; see `ContextManager.undo`."""
        await self._log.refresh()
        await self._log.write(lambda at: recorded(self._history.undoing(), at))

    async def redo(self) -> None:
        """Take the compaction over again that was undone last, unless there was another since.

        Raises:
            ConversationError: there is none.
        """
        await self._log.write(lambda at: recorded(self._history.redoing(), at))

    async def name(self, name: str) -> None:
        """Give the session as it is now a name, to come back to it with `rollback`; a name that is given already moves
        here.

        Raises:
            ConfigError: the name is empty, or no text.
        """
        if not isinstance(name, str) or not name:
            raise ConfigError(f"a name is a text, not {name!r:.60}", path="name")
        await self._log.write(
            lambda at: Record("name", at, data={"name": name, "position": self._log.position})
        )

    @property
    def names(self) -> dict[str, int]:
        """The positions that have names."""
        return dict(self._log.book.names)

    async def at(self, position: int | str) -> Moment:
        """The session as it was when its record at `position` (or at that name) had been written, less what was erased
        since.

        Raises:
            ConversationError: there is no such position or name.
        """
        await self._log.refresh()
        await self._log.finish_erasing()
        wanted = self._position(position)
        state = self._less_erased(await self._folded(wanted))
        return Moment(wanted, state, self._history.entries(state))

    async def _folded(self, upto: int) -> History:
        """What the log says up to a position, with stand-ins for what was erased since."""
        meter, reasoning = self._history.setting.meter, self._history.setting.reasoning
        history = History(meter, reasoning=reasoning, repair=False)
        await Log(self.store, self.id, history, self.preparation.provider, self._clock).open(upto=upto)
        return history

    def _less_erased(self, folded: History) -> State:
        return self._history.less_erased(folded.state, folded.archive)

    def _position(self, position: int | str) -> int:
        known = self._log.book.names.get(position) if isinstance(position, str) else position
        if isinstance(known, int) and not isinstance(known, bool) and 0 <= known <= self.position:
            return known
        names = ", ".join(map(repr, self._log.book.names)) or "none"
        raise ConversationError(
            f"session {self.id!r} has no position {position!r:.80}; it has 0 to {self.position}, and the names: {names}"
        )

    async def rollback(self, position: int | str) -> None:
        """Go back to how the session was at a position or name; what came since stays on record, out of sight.

        Raises:
            ConversationError: there is no such position or name.
        """
        written = None
        while written is None:
            then, erased_at = (await self.at(position)).state, self._log.book.erased_at

            def made(at: float, then: State = then, erased_at: int = erased_at) -> Record | None:
                erased_since = self._log.book.erased_at != erased_at
                return None if erased_since else recorded(self._history.rolling_back(then), at)

            written = await self._log.write(made)

    async def fork(self, id: str, *, at: int | str | None = None) -> Self:
        """A new session that begins as this one was at a position (or name), by default as it is now.

        Its log is a copy, so that each may be deleted without the other.

        Raises:
            ConflictError: there is a session with that id already.
            ConversationError: there is no such position or name.
        """
        checked_id(id)
        await self._log.refresh()
        erased_at = None
        while erased_at != self._log.book.erased_at:  # else something was taken out while it was read
            erased_at = self._log.book.erased_at
            await self._log.finish_erasing()
            wanted = self.position if at is None else self._position(at)
            bodies = await self.store.read(self.id, upto=wanted)
            then = await self._folded(wanted)
            await self._log.refresh()
        step = Step("fork", self._less_erased(then)) if then.archive.erased else None
        forked = Record("fork", self._clock(), step, {"from": self.id, "position": wanted})
        bodies = bodies or [record_bytes(self._log.begun(forked.at), then.state)]
        bodies.append(record_bytes(forked, then.state))
        try:
            await self.store.append(id, bodies, after=0)
        except ConflictError as error:
            raise is_there(id, position=error.position, instead="fork to another id") from error
        return await self._opened_beside(id)

    async def _opened_beside(self, id: str, **settings: Any) -> Self:
        """Another session of the same store, prepared as this one is but for some settings."""
        session = type(self)(
            id,
            self.store,
            self.preparation.again(**settings),
            background=self._background,
            snapshots=self._snapshots.wanted,
            clock=self._clock,
        )
        await session._log.open()
        return session

    # What went out

    async def requests(self) -> list[RequestInfo]:
        """All requests on record, oldest first; reads the whole log."""
        await self._log.refresh()
        return await requests_of(self._log)

    async def request(self, position: int) -> Sent:
        """A request as it went out, with where each entry of it is from; `requests` lists the positions.

        Raises:
            ConversationError: there is none at that position, or what it held was not recorded.
            SessionError: it does not match its seal.
        """
        await self._log.refresh()
        return await request_at(self._log, position)

    async def diff(self, earlier: int, later: int) -> list[Difference]:
        """What changed from one request to another, and why, the facts in force too; raises what `request` raises."""
        one, two = await self.request(earlier), await self.request(later)
        before, after = (await self.at(earlier)).state, (await self.at(later)).state
        facts = await facts_between(self._log, before, after)
        return [*differences(one, two, fates(self._history.archive)), *facts]

    async def why(self, wanted: int | str) -> list[Whereabouts]:
        """Where the message at a position in the input is now, or what says a text, facts too; reads the whole log."""
        await self._log.refresh()
        return await whereabouts(self._log, self.preparation.view(self._history.state), wanted)

    # What is taken out for good

    async def pop(self) -> Entry | None:
        """Take the newest message back and give it as it was added; None when there is none.

        It is erased from the log, with the facts that were read out of it alone, and no older state that held it can be
        gone back to.

        Raises:
            ConversationError: it was merged into another message, as late results are.
        """
        popped: list[Entry] = []
        await self._log.refresh()

        def made(at: float) -> Record | None:
            step = self._history.popping()
            if step is None or step.popped is None:
                return None
            popped[:] = [copied(self._history.archive.original(step.popped))]
            results = self.preparation.provider.shape(popped[0]).results
            return Record("pop", at, step, {"reopened": [result.id for result in results]})

        if await self._log.write(made) is None:
            return None
        await erase_newest(self._log)
        return popped[0]

    async def clear(self) -> None:
        """Take everything back, for good: messages, facts, pins, what earlier requests held."""
        await self._erase_all(self._history.clearing)

    async def retain_structure(self) -> None:
        """Take everything out for good but the facts in force: what retention leaves of a session."""
        await self._erase_all(self._history.retaining)

    async def finish_erasures(self) -> Unfinished:
        """Take out what an interrupted `pop`, `clear` or `retain_structure` left in the log; what that was."""
        await self._log.refresh()
        return await finish_erasures(self._log)

    async def _erase_all(self, make: Callable[[], Step]) -> None:
        def made(at: float) -> Record:
            step = make()
            return Record(step.kind, at, step, self._log.book.left())

        await self._log.write(made)
        await erase_newest(self._log)

    async def original(self, handle: str) -> list[Entry]:
        """The messages that a handle stands for, as they were added.

        Raises:
            UnknownHandleError: nothing is kept under that handle.
        """
        await self._log.refresh()
        return await self._log.paged(lambda: self._history.original(handle))

    async def restore(self, handle: str) -> bytes:
        """What `original` gives, as the JSON of the list, in UTF-8; raises what it raises."""
        return json.dumps(await self.original(handle)).encode()

    async def explain(self) -> list[Explanation]:
        """Where each message is now, and why; reads the whole log."""
        await self._log.refresh()
        view = self.preparation.view(self._history.state)
        return await self._log.paged(lambda: explain(view, self._history.archive))


def recorded(step: Step | None, at: float) -> Record | None:
    """A step as a record, None for none."""
    return None if step is None else Record(step.kind, at, step)
