"""What a summary stands for, read again from the originals: each in its turn, less what was taken out for good."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit import Budget, ContextManager, MemoryStore, Session
from ctxkit.core.view import View
from ctxkit.models.question import Question
from ctxkit.summaries.parts import original_units, spoken
from tests.strategies.scribes import Schedule, good, quoted

STRATEGY = {"kind": "summarize", "reanchor_every": 2, "keep_turns": 1, "timeout_s": None}
BUDGET = Budget(window=900, reply=100)


def question(number: int) -> dict[str, Any]:
    return {
        "role": "user",
        "content": f"Question {number}: what about room {number}? " + "It is large. " * 12,
    }


def answer(number: int) -> dict[str, Any]:
    return {"role": "assistant", "content": f"Answer {number}: room {number} is done. " + "It is dry. " * 12}


def talked(context: ContextManager, turns: range) -> list[Any]:
    """Requests for each turn; their failures."""
    failures: list[Any] = []
    for number in turns:
        context.add(question(number))
        failures += context.prepare_sync().report.failures
        context.add(answer(number))
    return failures


def again(asked: list[Question]) -> list[list[str]]:
    """What was shown to the model each time that it read the first question again."""
    shown = [quoted(each) for each in asked]
    return [lines for lines in shown if any(line.startswith("Question 1:") for line in lines)][1:]


@pytest.mark.parametrize("taken_out", ["nothing", "pop", "clear", "retention"])
def test_originals_are_read_again_whatever_was_taken_out_before_them(taken_out: str) -> None:
    asked = Schedule([good])
    context = ContextManager("openai-chat", BUDGET, STRATEGY, ask=asked, strict=True)
    history = context._history
    context.add([{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "ZEBRA4711."}])
    step = {"pop": history.popping, "clear": history.clearing, "retention": history.retaining}.get(taken_out)
    if step is not None:
        history.do(step)
    assert talked(context, range(1, 30)) == []
    assert history.state.compactions >= 4
    read = again(asked.questions)
    assert read
    for lines in read:
        assert [line for line in lines if line.startswith("Question 1:")] == [question(1)["content"]]
        assert ("ZEBRA4711." in lines) is (taken_out == "nothing")


async def test_what_a_session_has_not_read_is_read_at_once_and_no_more() -> None:
    """A session that was opened from its store: what the summary stands for is paged in, what was popped is not missed."""
    store = MemoryStore()

    async def opened() -> Session:
        return await Session.open(
            "s", store, format="openai-chat", budget=BUDGET, strategy=STRATEGY, ask=asked, strict=True
        )

    asked = Schedule([good])
    session = await opened()
    await session.add([{"role": "user", "content": "Hello."}, answer(0)])
    await session.pop()
    number = 0
    while session._history.state.compactions < 1 or number < 6:
        number += 1
        await session.add([question(number)])
        await session.prepare()
        await session.add([answer(number)])
    session = await opened()
    before, loads = session._history.state.compactions, []
    load = session._log.load
    session._log.load = lambda ids: loads.append(tuple(ids)) or load(loads[-1])  # type: ignore[method-assign,func-returns-value,return-value]
    while session._history.state.compactions < before + 2:
        number += 1
        await session.add([question(number)])
        await session.prepare()
        await session.add([answer(number)])
    assert again(asked.questions)
    assert len(loads) <= 2
    assert all(1 not in ids for ids in loads)


def test_each_original_stands_in_its_turn_with_its_author_and_its_region() -> None:
    context = ContextManager("openai-chat", BUDGET, STRATEGY, ask=good)
    context.add({"role": "user", "content": "Hello."}, author="Ann")
    context.add({"role": "user", "content": "The rules: " + "no smoking. " * 20}, region="retrieved")
    talked(context, range(2, 9))
    view: View = context._preparation.view(context._history.state)
    summaries = [item for item in view.state.items if item.made == "summary"]
    units = original_units(view, summaries)
    assert [unit.turn for unit in units][:3] == [1, 2, 3]
    told = [(each.turn, each.said.by, each.said.writer.author) for each in spoken(view, units)]
    assert told[:4] == [(1, "user", "Ann"), (2, "tool", ""), (3, "user", ""), (3, "assistant", "")]
