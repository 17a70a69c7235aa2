"""Matching: which items of a run its session has not got yet."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit import Budget, ContextManager
from ctxkit.openai_agents.matching import Matching
from ctxkit.providers.openai_responses_keys import key_of

SAID: list[dict[str, Any]] = [
    {"role": "user", "content": "yes"},
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "it is " + "red " * 400},
    {"role": "assistant", "content": "Red."},
    {"role": "user", "content": "yes"},
]


def fresh(run: list[dict[str, Any]], saved: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    context = ContextManager("openai-responses", Budget(window=9_000))
    context.add(saved)
    return Matching(context._history).unsaved(run)


@pytest.mark.parametrize("saved", range(1, len(SAID) + 1))
def test_the_rest_of_the_run_is_not_saved(saved: int) -> None:
    if saved in (2, 3):
        return  # the runner saves no half steps
    assert fresh(SAID, SAID[:saved]) == SAID[saved:]


def test_a_run_without_all_of_the_session_is_another_conversation() -> None:
    assert fresh(SAID[4:], SAID[:5]) is None
    assert fresh([{"role": "user", "content": "Summary"}], SAID[:5]) is None
    assert fresh(SAID, []) is None
    assert fresh([], SAID) is None


def test_words_that_were_said_twice_count_twice() -> None:
    yes = SAID[0]
    assert fresh([yes, yes, yes], [yes, yes]) == [yes]
    assert fresh([yes, yes], [yes, yes]) == []


def test_an_item_is_known_by_its_original_when_it_was_shortened() -> None:
    strategy = {"kind": "trim-tool-results", "max_tokens": 40}
    context = ContextManager("openai-responses", Budget(window=9_000, aim_for=100), strategy)
    context.add(SAID)
    context.add(
        [
            {"role": "assistant", "content": "Sure."},
            {"type": "function_call", "call_id": "c2", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c2", "output": "blue"},
        ]
    )
    context.compact()
    shown, new = context._history.entries(context._history.state), {"role": "user", "content": "New"}
    assert str(shown).count("red") < 200
    for run in (shown, [*SAID, *shown[6:]]):
        assert Matching(context._history).unsaved([*run, new]) == [new]


def test_a_run_may_hold_what_a_compaction_left_out() -> None:
    context = ContextManager(
        "openai-responses", Budget(window=9_000), {"kind": "sliding-window", "keep_turns": 1}
    )
    context.add([*SAID, {"role": "assistant", "content": "Sure."}])
    context.compact()
    run, matching = [*SAID, {"role": "assistant", "content": "Sure."}], Matching(context._history)
    assert len(context._history.state.items) == 2
    assert matching.unsaved([*run, SAID[0]]) == [SAID[0]]
    assert matching.unsaved(run[-2:]) == []
    assert matching.unsaved([{"role": "user", "content": "a note of a filter"}, *run]) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"role": "user", "content": "Hi"}, {"type": "message", "role": "user", "content": "Hi"}),
        (
            {"role": "user", "content": "Hi"},
            {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        ),
        (SAID[1], {"type": "reasoning", "summary": []}),
        (SAID[2], {**SAID[2], "id": "__fake_id__", "provider_data": {"model": "x"}}),
        (SAID[3], {**SAID[3], "output": "[shortened]"}),
    ],
)
def test_one_item_has_one_key_however_it_is_written(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert key_of(one) == key_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hi"}),
        ({"role": "user", "content": "Hi"}, {"role": "user", "content": "hi"}),
        (SAID[2], SAID[3]),
        (SAID[2], {**SAID[2], "call_id": "c2"}),
        (SAID[1], {**SAID[1], "encrypted_content": "abc"}),
    ],
)
def test_different_items_have_different_keys(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert key_of(one) != key_of(other)
