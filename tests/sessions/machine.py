"""A session driven at random by two workers over one store, beside a model of what must be in it."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import Coroutine
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ctxkit import Budget, CtxkitError
from ctxkit.core.facts import USER, active_facts
from ctxkit.core.state import State
from ctxkit.errors import BudgetExceededError, ConversationError, StoreError
from ctxkit.preparation import Preparation, Settings
from ctxkit.providers import provider
from ctxkit.sessions.compacting import NAME
from ctxkit.sessions.log import Log
from ctxkit.sessions.session import Session
from ctxkit.sessions.store import Store
from tests.sessions.failing import Flaky

__all__ = ["WORDS", "WORKERS", "SessionMachine"]

T = TypeVar("T")
WORKERS = st.integers(0, 1)
PAUSES = st.sampled_from([0.0, 0.0, 0.0003, 0.001, 0.003])
WORDS = st.sampled_from(
    ["bicycle", "invoice W0000182", "Tuesday at 14:30", "我对花生过敏", "total 1,250.00 EUR"]
)


class SessionMachine(RuleBasedStateMachine):
    """Rules for everything that may happen to a session; a subclass opens the stores, one for each worker.

    No rule has a precondition: what is there may depend on the moment at which something was cancelled, and Hypothesis
    wants to be able to make the same steps again.

    The model is the list of entries that arrived (None for one that was taken back), the facts that users told, and the
    messages that they pinned, by unit.

    Attributes:
        steps: how many were made, by all machines of a class.
    """

    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.numbers = itertools.count()
        self.arrived: list[dict[str, Any] | None] = []
        self.facts: dict[str, str] = {}
        self.pinned: dict[int, set[int]] = {}
        self.named: tuple[dict[str, str], dict[int, set[int]]] = ({}, {})
        self.stores: list[Flaky] = []

    async def open_store(self) -> Store:
        """One more store on the place where this machine writes."""
        raise NotImplementedError

    def teardown(self) -> None:
        for session in getattr(self, "workers", ()):
            self.run(session.settled())
        if self.stores:
            self.run(self.stores[0].delete(self.id))
        for store in self.stores:
            self.run(store.close())
        self.run(self.loop.shutdown_default_executor())
        self.loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    @initialize()
    def begin(self) -> None:
        self.stores = [Flaky(self.run(self.open_store())) for _ in range(2)]
        self.id = f"machine-{uuid.uuid4().hex}"
        self.workers = [self.opened(0), self.opened(1)]

    def opened(self, worker: int, id: str = "") -> Session:
        """A session on the store of a worker."""
        budget = Budget(window=700, reply=100, min_gain=0)
        store = self.stores[worker]
        return self.run(
            Session.open(id or self.id, store, format="openai-chat", budget=budget, strategy="hybrid")
        )

    # What the model knows

    def said(self, words: str, role: str = "user") -> dict[str, Any]:
        return {"role": role, "content": f"#{next(self.numbers)}: {words}, and some more words to fill it up"}

    # What may happen

    @rule(
        worker=WORKERS,
        words=WORDS,
        fails=st.sampled_from([[], [], ["before"], ["after"], ["after", "before"]]),
    )
    def say(self, worker: int, words: str, fails: list[str]) -> None:
        entry = self.said(words)
        self.stores[worker].fails = [*fails]
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
            self.said("look", "user") | {"content": f"#{number + 1}: look, and some more words to fill it up"}
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

    @rule(worker=WORKERS, words=WORDS, steps=st.integers(0, 12), pause=PAUSES)
    def cancel(self, worker: int, words: str, steps: int, pause: float) -> None:
        entry = self.said(words)
        self.run(_cancelled(self.workers[worker].add(entry), steps, pause))
        self.run(self.workers[worker].refresh())
        self.take_in([entry])

    @rule(worker=WORKERS, compact=st.booleans(), steps=st.integers(0, 12), pause=PAUSES)
    def cancel_a_request(self, worker: int, compact: bool, steps: int, pause: float) -> None:
        session = self.workers[worker]
        self.run(_cancelled(session.compact() if compact else session.prepare(), steps, pause))
        self.run(session.refresh())

    @rule(worker=WORKERS)
    def prepare(self, worker: int) -> None:
        session = self.workers[worker]
        if not self.arrived:
            return
        try:
            request = self.run(session.prepare())
        except BudgetExceededError:
            assert self.pinned
            return
        except CtxkitError:
            if not session.open_calls() and session.messages:
                raise
            return
        wrong = provider("openai-chat").violations(request.messages)
        assert request.messages == [] or wrong == [], request.messages

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

    @rule(worker=WORKERS, words=WORDS)
    def compact_in_the_background(self, worker: int, words: str) -> None:
        entry, session = self.said(words), self.workers[worker]

        async def beside() -> None:
            task = session.compact_in_background()
            await session.add(entry)
            await session.settled()
            assert task.exception() is None

        self.run(beside())
        self.arrived.append(entry)

    @rule(words=WORDS)
    def lose_the_lease(self, words: str) -> None:
        entry = self.said(words)

        async def all_three() -> None:
            first, second = self.workers
            await asyncio.gather(first.compact(), second.compact(), first.add(entry))

        for store in self.stores:
            store.gives_away = True
        self.run(all_three())
        for store in self.stores:
            store.gives_away = False
        self.arrived.append(entry)

    @rule(worker=WORKERS)
    def compact_after_one_that_died(self, worker: int) -> None:
        assert self.run(self.stores[worker].lease(self.id, NAME, "one that died", 0.03))
        self.run(self.workers[1 - worker].compact())

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

    @rule(worker=WORKERS, place=st.integers(-9, -1))
    def pin(self, worker: int, place: int) -> None:
        session = self.workers[worker]
        try:
            self.run(session.pin(place))
        except ConversationError:
            return
        items = session._history.state.items
        (unit,) = {item.unit for item in items if item.id == len(self.arrived) + place}
        self.pinned[unit] = {item.id for item in items if item.unit == unit and not item.synthetic}

    @rule(worker=WORKERS, place=st.integers(0, 3))
    def unpin(self, worker: int, place: int) -> None:
        if place < len(self.pinned):
            unit = sorted(self.pinned)[place]
            self.run(self.workers[worker].unpin(min(self.pinned.pop(unit))))

    @rule(worker=WORKERS)
    def name(self, worker: int) -> None:
        self.run(self.workers[worker].name("then"))
        self.named = (dict(self.facts), dict(self.pinned))

    @rule(worker=WORKERS)
    def roll_back_to_a_name(self, worker: int) -> None:
        session = self.workers[worker]
        self.run(session.refresh())
        if "then" in session.names:
            self.rolled_back(session, "then")
            self.facts, pinned = dict(self.named[0]), self.named[1]
            assert pinned.keys() >= self.pinned.keys()

    @rule(worker=WORKERS, share=st.floats(0.5, 1))
    def roll_back(self, worker: int, share: float) -> None:
        session = self.workers[worker]
        self.run(session.refresh())
        then = self.rolled_back(session, int(session.position * share))
        self.facts = _told(then)

    def rolled_back(self, session: Session, to: int | str) -> State:
        """The state that a session was rolled back to: it is that again, but for what was erased since, and for the
        results of calls that were."""
        then = self.run(session.at(to)).state
        self.run(session.rollback(to))
        state, erased = session._history.state, session._history.archive.erased
        calls = {item.unit for item in then.items if item.id in erased and item.shape.calls}
        left = [item for item in then.items if item.id not in erased and item.unit not in calls]
        assert [item.id for item in state.items] == [item.id for item in left]
        self.pinned = _pinned(state)
        return then

    @rule(worker=WORKERS)
    def pop(self, worker: int) -> None:
        session = self.workers[worker]
        entry = self.run(session.pop())
        if entry is not None:
            at = max(k for k, each in enumerate(self.arrived) if each == entry)
            self.arrived[at] = None
            self.pinned = {unit: ids - {at} for unit, ids in self.pinned.items() if ids - {at}}

    @rule(worker=WORKERS)
    def clear(self, worker: int) -> None:
        if len(self.arrived) < 12:
            return
        self.run(self.workers[worker].clear())
        self.arrived = [None] * len(self.arrived)
        self.facts.clear()
        self.pinned.clear()
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
        self.workers[worker] = self.opened(worker)

    @rule(worker=WORKERS)
    def close_a_store(self, worker: int) -> None:
        """A store that can be used again says the same as before; one that cannot says so."""
        session, store = self.workers[worker], self.stores[worker]
        self.run(store.close())
        try:
            self.run(session.refresh())
        except StoreError as error:
            if "closed" not in str(error):
                raise
        self.stores[worker] = Flaky(self.run(self.open_store()))
        self.workers[worker] = self.opened(worker)

    @rule(worker=WORKERS, share=st.floats(0, 1), words=WORDS)
    def fork(self, worker: int, share: float, words: str) -> None:
        session, entry = self.workers[worker], self.said(words)
        self.run(session.refresh())
        if not session.position:
            return
        at = max(1, int(session.position * share))
        forked = self.run(session.fork(f"{self.id}/fork-{next(self.numbers)}", at=at))
        then = self.run(session.at(at)).messages
        assert forked.messages == then
        self.run(forked.add(entry))
        self.run(forked.compact())
        assert forked.messages[-1] == entry
        assert self.opened(worker, forked.id)._history.state == forked._history.state
        assert self.run(session.at(at)).messages == then
        self.run(self.stores[worker].delete(forked.id))

    # What must hold after each

    def folded(self) -> Log:
        """The log read from its first record on, without a checkpoint."""
        preparation = Preparation(Settings("openai-chat", Budget(window=700, reply=100)))
        log = Log(self.stores[0], self.id, preparation.history, preparation.provider, lambda: 0.0)
        self.run(log.refresh())
        return log

    @invariant()
    def all_workers_see_the_same(self) -> None:
        if not self.stores:
            return
        type(self).steps += 1
        log = self.folded()
        for session in (*self.workers, self.opened(0)):
            self.run(session.refresh())
            assert session.position == log.position
            assert session._history.state == log.history.state
            assert session._log.book == log.book
            assert list(session._history.undoable) == list(log.history.undoable)
            assert session._history.archive.kept == log.history.archive.kept
            assert [*session._history.archive.past] == [*log.history.archive.past]

    @invariant()
    def everything_is_there_once_and_in_order(self) -> None:
        if not self.stores:
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
        if self.stores:
            assert _told(self.workers[0]._history.state) == self.facts

    @invariant()
    def what_is_pinned_stays_as_it_is(self) -> None:
        if self.stores:
            state = self.workers[0]._history.state
            assert _pinned(state).keys() == self.pinned.keys()
            raws = {item.id: item.raw for item in state.items}
            for id in (id for ids in self.pinned.values() for id in ids):
                assert raws[id] == self.arrived[id]


def _told(state: State) -> dict[str, str]:
    """The facts in force that users told."""
    return {fact.key: fact.value for fact in active_facts(state.facts).values() if fact.by == USER}


def _pinned(state: State) -> dict[int, set[int]]:
    """The messages that users pinned, by unit."""
    units = {pin.unit for pin in state.pins if pin.by == USER}
    return {
        unit: {item.id for item in state.items if item.unit == unit and not item.synthetic} for unit in units
    }


async def _cancelled(work: Coroutine[Any, Any, Any], steps: int, pause: float) -> None:
    """Begin some work and cancel it, so many steps of the event loop and then so many seconds later."""
    task = asyncio.ensure_future(work)
    for _ in range(steps):
        await asyncio.sleep(0)
    await asyncio.sleep(pause)
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        assert task.exception() is None or isinstance(task.exception(), CtxkitError)
