"""How entries come into a conversation: which call each result answers, and where late ones are put."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit import Budget, ContextManager, ProviderFormatError
from ctxkit.core.arrivals import Arrival, append
from ctxkit.core.items import Call
from ctxkit.core.state import Meter, OpenCall, State
from ctxkit.providers import provider
from tests.core.test_dropped_calls import WAYS, chat_call, chat_result, dropped, gemini_result, said
from tests.oracle import violations


def gemini_calls(*ids: str) -> dict[str, Any]:
    parts = [{"functionCall": {"name": "find", "args": {}, **({"id": id} if id else {})}} for id in ids]
    return {"role": "model", "parts": parts}


def gemini_results(*ids: str) -> dict[str, Any]:
    return {"role": "user", "parts": [part for id in ids for part in gemini_result(id or "?", id)["parts"]]}


@pytest.mark.parametrize(
    "given", [["2", "1"], ["1", "2"], ["", "2"], ["2", ""], ["", "1"], ["1", ""], ["", ""]]
)
def test_the_rules_of_a_format_and_what_is_taken_in_agree_which_call_a_response_answers(
    given: list[str],
) -> None:
    entries = [said("gemini", "user", "go"), gemini_calls("2", "1"), gemini_results(*given)]
    assert violations("gemini", entries) == []
    assert provider("gemini").violations(entries) == []
    context = ContextManager("gemini", Budget(window=4_000))
    context.add(entries)
    assert context._history.state.open == ()
    assert context.prepare_sync().messages == entries


@pytest.mark.parametrize("given", [["2", "2"], ["", "", ""], ["3", ""], ["", "2", "1"]])
def test_what_answers_no_call_is_refused_by_both(given: list[str]) -> None:
    entries = [said("gemini", "user", "go"), gemini_calls("2", "1"), gemini_results(*given)]
    assert provider("gemini").violations(entries) != []
    context = ContextManager("gemini", Budget(window=4_000))
    with pytest.raises(ProviderFormatError):
        context.add(entries)
    assert context._history.state == State()


def test_what_is_left_out_leaves_the_open_calls_as_they_were() -> None:
    """The first of calls without ids would else be the last of them, and get the last result."""
    context = ContextManager("gemini", Budget(window=4_000))
    context.add([said("gemini", "user", "go"), gemini_calls("", "", "b")])
    before = context._history.state
    assert before.open == tuple(OpenCall(Call(id, "find"), 1, 1) for id in (None, None, "b"))
    meter = Meter(provider("gemini"), len)
    state, arrived, told = append(before, [Arrival(gemini_results("b", "", "", ""))], meter, lenient=True)
    assert (state.open, arrived) == (before.open, [])
    assert "was left out" in told[0]


@pytest.mark.parametrize(("format", "call", "result"), WAYS.values(), ids=WAYS)
def test_a_late_result_of_a_dropped_call_stands_before_a_step_that_is_open(
    format: Any, call: Any, result: Any
) -> None:
    context = dropped(format, lambda order: call(order, "c1"))
    context.add([said(format, "user", "find W2"), call("W2", "c2")])
    context.add(result("W1", "c1"))
    context.add(result("W2", "c2"))
    messages = context.prepare_sync().messages
    assert "W1 is in Oslo" in str(messages[-3])
    assert messages[-2:] == [call("W2", "c2"), result("W2", "c2")]
    assert violations(format, messages) == []


class Chat:
    """A conversation with a call that waits over turns."""

    def __init__(self) -> None:
        self.context = ContextManager("openai-chat", Budget(window=4_000))
        self.add(said("openai-chat", "user", "go"), chat_call("W1", "c1"), waiting=["c1"])
        self.add(said("openai-chat", "user", "and?"))

    def add(self, *entries: Any, waiting: Any = ()) -> None:
        self.context.add(list(entries), waiting=waiting)

    @property
    def waits(self) -> list[bool]:
        state = self.context._history.state
        return [state.waits(call) for call in state.open]


def test_the_id_of_a_call_that_waited_is_not_that_of_a_later_one() -> None:
    chat = Chat()
    assert chat.waits == [True]
    chat.add(chat_result("W1", "c1"), chat_call("W2", "c1"), said("openai-chat", "user", "and?"))
    assert chat.waits == [False]
    chat.add(chat_result("W2", "c1"), chat_call("W3", "c1"), waiting=["c1"])
    chat.add(said("openai-chat", "user", "and?"))
    assert chat.waits == [True]


def test_a_call_waits_on_when_another_has_its_id() -> None:
    chat = Chat()
    chat.add(chat_call("W2", "c1"), said("openai-chat", "user", "and?"))
    assert chat.waits == [True, True]


def test_a_call_may_be_said_to_wait_before_it_is_there() -> None:
    chat = Chat()
    chat.add(said("openai-chat", "model", "Well."), waiting=["c2"])
    chat.add(chat_call("W2", "c2"), said("openai-chat", "user", "and?"))
    assert chat.waits == [True, True]
