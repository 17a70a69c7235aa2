"""What selective keeps and what makes room, by the public API."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit import Budget, PartKind

CHAT = "We spoke of this and that and came to no end. " * 6


def many(talk: Any, number: int = 30) -> Any:
    for n in range(number):
        talk.user(f"{n}: {CHAT}").assistant(f"Answer {n}: {CHAT}")
    return talk.user("What now?")


def pinned(context: Any) -> list[int]:
    return [position for edit in context.compact().edits if edit.kind == "Pin" for position in edit.positions]


@pytest.mark.parametrize(
    "text",
    [
        "You must never book a smoking room.",
        "I prefer the aisle.",
        "I'm allergic to nuts.",
        "The deadline is 3 May.",
        "We decided to use PostgreSQL.",
        "Remember that my wife comes along.",
        "Please don't cancel it.",
        "必须用中文回答",
        "不要取消订单",
        "我对青霉素过敏",
        "记住我的生日",
        "我们决定周五出发",
    ],
)
def test_key_messages_stay_word_for_word_for_good(talk: Any, text: str) -> None:
    talk.user(text).assistant("Noted.")
    context = many(talk).manager(Budget(window=3_000), "selective")
    for n in range(20):
        context.add(type(talk)(talk.format).assistant(f"Round {n}: {CHAT}").user(CHAT).entries)
        messages = context.prepare_sync().messages
        assert text in talk.texts(messages, PartKind.TEXT)
        assert talk.refused(messages) == []


def test_others_go_oldest_first(talk: Any) -> None:
    request = many(talk).manager(Budget(window=3_000), "selective").prepare_sync()
    texts = talk.texts(request.messages, PartKind.TEXT)
    assert texts == talk.texts(talk.entries, PartKind.TEXT)[-len(texts) :]
    assert request.report.tokens_after <= request.report.target


@pytest.mark.parametrize("text", ["I don't know.", "The mustard is fine.", "Show me the list."])
def test_other_messages_are_not_pinned(chat: Any, text: str) -> None:
    chat.user(text).assistant("Yes.").user("Never call me.").assistant("Yes.").user("Go on.")
    assert pinned(chat.manager(Budget(window=9_000), "selective")) == [2]


def test_own_markers_are_added(chat: Any) -> None:
    chat.user("My Budget is 500.").assistant("Yes.").user("预算 500 元").assistant("Yes.").user("Go on.")
    context = chat.manager(Budget(window=9_000), {"kind": "selective", "markers": ["budget", "预算"]})
    assert pinned(context) == [0, 2]


def test_tool_text_and_answers_are_never_pinned(talk: Any) -> None:
    talk.user("Look.").step("You must always remember this.").assistant("I must remember it.")
    before = len(talk.entries)
    talk.user("Never call me.").assistant("Yes.").user("Go on.")
    assert pinned(talk.manager(Budget(window=9_000), "selective")) == [before]


def test_nothing_is_pinned_twice(chat: Any) -> None:
    chat.user("Never call me.").assistant("Yes.").user("Go on.")
    context = chat.manager(Budget(window=9_000), "selective")
    assert pinned(context) == [0]
    assert context.compact().edits == ()


def test_what_is_said_twice_is_pinned_once(chat: Any) -> None:
    chat.user("Never call me.").assistant("Yes.").user("Never call me.").assistant("Yes.").user("Go on.")
    assert pinned(chat.manager(Budget(window=9_000), "selective")) == [2]


def test_pins_leave_room_and_the_report_says_what_was_not_pinned(talk: Any) -> None:
    for n in range(60):
        talk.user(f"Rule {n}: you must always obey. {CHAT}").assistant("Yes.")
    talk.user("Go on.")
    request = talk.manager(Budget(window=2_000), {"kind": "selective", "pin_share": 0.2}).prepare_sync()
    text = str(request.messages)
    pins = [edit for edit in request.report.edits if edit.kind == "Pin"]
    assert request.report.tokens_after <= 2_000
    assert 3 <= len(pins[0].positions) <= 5
    assert "Rule 59:" in text
    assert "Rule 1:" not in text
    (failure,) = request.report.failures
    assert failure.by == "selective"
    assert f"key messages not pinned: {60 - len(pins[0].positions)}" in failure.why


def test_another_strategy_may_make_room(chat: Any) -> None:
    chat.user("Never show prices.").step(CHAT * 20).assistant("Yes.").user("Go on.")
    strategy = {"kind": "selective", "others": {"kind": "clear-tool-results", "keep": 0}}
    request = chat.manager(Budget(window=1_000), strategy).prepare_sync()
    assert [edit.kind for edit in request.report.edits] == ["Pin", "Shorten"]
    assert [edit.by for edit in request.report.edits] == ["selective", "clear-tool-results"]


def test_turns_above_the_limit_go_too(talk: Any) -> None:
    talk.user("You must never book a smoking room.").assistant("Noted.")
    many(talk, 5)
    request = talk.manager(Budget(window=50_000, context_limit=2), "selective").prepare_sync()
    texts = talk.texts(request.messages, PartKind.TEXT)
    assert texts == ["You must never book a smoking room.", "Noted.", "What now?"]
