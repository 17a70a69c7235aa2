"""What a request is blamed for."""

from __future__ import annotations

import pytest
from ctxkit_medical.checking import complaints
from ctxkit_medical.facts import facts_in

from ctxkit import Fact

PENICILLIN = "I am allergic to penicillin."


def blamed(stated: str, said: str) -> list[str]:
    """Complaints about a request that says both, where the first was remembered."""
    return complaints(f"{stated}\n{said}", facts_in(stated, "user"))


def test_what_must_stay_is_there_word_for_word() -> None:
    facts = facts_in(PENICILLIN, "user")
    assert complaints(f"allergy to penicillin: {PENICILLIN}", facts) == []
    assert complaints("The patient mentioned penicillin.", facts) == [
        "the medical fact 'allergy to penicillin: I am allergic to penicillin.' is not in this request"
    ]


def test_what_need_not_stay_is_not_missed() -> None:
    assert complaints("Hello.", facts_in("I have asthma. Metformin 500 mg.", "user")) == []


def test_other_facts_are_nobodys_business_here() -> None:
    assert complaints("Hello.", [Fact("delivery day", "Friday", must_keep=True)]) == []


@pytest.mark.parametrize(
    ("stated", "advice"),
    [
        (PENICILLIN, "Take penicillin for ten days."),
        (PENICILLIN, "I'd recommend amoxicillin 500 mg."),
        (PENICILLIN, "we'll go ahead and treat you with amoxicillin"),
        ("I can't take ibuprofen because of an ulcer.", "You can take Advil for the pain."),
        ("I'm allergic to Sulfa drugs.", "I am going to start you on Bactrim."),
        ("我对青霉素过敏。", "建议服用阿莫西林，每天三次。"),
        ("我不能吃布洛芬。", "可以吃布洛芬。"),
    ],
)
def test_advice_against_what_was_stated(stated: str, advice: str) -> None:
    (complaint,) = blamed(stated, advice)
    assert stated in complaint
    assert f"yet this request advises: {advice!r}" in complaint


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        (PENICILLIN, "Do not take amoxicillin."),
        (PENICILLIN, "We must avoid penicillin, so take azithromycin."),
        (PENICILLIN, "Can you take penicillin?"),
        (PENICILLIN, "I used to take penicillin as a child."),
        (PENICILLIN, "Take amoxicillin.\nSorry, no: do not take amoxicillin."),
        ("I am not allergic to penicillin.", "Take penicillin."),
        ("My brother is allergic to penicillin.", "Take penicillin."),
        ("我对青霉素过敏。", "不要服用阿莫西林。"),
        ("我对青霉素过敏。", "可以吃青霉素吗？"),
    ],
)
def test_no_advice_against_what_was_stated(stated: str, said: str) -> None:
    assert blamed(stated, said) == []


def test_what_a_tool_told_contradicts_nobody() -> None:
    facts = facts_in("Patient is allergic to penicillin.", "tool")
    assert complaints("Patient is allergic to penicillin.\nTake penicillin.", facts) == []


def test_only_the_newest_text_is_searched_for_advice() -> None:
    assert len(blamed(PENICILLIN, "Take penicillin. " + "so " * 6_000)) == 1
    assert blamed(PENICILLIN, "Take penicillin. " + "so " * 7_000) == []
