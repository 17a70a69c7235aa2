"""What must survive stands in a summary in the name of whoever said it, or it is written once more."""

from __future__ import annotations

import pytest

from ctxkit.core.items import Writer
from ctxkit.summaries.exact import absent_lines, locked
from ctxkit.summaries.language import Language
from ctxkit.summaries.salience import Said
from ctxkit.summaries.sections import Sections, parse
from tests.summaries.test_validation import check

ALLERGY = "I am allergic to peanuts."
SEAT = "Never book a window seat for me."
ONE = (
    Said("user", f"{ALLERGY} {SEAT} My flight is LH441, and I pay 40 EUR at the desk on May 3."),
    Said("assistant", "Noted. Flight LH441 leaves at noon, and I can eat anything myself."),
    Said("tool", '{"flight":"LH441","seat":"A1","price":"40 EUR"}', "get_flight", '{"flight":"LH441"}'),
)
ONE_CHINESE = (
    Said("user", "我对花生过敏。绝对不要订靠窗的座位。我的航班是CA1501。"),
    Said("assistant", "好的，已经记下了，航班CA1501中午起飞。"),
)
TWO = (
    Said("user", f"{ALLERGY} {SEAT}", writer=Writer(author="Ann")),
    Said("user", "I must have a wheelchair. My flight is LH441.", writer=Writer(author="Ben Lee")),
    Said("assistant", "Noted, both."),
)
TWO_CHINESE = (
    Said("user", "我对花生过敏。", writer=Writer(author="小明")),
    Said("user", "绝对不要订靠窗的座位。", writer=Writer(author="小红")),
    Said("assistant", "好的，两位的要求都记下了。"),
)


def absent(
    sources: tuple[Said, ...], *lines: str, section: str = "facts", language: Language = "en"
) -> list[str]:
    """The lines that a summary of these gets."""
    must = locked(sources, Sections(), language)
    return list(absent_lines(Sections.gathered((section, line) for line in lines), must))


@pytest.mark.parametrize(
    "line",
    [
        f"user: {ALLERGY}",
        f"user: {ALLERGY} {SEAT}",
        "user: i am allergic to peanuts",
        f'user: "{ALLERGY}"',
        f"The user said: {ALLERGY}",
        f"**User:** {ALLERGY}",
        f"用户：{ALLERGY}",
        ALLERGY,
        f"**{ALLERGY}**",
    ],
)
@pytest.mark.parametrize("section", ["goal", "facts", "decisions", "open", "exact"])
def test_a_rule_stands_in_its_speaker_s_name_or_in_nobody_s(line: str, section: str) -> None:
    assert f"user: {ALLERGY}" not in absent(ONE, line, section=section)


@pytest.mark.parametrize(
    "line",
    [
        f"assistant: {ALLERGY}",
        f"tool: {ALLERGY}",
        f"tool get_flight: {ALLERGY}",
        f"system: {ALLERGY}",
        f"user Ben: {ALLERGY}",
        f"Bob: {ALLERGY}",
        f"not true any more: {ALLERGY}",
        f'"{ALLERGY}" was said by mistake, ignore it',
        f"user took back: {ALLERGY}",
        f"user: it is not so that {ALLERGY}",
        f"user: {ALLERGY} That was a joke.",
        f"user: {ALLERGY} [unverified]",
        "user: I am not allergic to peanuts.",
        "user: I am allergic to peanuts and more.",
        "",
    ],
)
def test_a_rule_in_another_s_name_or_with_other_words_does_not_stand_for_it(line: str) -> None:
    assert f"user: {ALLERGY}" in absent(ONE, line)


@pytest.mark.parametrize("line", [ALLERGY, f"user: {ALLERGY}"])
def test_a_rule_that_is_told_as_done_does_not_stand_for_it(line: str) -> None:
    assert f"user: {ALLERGY}" in absent(ONE, line, section="done")


@pytest.mark.parametrize(
    ("line", "held"),
    [
        ("用户：我对花生过敏。", True),
        ("我对花生过敏", True),
        ("用户：“我对花生过敏。”", True),
        ("用户：我对花生过敏。绝对不要订靠窗的座位。", True),
        ("助手：我对花生过敏。", False),
        ("工具：我对花生过敏。", False),
        ("小红：我对花生过敏。", False),
        ("已作废：我对花生过敏。", False),
        ("“我对花生过敏。”是口误，不用理会", False),
        ("用户：我对花生过敏。 [未核实]", False),
    ],
)
def test_in_chinese_too(line: str, held: bool) -> None:
    assert ("用户: 我对花生过敏。" in absent(ONE_CHINESE, line, language="zh")) is not held


@pytest.mark.parametrize(
    ("line", "held"),
    [
        (f"user Ann: {ALLERGY}", True),
        (f"user Ann in #ops: {ALLERGY}", True),
        (f"Ann: {ALLERGY}", True),
        (f"Customer Ann said: {ALLERGY}", True),
        (f'user "Ben Lee": {ALLERGY}', False),
        (f"Ben Lee: {ALLERGY}", False),
        (f"user: {ALLERGY}", False),
        (ALLERGY, False),
        (f"user Ann: {ALLERGY} I must have a wheelchair.", False),
    ],
)
def test_of_several_users_a_rule_stands_with_the_one_who_gave_it(line: str, held: bool) -> None:
    assert (f"user Ann: {ALLERGY}" in absent(TWO, line)) is not held


def test_of_several_users_in_chinese() -> None:
    right = ("用户 小明: 我对花生过敏。", "小红：绝对不要订靠窗的座位。")
    swapped = ("用户 小红: 我对花生过敏。", "小明：绝对不要订靠窗的座位。")
    assert absent(TWO_CHINESE, *right, language="zh") == []
    assert absent(TWO_CHINESE, *swapped, language="zh") == [
        "用户 小明: 我对花生过敏。",
        "用户 小红: 绝对不要订靠窗的座位。",
    ]


def test_what_two_users_say_in_the_same_words_is_each_one_s() -> None:
    both = tuple(Said("user", ALLERGY, writer=Writer(author=name)) for name in ("Ann", "Ben"))
    assert absent(both, f"user Ann: {ALLERGY}") == [f"user Ben: {ALLERGY}"]
    assert absent(both) == [f"user Ann: {ALLERGY}", f"user Ben: {ALLERGY}"]
    assert absent(both, f"user Ann: {ALLERGY}", f"user Ben: {ALLERGY}") == []


FLIGHT = "user: My flight is LH441, and I pay 40 EUR at the desk on May 3."


@pytest.mark.parametrize(
    ("line", "held"),
    [
        ("check in for LH441, 40 EUR, on May 3", True),
        ("user: on May 3, LH441, 40 EUR", True),
        ("user Ben: on May 3, LH441, 40 EUR", False),
        ("system: on May 3, LH441, 40 EUR", False),
        ("on May 3, LH441, 40 EUR [unverified]", False),
        ("tool get_flight: May 3, LH441, 40 EUR", False),
    ],
)
def test_a_value_stands_with_one_who_gave_it_or_with_nobody(line: str, held: bool) -> None:
    assert (FLIGHT in absent(ONE, line)) is not held


@pytest.mark.parametrize(
    "line", ["assistant: LH441 leaves at noon", "tool get_flight: flight=LH441", "LH441 [unverified]"]
)
def test_a_number_stands_with_others_who_gave_it(line: str) -> None:
    said = (Said("user", "My flight is LH441."), *ONE[1:])
    assert absent(said, line, "seat A1") == (["user: My flight is LH441."] if "unverified" in line else [])


def test_what_only_tools_gave_stands_anywhere() -> None:
    said = (Said("user", "Where is my parcel, please?"), Said("tool", "depot D-4711", "track", "{}"))
    for line in ("the depot is D-4711", "assistant: D-4711", "it went to D-4711 [unverified]"):
        assert absent(said, line) == []
    assert absent(said) == ["tool track: D-4711"]


def test_the_lines_of_an_earlier_summary_stand_for_themselves() -> None:
    long = "the parcels of the whole street " * 6
    earlier = Sections(
        goal=("never call before 9",),
        facts=(f"user Ann: {ALLERGY}", f"assistant: {long}must never go to the depot"),
        done=("the parcel must never go back: told the depot",),
    )
    must = locked((), earlier, "en")
    assert list(absent_lines(earlier, must)) == []
    assert list(absent_lines(Sections(), must)) == [
        "never call before 9",
        f"user Ann: {ALLERGY}",
        f"assistant: {long}must never go to the depot",
    ]


@pytest.mark.parametrize(
    ("answer", "sources", "line"),
    [
        (f"Goal:\n- book the flight\nFacts:\n- assistant: {ALLERGY}", ONE, f"user: {ALLERGY}"),
        (f"Goal:\n- book the flight\nFacts:\n- tool: {ALLERGY}", ONE, f"user: {ALLERGY}"),
        (f"Goal:\n- book the flight\nExact values:\n- user Bob: {ALLERGY}", ONE, f"user: {ALLERGY}"),
        (f'Goal:\n- book the flight\nDecisions:\n- user "Ben Lee": {SEAT}', TWO, f"user Ann: {SEAT}"),
        (f"Goal:\n- book the flight\nExact values:\n- Ben Lee: {ALLERGY}", TWO, f"user Ann: {ALLERGY}"),
        ("目标：\n- 订航班\n事实：\n- 助手：我对花生过敏。", ONE_CHINESE, "用户: 我对花生过敏。"),
        ("目标：\n- 订航班\n原值：\n- 小红：我对花生过敏。", TWO_CHINESE, "用户 小明: 我对花生过敏。"),
    ],
)
def test_a_summary_gives_nobody_s_rule_to_another(answer: str, sources: tuple[Said, ...], line: str) -> None:
    done = check(answer, sources)
    lines = [each for _, each in parse(done.text).lines()]
    assert line in lines
    said = line.partition(": ")[2]
    others = [each for each in lines if said in each and each != line]
    assert all(each.startswith((said, "tool: ")) for each in others)
    assert check(done.text, sources, earlier=done.text).text == done.text


def test_an_honest_summary_of_several_users_stays_as_it_is() -> None:
    answer = (
        f"Goal:\n- book LH441\nFacts:\n- user Ann: {ALLERGY} {SEAT}\n- Ben Lee needs a wheelchair\n"
        'Exact values:\n- user "Ben Lee": I must have a wheelchair.'
    )
    done = check(answer, TWO)
    assert (done.text, done.notes) == (answer, ())
