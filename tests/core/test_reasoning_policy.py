"""Models that tie their thinking to all that stands before it (wire rule A18)."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit import Budget, BudgetExceededError, ContextManager
from ctxkit.providers import provider
from tests.oracle import violations

NEWER = "claude-opus-5.5"


def finished_turn(number: int) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": f"question {number} " + "word " * 40},
        {"role": "assistant", "content": [thinking(number), {"type": "text", "text": f"answer {number}"}]},
    ]


def thinking(number: int) -> dict[str, Any]:
    return {"type": "thinking", "thinking": f"thought {number}", "signature": f"c2lnbmF0dXJl{number}"}


def open_loop() -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    return [
        {"role": "user", "content": "look it up"},
        {"role": "assistant", "content": [thinking(99), call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "found"}]},
    ]


def manager(model: str | None, **settings: Any) -> ContextManager:
    return ContextManager("anthropic", Budget(window=400, min_gain=0), "drop-oldest", model=model, **settings)


def thoughts(messages: list[dict[str, Any]]) -> list[str]:
    return [
        block["thinking"]
        for message in messages
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "thinking"
    ]


def test_an_older_model_keeps_the_thinking_behind_a_change() -> None:
    context = manager("claude-sonnet-4.5")
    for number in range(12):
        context.add(finished_turn(number))
    context.add({"role": "user", "content": "next"})
    request = context.prepare_sync()
    assert request.report.compacted
    assert thoughts(request.messages)


def test_a_newer_model_loses_the_thinking_behind_a_change_and_the_report_says_so() -> None:
    context = manager(NEWER)
    for number in range(12):
        context.add(finished_turn(number))
    context.add({"role": "user", "content": "next"})
    request = context.prepare_sync()
    assert request.report.compacted
    assert thoughts(request.messages) == []
    stripped = [edit for edit in request.report.edits if edit.kind == "Strip"]
    assert stripped
    assert {edit.by for edit in stripped} == {"binds-reasoning"}
    context.add({"role": "assistant", "content": [thinking(50), {"type": "text", "text": "fresh"}]})
    context.add({"role": "user", "content": "and then?"})
    assert thoughts(context.prepare_sync().messages) == ["thought 50"]


def test_a_newer_model_with_an_open_thinking_loop_is_not_compacted() -> None:
    context = manager(NEWER)
    for number in range(12):
        context.add(finished_turn(number))
    context.add(open_loop())
    with pytest.raises(BudgetExceededError):
        context.prepare_sync()
    assert {each.fate for each in context.explain()} == {"present", "pinned"}


def test_with_the_vendors_drop_option_the_open_loop_is_compacted_too() -> None:
    context = manager(NEWER, reasoning="keep")
    for number in range(12):
        context.add(finished_turn(number))
    context.add(open_loop())
    request = context.prepare_sync()
    assert request.report.compacted
    assert "thought 99" in thoughts(request.messages)


def test_refuse_changes_nothing_before_any_thinking() -> None:
    context = manager(NEWER, reasoning="refuse")
    for number in range(12):
        context.add(finished_turn(number))
    context.pin(-1)
    context.add({"role": "user", "content": "next"})
    with pytest.raises(BudgetExceededError):
        context.prepare_sync()


@pytest.mark.parametrize("strategy", ["hybrid", "drop-oldest", "digest-tool-results"])
def test_a_loop_that_thinks_now_and_then_never_begins_without_thinking(strategy: str) -> None:
    context = ContextManager("anthropic", Budget(window=1500), strategy)
    context.add({"role": "user", "content": "go"})
    adapter = provider("anthropic")
    for number in range(30):
        call = {"type": "tool_use", "id": f"t{number}", "name": "f", "input": {"q": "w " * 60}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "ok " * 60}
        blocks = [thinking(number), call] if number % 3 == 0 else [call]
        context.add([{"role": "assistant", "content": blocks}, {"role": "user", "content": [result]}])
        messages = context.prepare_sync().messages
        assert adapter.violations(messages) == []
        assert violations("anthropic", messages) == []
