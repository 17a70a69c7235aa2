"""Which sentences state a medical constraint, and about what."""

import pytest
from ctxkit_medical.terms import asked_about, follows_up, subjects_of


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("I am allergic to penicillin.", "allergy"),
        ("No known drug allergies.", "allergy"),
        ("My throat swells when I eat shrimp.", "allergy"),
        ("She is lactose intolerant.", "allergy"),
        ("我对青霉素过敏", "allergy"),
        ("无药物过敏史。", "allergy"),
        ("Metformin is contraindicated here.", "contraindication"),
        ("I can't take ibuprofen because of an ulcer.", "contraindication"),
        ("i ca n't take ibuprofen", "contraindication"),
        ("Please stop the aspirin a week before.", "contraindication"),
        ("We took her off lisinopril.", "contraindication"),
        ("Avoid all NSAIDs.", "contraindication"),
        ("术前停用阿司匹林。", "contraindication"),
        ("不能服用布洛芬", "contraindication"),
        ("I'm not pregnant.", "pregnancy"),
        ("She is breastfeeding.", "pregnancy"),
        ("我怀孕三个月了", "pregnancy"),
        ("未孕，正在备孕。", "pregnancy"),
        ("He is on Coumadin.", "anticoagulation"),
        ("No blood thinners.", "anticoagulation"),
        ("一直在吃华法林", "anticoagulation"),
        ("No more than 4 grams of Tylenol a day.", "dosage"),
        ("Do not exceed two tablets in 24 hours.", "dosage"),
        ("每天最多吃两片", "dosage"),
        ("不超过 20 mg", "dosage"),
        ("I take metformin, five hundred milligrams.", "dose"),
        ("lisinopril 10 mg daily", "dose"),
        ("每天吃两片二甲双胍", "dose"),
    ],
)
def test_states(text: str, subject: str) -> None:
    assert subject in subjects_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "I can't take it anymore.",
        "I didn't take the bus.",
        "Never have, never will.",
        "He had deformities in only one leg.",
        "It should n't take too long.",
        "I take two tablets of vitamin C.",
        "头疼三天了",
    ],
)
def test_does_not_state(text: str) -> None:
    assert subjects_of(text) == []


def test_only_what_is_asked_is_asked_about() -> None:
    assert asked_about("You are allergic to penicillin. How is your knee?") == []
    assert asked_about("Any drug allergies?") == ["allergy"]
    assert asked_about("do you take any blood thinners") == ["anticoagulation"]
    assert asked_about("您对什么药物过敏吗") == ["allergy"]


def test_follow_ups() -> None:
    assert follows_up("Are you sure?")
    assert follows_up("还有别的吗？")
    assert not follows_up("How is your knee?")


@pytest.mark.parametrize(
    "text", ["allergic " * 100_000, "stop " * 200_000, "no more than 1" * 70_000, "不" * 10**6]
)
def test_long_texts_are_read(text: str) -> None:
    assert isinstance(subjects_of(text) + asked_about(text), list)
