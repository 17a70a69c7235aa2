"""What happens to a conversation while a compaction of it is planned, and which compactions can be gone back to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ctxkit import Budget, ContextManager, ConversationError, Drop, Plan, ProviderFormatError, View
from tests.core.test_state import calls, result, user
from tests.test_containment import manager

WAIT_S = 20


class Held:
    """A conversation whose strategy drops its oldest message that is free, and can be held while it plans."""

    def __init__(self) -> None:
        self.views: list[View] = []
        self._hold: threading.Event | None = None
        self._asked = threading.Event()
        self.context: ContextManager = manager(self._plan)

    def _plan(self, view: View) -> Plan:
        self.views.append(view)
        if self._hold is not None:
            self._asked.set()
            assert self._hold.wait(WAIT_S)
        return Plan.of(Drop((view.free()[0].id,), "the oldest"))

    def compact_during(self, happens: Callable[[], object]) -> Any:
        """Compact, and let something happen between the plan and its end; the report."""
        self._hold = threading.Event()
        self._asked.clear()
        with ThreadPoolExecutor(1) as pool:
            compacted = pool.submit(self.context.compact)
            assert self._asked.wait(WAIT_S)
            happens()
            hold, self._hold = self._hold, None
            hold.set()
            return compacted.result(WAIT_S)

    @property
    def ids(self) -> list[int]:
        """The messages that are there, by their places in the input."""
        return [item.id for item in self.context._history.state.items if item.id >= 0]


def test_a_plan_made_before_an_undo_is_made_anew() -> None:
    held = Held()
    held.context.compact()
    held.compact_during(held.context.undo)
    assert [view.units[0].id for view in held.views] == [0, -1, 0]
    assert held.ids == list(range(1, 9))
    held.context.undo()
    assert held.ids == list(range(9))


def test_a_plan_made_before_a_redo_is_made_anew() -> None:
    held = Held()
    held.context.compact()
    held.context.undo()
    held.compact_during(held.context.redo)
    assert [view.units[0].id for view in held.views] == [0, 0, -1]
    assert held.ids == list(range(2, 9))


def test_a_new_compaction_leaves_none_that_could_be_redone() -> None:
    held = Held()
    held.context.compact()
    held.context.undo()
    held.context.compact()
    with pytest.raises(ConversationError, match="no undone compaction to redo"):
        held.context.redo()
    assert held.ids == list(range(1, 9))


def test_a_pin_that_is_taken_off_while_a_plan_is_made_does_not_come_back() -> None:
    held = Held()
    held.context.pin(2)
    assert held.compact_during(lambda: held.context.unpin(2)).compacted
    assert held.context.explain()[2].fate != "pinned"
    held.context.compact()
    held.context.compact()
    assert 2 not in held.ids


def test_a_pin_that_is_set_while_a_plan_is_made_holds() -> None:
    held = Held()
    assert held.compact_during(lambda: held.context.pin(0)).compacted
    assert held.ids == [0, *range(2, 9)]
    assert held.context.explain()[0].fate == "pinned"


def test_calls_that_come_while_a_plan_is_made_wait_as_their_caller_says() -> None:
    """The id of one was that of a call that waited and was answered before."""
    held, format = Held(), "openai-chat"
    held.context.add([*calls(format, "a")], waiting=["a"])
    held.context.add([user(format, "and?"), result(format, "a"), user(format, "now?")])

    def happens() -> None:
        held.context.add(calls(format, "a", "z"), waiting=["z"])
        held.context.add(user(format, "and?"))

    assert held.compact_during(happens).compacted
    state = held.context._history.state
    assert [(each.call.id, state.waits(each)) for each in state.open] == [("a", False), ("z", True)]


def test_a_report_counts_messages_in_the_whole_input_and_says_what_was_done_not_what_might_be() -> None:
    context = ContextManager("openai-chat", Budget(window=8_000), "drop-oldest", repair=True)
    flawed = {"role": "assistant", "content": "x", "tool_calls": []}
    orphan = {"role": "tool", "tool_call_id": "nobody", "content": "x"}
    context.add([user("openai-chat", "a"), flawed, user("openai-chat", "b")])
    context.add(flawed)
    context.add([*calls("openai-chat", "c1"), user("openai-chat", "c")])
    context.add(result("openai-chat", "c1"))
    context.add(orphan)
    context.add([user("openai-chat", "d"), flawed])
    left_out = "openai-chat: messages[7]: result for 'nobody', which answers no call that waits"
    assert context.prepare_sync().report.normalised == (
        "messages[1]: C7: lost its empty list of tool calls",
        "messages[3]: C7: lost its empty list of tool calls",
        "the late result in messages[6] was moved to its call",
        f"entry 7 was left out: {left_out}",
        "messages[8]: C7: lost its empty list of tool calls",
    )


def test_an_error_counts_in_what_was_given_and_says_how_it_is_mended() -> None:
    context = ContextManager("openai-chat", Budget(window=8_000), "drop-oldest")
    context.add([user("openai-chat", "a"), user("openai-chat", "b")])
    orphan = {"role": "tool", "tool_call_id": "nobody", "content": "x"}
    with pytest.raises(
        ProviderFormatError, match=r"answers no call .*with repair=True it is mended"
    ) as refused:
        context.add([user("openai-chat", "c"), orphan])
    assert refused.value.path == "messages[1]"
