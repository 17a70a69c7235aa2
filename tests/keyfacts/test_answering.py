"""Answers to questions for what is vital, whatever stands beside them."""

from __future__ import annotations

import pytest

from ctxkit.keyfacts.answering import answers


@pytest.mark.parametrize(
    "text",
    [
        "Penicillin. My daughter is allergic to nuts.",
        "I can't eat nuts. Milk upsets me.",
        "My daughter is allergic to nuts. Shrimp, is that a problem?",
        "青霉素。我女儿对花生过敏。",
        "我不能吃虾。牛奶喝了难受。",
    ],
)
def test_an_answer_beside_a_rule_is_one(text: str) -> None:
    assert answers(text)


@pytest.mark.parametrize(
    "text",
    [
        "I am allergic to nuts. Thanks!",
        "I am allergic to nuts. Please book the table for 7pm.",
        "I am allergic to nuts. Also kiwi.",
        "I am allergic to nuts. Why do you ask?",
        "I'm allergic to nuts, is that a problem?",
        "我对花生过敏。谢谢！",
        "我对花生过敏。请帮我订位。",
        "我对花生过敏。还有虾。",
    ],
)
def test_what_is_kept_by_itself_is_none(text: str) -> None:
    assert not answers(text)


@pytest.mark.parametrize(
    "text",
    [
        "peanuts and shellfish, is that a problem?",
        "Is latex a problem?",
        "Can you avoid peanuts?",
        "What about nuts?",
        "Egg, ok?",
        "花生和虾可以避开吗？",
        "花生算吗？",
    ],
)
def test_a_question_that_names_something_answers(text: str) -> None:
    assert answers(text)


@pytest.mark.parametrize(
    "text",
    [
        "Why do you ask?",
        "What do you mean by dietary restrictions?",
        "Is that a problem?",
        "Could you repeat that?",
        "Do you really need that information?",
        "为什么问这个？",
        "什么意思？",
        "这重要吗？",
        "一定要说吗？",
    ],
)
def test_a_question_in_return_is_none(text: str) -> None:
    assert not answers(text)


def test_ones_own_words_are_vital_too() -> None:
    assert answers("300 euros. My budget for wine is 20.", ("budget",))
    assert not answers("My budget is 300.", ("budget",))
