"""Open tool loops of Anthropic that think now and then: where what goes may end (wire rule A16)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit import Budget, BudgetExceededError, ContextManager
from ctxkit.providers import provider

STRATEGIES = ("drop-oldest", "selective", "extractive-summary", "digest-tool-results", "hybrid")
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


def ends(steps: int, thinking: Sequence[int]) -> list[int]:
    """How many of the oldest steps may go, in a loop that began with thinking: a step that thinks follows."""
    return [number for number in range(1, steps) if number in thinking]


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(st.integers(8, 40), st.sets(st.integers(1, 39)), st.integers(0, 400))
def test_what_fits_without_the_oldest_steps_is_not_refused(
    strategy: str, steps: int, thinking: set[int], spare: int
) -> None:
    """The smallest of all requests that the provider takes fits: whatever is tried first, it is reached."""
    entries = loop(steps, (0, *thinking))
    smallest = max(ends(steps, (0, *thinking)), default=0)
    window = size([entries[0], *entries[1 + 2 * smallest :]]) + FRAME + spare
    messages = sent(entries, strategy, window)
    assert provider("anthropic").violations(messages) == []
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


@pytest.mark.parametrize("strategy", ["drop-oldest", "extractive-summary"])
def test_the_last_end_is_taken_when_no_later_one_is_there(strategy: str) -> None:
    entries = loop(40, (0, 5))
    messages = sent(entries, strategy, size(entries) - 200)
    assert messages[-70:] == entries[-70:]
    assert len(messages) == 2 + 70
    with pytest.raises(BudgetExceededError):
        sent(entries, strategy, size(entries) // 2)


def test_pinned_steps_are_stepped_over() -> None:
    entries = loop(30, (0, 10, 20))
    context = ContextManager("anthropic", Budget(window=1_900), "drop-oldest", plugins=(), strict=True)
    context.add(entries)
    context.pin(9)
    messages = context.prepare_sync().messages
    assert entries[9] in messages
    assert provider("anthropic").violations(messages) == []
    assert messages[-20:] == entries[-20:]


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
