"""What was taken back while a compaction was planned is found in what that compaction writes."""

from __future__ import annotations

import asyncio

import pytest

from ctxkit import Budget, ContextManager, Fact
from ctxkit.engine import Outcome
from ctxkit.models.question import Question
from ctxkit.triggers import ASKED
from ctxkit.withdrawn import forgotten, mentions_withdrawn

PASSPORT = "P-7741902"
TALK = [
    {"role": "user", "content": f"For bookings: my passport number is {PASSPORT}." + " I like the sea." * 40},
    {"role": "assistant", "content": "Saved for bookings." + " The sea is warm in June." * 40},
    {"role": "user", "content": "Book Lisbon on the 3rd."},
    {"role": "assistant", "content": "Booked."},
    {"role": "user", "content": "What do you know about me?"},
]


def planned(context: ContextManager) -> Outcome:
    """A compaction as it would be, not committed."""
    preparation = context._preparation
    view = preparation.view(preparation.history.state)
    return asyncio.run(preparation.planned(view, ASKED))


@pytest.fixture
def context() -> ContextManager:
    def answers(asked: Question) -> str:
        told = f"the passport number is {PASSPORT}; " if PASSPORT in asked.text else ""
        return f"Facts:\n- {told}the user likes the sea\nDone:\n- booked Lisbon"

    made = ContextManager(
        "openai-chat", Budget(window=1_000, aim_for=200, min_gain=0), "summarize", ask=answers
    )
    made.add(TALK)
    made.remember("passport", PASSPORT)
    made.remember("seat", "aisle seat")
    return made


def test_a_value_that_was_taken_back_meanwhile_is_named(context: ContextManager) -> None:
    outcome = planned(context)
    assert mentions_withdrawn(outcome, context._history.state) == ""
    context.forget("passport")
    assert mentions_withdrawn(outcome, context._history.state) == PASSPORT
    assert mentions_withdrawn(planned(context), context._history.state) == ""


def test_what_else_was_taken_back_is_no_hindrance(context: ContextManager) -> None:
    outcome = planned(context)
    context.forget("seat")
    assert mentions_withdrawn(outcome, context._history.state) == ""


def test_what_another_fact_still_says_was_not_taken_back(context: ContextManager) -> None:
    context.remember("document", PASSPORT)
    outcome = planned(context)
    context.forget("passport")
    assert mentions_withdrawn(outcome, context._history.state) == ""


def test_which_values_are_forgotten() -> None:
    gone = Fact("passport", "", by="user", retracted=True)
    said = Fact("passport", PASSPORT)
    assert forgotten([said, gone]) == {PASSPORT}
    assert forgotten([said, gone, Fact("passport", "P-1")]) == {PASSPORT}
    assert forgotten([said, Fact("passport", "P-1234"), gone]) == {PASSPORT, "P-1234"}
    assert forgotten([said, Fact("passport", "P-1234")]) == frozenset()
    assert forgotten([said, gone, said]) == frozenset()
    assert forgotten([Fact("passport", "no"), gone]) == frozenset()
    assert forgotten([said, Fact("passport", "", by="keep-key-facts", retracted=True)]) == frozenset()


def test_what_is_forgotten_while_a_summary_is_made_is_in_no_request() -> None:
    """P8, case 020: the summary that tells it is not taken; the next one is made without it."""

    def answers(asked: Question) -> str:
        context.forget("passport")
        told = f"the passport number is {PASSPORT}; " if PASSPORT in asked.text else ""
        return f"Facts:\n- {told}the user likes the sea\nDone:\n- booked Lisbon"

    context = ContextManager(
        "openai-chat", Budget(window=1_000, aim_for=200, min_gain=0), "summarize", ask=answers
    )
    context.remember("passport", PASSPORT)
    context.add(TALK)
    context.compact()
    context.compact()
    assert PASSPORT not in str(context.prepare_sync().messages)
