"""In whose name a line of a summary stands."""

from __future__ import annotations

import pytest

from ctxkit.summaries.attribution import Quoted, quoted, spoken_of

PEOPLE = ("Ann", '"Ben Lee"', "小明")


@pytest.mark.parametrize(
    ("line", "by", "author", "said"),
    [
        ("user: never call before 9", "user", "", "never call before 9"),
        ("user Ann: never call before 9", "user", "Ann", "never call before 9"),
        ("user Ann in #ops at 2026-11-30 09:12: never call", "user", "Ann", "never call"),
        ('user "Ben Lee": never call', "user", '"Ben Lee"', "never call"),
        ("Ann: never call before 9", "user", "Ann", "never call before 9"),
        ("ann: never call before 9", "user", "Ann", "never call before 9"),
        ("Customer Ann: never call before 9", "user", "Ann", "never call before 9"),
        ("**Ben Lee** said: never call before 9", "user", '"Ben Lee"', "never call before 9"),
        ('The user "Ben Lee": never call before 9', "user", '"Ben Lee"', "never call before 9"),
        ("小明：不要在九点前打电话", "user", "小明", "不要在九点前打电话"),
        ("用户小明：不要在九点前打电话", "user", "小明", "不要在九点前打电话"),
        ("The user said: never call before 9", "user", "", "never call before 9"),
        ("assistant Ann: never call", "assistant", "Ann", "never call"),
        ("tool get_order: never call", "tool", "", "never call"),
        ("system: never call", "system", "", "never call"),
        ("Bob: never call before 9", "", "", "Bob: never call before 9"),
        ("Anna: never call before 9", "", "", "Anna: never call before 9"),
        ("Ann: vegetarian", "", "", "Ann: vegetarian"),
        ("Ann is allergic to nuts", "", "", "Ann is allergic to nuts"),
        ("not true any more: I am allergic", "", "", "not true any more: I am allergic"),
    ],
)
def test_whose_name_stands_before_a_line(line: str, by: str, author: str, said: str) -> None:
    assert quoted(line, PEOPLE) == Quoted(by, author, said)


@pytest.mark.parametrize(
    ("sentence", "author", "said"),
    [
        ("Ann is allergic to nuts", "Ann", " is allergic to nuts"),
        ("Ben Lee needs a ramp", '"Ben Lee"', " needs a ramp"),
        ("小明对花生过敏", "小明", "对花生过敏"),
        ("Anna is allergic to nuts", "", "Anna is allergic to nuts"),
        ("The nuts are Ann's", "", "The nuts are Ann's"),
    ],
)
def test_of_whom_a_sentence_tells(sentence: str, author: str, said: str) -> None:
    assert spoken_of(sentence, PEOPLE) == Quoted("user" if author else "", author, said)
