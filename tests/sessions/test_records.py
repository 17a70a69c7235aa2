"""Records: what is written is what is read, in every format, and also by those who come later."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit import Budget, CtxkitError, SessionError
from ctxkit.core.edits import Pin, Remember
from ctxkit.core.facts import USER, Fact
from ctxkit.core.state import State
from ctxkit.history import Added, Step
from ctxkit.preparation import Preparation, Settings
from ctxkit.sessions.book import Book
from ctxkit.sessions.checkpoints import checkpoint_bytes, restore_checkpoint
from ctxkit.sessions.records import Record, record_bytes, record_from, to_bytes
from ctxkit.testing import Payload, conversations

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_json_comes_back_as_it_was(value: object) -> None:
    read = json.loads(to_bytes(value).decode("utf-8", "surrogatepass"))
    assert repr(read) == repr(value)


def test_lone_surrogates_come_back_apart() -> None:
    halves = "\ud83d" + "\ude00"
    assert json.loads(to_bytes(halves).decode("utf-8", "surrogatepass")) == halves


@given(payload=conversations(), share=st.sampled_from((0.2, 0.5)))
async def test_each_step_reads_as_it_was_taken(payload: Payload, share: float) -> None:
    """Beside a history that goes through its steps, one that only reads the records of them."""
    live, told = await _both(payload, share)
    assert told.state == live.state
    assert told.archive.kept == live.archive.kept
    assert list(told.archive.past) == list(live.archive.past)
    assert [item.raw for item in told.archive.log] == [item.raw for item in live.archive.log]
    assert list(told.undoable) == list(live.undoable)
    assert (told.first_unsent, told.version) == (live.first_unsent, live.version)


@given(payload=conversations(), share=st.sampled_from((0.2, 0.5)))
async def test_a_checkpoint_is_the_log_up_to_there(payload: Payload, share: float) -> None:
    live, _ = await _both(payload, share)
    restored = _preparation(payload, share).history
    assert restore_checkpoint(checkpoint_bytes(live, Book()), restored, session="s") == Book()
    assert restored.state == live.state
    assert list(restored.undoable) == list(live.undoable)
    assert restored.archive.kept == live.archive.kept
    assert checkpoint_bytes(restored, Book()) == checkpoint_bytes(live, Book())
    for item in live.state.items:
        if not item.synthetic:
            assert restored.archive.original(item.id) == live.archive.original(item.id)


def _preparation(payload: Payload, share: float) -> Preparation:
    size = len(json.dumps(payload.messages)) // 4
    return Preparation(Settings(payload.format, Budget(window=max(60, int(size * share)), min_gain=0)))


async def _both(payload: Payload, share: float):  # type: ignore[no-untyped-def]
    preparation = _preparation(payload, share)
    live, told = preparation.history, _preparation(payload, share).history

    def take(step: Step | None) -> Step | None:
        if step is not None:
            body = record_bytes(Record(step.kind, 1.0, step), live.state)
            live.take(step)
            read = record_from(body, told.state, session="s").step
            assert read is not None
            told.take(read)
        return step

    async def commit(outcome: object, version: int) -> Step | None:
        return take(live.committing(outcome, version))  # type: ignore[arg-type]

    async def attempted(outcome: object) -> None:
        take(live.attempting(outcome))  # type: ignore[arg-type]

    for at, entry in enumerate(payload.messages):
        system = payload.system if at == 0 else None
        take(live.adding(Added([entry], system)))
        if at % 7 == 3:
            take(live.editing(Remember(Fact(f"key {at % 2}", f"value {at}", must_keep=True), by=USER)))
        try:
            take(live.noting(preparation.view))
            if at % 4 == 1:
                await preparation.compress(live.snapshot(), commit, attempted, asked=True)
            take(live.sending(live.state))
        except CtxkitError:
            continue
    if live.undoable:
        take(live.undoing())
        if len(payload.messages) % 2:
            take(live.redoing())
    return live, told


def test_a_pin_and_what_ends_it() -> None:
    preparation = Preparation(Settings("openai-chat", Budget(window=1000)))
    history = preparation.history
    history.do(lambda: history.adding(Added([{"role": "user", "content": "hi"}])))
    before = history.state
    step = history.editing(Pin((0,), 5, by=USER))
    read = record_from(record_bytes(Record("edit", 1.0, step), before), before, session="s")
    assert read.step is not None
    assert read.step.state == step.state


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'"v"', b"{}", b'{"v": "1"}', b"\xff\xfe", b"[" * 100_000]
)
def test_what_is_no_record_is_told_with_its_session(body: bytes) -> None:
    with pytest.raises(SessionError, match="session 'mine' cannot be read") as raised:
        record_from(body, State(), session="mine")
    assert raised.value.session == "mine"


def test_a_record_of_a_newer_version_asks_for_an_upgrade() -> None:
    with pytest.raises(SessionError, match="written by a newer version of ctxkit"):
        record_from(b'{"v": 999, "kind": "items", "at": 1}', State(), session="s")


@pytest.mark.parametrize(
    "change", [{"items": [5]}, {"items": [0, {}]}, {"open": [{}]}, {"facts": [{"no": 1}]}, []]
)
def test_a_record_that_does_not_fit_is_told(change: object) -> None:
    told = {"v": 1, "kind": "items", "at": 1.0, "step": {"change": change, "arrived": [3]}}
    with pytest.raises(SessionError, match="does not fit what is before it"):
        record_from(to_bytes(told), State(), session="s")


def test_a_step_of_an_unknown_kind_is_told() -> None:
    step = {"change": {}}
    for kind in ("notes", "fork"):
        assert record_from(
            to_bytes({"v": 1, "kind": kind, "at": 1.0, "step": step}), State(), session="s"
        ).step
    with pytest.raises(SessionError, match="does not fit what is before it"):
        record_from(to_bytes({"v": 1, "kind": "folded", "at": 1.0, "step": step}), State(), session="s")
