"""Which facts a text states, with exact keys and values."""

from __future__ import annotations

import pytest
from ctxkit_medical.facts import facts_in

from ctxkit import Fact


def told(text: str) -> list[tuple[str, str, bool]]:
    """Key, value and whether it is denied, of each fact that a patient states."""
    return [(fact.key, fact.value, fact.denied) for fact in facts_in(text, "user")]


@pytest.mark.parametrize(
    ("text", "key", "value", "denied"),
    [
        ("I am allergic to penicillin.", "allergy to penicillin", "I am allergic to penicillin.", False),
        ("I have a latex allergy", "allergy to latex", "I have a latex allergy", False),
        ("Hi. No known drug allergies.", "allergies", "No known drug allergies.", True),
        ("I'm not allergic to anything.", "allergies", "I'm not allergic to anything.", True),
        ("I'm not allergic to aspirin.", "allergy to aspirin", "I'm not allergic to aspirin.", True),
        ("I get hives when I take Bactrim", "allergy to bactrim", "I get hives when I take Bactrim", False),
        ("i ca n't take ibuprofen", "not to take ibuprofen", "i ca n't take ibuprofen", False),
        ("Metformin is contraindicated.", "not to take metformin", "Metformin is contraindicated.", False),
        ("I'm not pregnant.", "pregnancy", "I'm not pregnant.", True),
        ("I'm 20 weeks pregnant.", "pregnancy", "I'm 20 weeks pregnant.", False),
        ("I am breastfeeding", "breastfeeding", "I am breastfeeding", False),
        ("I take Eliquis.", "blood thinner eliquis", "I take Eliquis.", False),
        ("No blood thinners.", "blood thinners", "No blood thinners.", True),
        ("Never exceed it: no more than 4 g of Tylenol.", "dose limit of tylenol", None, False),
        ("Well, metformin 500 mg twice a day, say.", "drug metformin", "metformin 500 mg twice a day", False),
        ("that's 40 milligrams of pepcid daily .", "drug pepcid", "40 milligrams of pepcid daily", False),
        ("We took her off lisinopril.", "drug lisinopril", "off lisinopril", True),
        ("I have type 2 diabetes.", "condition type 2 diabetes", "I have type 2 diabetes.", False),
        ("There is no history of asthma.", "condition asthma", "There is no history of asthma.", True),
        ("我对青霉素过敏。", "allergy to 青霉素", "我对青霉素过敏。", False),
        ("我对青霉素不过敏", "allergy to 青霉素", "我对青霉素不过敏", True),
        ("您好。无药物过敏史。", "allergies", "无药物过敏史。", True),
        ("我对什么都不过敏", "allergies", "我对什么都不过敏", True),
        ("胃不好，不能吃布洛芬", "not to take 布洛芬", "胃不好，不能吃布洛芬", False),
        ("我怀孕三个月了", "pregnancy", "我怀孕三个月了", False),
        ("没有怀孕", "pregnancy", "没有怀孕", True),
        ("一直在吃华法林", "blood thinner 华法林", "一直在吃华法林", False),
        ("对乙酰氨基酚每天最多4克", "dose limit of 对乙酰氨基酚", "对乙酰氨基酚每天最多4克", False),
        ("我在吃二甲双胍500毫克，每天两次", "drug 二甲双胍", "吃二甲双胍500毫克，每天两次", False),
        ("医生让我停用阿司匹林。", "drug 阿司匹林", "停用阿司匹林", True),
        ("我没有高血压", "condition 高血压", "我没有高血压", True),
    ],
)
def test_states(text: str, key: str, value: str | None, denied: bool) -> None:
    assert told(text) == [(key, value or text, denied)]


def test_a_list_is_a_fact_for_each_thing() -> None:
    said = "I am allergic to penicillin, sulfa drugs and eggs, please note that."
    assert [key for key, _, _ in told(said)] == [
        "allergy to penicillin",
        "allergy to sulfa drugs",
        "allergy to eggs",
    ]
    assert [key for key, _, _ in told("我对青霉素、头孢过敏")] == ["allergy to 青霉素", "allergy to 头孢"]


@pytest.mark.parametrize(
    "text",
    [
        "Are you allergic to penicillin?",
        "If you are allergic to penicillin, tell me.",
        "do you have any history of asthma",
        "any other allergies",
        "您对什么药物过敏",
        "有没有高血压",
        "你怀孕了吗？",
        "I can't take it any more.",
        "You can't take too much of that tylenol.",
        "I took the whole day off.",
        "It is 40 miles to town and twenty to the lake.",
        "头疼三天了",
    ],
)
def test_states_nothing(text: str) -> None:
    assert told(text) == []


def test_who_it_is_about() -> None:
    def names(text: str) -> list[tuple[str, str, bool]]:
        return [(fact.subject, fact.key, fact.must_keep) for fact in facts_in(text, "user")]

    assert names("My brother is allergic to penicillin.") == [("brother", "allergy to penicillin", False)]
    assert names("我妈妈对海鲜过敏") == [("妈妈", "allergy to 海鲜", False)]
    assert names("My wife told me I'm allergic to nuts.") == [("", "allergy to nuts", True)]


def test_what_weighs_most_and_must_stay() -> None:
    said = "I am allergic to nuts. I can't take aspirin. I'm pregnant. I take warfarin. Metformin 500 mg. I have asthma."
    assert [(fact.key, fact.priority, fact.must_keep) for fact in facts_in(said, "user")] == [
        ("allergy to nuts", 9, True),
        ("not to take aspirin", 8, True),
        ("pregnancy", 8, True),
        ("blood thinner warfarin", 6, False),
        ("drug metformin", 5, False),
        ("condition asthma", 4, False),
    ]


def test_allergies_in_general_need_not_stay_but_having_none_must() -> None:
    assert [fact.must_keep for fact in facts_in("My allergies are back. No known allergies.", "user")] == [
        False,
        True,
    ]


def test_who_said_it() -> None:
    (patient,) = facts_in("I am allergic to nuts.", "user")
    (doctor,) = facts_in("You are not allergic to nuts.", "assistant")
    (tool,) = facts_in("Patient is allergic to nuts.", "tool")
    assert (patient.said_by, patient.must_keep, patient.confidence) == ("user", True, 0.9)
    assert (doctor.said_by, doctor.must_keep, doctor.confidence) == ("assistant", False, 0.7)
    assert (tool.said_by, tool.must_keep, tool.confidence) == ("tool", False, 0.5)


def test_doctor_changes_a_dose() -> None:
    before = facts_in("I take metformin 500 mg twice a day.", "user")[0]
    after = facts_in("Let's increase your metformin to 1000 mg twice a day.", "assistant")[0]
    assert before.name == after.name
    assert after.confidence >= before.confidence
    assert after.value == "metformin to 1000 mg twice a day"


def test_stopping_a_blood_thinner_ends_its_dose_too() -> None:
    assert [fact.key for fact in facts_in("Warfarin 5 mg daily.", "assistant")] == ["drug warfarin"]
    assert told("We stopped the warfarin.") == [
        ("blood thinner warfarin", "We stopped the warfarin.", True),
        ("drug warfarin", "We stopped the warfarin.", True),
    ]


def test_speech_without_stops_gives_what_stands_around() -> None:
    talk = "and so on " * 30
    (fact,) = facts_in(f"{talk}i am allergic to penicillin so {talk}", "user")
    assert "i am allergic to penicillin so and so on" in fact.value
    assert len(fact.value) <= 200


@pytest.mark.parametrize(
    "text",
    [
        "allergic " * 10_000,
        "metformin 500 mg, " * 5_000,
        "no more than one two three " * 3_000,
        "对" * 30_000,
        "stop " * 10_000,
        "a-" * 30_000,
        "twenty " * 10_000,
    ],
)
def test_long_texts_are_read_and_values_stand_in_them(text: str) -> None:
    facts = facts_in(text, "user")
    assert len(facts) <= 8 * 50
    assert all(isinstance(fact, Fact) and fact.value in text for fact in facts)
