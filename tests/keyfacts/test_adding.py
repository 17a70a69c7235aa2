"""What the next sentences add to a rule, and lists that stand in one line."""

from __future__ import annotations

import pytest

from ctxkit.keyfacts.adding import adds, is_bare, is_numbered, is_part, labels, may_add, openings
from ctxkit.keyfacts.finding import bound_by
from ctxkit.keyfacts.passages import LONGEST_WHOLE

ALSO = "I live in Bonn."


def rules(text: str) -> list[tuple[str, bool]]:
    """The rules of a text, and of each whether it is but a part."""
    return [(each.fact.value, each.partial) for each in bound_by(text)]


@pytest.mark.parametrize(
    "text",
    [
        "过敏史：青霉素；头孢；磺胺类。",
        "过敏史：青霉素。头孢。磺胺。",
        "过敏史：青霉素：皮疹；头孢：休克。",
        "过敏原如下。花生、虾。",
        "Allergies: Penicillin. Sulfa. Latex.",
        "Allergies: Peanuts! Shrimp! Milk!",
        "Allergies: Penicillin: hives. Sulfa: rash.",
        "allergies: nuts. milk. eggs.",
        "My allergies are as follows. Nuts. Milk.",
        "I'm allergic to: 1. Peanuts. 2. Shrimp. 3. Milk.",
        "I'm allergic to 1. Peanuts. 2. Shrimp.",
        "我对以下过敏：1. 花生。2. 虾。3. 牛奶。",
        "我对以下东西过敏：（1）花生；（2）虾；（3）牛奶。",
        "出行必须满足：1）不坐红眼航班；2）酒店含早餐；3）靠窗座位。",
        "乙方不得：（一）转包；（二）分包。",
        "Rules you must follow: (1) no red-eye. (2) Aisle seat. (3) Breakfast included.",
        "Rules you must follow: 1. No red-eye. We hate them. 2. Aisle seat. 3. Meals.",
        "You must do this: first, open it. Second, close it. Finally, lock it.",
        "我必须素食；不吃葱；不吃蒜。",
    ],
)
def test_a_list_in_one_line_is_whole_with_what_introduces_it(text: str) -> None:
    assert rules(text) == [(text, False)]
    for behind in (f" {ALSO}", "请帮我订票。"):
        assert rules(text + behind) == [(text, False)]


@pytest.mark.parametrize(
    ("rule", "behind"),
    [
        ("Allergies: Penicillin.", " Medications: Aspirin."),
        ("过敏史：青霉素。", "既往史：无。"),
        ("Bob: never call me at work.", " Bonn. Two adults."),
        ("Never do this: open the door.", " Thanks. Bye."),
        ("Never do this: open the door.", " Can you?"),
        ("Never call me at 10:30.", " Bonn. Ann."),
        ("You must take 1.", " That is all."),
        ("I am allergic to nuts.", " Thanks."),
        ("I am allergic to nuts.", " Also, I need a taxi."),
        ("I am allergic to nuts.", " Also book a taxi."),
        ("I am allergic to nuts.", " And book a table at seven."),
        ("I am allergic to nuts.", "\nKiwi."),
        ("我对花生过敏。", "还有，我想订票。"),
        ("我对花生过敏。", "明天几点？"),
        ("我对花生过敏。", "谢谢。"),
        ("Never call me at work.", " And that is all."),
    ],
)
def test_what_is_about_something_else_is_not_taken_along(rule: str, behind: str) -> None:
    assert rules(rule + behind) == [(rule, False)]


@pytest.mark.parametrize(
    ("rule", "added"),
    [
        ("I am allergic to peanuts.", " Also kiwi. And eggs."),
        ("I am allergic to peanuts.", "\nAlso kiwi.\nAnd eggs."),
        ("I am allergic to peanuts.", "\n\nAlso kiwi."),
        ("I am allergic to peanuts.", " My son too."),
        ("I am allergic to peanuts.", " So is my son."),
        ("I am allergic to peanuts.", " Same for my wife."),
        ("I am allergic to peanuts.", " Also to:\n- kiwi\n- eggs"),
        ("Allergic to:\nPeanuts\nKiwi", "\n\nand\n\nEggs"),
        ("I must avoid dairy.", " No cheese. No butter."),
        ("Never call me at work.", " Nor at my mother's."),
        ("Never call me at work.", " Unless it is urgent."),
        ("Never call me at work.", " Except on Mondays."),
        ("The room must be quiet.", " And have a bath. And face south."),
        ("我对花生过敏。", "还有虾。芒果也是。"),
        ("我对花生过敏", "\n还有虾\n芒果也是"),
        ("我对花生过敏。", "以及腰果。"),
        ("我对花生过敏。", "我儿子也是。"),
        ("我对花生过敏。", "虾也不行。"),
        ("绝不要打电话。", "除非很急。"),
    ],
)
def test_a_sentence_that_only_adds_to_a_rule_belongs_to_it(rule: str, added: str) -> None:
    assert rules(rule + added) == [(rule + added, False)]
    assert rules(f"{rule}{added}\n\n{ALSO}") == [(rule + added, False)]


@pytest.mark.parametrize(
    "text",
    [
        "I am allergic to nuts. Kiwi.",
        "I am allergic to nuts. I also break out from latex.",
        "Allergies: Penicillin. It gives me hives. Latex.",
        "Allergies: Penicillin.\nSulfa.\nLatex.",
        "My allergies are as follows.\n\nNuts make me ill.\n\nKiwi gives me a rash.",
        "My allergies are as follows.",
        "我对花生过敏。我也吃不了虾。",
        "过敏原如下。",
        '{\n  "allergies": [\n    "nuts",\n    "kiwi"\n  ]\n}',
        f"Allergies: {'Nuts. ' * (LONGEST_WHOLE // 6)}Milk. Eggs.",
    ],
)
def test_what_may_be_about_the_same_makes_a_vital_rule_partial(text: str) -> None:
    assert [part for _, part in rules(text)] == [True]


@pytest.mark.parametrize("text", ["Never call me. Bonn.", "绝不要打电话。我也在家。"])
def test_doubt_about_other_rules_pins_nothing(text: str) -> None:
    assert [part for _, part in rules(text)] == [False]


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("Rules:", ["Rules:"]),
        ("过敏史：青霉素：皮疹", ["过敏史：", "过敏史：青霉素："]),
        ("They are as follows.", ["They are as follows."]),
        ("We need 1) eggs", ["We need 1)"]),
        ("We need 1. 花", ["We need 1."]),
        ("See http://a.example at 10:30 :)", []),
    ],
)
def test_where_a_list_may_begin(text: str, begins: list[str]) -> None:
    assert [text[:end] for end in openings(text)] == begins


@pytest.mark.parametrize(
    "text", ["2. Shrimp.", "(b) eggs", "（二）分包", "②虾", "Second, close it.", "其次，安静。", "- eggs"]
)
def test_numbers_of_a_list(text: str) -> None:
    assert is_numbered(text)


@pytest.mark.parametrize("text", ["2.5 kg of it.", "Secondary roads.", "Eggs.", "二楼。"])
def test_what_is_no_number_of_a_list(text: str) -> None:
    assert not is_numbered(text)


@pytest.mark.parametrize(
    ("text", "part", "bare", "added", "may"),
    [
        ("Shrimp.", True, True, False, False),
        ("虾和蟹。", True, True, False, False),
        ("Breakfast is included on all days.", True, False, False, False),
        ("Also kiwi.", True, True, True, True),
        ("I saw it too.", False, False, False, True),
        ("Please.", False, False, False, False),
        ("Shrimp?", False, False, False, False),
        ("Thanks.", False, False, False, False),
        ("It is.", False, False, False, False),
        (":)", False, False, False, False),
        ("And.", True, False, False, False),
        ("And so on and so on and so on and so on.", False, False, False, False),
    ],
)
def test_what_a_sentence_may_be_to_the_one_before(
    text: str, part: bool, bare: bool, added: bool, may: bool
) -> None:
    assert (is_part(text), is_bare(text), adds(text), may_add(text)) == (part, bare, added, may)


def test_labels() -> None:
    assert [labels(each) for each in ("Sulfa.", "Sulfa: rash.", "甲：乙：丙", "at 10:30")] == [0, 1, 2, 0]
