"""The newest entry taken back: all is as if it had never arrived, and it may come again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ctxkit import ContextManager, ConversationError
from ctxkit.core.state import State
from tests.core.test_dropped_calls import WAYS, chat_call, chat_result, dropped, said
from tests.core.test_state import FORMATS, calls, result, user
from tests.oracle import violations


def popped(context: ContextManager) -> State:
    history = context._history
    assert history.do(history.popping) is not None
    return history.state


def plain(state: State) -> State:
    """A state without the count of what ever came, which goes on."""
    return replace(state, next_id=0)


@pytest.mark.parametrize("format", FORMATS)
def test_whatever_is_taken_back_leaves_what_was_there_before(format: Any) -> None:
    context = ContextManager(format, {"window": 20_000})
    script = [
        (user(format, "one"), ()),
        *((each, ("b",)) for each in calls(format, "a", "b")),
        (result(format, "a"), ()),
        (user(format, "two"), ()),
        (user(format, "three"), ()),
        *((each, ()) for each in calls(format, "c")),
        (result(format, "c"), ()),
    ]
    for entry, waiting in script:
        before = context._history.state
        context.add(entry, waiting=waiting)
        after = popped(context)
        assert plain(replace(after, waiting=before.waiting)) == plain(before)
        context.add(entry, waiting=waiting)


@pytest.mark.parametrize("format", FORMATS)
def test_a_call_waits_again_when_its_result_is_taken_back(format: Any) -> None:
    context = ContextManager(format, {"window": 20_000})
    context.add([user(format, "one"), *calls(format, "a")], waiting="a")
    context.add([user(format, "two"), *calls(format, "d"), user(format, "three")])
    for _ in range(2):
        context.add(result(format, "a"))
        if any(item.stands_for for item in context._history.state.items):
            with pytest.raises(ConversationError, match="late results"):
                popped(context)
            return
        state = popped(context)
        assert [(each.call.id, state.waits(each)) for each in state.open] == [("a", True), ("d", False)]


def test_a_call_that_nobody_said_to_wait_is_as_dead_as_before() -> None:
    context = ContextManager("openai-chat", {"window": 20_000})
    context.add([user("openai-chat", "one"), *calls("openai-chat", "a"), user("openai-chat", "two")])
    context.add(result("openai-chat", "a"))
    state = popped(context)
    assert [state.waits(each) for each in state.open] == [False]


@pytest.mark.parametrize(("format", "call", "result"), WAYS.values(), ids=WAYS)
def test_a_dropped_call_is_lost_again_when_its_late_result_is_taken_back(
    format: Any, call: Any, result: Any
) -> None:
    context = dropped(format, call)
    before = context._history.state
    assert len(before.lost) == 1
    for _ in range(2):
        context.add(result("W1"))
        assert context._history.state.lost == ()
        after = popped(context)
        assert [each.id for each in after.lost] == [each.id for each in before.lost]
        assert plain(replace(after, lost=before.lost)) == plain(before)
    context.add([result("W1"), said(format, "model", "In Oslo."), said(format, "user", "Thanks.")])
    messages = context.prepare_sync().messages
    assert "W1 is in Oslo" in str(messages)
    assert violations(format, messages) == []


def test_the_result_of_a_call_that_is_there_makes_none_lost() -> None:
    context = ContextManager("openai-chat", {"window": 20_000})
    context.add([said("openai-chat", "user", "go"), chat_call("W1"), chat_result("W1")])
    assert popped(context).lost == ()
