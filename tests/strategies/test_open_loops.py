"""Open tool loops of Anthropic that think now and then, or have system text in them: what may go, and what stands for it
(wire rules A16 and A24)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit import Budget, BudgetExceededError, ContextManager
from ctxkit.core.marks import is_marked
from ctxkit.providers import provider
from tests.oracle import kept, violations

STRATEGIES = ("drop-oldest", "selective", "extractive-summary", "digest-tool-results", "hybrid", "fallback")
FRAME = 60
"""Tokens of a stand-in, or of a summary that says nothing."""

Entries = list[dict[str, Any]]


def loop(steps: int, thinking: Sequence[int]) -> Entries:
    """A task, and steps of about 80 tokens of which some begin with thinking."""
    entries: Entries = [{"role": "user", "content": "Do it all."}]
    for number in range(steps):
        given = {"number": number, "text": "lorem ipsum " * 4}
        blocks: Entries = [{"type": "tool_use", "id": f"t{number}", "name": "f", "input": given}]
        if number in thinking:
            blocks.insert(0, {"type": "thinking", "thinking": "hm", "signature": "c2ln"})
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"result {number} " * 8}
        entries += [{"role": "assistant", "content": blocks}, {"role": "user", "content": [result]}]
    return entries


def size(entries: Entries) -> int:
    context = ContextManager("anthropic", Budget(window=100_000), "drop-oldest", plugins=())
    context.add(entries)
    return context.prepare_sync().report.tokens_before


def sent(entries: Entries, strategy: Any, window: int) -> Entries:
    context = ContextManager("anthropic", Budget(window=window), strategy, plugins=())
    context.add(entries)
    return context.prepare_sync().messages


def step(entries: Entries, number: int) -> Entries:
    """The two messages of a step."""
    return entries[1 + 2 * number : 3 + 2 * number]


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(st.integers(8, 40), st.sets(st.integers(1, 39)), st.integers(0, 400))
def test_what_fits_with_the_task_the_last_step_that_thinks_and_the_newest_is_not_refused(
    strategy: str, steps: int, thinking: set[int], spare: int
) -> None:
    """The smallest of all requests that the provider takes fits: whatever is tried first, it is reached."""
    entries = loop(steps, (0, *thinking))
    leader = max(number for number in (0, *thinking) if number < steps)
    newest = [] if leader == steps - 1 else step(entries, steps - 1)
    window = size([entries[0], *step(entries, leader), *newest]) + 2 * FRAME + spare
    messages = sent(entries, strategy, window)
    assert provider("anthropic").violations(messages) == []
    assert kept("anthropic", entries, messages) == []
    assert size(messages) <= window


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("thinking", [(0, 25), (0, 39), (25,), (39,), tuple(range(40))], ids=str)
@pytest.mark.parametrize("window", [2_600, 2_000, 1_400])
def test_a_loop_that_thinks_seldom_fits(strategy: str, thinking: tuple[int, ...], window: int) -> None:
    entries = loop(40, thinking)
    assert size(entries) > 2_600
    assert size(sent(entries, strategy, window)) <= window


@pytest.mark.parametrize("strategy", ["drop-oldest", "extractive-summary", "hybrid"])
def test_as_little_goes_as_may(strategy: str) -> None:
    """The target asks for about half of the steps; the next end is behind the 25th, the one after that the 38th."""
    entries = loop(40, (0, 2, 25, 38))
    assert sent(entries, strategy, 2_600)[-30:] == entries[-30:]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("thinking", [(0,), (0, 5)], ids=str)
@pytest.mark.parametrize("window", [2_000, 1_200])
def test_a_loop_keeps_its_last_step_that_thinks_when_what_is_behind_it_goes(
    strategy: str, thinking: tuple[int, ...], window: int
) -> None:
    entries = loop(40, thinking)
    messages = sent(entries, strategy, window)
    leader, *others = [each for each in messages if each in step(entries, thinking[-1])]
    assert [leader, *others] == step(entries, thinking[-1]), "whole, with its result"
    behind = messages[messages.index(leader) + 2 :]
    assert behind[0]["role"] == "assistant"
    assert is_marked(behind[0]["content"]), "no words of a user, which would begin a turn"
    assert behind[-2:] == entries[-2:]
    assert kept("anthropic", entries, messages) == []


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(
    st.integers(8, 60),
    st.sampled_from([(), (0,), (0, 20, 40), tuple(range(60))]),
    st.sets(st.integers(-1, 59), max_size=4),
    st.sets(st.integers(0, 30), max_size=2),
    st.sets(st.integers(0, 40), max_size=2),
    st.integers(1_000, 3_000),
)
def test_each_request_of_a_loop_is_taken_and_begins_with_the_one_before(
    strategy: str,
    steps: int,
    thinking: tuple[int, ...],
    told: set[int],
    pinned: set[int],
    spoken: set[int],
    window: int,
) -> None:
    """Steps that think always, now and then, once or never; system text behind the task (-1) and behind steps; pins;
    words of a user beside results, behind which a step thinks."""
    entries = loop(steps, (*thinking, *(number + 1 for number in spoken if thinking)))
    for number in (number for number in spoken if number < steps):
        step(entries, number)[1]["content"].append({"type": "text", "text": "Go on."})
    context = ContextManager("anthropic", Budget(window=window), strategy, plugins=())
    said: Entries = []
    before: Entries = []
    for number in range(-1, steps):
        came = entries[:1] if number < 0 else step(entries, number)
        came = [*came, {"role": "system", "content": f"Mode {number}."}] if number in told else came
        context.add(came)
        if number in pinned:
            context.pin(len(said))
        said += came
        request = context.prepare_sync()
        assert provider("anthropic").violations(request.messages) == []
        assert kept("anthropic", said, request.messages) == []
        assert request.report.compacted or request.messages[: len(before)] == before
        before = request.messages


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("thinking", [(), (0,), tuple(range(40))], ids=["never", "once", "always"])
@pytest.mark.parametrize("at", [1, 3, 7], ids=str)
def test_a_loop_with_system_text_in_it_fits_as_one_without(
    strategy: str, thinking: tuple[int, ...], at: int
) -> None:
    """Behind the task, behind the first step, behind the third (wire rule A24)."""
    entries = loop(40, thinking)
    with_text = [*entries[:at], {"role": "system", "content": "The user is in plan mode."}, *entries[at:]]
    for window in (2_600, 1_400, 800):
        messages = sent(with_text, strategy, window)
        assert provider("anthropic").violations(messages) == []
        assert kept("anthropic", with_text, messages) == []
        assert size(messages) <= window


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_turns_with_system_text_behind_a_pinned_task_go(strategy: str) -> None:
    """Where all goes that is behind the text, what stands for it is an assistant message: a user message may not follow."""
    context = ContextManager("anthropic", Budget(window=1_500), strategy, plugins=(), strict=True)
    turn = loop(12, ())
    for number in range(3):
        context.add([turn[0], {"role": "system", "content": f"Mode {number}."}])
        if not number:
            context.pin(0)
        for at in range(12):
            context.add([_renamed(each, f"{number}_") for each in step(turn, at)])
        context.add({"role": "assistant", "content": "Done."})
    context.add({"role": "user", "content": "Thanks."})
    messages = context.prepare_sync().messages
    assert messages[0] == turn[0]
    assert {"role": "system", "content": "Mode 0."} in messages
    assert provider("anthropic").violations(messages) == []
    assert violations("anthropic", messages) == []


def _renamed(entry: dict[str, Any], front: str) -> dict[str, Any]:
    """A message with other ids of calls."""
    names = ("id", "tool_use_id")
    blocks = [
        {key: front + value if key in names else value for key, value in each.items()}
        for each in entry["content"]
    ]
    return {**entry, "content": blocks}


def test_pinned_steps_are_stepped_over() -> None:
    entries = loop(30, (0, 10, 20))
    context = ContextManager("anthropic", Budget(window=1_900), "drop-oldest", plugins=(), strict=True)
    context.add(entries)
    context.pin(9)
    messages = context.prepare_sync().messages
    assert entries[9] in messages
    assert messages[1:3] == entries[1:3], "the step that thinks before the pinned one, which does not"
    assert provider("anthropic").violations(messages) == []
    assert kept("anthropic", entries, messages) == []
    assert messages[-20:] == entries[-20:]


def test_an_error_names_the_step_that_a_loop_has_to_begin_with() -> None:
    entries = loop(12, (0,))
    entries[1]["content"][0] |= {"thinking": "hm " * 400, "signature": "c2ln"}
    with pytest.raises(BudgetExceededError) as raised:
        sent(entries, "drop-oldest", 400)
    assert "messages[1] (the tool loop has to begin with its thinking, A16)" in str(raised.value)


def test_steps_of_a_low_region_go_in_order_in_a_loop_that_thinks() -> None:
    entries = loop(30, (0, 10, 20))
    budget = Budget(window=1_900, regions={"logs": {"max": 1_900, "priority": -1}})
    context = ContextManager("anthropic", budget, "drop-oldest", plugins=(), strict=True)
    context.add(entries[:1])
    for number in range(30):
        step = entries[1 + 2 * number : 3 + 2 * number]
        context.add(step, region="logs" if number in (4, 9, 15) else "")
    messages = context.prepare_sync().messages
    assert provider("anthropic").violations(messages) == []
    assert messages[2:] == entries[-40:]
