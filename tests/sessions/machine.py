"""A session driven at random by two workers over one store, beside a model of what must be in it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ctxkit import Budget, CtxkitError
from ctxkit.errors import ConversationError, StoreError
from ctxkit.preparation import Preparation
from ctxkit.providers import provider
from ctxkit.sessions.log import Log
from ctxkit.sessions.session import Session
from ctxkit.sessions.store import Store

__all__ = ["Flaky", "SessionMachine"]

T = TypeVar("T")
WORKERS = st.integers(0, 1)
WORDS = st.sampled_from(
    ["bicycle", "invoice W0000182", "Tuesday at 14:30", "我对花生过敏", "total 1,250.00 EUR"]
)


class Flaky:
    """A store whose next append fails, before or after it was carried out."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.fails: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def append(self, session: str, bodies: Sequence[bytes], *, after: int, key: str = "") -> int:
        when = self.fails.pop() if self.fails else ""
        if when == "before":
            raise StoreError("the line is down", session=session)
        position = await self._store.append(session, bodies, after=after, key=key)
        if when == "after":
            raise StoreError("the answer was lost", session=session)
        return position

    async def rewrite(self, session: str, bodies: Mapping[int, bytes]) -> None:
        await self._store.rewrite(session, bodies)


class SessionMachine(RuleBasedStateMachine):
    """Rules for everything that may happen to a session; a subclass opens the store.

    The model is the list of entries that arrived (None for one that was taken back), and the facts that users told.
    """

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.numbers = itertools.count()
        self.arrived: list[dict[str, Any] | None] = []
        self.facts: dict[str, str] = {}
        self.drafts: list[str] = []
        self.keys: list[str] = []

    async def open_store(self) -> Store:
        """A store without sessions of this machine."""
        raise NotImplementedError

    def teardown(self) -> None:
        self.run(self.store.close())
        self.loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    @initialize()
    def begin(self) -> None:
        self.store = Flaky(self.run(self.open_store()))
        self.id = "machine"
        self.workers = [self.opened(), self.opened()]

    def opened(self) -> Session:
        budget = Budget(window=700, reply=100, min_gain=0)
        return self.run(
            Session.open(self.id, self.store, format="openai-chat", budget=budget, strategy="hybrid")
        )

    # What the model knows

    def said(self, words: str, role: str = "user") -> dict[str, Any]:
        return {"role": role, "content": f"{next(self.numbers)}: {words}, and some more words to fill it up"}

    # What may happen

    @rule(worker=WORKERS, words=WORDS, fails=st.sampled_from(["", "", "before", "after"]))
    def say(self, worker: int, words: str, fails: str) -> None:
        entry = self.said(words)
        self.store.fails = [fails] if fails else []
        self.run(self.workers[worker].add(entry))
        self.arrived.append(entry)

    @rule(worker=WORKERS, words=WORDS)
    def call_a_tool(self, worker: int, words: str) -> None:
        number = next(self.numbers)
        function = {"name": "look_up", "arguments": f'{{"order": "W{number:07}"}}'}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        step = {"role": "assistant", "content": None, "tool_calls": [call]}
        result = {
            "role": "tool",
            "tool_call_id": f"call_{number}",
            "content": f'{{"found": "{words}", "n": {number}}}',
        }
        self.run(self.workers[worker].add(self.said("look", "user")))
        self.arrived.append(
            self.said("look", "user") | {"content": f"{number + 1}: look, and some more words to fill it up"}
        )
        self.run(self.workers[worker].add(step))
        for each in (worker, 1 - worker):
            self.run(self.workers[each].add(result))
        self.arrived += [step, result]

    @rule(worker=WORKERS, words=WORDS)
    def deliver_twice(self, worker: int, words: str) -> None:
        entry, key = self.said(words), f"key-{next(self.numbers)}"
        for each in (worker, 1 - worker, worker):
            self.run(self.workers[each].add(entry, key=key))
        self.arrived.append(entry)

    @rule(words=WORDS, count=st.integers(2, 5))
    def race(self, words: str, count: int) -> None:
        entries = [self.said(words) for _ in range(count)]

        async def all_at_once() -> None:
            await asyncio.gather(*(self.workers[k % 2].add(each) for k, each in enumerate(entries)))

        self.run(all_at_once())
        self.take_in(entries)

    def take_in(self, entries: list[dict[str, Any]]) -> None:
        """Entries of which some or all came, in any order: the log says which."""
        archive = self.folded().history.archive
        came = [item.raw for item in archive.log[len(self.arrived) - archive.first :]]
        assert all(each in entries for each in came)
        assert len(came) == len({each["content"] for each in came})
        self.arrived += came
        self.came = came

    @rule(worker=WORKERS, words=WORDS, steps=st.integers(0, 12))
    def cancel(self, worker: int, words: str, steps: int) -> None:
        entry = self.said(words)

        async def cancelled() -> None:
            task = asyncio.ensure_future(self.workers[worker].add(entry))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])

        self.run(cancelled())
        self.run(asyncio.sleep(0.002))
        self.run(self.workers[worker].refresh())
        self.take_in([entry])

    @rule(worker=WORKERS)
    def prepare(self, worker: int) -> None:
        session = self.workers[worker]
        if not self.arrived:
            return
        try:
            request = self.run(session.prepare())
        except CtxkitError:
            assert session.open_calls() or all(each is None for each in self.arrived)
            return
        assert provider("openai-chat").violations(request.messages) == []

    @rule(worker=WORKERS)
    def compact(self, worker: int) -> None:
        self.run(self.workers[worker].compact())

    @rule(words=WORDS)
    def compact_while_others_write(self, words: str) -> None:
        entry = self.said(words)

        async def both() -> None:
            await asyncio.gather(self.workers[0].compact(), self.workers[1].add(entry))

        self.run(both())
        self.take_in([entry])
        assert self.came == [entry]

    @rule(worker=WORKERS, back=st.booleans())
    def undo(self, worker: int, back: bool) -> None:
        session = self.workers[worker]
        try:
            self.run(session.redo() if back else session.undo())
        except ConversationError:
            return

    @rule(worker=WORKERS, key=st.sampled_from(["home", "diet"]), words=WORDS)
    def remember(self, worker: int, key: str, words: str) -> None:
        self.run(self.workers[worker].remember(key, words))
        self.facts[key] = words

    @rule(worker=WORKERS, key=st.sampled_from(["home", "diet"]))
    def forget(self, worker: int, key: str) -> None:
        self.run(self.workers[worker].forget(key))
        self.facts.pop(key, None)

    @rule(worker=WORKERS)
    def pop(self, worker: int) -> None:
        session = self.workers[worker]
        entry = self.run(session.pop())
        if entry is not None:
            at = max(k for k, each in enumerate(self.arrived) if each == entry)
            self.arrived[at] = None

    @rule(worker=WORKERS)
    def clear(self, worker: int) -> None:
        if len(self.arrived) < 12:
            return
        self.run(self.workers[worker].clear())
        self.arrived = [None] * len(self.arrived)
        self.facts.clear()
        assert self.workers[worker].messages == []

    @rule(worker=WORKERS, words=WORDS, deliver=st.booleans())
    def reply(self, worker: int, words: str, deliver: bool) -> None:
        entry = self.said(words, "assistant")
        self.run(self.workers[worker].reply(entry))
        self.run(self.workers[1 - worker].refresh())
        (turn, *_) = [each for each in self.workers[1 - worker].undelivered() if each.entries == [entry]]
        for _ in range(2):
            self.run(turn.delivered() if deliver else turn.discard())
        if deliver:
            self.arrived.append(entry)

    @rule(worker=WORKERS)
    def crash(self, worker: int) -> None:
        self.workers[worker] = self.opened()

    @precondition(lambda self: len(self.arrived) > 2)
    @rule(worker=WORKERS, share=st.floats(0, 1))
    def fork(self, worker: int, share: float) -> None:
        session = self.workers[worker]
        self.run(session.refresh())
        at = int(session.position * share)
        if at:
            forked = self.run(session.fork(f"fork-{next(self.numbers)}", at=at))
            assert forked.messages == self.run(session.at(at)).messages

    # What must hold after each

    def folded(self) -> Log:
        """The log read from its first record on, without a checkpoint."""
        preparation = Preparation(format="openai-chat", budget=Budget(window=700, reply=100))
        log = Log(self.store, self.id, preparation.history, preparation.provider, lambda: 0.0)
        self.run(log.refresh())
        return log

    @invariant()
    def all_workers_see_the_same(self) -> None:
        if not hasattr(self, "store"):
            return
        log = self.folded()
        for session in (*self.workers, self.opened()):
            self.run(session.refresh())
            assert session.position == log.position
            assert session._history.state == log.history.state
            assert session._log.book == log.book
            assert list(session._history.undoable) == list(log.history.undoable)
            assert session._history.archive.kept == log.history.archive.kept

    @invariant()
    def everything_is_there_once_and_in_order(self) -> None:
        if not hasattr(self, "store"):
            return
        archive = self.folded().history.archive
        for id, entry in enumerate(self.arrived):
            if entry is not None:
                assert archive.original(id) == entry
            else:
                assert id < archive.erased_to or id in archive.erased
        assert archive.first + len(archive.log) == len(self.arrived)

    @invariant()
    def what_was_taken_back_is_nowhere(self) -> None:
        if hasattr(self, "store"):
            facts = {fact.key: fact.value for fact in self.workers[0].facts if fact.by == "user"}
            assert facts == self.facts
