"""What sliding-window keeps, by the public API."""

from __future__ import annotations

from typing import Any

from ctxkit import Budget, PartKind


def turns(talk: Any, number: int) -> Any:
    for n in range(number):
        talk.user(f"Question {n}").step(f"Result {n}").assistant(f"Answer {n}")
    return talk


def test_last_turns_stay_whole_and_older_ones_go(talk: Any) -> None:
    turns(talk, 5)
    context = talk.manager(
        Budget(window=10_000, context_limit=2), {"kind": "sliding-window", "keep_turns": 2}
    )
    messages = context.prepare_sync().messages
    assert messages == talk.entries[3 * 4 :]
    assert talk.refused(messages) == []


def test_as_many_turns_as_are_kept_change_nothing(talk: Any) -> None:
    turns(talk, 3)
    context = talk.manager(Budget(window=10_000), {"kind": "sliding-window", "keep_turns": 3})
    assert context.compact().edits == ()


def test_what_stands_before_the_first_question_goes_first(chat: Any) -> None:
    turns(chat.assistant("Welcome!"), 2)
    context = chat.manager(Budget(window=10_000), {"kind": "sliding-window", "keep_turns": 1})
    context.compact()
    assert context.prepare_sync().messages == chat.entries[5:]


def test_leading_system_text_stays(chat: Any) -> None:
    chat.entries.append({"role": "system", "content": "Be brief."})
    turns(chat, 4)
    context = chat.manager(Budget(window=10_000), {"kind": "sliding-window", "keep_turns": 1})
    context.compact()
    assert context.prepare_sync().messages == [chat.entries[0], *chat.entries[13:]]


def test_pinned_message_stays_with_a_stand_in_for_the_rest_of_its_turn(talk: Any) -> None:
    turns(talk, 4)
    context = talk.manager(Budget(window=10_000), {"kind": "sliding-window", "keep_turns": 1})
    context.pin(0)
    context.compact()
    messages = context.prepare_sync().messages
    texts = talk.texts(messages, PartKind.TEXT)
    assert texts[0] == "Question 0"
    assert "3 earlier entries left out here" in texts[1]
    assert messages[2:] == talk.entries[12:]
    assert talk.refused(messages) == []


def test_sliding_again_changes_nothing(talk: Any) -> None:
    turns(talk, 5)
    context = talk.manager(Budget(window=10_000), {"kind": "sliding-window", "keep_turns": 2})
    assert context.compact().edits
    assert context.compact().edits == ()
