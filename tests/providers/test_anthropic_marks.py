"""Where what stands for left out Anthropic messages may stand, and as whose words (wire rules A16 and A24)."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.providers import provider

Entry = dict[str, Any]

USER: Entry = {"role": "user", "content": "Do it."}
SYSTEM: Entry = {"role": "system", "content": "Plan mode."}
ANSWER: Entry = {"role": "assistant", "content": "Done."}
MARK: Entry = {"role": "user", "content": "[ctxkit 000000] 2 earlier entries left out here: ctx:000000"}
SAID: Entry = {**MARK, "role": "assistant"}


def step(name: str, kind: str = "") -> list[Entry]:
    thoughts: dict[str, Entry] = {
        "thinking": {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        "redacted_thinking": {"type": "redacted_thinking", "data": "c2ln"},
    }
    call = {"type": "tool_use", "id": name, "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": name, "content": "ok"}
    blocks = [thoughts[kind], call] if kind else [call]
    return [{"role": "assistant", "content": blocks}, {"role": "user", "content": [result]}]


def arranged(*entries: Entry, format: str = "anthropic") -> list[Entry]:
    placed = provider(format).arranged(entries, [entry is MARK for entry in entries])
    assert sorted(at for at, _ in placed) == list(range(len(entries)))
    assert all(entry is entries[at] for at, entry in placed if entries[at] is not MARK)
    return [entry for _, entry in placed]


THINKS = ("thinking", "redacted_thinking")


@pytest.mark.parametrize("kind", THINKS)
def test_behind_results_of_a_loop_that_thinks_the_model_says_it(kind: str) -> None:
    assert arranged(USER, *step("a", kind), MARK, *step("b")) == [USER, *step("a", kind), SAID, *step("b")]
    earlier = [USER, *step("a", kind), *step("b")]
    assert arranged(*earlier, MARK, MARK, *step("c")) == [*earlier, SAID, SAID, *step("c")]
    assert arranged(USER, *step("a", kind), MARK, ANSWER) == [USER, *step("a", kind), SAID, ANSWER]


@pytest.mark.parametrize("kind", ["", *THINKS])
@pytest.mark.parametrize(
    "before",
    [
        [],
        [USER],
        [USER, *step("a")],
        [USER, *step("a", "thinking"), ANSWER],
        [USER, *step("a", "thinking"), ANSWER, USER],
        [USER, *step("a", "thinking"), ANSWER, USER, *step("b")],
    ],
)
def test_elsewhere_it_is_a_user_message(before: list[Entry], kind: str) -> None:
    entries = [*before, MARK, *step("z", kind)]
    assert arranged(*entries) == entries


@pytest.mark.parametrize("kind", THINKS)
def test_a_step_that_thinks_begins_its_turn_behind_it(kind: str) -> None:
    entries = [USER, *step("a", kind), MARK, *step("b", kind)]
    assert arranged(*entries) == entries


@pytest.mark.parametrize("behind", [step("a"), step("a", "thinking"), [ANSWER], []])
def test_system_text_stays_in_front_of_an_assistant_message(behind: list[Entry]) -> None:
    assert arranged(USER, SYSTEM, MARK, *behind) == [USER, MARK, SYSTEM, *behind]
    assert arranged(USER, SYSTEM, MARK, MARK, *behind) == [USER, MARK, MARK, SYSTEM, *behind]


def test_system_text_that_no_assistant_message_follows_is_followed_by_one() -> None:
    assert arranged(USER, SYSTEM, MARK, USER) == [USER, SYSTEM, SAID, USER]


def test_inside_a_loop_that_thinks_the_model_says_it_behind_system_text() -> None:
    front = [USER, *step("a", "thinking"), SYSTEM]
    assert arranged(*front, MARK, *step("b")) == [*front, SAID, *step("b")]
    assert arranged(*front, MARK, *step("b", "thinking")) == [
        *front[:-1],
        MARK,
        SYSTEM,
        *step("b", "thinking"),
    ]


@pytest.mark.parametrize("format", ["openai-chat", "openai-responses", "gemini"])
def test_other_formats_take_it_where_it_is(format: str) -> None:
    entries = [
        {"role": "user", "parts": [{"text": "Do it."}]},
        MARK,
        {"role": "user", "parts": [{"text": "Yes."}]},
    ]
    assert arranged(*entries, format=format) == entries
