"""Session: a conversation that outlives its process, shared by workers, with everything that happened to it on record."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from ctxkit.core.edits import Close, Edit, Remember, Retract
from ctxkit.core.facts import USER, Fact, active_facts
from ctxkit.core.items import Writer
from ctxkit.core.provider import Entry
from ctxkit.core.state import OpenCall
from ctxkit.history import Added, Snapshot
from ctxkit.models.functions import called
from ctxkit.preparation import Preparation, Request, Settings
from ctxkit.report import Report
from ctxkit.sessions import calls
from ctxkit.sessions.calls import Asked, first_results
from ctxkit.sessions.children import Child, begin, children_of, parent_of, take_return
from ctxkit.sessions.drafts import Draft, reply, undelivered
from ctxkit.sessions.handoff import Handoff, hand_over
from ctxkit.sessions.outgoing import Outgoing, Ready
from ctxkit.sessions.recalled import Recalled, recorded
from ctxkit.sessions.records import Record
from ctxkit.sessions.restore_tool import answer_call, run_restore
from ctxkit.sessions.store import Store, checked_key
from ctxkit.sessions.stores import open_store
from ctxkit.strategy import CompressionStrategy

__all__ = ["Draft", "Session"]


class Session(Recalled):
    """A conversation in a store. It may be shared by tasks; each worker opens its own.

    What is acknowledged is in the log, once and in order, whatever other workers do meanwhile. Open one with
    `Session.open`; it takes what `ContextManager` takes, and does what it does, with `await`.
    """

    _parent: Session | None = None

    @classmethod
    async def open(
        cls,
        id: str,
        store: Store | str = "sqlite:ctxkit.db",
        *,
        background: bool = False,
        snapshots: bool = True,
        clock: Callable[[], float] = time.time,
        **settings: Any,
    ) -> Self:
        """A session as it is in the store; one that is not there yet begins with the first thing written to it.

        Args:
            id: 1 to 200 ASCII letters, digits and `._:@+=/-`.
            store: where it is kept, or the address of it (see `open_store`); a store that is opened here is closed
                with the session.
            background: compact beside the conversation while a request still fits its budget, instead of before it.
            snapshots: put on record what each request held, for `request`.
            clock: seconds since 1970.
            settings: what `ContextManager` takes: `format`, `budget`, `strategy`, `model` and so on.

        Raises:
            ConfigError: a setting that cannot be right, or another format than the session has.
            SessionError: the log cannot be read.
            StoreError: the store cannot be reached.
        """
        preparation = Preparation(Settings.of(settings))
        opened = open_store(store) if isinstance(store, str) else store
        session = cls(id, opened, preparation, background=background, snapshots=snapshots, clock=clock)
        session._owns_store = opened is not store
        try:
            await session._log.open()
        except BaseException:
            await session.close()
            raise
        return session

    @classmethod
    async def from_config(
        cls,
        id: str,
        source: str | Path | Mapping[str, Any],
        store: Store | str | None = None,
        **settings: Any,
    ) -> Self:
        """A session as a config file or a dict says, its `store` too unless one is given; `settings` win.

        Raises:
            ConfigError: the file cannot be read, or a setting in it cannot be right; and what `open` raises.
        """
        from ctxkit.config import load

        config = load(source)
        where = store if store is not None else config.store
        return await cls.open(id, *([] if where is None else [where]), **{**config.settings(), **settings})

    def __repr__(self) -> str:
        return f"<Session {self.id}, {self.position} records, {self.preparation.strategy.kind}>"

    async def close(self) -> None:
        """Wait for a compaction in the background, and close the store if it was opened here."""
        await self.settled()
        if self._owns_store:
            await self.store.close()

    # What goes in

    async def add(
        self,
        messages: object = (),
        *,
        system: Any = None,
        region: str = "",
        waiting: Iterable[str] = (),
        author: str = "",
        place: str = "",
        said_at: datetime | None = None,
        key: str = "",
    ) -> None:
        """Add what was said, all of it or nothing; see `ContextManager.add`.

        A tool result that comes a second time, for a call that was answered, is left out, and the next report says so.

        Args:
            messages, system, region, waiting, author, place: as in `ContextManager.add`.
            said_at: as there; what has an author or a place and no time was said now.
            key: names this call, the id of a webhook for instance: called again with it, nothing is added.

        Raises:
            ProviderFormatError: something is not of the format, or broken; nothing of this call is added.
            ConfigError: as `ContextManager.add` raises it.
            StoreError: the store failed; whether it was written is known after the next call.
        """
        added = self.preparation.added(
            messages, system, region, waiting, author=author, place=place, said_at=said_at
        )
        await self._log.write(lambda at: self._items(added, at), key=f"add {key}" if checked_key(key) else "")

    def _items(self, added: Added, at: float, data: Mapping[str, Any] | None = None) -> Record:
        """The record of what is added, less results that were there before."""
        open_now = [each.call.id for each in self._history.state.open]
        entries, repeated = first_results(
            added.entries, open_now, self._log.book.answered, self.preparation.provider
        )
        announced = [f"a second result for the call {call!r} was left out" for call in repeated]
        step = self._history.adding(replace(added, entries=entries, writer=self._writer(added, at)))
        step = replace(step, announced=(*announced, *step.announced))
        return Record("items", at, step, {**(data or {}), **self._log.book.ahead.told(entries)})

    def _writer(self, added: Added, at: float) -> Writer:
        """Who wrote what is added; where several do it is known when, too."""
        writer = added.writer
        several = writer.author or writer.place or any(map(self.preparation.provider.author, added.entries))
        if writer.said_at or not several:
            return writer
        return writer._replace(said_at=f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}")

    async def remember(self, key: str, value: str, *, confidence: float = 1.0, subject: str = "") -> None:
        """Keep a fact for good; see `ContextManager.remember`."""
        await self._edit(Remember(Fact(key, value, confidence, subject=subject, must_keep=True), by=USER))

    async def forget(self, key: str, *, subject: str = "") -> None:
        """Take a fact back."""
        await self._edit(Retract(key, subject=subject, by=USER))

    async def pin(self, *positions: int, until: int | None = None) -> None:
        """Keep messages as they are; see `ContextManager.pin`."""
        await self._log.write(lambda at: recorded(self._history.pinning(positions, until), at))

    async def unpin(self, *positions: int) -> None:
        """Take pins off again."""
        await self._log.write(lambda at: recorded(self._history.unpinning(positions), at))

    async def _edit(self, edit: Edit) -> None:
        await self._log.write(lambda at: recorded(self._history.editing(edit), at))

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
        ready, request = await self._ready(tools)
        await self._sent(ready)
        return request

    async def _ready(self, tools: Any) -> tuple[Ready, Request]:
        """A request that may go out and is not on record yet; raises what `prepare` raises."""
        started = time.perf_counter()
        snapshot, erased_at = await self._gathered(tools), self._log.book.erased_at
        done = await self._compacting.before_request(snapshot)
        wrong = self.preparation.checked(done, snapshot)
        return Ready(done, wrong, erased_at), self.preparation.structured(done, wrong, started)

    async def _sent(self, ready: Ready, outgoing: Outgoing | None = None) -> Record | None:
        """Put a request on record as it goes out: with what the session holds, or with what goes out instead."""
        return await self._log.write(lambda at: self._snapshots.record(ready, at, outgoing))

    async def _gathered(self, tools: Any) -> Snapshot:
        await self._log.refresh()
        await self._log.write(lambda at: recorded(self.preparation.tools(tools), at))
        await self._log.write(lambda at: recorded(self._history.noting(self.preparation.view), at))
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
        """What `compact` would do now; nothing changes; see `ContextManager.preview`."""
        return await self._compacting.preview()

    # Answers that are not delivered yet

    async def reply(self, messages: object, *, key: str = "") -> Draft:
        """Put an answer on record that was made and is about to be delivered; it counts as said once it was.

        Args:
            messages: the answer, as `add` takes it.
            key: names this answer: called again with it, nothing is written, and what was written counts. An `add`
                may have the same key.

        Raises:
            ProviderFormatError: it is not of the format, or no provider takes it.
            StoreError: the store failed.
        """
        return await reply(self, messages, key)

    def undelivered(self) -> list[Draft]:
        """Answers that were made and neither delivered nor discarded, oldest first: a crash came between, perhaps."""
        return undelivered(self)

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

        def made(at: float) -> Record:
            return self._answering(self._asked(call).call, result, at)

        await self._log.write(made)

    def _asked(self, call: str) -> Asked:
        asked = calls.asked(self._history.state, call, self.preparation.provider)
        if asked is None:
            raise calls.none_open(call, self.id)
        return asked

    def _answering(self, call: OpenCall, text: str, at: float) -> Record:
        entry = calls.answering(self._history.state, call, text, self.preparation.provider)
        return self._items(self.preparation.added(entry), at)

    async def _answer(self, asked: Asked, text: str) -> bool:
        """Add the result of this very call; whether it was still open."""

        def made(at: float) -> Record | None:
            waits = asked in calls.within_reach(self._history.state, self.preparation.provider)
            return self._answering(asked.call, text, at) if waits else None

        return await self._log.write(made) is not None

    async def rerun(self, run: Callable[[OpenCall, str], Any]) -> int:
        """Run the open calls again and add what they give; how many were answered so. One that another worker answered
        meanwhile stays as it is.

        Args:
            run: a function, async or not, that is given a call and its arguments as text (JSON as a rule), and gives the
                result: text, or what can be written as JSON.

        Raises:
            ConversationError: it gave something else; the call stays open, those before it are answered.
        """
        ran: list[Asked] = []
        answered = 0
        while True:
            await self._log.refresh()
            within_reach = calls.within_reach(self._history.state, self.preparation.provider)
            asked = next((each for each in within_reach if each not in ran), None)
            if asked is None:
                return answered
            ran.append(asked)
            result = await called(run, asked.call, asked.arguments)
            answered += await self._answer(asked, calls.result_text(result, asked.call))

    async def close_call(self, call: str, text: str) -> None:
        """Give up on an open call: on the wire it has the stand-in result `text` from now on.

        A result that comes all the same takes its place. Where calls of its step have no ids, only their order tells
        whose a result is: there `text` is its result for good, and one that comes later is refused as any second one.

        Raises:
            ConversationError: no such call is open.
        """
        await self._log.refresh()

        def made(at: float) -> Record | None:
            given_up = self._asked(call).call
            if calls.is_told_by_order(self._history.state, given_up):
                return self._answering(given_up, text, at)
            name = given_up.call.id or given_up.call.name
            return recorded(self._history.editing(Close(name, text, by=USER)), at)

        await self._log.write(made)

    # What was folded away, for the model

    async def run_restore(self, arguments: Any) -> str:
        """What a model reads that calls the tool of `restore_tool`: originals by handle or position, or what a search of
        all that is not shown any more found.

        It has no more than 2,000 tokens, and no more than an eighth of the limit; where there is more it says how to
        read on. A handle that is unknown, or arguments that are none, are answered in words.

        Args:
            arguments: of the call, as an object or as its JSON.
        """
        return await run_restore(self, arguments)

    async def restored(self, call: str) -> str:
        """Answer an open call of that tool; what it read. No compaction shrinks it while its turn lasts.

        Raises:
            ConversationError: no such call is open.
        """
        return await answer_call(self, call)

    # Several agents

    async def child(self, id: str, *, purpose: str = "", **settings: Any) -> Session:
        """A session in the same store for an agent that works for this one; asked for again, the same one.

        Args:
            id: as in `open`.
            purpose: what it is begun for; kept on record.
            settings: as in `open`, where they are other than those of this session.

        Raises:
            ConversationError: there is a session with that id that is no child of this one.
        """
        return await begin(self, id, purpose, settings)

    @property
    def children(self) -> list[Child]:
        """The sessions that were begun for this one."""
        return children_of(self)

    async def returned(self, child: Session | str, messages: object) -> bool:
        """Add what came of a child, which is all that is kept of it here; whether it was added.

        A child returns once: a second time changes nothing.

        Args:
            messages: in the format of this session, as `add` takes them: the result of a call, a message.

        Raises:
            ConversationError: there is no such child.
            ProviderFormatError: it is not of the format; nothing is added.
        """
        return await take_return(self, child, messages)

    async def finish(self, messages: object) -> bool:
        """Return to the session that this one was begun for; see `returned`, and raises what it raises."""
        return await (await parent_of(self)).returned(self, messages)

    async def handoff(
        self, *, to: str = "", system: Any = None, tail: int = 0, summary: str | None = None
    ) -> Handoff:
        """What the agent gets that goes on from here: the conversation as one summary, or its last turns as they are
        behind a summary of what was before. This session stays as it is; the handoff is put on record.

        No call is there twice, as it was made and in the summary; neither are the user's last words, which are there
        in any case. System text stays behind; facts go along, and what is pinned, as it is.

        Args:
            to: who takes over; for the record.
            system: the system text of whoever takes over, in the form that its format has beside the messages.
            tail: turns that go along as they are, the newest.
            summary: your own words in the place of a summary that is made: by the model that the strategy or `ask`
                names, else, and where that one fails, of the most telling sentences.

        Raises:
            ConfigError: `tail` is no number of turns, or system text that stands among the messages (OpenAI Chat).
        """
        return await hand_over(self, to=to, system=system, tail=tail, summary=summary)

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
