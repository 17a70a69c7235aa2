"""Lines: fenced code that hides what is vital, and words that go over the end of a line."""

from __future__ import annotations

import pytest

from ctxkit.keyfacts.finding import MOST_FENCED, bound_by
from ctxkit.keyfacts.lines import Kind, fenced, placed_lines


def rules(text: str, own: tuple[str, ...] = ()) -> list[tuple[str, bool]]:
    """The rules of a text, and of each whether it is but a part."""
    return [(each.fact.value, each.partial) for each in bound_by(text, own)]


def test_kinds_of_lines() -> None:
    lines = placed_lines("> Hi\n\n# A\n- b\n```\nc\n```", lambda sentence: False)
    assert [line.kind for line in lines] == [Kind.PLAIN, Kind.HEADING, Kind.ITEM, *[Kind.CODE] * 3]
    assert [line.text for line in lines[:3]] == ["Hi", "A", "b"]
    assert fenced("> Hi\n> ```\n> c\n> ```") == ["```", "c", "```"]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("```\nI'm allergic to nuts.\n```", "I'm allergic to nuts."),
        ("Me:\n```text\nName: Ann\nAllergy: nuts and kiwi\n```\nThanks!", "Allergy: nuts and kiwi"),
        ("```\nfoo()\nI'm allergic to nuts.\n```\nmore\n```", "I'm allergic to nuts."),
        ('```json\n{"allergies": ["nuts"]}\n```', '{"allergies": ["nuts"]}'),
        ("> ~~~\n> 我对花生过敏\n> ~~~", "我对花生过敏"),
    ],
)
def test_what_is_vital_in_a_fence_pins_its_message(text: str, rule: str) -> None:
    assert rules(text) == [(rule, True)]


def test_ones_own_words_in_a_fence_pin_their_message() -> None:
    assert rules("```\nThe budget is 300.\n```", ("budget",)) == [("The budget is 300.", True)]
    assert rules("```\nbudget = Budget(window=300)\n```", ("budget",)) == []


@pytest.mark.parametrize(
    "text",
    [
        "```python\nif x is None:\n    raise ValueError('x must not be None')\n```",
        "```\n# never call this twice\nDo not edit.\n```",
        "```python\nallergies = models.ListField()\nreturn patient.allergies\n```",
        "```\n必须先初始化\n```",
    ],
)
def test_code_binds_nobody(text: str) -> None:
    assert rules(text) == []


def test_a_fence_that_a_rule_introduces_is_a_part_of_it() -> None:
    text = "My allergies:\n```\nAllergy: nuts\n```"
    assert rules(text) == [(text, False)]


def test_of_a_fence_the_first_vital_lines_are_taken() -> None:
    lines = [f"allergic to food {number}" for number in range(MOST_FENCED + 1)]
    assert rules("\n".join(["```", *lines, "```"])) == [(line, True) for line in lines[:MOST_FENCED]]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("```npm install``` fails.\nI'm allergic to nuts.\n```npm ci``` too.", "I'm allergic to nuts."),
        ("```\nfoo()\nI'm allergic to nuts.", "I'm allergic to nuts."),
        ("```\nfoo()\n``` and that is it.\nNever call me.\n```\nfoo()\n```", "Never call me."),
        ("~~~\nfoo()\n~~~\nNever call me.\n```\nfoo()\n```", "Never call me."),
    ],
)
def test_what_is_no_fence_hides_no_rule(text: str, rule: str) -> None:
    assert rules(text) == [(rule, False)]


@pytest.mark.parametrize(
    "text",
    [
        "我对花生过\n敏，请务必避免。",
        "请你务\n必在九点前到。",
        "你必\n须在九点前到。",
        "这里不能超\n过三个人。",
        "患者自述幼年起食用花生、腰果、开心果等坚果类食物后会出现全身皮疹，医生诊断为坚果过\n敏。",
        "客户要求所有快递在派送之前都要先打电话确认，绝\n不能放在门口。",
        "我 对 花 生 过 敏",
        "我对花生过 \u200b 敏。",
        "必　须靠窗。",
    ],
)
def test_no_blank_and_no_line_end_between_chinese_characters_hides_a_rule(text: str) -> None:
    assert rules(text) == [(text, False)]
    assert rules("\n".join(f"> {line}" for line in text.split("\n"))) == [(text.replace("\n", "\n> "), False)]


@pytest.mark.parametrize("text", ["我去北京\n必须早起", "我去北京\n\n必须早起"])
def test_a_rule_in_one_line_does_not_take_along_the_line_before(text: str) -> None:
    assert rules(text) == [("必须早起", False)]
