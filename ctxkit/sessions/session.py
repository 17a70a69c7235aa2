"""Session: a conversation that outlives its process, shared by workers, with everything that happened to it on record."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

from ctxkit.core.edits import Close, Edit, Remember, Retract
from ctxkit.core.facts import USER, Fact, active_facts
from ctxkit.core.marks import marked
from ctxkit.core.provider import Entry
from ctxkit.core.state import OpenCall, State
from ctxkit.errors import ConfigError, ConversationError
from ctxkit.explain import Explanation, explain
from ctxkit.history import History, Snapshot, Step
from ctxkit.jsons import copied
from ctxkit.preparation import Added, Preparation, Request
from ctxkit.report import Report
from ctxkit.sessions import calls
from ctxkit.sessions.compacting import Compacting
from ctxkit.sessions.log import Log
from ctxkit.sessions.records import Record, record_bytes
from ctxkit.sessions.store import Store, checked_id
from ctxkit.strategy import CompressionStrategy

__all__ = ["Moment", "Session", "Turn"]


class Session:
    """A conversation in a store. It may be shared by tasks; each worker opens its own.

    What is acknowledged is in the log, once and in order, whatever other workers do meanwhile. Open one with
    `Session.open`; it takes what `ContextManager` takes, and does what it does, with `await`.

    Attributes:
        id: the id of the session.
        preparation: format, budget, strategy and the rest; see `ctxkit.preparation`.
    """

    def __init__(
        self,
        id: str,
        store: Store,
        preparation: Preparation,
        *,
        background: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.id = checked_id(id)
        self.store = store
        self.preparation = preparation
        self._history = preparation.history
        self._clock = clock
        self._log = Log(store, id, self._history, preparation.provider, clock)
        self._background = background
        self._compacting = Compacting(self._log, preparation, background=background)

    @classmethod
    async def open(
        cls,
        id: str,
        store: Store,
        *,
        background: bool = False,
        clock: Callable[[], float] = time.time,
        **settings: Any,
    ) -> Self:
        """A session as it is in the store; one that is not there yet begins with the first thing written to it.

        Args:
            id: 1 to 200 letters, digits and `._:@+=/-`.
            store: where it is kept.
            background: compact beside the conversation while a request still fits its budget, instead of before it.
            clock: seconds since 1970.
            settings: what `ContextManager` takes: `format`, `budget`, `strategy`, `model` and so on.

        Raises:
            ConfigError: a setting that cannot be right, or another format than the session has.
            SessionError: the log cannot be read.
            StoreError: the store cannot be reached.
        """
        session = cls(id, store, Preparation(**settings), background=background, clock=clock)
        await session._log.open()
        return session

    def __repr__(self) -> str:
        return f"<Session {self.id}, {self.position} records, {self.preparation.strategy.kind}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.settled()

    @property
    def position(self) -> int:
        """The position of the last record that was read or written here."""
        return self._log.position

    async def refresh(self) -> None:
        """Read what other workers have written since; every write does so by itself when it has to."""
        await self._log.refresh()

    # What goes in

    async def add(
        self,
        messages: object = (),
        *,
        system: Any = None,
        region: str = "",
        waiting: Iterable[str] = (),
        key: str = "",
    ) -> None:
        """Add what was said, all of it or nothing; see `ContextManager.add`.

        A tool result that comes a second time, for a call that was answered, is left out, and the next report says so.

        Args:
            messages, system, region, waiting: as in `ContextManager.add`.
            key: names this call, the id of a webhook for instance: called again with it, nothing is added.

        Raises:
            ProviderFormatError: something is not of the format, or broken; nothing of this call is added.
            ConfigError: a region that only ctxkit itself fills, or `waiting` that holds no ids.
            StoreError: the store failed; whether it was written is known after the next call.
        """
        added = self.preparation.added(messages, system, region, waiting)
        await self._log.write(lambda at: self._items(added, at), key=key)

    def _items(self, added: Added, at: float, data: Mapping[str, Any] | None = None) -> Record:
        """The record of what is added, less results that were there before."""
        waiting = [each.call.id for each in self._history.state.open]
        provider, entries, announced = self.preparation.provider, [], []
        for entry in added.entries:
            repeated = self._log.book.repeated(entry, waiting, provider)
            if repeated:
                announced.append(f"a second result for the call {repeated!r} was left out")
            else:
                entries.append(entry)
        step = self._history.adding(entries, system=added.system, region=added.region, waiting=added.waiting)
        step = replace(step, announced=(*announced, *step.announced))
        return Record("items", at, step, dict(data or {}))

    async def remember(self, key: str, value: str, *, confidence: float = 1.0, subject: str = "") -> None:
        """Keep a fact for good; see `ContextManager.remember`."""
        await self._edit(Remember(Fact(key, value, confidence, subject=subject, must_keep=True), by=USER))

    async def forget(self, key: str, *, subject: str = "") -> None:
        """Take a fact back."""
        await self._edit(Retract(key, subject=subject, by=USER))

    async def pin(self, *positions: int, until: int | None = None) -> None:
        """Keep messages as they are; see `ContextManager.pin`."""
        await self._log.write(lambda at: _recorded(self._history.pinning(positions, until), at))

    async def unpin(self, *positions: int) -> None:
        """Take pins off again."""
        await self._log.write(lambda at: _recorded(self._history.unpinning(positions), at))

    async def _edit(self, edit: Edit) -> None:
        await self._log.write(lambda at: _recorded(self._history.editing(edit), at))

    def use(self, strategy: str | CompressionStrategy | Mapping[str, Any]) -> None:
        """Compact by another strategy from now on, in this worker."""
        self.preparation.use(strategy)

    def observe_usage(self, input_tokens: int) -> None:
        """Tell what the provider counted for the last request; see `ContextManager.observe_usage`."""
        self.preparation.observe_usage(input_tokens)

    # What comes out

    async def prepare(self, tools: Any = None) -> Request:
        """The request to send now: everything, or what a compaction made of it; it is put on record as it is.

        Args:
            tools: the tool schemas that go along; see `ContextManager.prepare`.

        Raises:
            OpenCallsError: the messages end on a tool call without result; see `open_calls`.
            ProviderFormatError: the first request would be refused as it is.
            BudgetExceededError: what must stay is larger than the budget.
            StrategyError: a strategy failed, and `strict` is set.
            StoreError: the store failed.
        """
        started = time.perf_counter()
        done = await self._compacting.before_request(await self._gathered(tools))
        wrong = self.preparation.checked(done)
        request = self.preparation.structured(done, wrong, started)
        await self._log.write(lambda at: _recorded(self._history.sending(done.view.state), at))
        return request

    async def _gathered(self, tools: Any) -> Snapshot:
        await self._log.refresh()
        await self._log.write(lambda at: _recorded(self.preparation.tools(tools), at))
        await self._log.write(lambda at: _recorded(self._history.noting(self.preparation.view), at))
        return self._history.snapshot()

    async def compact(self) -> Report:
        """Compact now, whatever the triggers say, and tell what was done; a worker that is at it is waited for.

        Raises:
            StrategyError: a strategy failed, and `strict` is set.
            StoreError: the store failed.
        """
        return await self._compacting.now()

    def compact_in_background(self) -> asyncio.Task[Report]:
        """Compact beside the conversation; the task that does it, the one that is at it already if there is one."""
        return self._compacting.in_background()

    async def settled(self) -> None:
        """Wait for the compaction in the background, if there is one; the next report says what failed in it."""
        await self._compacting.settled()

    async def preview(self) -> Report:
        """What `compact` would do now; nothing changes. A strategy that asks a model asks it for this too."""
        return await self._compacting.preview()

    # Answers that are not delivered yet

    async def reply(self, messages: object, *, key: str = "") -> Turn:
        """Put an answer on record that was made and is about to be delivered; it counts as said once it was.

        Args:
            messages: the answer, as `add` takes it.
            key: as in `add`.

        Raises:
            ProviderFormatError: it is not of the format.
            StoreError: the store failed.
        """
        added = self.preparation.added(messages, None, "", ())
        draft = key or uuid.uuid4().hex
        data = {"draft": draft, "entries": added.entries}
        await self._log.write(lambda at: Record("draft", at, data=data), key=key)
        return Turn(draft, added.entries, self)

    def undelivered(self) -> list[Turn]:
        """Answers that were made and neither delivered nor discarded, oldest first: a crash came between, perhaps."""
        return [Turn(draft, entries, self) for draft, entries in self._log.book.drafts.items()]

    async def _deliver(self, turn: Turn) -> None:
        added = Added(turn.entries, None, "", ())

        def made(at: float) -> Record | None:
            known = turn.id in self._log.book.drafts
            return self._items(added, at, {"draft": turn.id}) if known else None

        await self._log.write(made)

    async def _discard(self, turn: Turn) -> None:
        def made(at: float) -> Record | None:
            known = turn.id in self._log.book.drafts
            return Record("discarded", at, data={"draft": turn.id}) if known else None

        await self._log.write(made)

    # Calls without result

    def open_calls(self) -> list[OpenCall]:
        """Calls that no result has come for, oldest first: after a crash, those that it interrupted."""
        return calls.unanswered(self._history.state)

    async def answer(self, call: str, result: str) -> None:
        """Add the result of an open call, as a text.

        Args:
            call: its id, or its name where the format has no ids.

        Raises:
            ConversationError: no such call is open.
        """
        await self._log.refresh()
        waiting = calls.named(self._history.state, call, self.id)
        await self.add(calls.result_entry(self._history.state, waiting, result, self.preparation.provider))

    async def rerun(self, run: Callable[[OpenCall, Entry], Awaitable[str]]) -> int:
        """Run the open calls again and add what they give; how many there were.

        Args:
            run: is given a call and the entry that makes it (with its arguments), and gives the result as a text.
        """
        waiting = self.open_calls()
        for call in waiting:
            result = await run(call, calls.caller(self._history.state, call))
            await self.answer(call.call.id or call.call.name, result)
        return len(waiting)

    async def close_call(self, call: str, text: str) -> None:
        """Give up on an open call: on the wire it has the stand-in result `text` from now on.

        Raises:
            ConversationError: no such call is open.
        """
        await self._log.refresh()
        calls.named(self._history.state, call, self.id)
        await self._edit(Close(call, text, by=USER))

    # History

    async def undo(self) -> None:
        """Take the last compaction back; see `ContextManager.undo`."""
        await self._log.write(lambda at: _recorded(self._history.undoing(), at))
        self.preparation.triggers.hold()

    async def redo(self) -> None:
        """Take the compaction over again that was undone last, unless there was another since.

        Raises:
            ConversationError: there is none.
        """
        await self._log.write(lambda at: _recorded(self._history.redoing(), at))

    async def name(self, name: str) -> None:
        """Give the session as it is now a name, to come back to it with `rollback`.

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
        """The session as it was when its record at `position` (or at that name) had been written.

        Raises:
            ConversationError: there is no such position or name.
        """
        await self._log.refresh()
        wanted = self._position(position)
        history = History(
            self._history.setting.meter, reasoning=self._history.setting.reasoning, repair=False
        )
        log = Log(self.store, self.id, history, self.preparation.provider, self._clock)
        await log.open(upto=wanted)
        return Moment(wanted, history.state, history.entries(history.state))

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
        then = (await self.at(position)).state
        await self._log.write(lambda at: _recorded(self._history.rolling_back(then), at))

    async def fork(self, id: str, *, at: int | str | None = None) -> Session:
        """A new session that begins as this one was at a position (or name), by default as it is now.

        Its log is a copy, so that each may be deleted without the other.

        Raises:
            ConflictError: there is a session with that id already.
            ConversationError: there is no such position or name.
        """
        checked_id(id)
        wanted = self.position if at is None else self._position(at)
        bodies = await self.store.read(self.id, upto=wanted)
        forked = Record("fork", self._clock(), data={"from": self.id, "position": wanted})
        bodies.append(record_bytes(forked, self._history.state))
        await self.store.append(id, bodies, after=0)
        session = Session(
            id, self.store, self.preparation.again(), background=self._background, clock=self._clock
        )
        await session._log.open()
        return session

    # What is taken out for good

    async def pop(self) -> Entry | None:
        """Take the newest message back and give it as it was added; None when there is none.

        It is erased from the log, and no older state that held it can be gone back to.

        Raises:
            ConversationError: it was merged into another message, as late results are.
        """
        popped: list[Entry] = []

        def made(at: float) -> Record | None:
            step = self._history.popping()
            if step is None or step.popped is None:
                return None
            popped[:] = [copied(self._history.archive.original(step.popped))]
            results = self.preparation.provider.shape(popped[0]).results
            return Record("pop", at, step, {"reopened": [result.id for result in results]})

        record = await self._log.write(made)
        if record is None or record.step is None or record.step.popped is None:
            return None
        gone = self.preparation.provider.stand_in(marked("This message was taken back."))
        await self._log.erase(frozenset((record.step.popped,)), gone)
        return popped[0]

    async def clear(self) -> None:
        """Take everything back, for good: messages, facts, pins, what earlier requests held."""
        await self._erase_all(self._history.clearing)

    async def retain_structure(self) -> None:
        """Take everything out for good but the facts in force: what retention leaves of a session."""
        await self._erase_all(self._history.retaining)

    async def _erase_all(self, make: Callable[[], Step]) -> None:
        await self._log.write(lambda at: _recorded(make(), at))
        await self._log.erase_before(self._log.position)

    async def original(self, handle: str) -> list[Entry]:
        """The messages that a handle stands for, as they were added.

        Raises:
            UnknownHandleError: nothing is kept under that handle.
        """
        return await self._log.paged(lambda: self._history.original(handle))

    async def restore(self, handle: str) -> bytes:
        """What `original` gives, as the JSON of the list, in UTF-8; raises what it raises."""
        return json.dumps(await self.original(handle)).encode()

    async def explain(self) -> list[Explanation]:
        """Where each message is now, and why; reads the whole log."""
        view = self.preparation.view(self._history.state)
        return await self._log.paged(lambda: explain(view, self._history.archive))

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts in force."""
        return tuple(active_facts(self._history.state.facts).values())

    @property
    def messages(self) -> list[Entry]:
        """The conversation as the next request would hold it, as far as it was read; copies."""
        return self._history.entries(self._history.state)

    @property
    def report(self) -> Report | None:
        """The report of the last request or compaction here, None before the first."""
        return self.preparation.report


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


@dataclass(frozen=True, slots=True)
class Turn:
    """An answer on record that is not delivered yet.

    Attributes:
        id: its name in the log.
        entries: the answer, in the provider's own JSON.
    """

    id: str
    entries: list[Entry]
    _session: Session

    async def delivered(self) -> None:
        """It has reached the user: it is part of the conversation from now on. A second time changes nothing."""
        await self._session._deliver(self)

    async def discard(self) -> None:
        """It will not be delivered; it stays on record, and no request holds it."""
        await self._session._discard(self)


def _recorded(step: Step | None, at: float) -> Record | None:
    return None if step is None else Record(step.kind, at, step)
