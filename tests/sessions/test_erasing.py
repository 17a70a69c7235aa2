"""What was taken out of a session stays out, whoever else is at work on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Literal

import pytest

from ctxkit import (
    Budget,
    CompressionStrategy,
    ConflictError,
    ConversationError,
    MemoryStore,
    ProviderFormatError,
    Services,
    Session,
    UnknownHandleError,
    View,
    sweep,
)
from ctxkit.core.edits import Drop, Plan, Remember
from ctxkit.core.facts import Fact
from ctxkit.sessions import erasing
from ctxkit.sessions.checkpoints import checkpoint_bytes
from ctxkit.sessions.verifying import verify
from tests.sessions.failing import Meeting, interrupted

SETTINGS: dict[str, Any] = {"format": "openai-chat", "budget": Budget(window=900, reply=100, min_gain=0)}
SECRET = "the code of the door is 4471-QX"


def met_at_each_call(run: Callable[[int], Coroutine[Any, Any, bool]]) -> int:
    """The calls at which somebody else came in between: at one after the other, until `run` says that there was none."""
    at = 0
    while asyncio.run(run(at)):
        at += 1
    return at


async def told(store: MemoryStore) -> Session:
    session = await Session.open("s", store, **SETTINGS)
    await session.add({"role": "user", "content": "How do I get in?"})
    await session.add({"role": "user", "content": SECRET})
    return session


@pytest.mark.parametrize("what", ["pop", "clear", "retain_structure"])
def test_a_checkpoint_that_another_worker_made_before_goes(what: str) -> None:
    async def run() -> None:
        store = MemoryStore()
        session, other = await told(store), await Session.open("s", store, **SETTINGS)
        assert SECRET.encode() in checkpoint_bytes(other._history, other._log.book)
        await getattr(session, what)()
        await other._log.checkpoint()
        kept = await store.checkpoint("s")
        assert kept is None or SECRET.encode() not in kept[1]
        await other.add({"role": "user", "content": "Thanks."})
        assert other.position == len(await store.read("s"))

    asyncio.run(run())


@pytest.mark.parametrize("what", ["pop", "clear"])
def test_a_fork_has_nothing_that_an_interrupted_erasure_left(what: str) -> None:
    async def run() -> None:
        store = MemoryStore()
        session = await told(store)
        await interrupted(store, getattr(session, what))
        await (await Session.open("s", store, **SETTINGS)).fork("t")
        for id in "st":
            assert not any(SECRET.encode() in body for body in await store.read(id))

    asyncio.run(run())


@pytest.mark.parametrize("format", ["openai-chat", "openai-responses", "anthropic", "gemini"])
def test_no_empty_request_is_made_when_everything_was_taken_back(format: str) -> None:
    async def run() -> None:
        text = {"parts": [{"text": "Hi"}]} if format == "gemini" else {"content": "Hi"}
        session = await Session.open("s", MemoryStore(), **{**SETTINGS, "format": format})
        begun = session.position
        for back in (session.pop, lambda: session.rollback(begun)):
            await session.add({"role": "user", **text})
            assert (await session.prepare()).messages == [{"role": "user", **text}]
            await back()
            with pytest.raises(ProviderFormatError, match="would refuse this"):
                await session.prepare()

    asyncio.run(run())


ERASURES = ["pop", "clear", "retain_structure"]
WORDS = [b"my name is Mary Ann", b"the code of the door", b"the key is under the mat"]


def at_rest(store: MemoryStore) -> bytes:
    logs = store._logs.values()
    return b"\n".join(body for log in logs for body in (*log.bodies, *log.checkpoints.values()))


async def started(store: MemoryStore) -> Session:
    session = await Session.open("s", store, **SETTINGS)
    await session.add(
        [
            {"role": "user", "content": "Hello"},
            *({"role": "user", "content": word.decode()} for word in WORDS),
        ]
    )
    await session.prepare()
    return session


class Others:
    """Somebody else who is given a moment, and may have to wait for longer."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        self.work = work
        self.task: asyncio.Task[object] | None = None

    async def __call__(self) -> None:
        self.task = asyncio.create_task(self.work())
        await asyncio.wait([self.task], timeout=0.03)


class Dead(BaseException):
    """What ends a worker at once."""


class Dying(Meeting):
    """A store whose worker dies at the call after the one at which somebody came between."""

    async def _before(self, number: int) -> None:
        if number > self._at:
            raise Dead
        await super()._before(number)


@pytest.mark.parametrize("other", ERASURES)
@pytest.mark.parametrize("what", ERASURES)
def test_of_two_erasures_at_once_neither_brings_back_what_the_other_took_out(what: str, other: str) -> None:
    async def run(at: int) -> bool:
        store = MemoryStore()
        await started(store)
        second = await Session.open("s", store, **SETTINGS)

        async def erase() -> None:
            popped.append(await getattr(second, other)())
            await second.add({"role": "user", "content": "Go on."})

        popped: list[Any] = []
        others = Others(erase)
        first = await Session.open("s", store, **SETTINGS)
        first._log.store = Meeting(store, at, others)  # type: ignore[assignment]
        popped.append(await getattr(first, what)())
        if others.task is None:
            return False
        await asyncio.wait_for(others.task, 20)
        both = " ".join(each["content"] for each in popped if each)
        gone = [word for word in WORDS if word.decode() in both] if what == other == "pop" else WORDS
        assert not [word for word in gone if word in at_rest(store)]
        assert (await verify(store, "s")).findings == ()
        return True

    assert met_at_each_call(run) > 3


@pytest.mark.parametrize("dies", [False, True], ids=["goes on", "dies"])
@pytest.mark.parametrize("what", ERASURES)
def test_no_checkpoint_keeps_what_is_taken_out_while_it_is_made(
    what: str, dies: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "LEASE_S", 0.1)

    async def run(at: int) -> bool:
        store = MemoryStore()
        await started(store)
        first, second = [await Session.open("s", store, **SETTINGS) for _ in range(2)]
        others = Others(getattr(second, what))
        first._log.store = Dying(store, at, others) if dies else Meeting(store, at, others)  # type: ignore[assignment]
        with suppress(Dead):
            await first._log.checkpoint()
        if others.task is None:
            return False
        await asyncio.wait_for(others.task, 20)
        assert WORDS[-1] not in at_rest(store)
        return True

    assert met_at_each_call(run) > 2


@pytest.mark.parametrize("what", ["verify", "finish_erasures", "sweep"])
def test_a_checkpoint_from_before_an_erasure_is_found_and_dropped(what: str) -> None:
    async def run() -> None:
        store = MemoryStore()
        session = await started(store)
        before = session.position, checkpoint_bytes(session._history, session._log.book)
        await session.pop()
        await store.save_checkpoint("s", *before)  # by a worker who stood still for a long time
        assert WORDS[-1] in at_rest(store)
        if what == "verify":
            (finding,) = (await verify(store, "s")).findings
            assert finding.position == before[0]
            assert "is older than what was taken out" in finding.message
        elif what == "sweep":
            assert (await sweep(store)).finished == ["s"]
        else:
            assert (await session.finish_erasures()).checkpoint == before[0]
            assert not await session.finish_erasures()
        if what != "verify":
            assert WORDS[-1] not in at_rest(store)
        assert (what == "verify") == bool((await verify(store, "s")).findings)

    asyncio.run(run())


@pytest.mark.parametrize("what", ERASURES)
def test_a_fork_holds_nothing_that_was_taken_out_while_it_was_read(what: str) -> None:
    async def run(at: int) -> bool:
        store = MemoryStore()
        await started(store)
        first, second = [await Session.open("s", store, **SETTINGS) for _ in range(2)]
        there: list[object] = []

        async def erase() -> None:
            there.append(await store.info("t"))
            await getattr(second, what)()

        others = Others(erase)
        first.store = first._log.store = Meeting(store, at, others, of={"read"})  # type: ignore[assignment]
        await first.fork("t")
        if there != [None]:
            return False
        assert others.task is not None
        await asyncio.wait_for(others.task, 20)
        assert WORDS[-1] not in at_rest(store)
        assert (await verify(store, "t")).findings == ()
        return True

    assert met_at_each_call(run) > 1


RULE = "I am allergic to ZEBRA4711. Never call me before nine."


async def compacted(store: MemoryStore, then: str) -> Session:
    """A session whose compactions read facts out of its first messages."""
    session = await Session.open("s", store, strategy="hybrid", **SETTINGS)
    await session.remember("seat", "aisle")
    await session.add([{"role": "user", "content": RULE}, {"role": "assistant", "content": "Noted."}])
    for number in range(9):
        question = f"question {number} " + "about invoices and totals " * 10
        await session.add(
            [{"role": "user", "content": question}, {"role": "assistant", "content": "The ledger. " * 20}]
        )
    await session.name("before")
    await session.prepare()
    await session.compact()
    assert any("ZEBRA4711" in fact.line for fact in session.facts)
    if then == "undone":
        await session.undo()
    else:
        await session.rollback("before")
        session.use("keep-key-facts")
        await session.compact()
        session.use("hybrid")
    await session.prepare()
    return session


@pytest.mark.parametrize("then", ["undone", "rolled back"])
def test_facts_go_with_the_messages_that_they_were_read_from(then: str) -> None:
    async def run() -> None:
        store = MemoryStore()
        session = await compacted(store, then)
        while "ZEBRA4711" not in str(await session.pop()):
            pass
        assert [fact.line for fact in session.facts] == ["seat: aisle"]
        assert b"ZEBRA4711" not in at_rest(store)
        await session.add({"role": "user", "content": "hello"})
        request = await session.prepare()
        assert "ZEBRA4711" not in str(request.messages)
        assert "seat: aisle" in str(request.messages)
        for position in range(session.position + 1):
            moment = await session.at(position)
            assert not [fact for fact in moment.facts if fact.line != "seat: aisle"]
        for each in await session.requests():
            assert "ZEBRA4711" not in str((await session.request(each.position)).messages)
        assert (await verify(store, "s")).findings == ()
        other = await Session.open("s", store, strategy="hybrid", **SETTINGS)
        assert other._history.state == session._history.state
        assert (await verify(store, (await session.fork("t", at="before")).id)).findings == ()
        assert b"ZEBRA4711" not in at_rest(store)

    asyncio.run(run())


def test_a_fact_stays_as_long_as_one_of_its_messages_does() -> None:
    async def run() -> None:
        store = MemoryStore()
        session = await Session.open("s", store, **SETTINGS)
        await session.add([{"role": "user", "content": text} for text in ("one", "two", "three")])
        both, alone = Fact("both", "ZEBRA1", source=(1, 2)), Fact("alone", "ZEBRA2", source=(2,))
        for fact in (Fact("alone", "of before", source=(0,)), both, alone):
            await session._edit(Remember(fact, by="test"))
        await session.prepare()
        await session.pop()
        assert [fact.line for fact in session.facts] == ["alone: of before", "both: ZEBRA1"]
        assert b"ZEBRA2" not in at_rest(store)
        await session.pop()
        assert [fact.line for fact in session.facts] == ["alone: of before"]
        assert b"ZEBRA1" not in at_rest(store)
        assert b"of before" in at_rest(store)
        assert (await verify(store, "s")).findings == ()
        await session.retain_structure()
        await session.add({"role": "user", "content": "four"})
        await session.pop()
        assert [fact.line for fact in session.facts] == ["alone: of before"]

    asyncio.run(run())


@pytest.mark.parametrize("what", ["pop", "clear", "retain_structure"])
async def test_an_answer_that_was_taken_back_is_not_given_again(what: str) -> None:
    """A worker that does its job again must not send the user what stands in for the answer."""
    session = await told(MemoryStore())
    turn = await session.reply({"role": "assistant", "content": "In Oslo."}, key="job 1")
    await turn.delivered()
    await getattr(session, what)()
    with pytest.raises(ConversationError, match="the answer of the key 'job 1' was taken back"):
        await session.reply({"role": "assistant", "content": "In Bergen."}, key="job 1")
    again = await session.reply({"role": "assistant", "content": "In Bergen."}, key="job 2")
    await again.delivered()
    assert session.messages[-1]["content"] == "In Bergen."


@pytest.mark.parametrize("end", ["delivered", "discard"])
async def test_an_answer_of_a_key_tells_whether_it_still_waits(end: str) -> None:
    """A webhook that comes a second time must not be answered twice."""
    session = await told(MemoryStore())
    first = await session.reply({"role": "assistant", "content": "In Oslo."}, key="event 1")
    assert first.waits
    await getattr(first, end)()
    again = await session.reply({"role": "assistant", "content": "In Oslo."}, key="event 1")
    assert (again.waits, again.entries) == (False, first.entries)


async def test_an_answer_that_is_taken_back_takes_no_other_with_it() -> None:
    store = MemoryStore()
    session = await told(store)
    waiting = await session.reply({"role": "assistant", "content": "It may rain."}, key="job 1")
    await (await session.reply({"role": "assistant", "content": SECRET}, key="job 2")).delivered()
    assert await session.pop() == {"role": "assistant", "content": SECRET}
    assert sum(SECRET.encode() in body for body in await store.read("s")) == 1  # the user said it too
    (draft,) = (await Session.open("s", store, **SETTINGS)).undelivered()
    assert draft.entries == waiting.entries == [{"role": "assistant", "content": "It may rain."}]


@pytest.mark.parametrize("how", ["clear", "retain_structure"])
@pytest.mark.parametrize("ask", ["original", "restore", "explain"])
async def test_a_worker_from_a_checkpoint_sees_that_another_took_everything_out(how: str, ask: str) -> None:
    store, settings = MemoryStore(), {**SETTINGS, "strategy": "drop-oldest"}
    session = await Session.open("s", store, **settings)
    for number in range(8):
        role = ("user", "assistant")[number % 2]
        await session.add({"role": role, "content": f"Page {number}. " + "It is long. " * 40})
    await session.compact()
    await session.rollback(session.position)  # so that the originals are in no state
    await session._log.checkpoint()
    handle = next(each.handle for each in await session.explain() if each.handle)
    other = await Session.open("s", store, **settings)
    await getattr(session, how)()
    if ask == "explain":
        assert await other.explain() == []
        return
    with pytest.raises(UnknownHandleError):
        await getattr(other, ask)(handle)


async def test_an_original_that_goes_while_it_is_read_is_no_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    store, settings = MemoryStore(), {**SETTINGS, "strategy": "drop-oldest"}
    session = await Session.open("s", store, **settings)
    for number in range(8):
        role = ("user", "assistant")[number % 2]
        await session.add({"role": role, "content": f"Page {number}. " + "It is long. " * 40})
    await session.compact()
    await session.rollback(session.position)
    await session._log.checkpoint()
    handle = next(each.handle for each in await session.explain() if each.handle)
    other = await Session.open("s", store, **settings)
    load = other._log.load

    async def late(ids: Any) -> None:
        await session.clear()
        await load(ids)

    monkeypatch.setattr(other._log, "load", late)
    with pytest.raises(ConflictError, match="was taken out by another worker just now"):
        await other.original(handle)


class Quoting(CompressionStrategy):
    """Drops old turns, and says of which; or fails, and says at what."""

    kind: Literal["quoting"] = "quoting"
    fails: bool = False

    def plan(self, view: View, services: Services) -> Plan:
        texts = " ".join(unit.text for unit in view.units)
        if self.fails:
            raise ValueError(texts)
        return Plan.of(Drop(tuple(unit.id for unit in view.free()), texts, self.kind))


@pytest.mark.parametrize("from_log", [False, True], ids=["here", "by another worker"])
@pytest.mark.parametrize("requested", [False, True], ids=["compacted", "in a request too"])
@pytest.mark.parametrize("fails", [False, True], ids=["done", "failed"])
async def test_what_a_strategy_quoted_goes_too(fails: bool, requested: bool, from_log: bool) -> None:
    store, settings = MemoryStore(), {**SETTINGS, "strategy": Quoting(fails=fails)}
    session = await Session.open("s", store, **settings)
    await session.add({"role": "user", "content": "How do I get in?"})
    await session.add({"role": "assistant", "content": SECRET})
    await session.add({"role": "user", "content": "Thanks."})
    report = await session.compact()
    assert SECRET in str(report.failures if fails else report.edits)
    if requested:
        await session.prepare()
    if not fails:
        await session.undo()
    worker = await Session.open("s", store, **settings) if from_log else session
    assert [await worker.pop() for _ in range(2)][1] == {"role": "assistant", "content": SECRET}
    kept = await store.checkpoint("s")
    assert kept is not None
    assert [body for body in (*await store.read("s"), kept[1]) if SECRET.encode() in body] == []
    assert (await verify(store, "s")).findings == ()
    assert SECRET not in str((worker._history.archive.past, worker._history.archive.kept))


async def test_what_is_known_of_who_said_it_goes_too() -> None:
    store = MemoryStore()
    session = await Session.open("s", store, **SETTINGS)
    await session.add({"role": "user", "content": "Hello."})
    await session.add({"role": "user", "content": "I resign."}, author="Ann Example", place="room 4471")
    await session.pop()
    assert [body for body in await store.read("s") if b"Ann Example" in body or b"room 4471" in body] == []
    assert (await verify(store, "s")).findings == ()


class Answering(CompressionStrategy):
    """Drops all but the newest turn, and says for which question; remembers it, and says why."""

    kind: Literal["answering"] = "answering"

    def plan(self, view: View, services: Services) -> Plan:
        newest = view.units[-1].text
        fact = Fact("way in", newest, source=(view.units[-1].items[-1].id,))
        old = tuple(unit.id for unit in view.free() if unit.turn < view.current_turn)
        return Plan.of(
            Drop(old, f"not needed for: {newest}", self.kind), Remember(fact, f"they said: {newest}")
        )


@pytest.mark.parametrize("requested", [False, True], ids=["compacted", "in a request too"])
async def test_what_a_strategy_said_elsewhere_of_it_goes_too(requested: bool) -> None:
    store, settings = MemoryStore(), {**SETTINGS, "strategy": Answering()}
    session = await Session.open("s", store, **settings)
    await session.add([{"role": "user", "content": "How?"}, {"role": "assistant", "content": "Wait. " * 200}])
    await session.add({"role": "user", "content": SECRET})
    report = await session.compact()
    assert SECRET in report.edits[0].why
    if requested:
        await session.prepare()
    assert await session.pop() == {"role": "user", "content": SECRET}
    kept = await store.checkpoint("s")
    assert kept is not None
    assert [body for body in (*await store.read("s"), kept[1]) if SECRET.encode() in body] == []
    assert (await verify(store, "s")).findings == ()


async def test_facts_that_were_evicted_leave_no_key_behind() -> None:
    """`keep-key-facts` takes facts back that have no room; their keys say what they were of."""
    store = MemoryStore()
    budget = Budget(window=2_500, reply=100, min_gain=0, compact_at=600, aim_for=300)
    session = await Session.open("s", store, format="openai-chat", budget=budget, strategy="keep-key-facts")
    things = ("passport", "locker", "account", "door", "badge", "order", "ticket", "case", "parcel", "policy")
    for number, thing in enumerate(things * 2):
        await session.add({"role": "user", "content": f"My zanzi {thing} number is QX-{number}441{number}."})
        await session.add({"role": "assistant", "content": f"Noted, page {number} is about the sea. " * 12})
        await session.compact()
    assert any(b"Retract" in body for body in await store.read("s"))
    while await session.pop() is not None:
        pass
    kept = await store.checkpoint("s")
    held = b"".join([*await store.read("s"), *([kept[1]] if kept is not None else [])])
    assert [word for word in (b"zanzi", b"QX-") if word in held] == []
    assert (await verify(store, "s")).findings == ()
