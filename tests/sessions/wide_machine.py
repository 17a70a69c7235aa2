"""More of what may happen to a session: others that belong to it, calls that wait, retention, deletion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from ctxkit import Plan, Services, View
from ctxkit.core.provider import Entry
from ctxkit.core.state import OpenCall
from ctxkit.errors import ConversationError, SessionError
from ctxkit.sessions.retention import Retention, descendants, sweep
from ctxkit.sessions.session import Session
from ctxkit.sessions.store import Store
from ctxkit.strategy import CompressionStrategy
from tests.oracle import OPEN, rules, violations
from tests.sessions.machine import WORDS, WORKERS, SessionMachine

__all__ = ["WideMachine"]

LATER = 4e9
"""Seconds since 1970 at which every session is old."""


class Failing(CompressionStrategy):
    """Cannot do it."""

    kind: Literal["failing"] = "failing"

    async def plan(self, view: View, services: Services) -> Plan:
        raise ValueError("not today")


class WideMachine(SessionMachine):
    """The model has the children too: their ids, what they were begun for, and whether they returned; and what was said
    by messages that are there, and by those that were erased.
    """

    def __init__(self) -> None:
        super().__init__()
        self.children: dict[str, tuple[str, bool]] = {}
        self.there: dict[int, bytes] = {}
        self.erased: set[bytes] = set()

    def places(self) -> Sequence[Store]:
        """Where bytes lie."""
        return self.stores[:1]

    def teardown(self) -> None:
        for id in self.children:
            self.run(self.stores[0].delete(id))
        super().teardown()

    def everything_is_gone(self) -> None:
        """All messages are taken out of the session, with the names and what children were begun for."""
        self.arrived = [None] * len(self.arrived)
        self.pinned.clear()
        self.children = {id: ("", returned) for id, (_, returned) in self.children.items()}

    # Sessions that belong to it

    @rule(worker=WORKERS, words=WORDS, by_the_child=st.booleans())
    def begin_a_child_that_returns(self, worker: int, words: str, by_the_child: bool) -> None:
        session, other = self.workers[worker], self.workers[1 - worker]
        id, entry = f"{self.id}/child-{next(self.numbers)}", self.said(words, "assistant")
        child = self.run(session.child(id, purpose=words))
        self.run(child.add(self.said("work")))
        for first in (True, False):
            given = child.finish(entry) if by_the_child else other.returned(id, entry)
            assert self.run(given) == first
        assert self.run(other.child(id)).messages == child.messages
        assert [child.messages[0]["content"].split(": ")[1].split(",")[0], len(child.messages)] == ["work", 1]
        self.arrived.append(entry)
        self.children[id] = (words, True)

    @rule(worker=WORKERS, words=WORDS)
    def begin_a_child(self, worker: int, words: str) -> None:
        id = f"{self.id}/child-{next(self.numbers)}"
        self.run(self.workers[worker].child(id, purpose=words))
        self.children[id] = (words, False)

    @rule(worker=WORKERS, tail=st.integers(0, 3))
    def hand_over(self, worker: int, tail: int) -> None:
        session = self.workers[worker]
        self.run(session.refresh())
        before = session.messages
        handoff = self.run(session.handoff(to="another", tail=tail))
        wrong = violations("openai-chat", handoff.messages)
        assert not handoff.messages or rules(wrong) <= OPEN, wrong
        assert session.messages == before

    # Calls that wait

    @rule(worker=WORKERS, words=WORDS, how=st.sampled_from(["answer", "close", "rerun"]))
    def crash_in_a_step(self, worker: int, words: str, how: str) -> None:
        ids = [f"call_{next(self.numbers)}" for _ in range(2)]
        step = _calling(ids)
        asked = self.said(words)
        self.run(self.workers[worker].add([asked, step]))
        self.arrived += [asked, step]
        session = self.workers[worker] = self.opened(worker)
        if how == "rerun":
            self.run_again(session, words)
            return
        for id in ids:
            if how == "answer":
                self.run(session.answer(id, words))
                self.arrived.append(_result(id, words))
            else:
                self.run(session.close_call(id, words))
        assert not {*ids} & {call.call.id for call in session.open_calls()}

    def run_again(self, session: Session, words: str) -> None:
        """All calls are run that wait, older ones too."""
        waiting = [call.call.id for call in session.open_calls()]
        made = [call for entry in self.arrived if entry for call in entry.get("tool_calls") or ()]
        asked = [{"id": call["id"], "given": call["function"]["arguments"]} for call in made]

        async def tool(call: OpenCall, given: str) -> str:
            assert {"id": call.call.id, "given": given} in asked
            return words

        assert self.run(session.rerun(tool)) == len(waiting)
        self.arrived += [_result(str(id), words) for id in waiting]
        assert session.open_calls() == []

    # Compactions that fail

    @rule(worker=WORKERS)
    def compact_with_a_strategy_that_fails(self, worker: int) -> None:
        session = self.workers[worker]
        self.run(session.refresh())
        before = _kept(session)
        session.use(Failing())
        report = self.run(session.compact())
        session.use("hybrid")
        assert [each.by for each in report.failures] == ["failing"]
        assert _kept(session) == before

    # What is taken out for good

    @rule(worker=WORKERS, words=WORDS, swept=st.booleans())
    def retain(self, worker: int, words: str, swept: bool) -> None:
        if len(self.arrived) < 6:
            return
        self.run(self.workers[1 - worker].remember("diet", words))
        self.facts["diet"] = words
        if swept:
            told = self.run(sweep(self.stores[worker], Retention(days=0), LATER))
            assert told.failed == {}
        else:
            self.run(self.workers[worker].retain_structure())
        self.everything_is_gone()

    @rule(worker=WORKERS, words=WORDS)
    def clear_what_has_a_name(self, worker: int, words: str) -> None:
        if len(self.arrived) < 12:
            return
        one, other = self.workers[worker], self.workers[1 - worker]
        entry = self.said(words)
        self.run(one.name("before"))
        self.run(other.clear())
        self.run(other.add(entry))
        self.everything_is_gone()
        self.facts.clear()
        self.arrived.append(entry)
        for session in (one, other):
            with pytest.raises(ConversationError, match="has no position 'before'"):
                self.run(session.rollback("before"))
            assert session.messages == [entry]

    @rule(worker=WORKERS)
    def clear(self, worker: int) -> None:
        if len(self.arrived) >= 12:
            self.run(self.workers[worker].clear())
            self.everything_is_gone()
            self.facts.clear()
            assert self.workers[worker].messages == []

    @rule(worker=WORKERS, words=WORDS, count=st.integers(0, 3))
    def delete_and_begin_anew(self, worker: int, words: str, count: int) -> None:
        """Another worker deletes the session, and may begin it anew; the first one does not go on in it."""
        old = self.workers[worker]
        self.run(old.refresh())
        if len(self.arrived) < 12 or not old.position:
            return
        self.run(self.stores[1 - worker].delete(self.id))
        anew = self.workers[1 - worker] = self.opened(1 - worker)
        self.arrived, self.facts, self.pinned = [self.said(words) for _ in range(count)], {}, {}
        for id in self.children:
            self.run(self.stores[worker].delete(id))
        self.children = {}
        self.erased |= {*self.there.values()}
        self.there.clear()
        for entry in self.arrived:
            self.run(anew.add(entry))
        for write in (old.add(self.said(words)), old.remember("home", words)):
            with pytest.raises(SessionError, match="was deleted"):
                self.run(write)
        self.workers[worker] = self.opened(worker)

    # What must hold after each

    @invariant()
    def what_was_erased_is_in_no_record(self) -> None:
        for id, entry in enumerate(self.arrived):
            if entry is None and id in self.there:
                self.erased.add(self.there.pop(id))
            elif entry is not None and str(entry["content"]).endswith("fill it up"):
                self.there[id] = entry["content"].encode()
        for place in self.places():
            text = b"".join(self.run(place.read(self.id)))
            assert not [said for said in self.erased if said in text]

    @invariant()
    def children_are_known_to_all(self) -> None:
        if self.stores:
            for session in self.workers:
                known = {each.id: (each.purpose, each.returned) for each in session.children}
                assert known == self.children
            if self.arrived:
                assert self.run(descendants(self.stores[0], self.id)) == [*self.children]


def _kept(session: Session) -> list[Entry]:
    """The messages that are as they arrived."""
    return [item.raw for item in session._history.state.items if not item.synthetic and not item.edited]


def _calling(ids: list[str]) -> dict[str, Any]:
    functions = [(id, {"name": "look_up", "arguments": f'{{"order": "{id}"}}'}) for id in ids]
    calls = [{"id": id, "type": "function", "function": function} for id, function in functions]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _result(id: str, words: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": words}
