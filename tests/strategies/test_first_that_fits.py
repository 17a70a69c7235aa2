"""Which step first-that-fits takes, by the public API."""

from __future__ import annotations

from typing import Any

from ctxkit import Budget

LOG = "2031-02-03 01:14 WARN row skipped, column price empty, sheet 3\n" * 60


def first(*steps: Any) -> dict[str, Any]:
    return {"kind": "first-that-fits", "steps": list(steps)}


CLEAR = {"kind": "clear-tool-results", "keep": 0}
SLIDE = {"kind": "sliding-window", "keep_turns": 1}


def logs(talk: Any) -> Any:
    return (
        talk.user("First.").step(LOG).assistant("Done.").user(f"Second. {LOG}").assistant("Done.").user("So?")
    )


def test_gentlest_that_is_enough_is_taken(talk: Any) -> None:
    report = (
        logs(talk).manager(Budget(window=2_500, aim_for=2_000), first(CLEAR, SLIDE)).prepare_sync().report
    )
    assert {edit.by for edit in report.edits} == {"clear-tool-results"}


def test_one_that_is_not_enough_leaves_no_trace(talk: Any) -> None:
    request = logs(talk).manager(Budget(window=1_000), first(CLEAR, SLIDE)).prepare_sync()
    assert {edit.by for edit in request.report.edits} == {"sliding-window"}
    assert request.messages == talk.entries[-1:]


def test_closest_is_taken_when_none_is_enough(talk: Any) -> None:
    budget = Budget(window=5_000, aim_for=1)
    report = logs(talk).manager(budget, first(CLEAR, SLIDE, "drop-reasoning")).compact()
    assert {edit.by for edit in report.edits} == {"sliding-window"}


def test_nothing_is_done_when_nothing_helps(chat: Any) -> None:
    chat.user("So?")
    assert chat.manager(Budget(window=5_000, aim_for=1), first(CLEAR, SLIDE)).compact().edits == ()


def test_nothing_is_done_when_every_target_is_met(talk: Any) -> None:
    context = logs(talk).manager(Budget(window=50_000), first(CLEAR, SLIDE))
    assert [context.compact().edits for _ in range(3)] == [(), (), ()]


def test_turns_above_the_limit_count_too() -> None:
    from ctxkit import Budget, ContextManager

    steps = [{"kind": "sliding-window", "keep_turns": 8}, {"kind": "sliding-window", "keep_turns": 2}]
    context = ContextManager(
        "openai-chat", Budget(window=50_000, context_limit=2), {"kind": "first-that-fits", "steps": steps}
    )
    for turn in range(9):
        context.add({"role": "user", "content": f"question {turn} " + "word " * 30})
        context.add({"role": "assistant", "content": f"answer {turn} " + "word " * 30})
    messages = context.prepare_sync().messages
    assert sum(message["role"] == "user" and "question" in message["content"] for message in messages) == 2
