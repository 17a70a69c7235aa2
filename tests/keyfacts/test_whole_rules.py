"""A rule is found however it is written, and kept with whatever says what it is about."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit import Budget, ContextManager
from ctxkit.keyfacts.answering import answers, asks_for_vital
from ctxkit.keyfacts.finding import bound_by
from ctxkit.keyfacts.passages import LONGEST_WHOLE
from ctxkit.keyfacts.statements import statements_in

CHAT = "We spoke of this and that and came to no end. " * 4
CHAINS: list[Any] = ["hybrid", {"kind": "hybrid", "steps": ["keep-key-facts", "drop-oldest"]}]


def rules(text: str) -> list[str]:
    return [each.fact.value for each in bound_by(text)]


def partial(text: str) -> list[bool]:
    return [each.partial for each in bound_by(text)]


@pytest.mark.parametrize(
    "text",
    [
        "My daughter Ann (b. 2015 approx.) is allergic to nuts.",
        "Item A.1 (max. 3 pcs.) must never be shipped.",
        "Never take more than 3 xyz. of oil.",
        "I am allergic to... nuts.",
        "I had peanuts once. I am allergic to them.",
        "I like lilies.\n\nMy cat must never eat them.",
        "My daughter is here. She is allergic to nuts.",
        "Send the report to Bob? Never do that.",
        "Send it to Bob? Never!",
        "花生、牛奶、鸡蛋。这些我都过敏。",
        "我女儿三岁。她对花生过敏。",
        "我很喜欢花生。但是我对它过敏。",
        "person\tallergic to\nAnn\tnuts\nBob\tmilk\nCid\teggs",
        "| name | allergies |\n|---|---|\n| Ann | nuts |\n| Bob | milk |",
        "name,allergies\nAnn,nuts\nBob,milk",
        "Name      Allergic to\nAnn       nuts\nBob       milk",
        "姓名,过敏\n张三,花生\n李四,牛奶",
    ],
)
def test_a_rule_is_one_with_what_it_is_about(text: str) -> None:
    assert rules(text) == [text]
    assert partial(text) == [False]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Hello. Never send them to Bob.", "Never send them to Bob."),
        ("It is warm. Bob must never forget his keys.", "Bob must never forget his keys."),
        ("It is warm. If you open a file, don't close it.", "If you open a file, don't close it."),
        ("It is warm. No known allergies.", "No known allergies."),
        ("It is warm. 我没有过敏史。", "我没有过敏史。"),
        ("It is warm. Never forget that Bob is vegan.", "Never forget that Bob is vegan."),
        ("never call me\nBob | milk", "never call me"),
        ("Hello, never call me\nBob, thanks", "Hello, never call me"),
    ],
)
def test_what_only_stands_beside_it_is_not_taken_along(text: str, rule: str) -> None:
    assert rules(text) == [rule]
    assert partial(text) == [False]


@pytest.mark.parametrize(
    "text",
    [
        "These are my allergies. Nuts. Milk. Eggs.",
        "I have allergies. They are nuts and milk.",
        "I am severely allergic. Nuts, mostly.",
        "I am allergic to... Nuts.",
        "I love:\n- peanuts\n- milk\n\nI am allergic to all of these.",
        "```\nrm -rf build\n```\nNever run that.",
        "花生很好吃。虾也好吃。但我女儿不能吃这些。",
        "| name | note |\n|---|---|\n| Ann | must never get nuts |",
        "<tr><th>name</th><th>allergies</th></tr>\n<tr><td>Ann</td><td>nuts</td></tr>",
        "We saw the door. It was big. It was red. It was old. It hurt. Never open it.",
        f"We saw {'the big old ' * 90} door. Never open it, {'not now, ' * 20} not ever.",
    ],
)
def test_a_rule_whose_object_is_out_of_reach_is_partial(text: str) -> None:
    assert any(partial(text))


@pytest.mark.parametrize(
    "text",
    [
        "Do\u00a0not call me.",
        "Do  not call me.",
        "Do\tnot call me.",
        "Do\r\nnot call me.",
        "Do\u3000not call me.",
        "Do \u200bnot call me.",
        "Ne\u00adver call me.",
        "Ｎｅｖｅｒ call me.",
        "Don´t call me.",
        "Donʼt call me.",
        "Do **not** call me.",
        "Do <b>not</b> call me.",
        "> Do\n> not call me.",
        "绝\u200b不要打电话。",
    ],
)
def test_no_blank_and_no_mark_hides_a_rule(text: str) -> None:
    (found,) = bound_by(text)
    assert found.fact.value == text.removeprefix("> ")
    assert found.fact.denied


def test_what_stands_in_an_endless_line_is_found_as_it_stands() -> None:
    text = "word " * 300 + "and ne\u00adver\u00a0feed the\u200b cat " + "word " * 300
    (found,) = bound_by(text)
    assert "ne\u00adver\u00a0feed the\u200b cat" in found.fact.value
    assert found.fact.value in text


def test_a_sentence_before_says_nothing_of_whether_a_rule_denies() -> None:
    (found,) = bound_by("I do not know about shrimp. I am allergic to it.")
    assert found.fact.value == "I do not know about shrimp. I am allergic to it."
    assert not found.fact.denied


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("My name is Ann Lee.", [("name", "Ann Lee")]),
        ("Call me Al.", [("is called", "Al")]),
        ("I go by Ann Lee now.", [("is called", "Ann Lee")]),
        ("call me Ann when you get there", [("is called", "Ann")]),
        ("Please call me tomorrow about the mower.", []),
        ("Please call me before nine.", []),
        ("Please call me Monday.", []),
        ("CALL ME NOW", []),
        ("Don't call me Al.", []),
    ],
)
def test_only_a_name_is_what_somebody_is_called(text: str, stated: list[tuple[str, str]]) -> None:
    assert [(each.key, each.value) for each in statements_in(text)] == stated


# Answers


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Do you have any allergies?", True),
        ("Noted. Any dietary restrictions I should know of?", True),
        ("what medications are you on", True),
        ("Please list:\n- your name\n- your allergies", True),
        ("您对什么过敏？", True),
        ("您有什么忌口吗", True),
        ("请告诉我您的过敏史。", True),
        ("Take your medication with water.", False),
        ("I noted your allergies.", False),
        ("Where do you live?", False),
        ("您住在哪里？", False),
    ],
)
def test_questions_for_what_is_vital(text: str, asks: bool) -> None:
    assert asks_for_vital(text) is asks


def test_ones_own_words_are_asked_for_too() -> None:
    assert asks_for_vital("What is your budget?", ("budget",))
    assert not asks_for_vital("What is your budget?")


@pytest.mark.parametrize(
    ("text", "is_answer"),
    [
        ("Yes, peanuts and latex.", True),
        ("No.", True),
        ("没有", True),
        ("Yes, I am allergic to them.", True),
        ("Peanuts. Why do you ask?", True),
        ("Why do you ask?", False),
        ("I am allergic to nuts.", False),
        ("No known allergies.", False),
        ("x" * LONGEST_WHOLE + " yes", False),
    ],
)
def test_answers_that_say_nothing_without_their_question(text: str, is_answer: bool) -> None:
    assert answers(text) is is_answer


@pytest.mark.parametrize("strategy", CHAINS, ids=str)
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Do you have any allergies?", "Yes, peanuts and latex."),
        ("Any known drug allergies?", "None."),
        ("您对什么过敏？", "花生和牛奶。"),
        ("您有什么忌口吗？", "没有"),
    ],
)
def test_an_answer_stays_with_its_question(question: str, answer: str, strategy: Any) -> None:
    talk = ContextManager("openai-chat", Budget(window=1_500), strategy, strict=True, plugins=())
    talk.add([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": question}])
    talk.add({"role": "user", "content": answer})
    for n in range(60):
        talk.add({"role": "assistant", "content": f"Day {n}. {CHAT}"})
        talk.add({"role": "user", "content": f"And what of day {n}? {CHAT}"})
        said = [message["content"] for message in talk.prepare_sync().messages]
        assert said.index(answer) == said.index(question) + 1
    assert talk.report is not None
    assert talk.report.compactions > 1


def test_rules_have_their_place_before_answers() -> None:
    chain = {"kind": "hybrid", "steps": [{"kind": "keep-key-facts", "max_tokens": 1}, "drop-oldest"]}
    talk = ContextManager("openai-chat", Budget(window=1_000), chain, strict=True, plugins=())
    rule = f"You must never open the red door. {'It is old. ' * 80}"
    talk.add([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Any allergies?"}])
    talk.add({"role": "user", "content": f"Peanuts. {'It was bad. ' * 80}"})
    talk.add([{"role": "assistant", "content": "Noted."}, {"role": "user", "content": rule}])
    for n in range(40):
        talk.add({"role": "assistant", "content": f"Day {n}. {CHAT}"})
        talk.add({"role": "user", "content": f"And what of day {n}? {CHAT}"})
        shown = str(talk.prepare_sync().messages)
        assert "never open the red door" in shown
    assert "Peanuts." not in shown
    assert talk.report is not None
    assert talk.report.compactions > 1
