"""Sections of a summary: read, written, merged, shortened."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.summaries.sections import SECTIONS, Sections, merged, parse, shortened, written

LINES = st.lists(
    st.one_of(
        st.text(max_size=30),
        st.sampled_from(
            (
                "Goal:",
                "## Facts",
                "- a",
                "**Done**",
                "1. x",
                "None",
                "无",
                "user: yes",
                "budget: 300元",
                "```",
                "目标：",
            )
        ),
    ),
    max_size=4,
).map(tuple)
ANY = st.builds(Sections, **dict.fromkeys(SECTIONS, LINES))


def words(text: str) -> int:
    return len(text.split())


@given(ANY, st.sampled_from(("en", "zh")))
def test_what_is_written_is_read_back(sections: Sections, language: str) -> None:
    assert parse(written(sections, language)) == sections  # type: ignore[arg-type]


def test_a_summary_as_it_is_written() -> None:
    sections = Sections(goal=("user: book a flight",), exact=("SN2023-188", "300元"))
    assert written(sections) == "Goal:\n- user: book a flight\nExact values:\n- SN2023-188\n- 300元"
    assert written(sections, "zh") == "目标：\n- user: book a flight\n原值：\n- SN2023-188\n- 300元"
    assert written(Sections()) == ""


@pytest.mark.parametrize(
    "text",
    [
        "Here is the summary:\n## Goal\nBook a flight\n## Key facts\n* budget: 300\n2) window seat\n## Decisions\n- go by train",
        "**Goal:** Book a flight\n\n**Facts**\n- budget: 300\n- window seat\n\n**Decisions made:**\n- go by train",
        "Goal: Book a flight\nContext:\n- budget: 300\n- window seat\nDECISION: go by train",
        "- **Goal**: Book a flight\n- **Facts**:\n- budget: 300\n- window seat\n- **Decisions**: go by train",
        "1. Goal: Book a flight\n2. Facts: budget: 300\nwindow seat\n3. Decisions: go by train",
        "```markdown\n### 目标\nBook a flight\n### 关键事实\n- budget: 300\n- window seat\n### 决定：\n- go by train\n### 待办\n- 无\n```",
        "# Goal\n- Book a flight\n# Notes\n- budget: 300\n- window seat\n# Decisions\n- go by train\n# Open questions\nNone.",
    ],
)  # fmt: skip
def test_headings_of_many_sorts_are_read(text: str) -> None:
    assert parse(text) == Sections(
        goal=("Book a flight",), facts=("budget: 300", "window seat"), decisions=("go by train",)
    )


def test_text_without_headings_is_kept_as_facts() -> None:
    assert parse("The user wants a flight.\n- It must be direct.") == Sections(
        facts=("The user wants a flight.", "It must be direct.")
    )


def test_old_lines_stay_and_what_they_say_is_not_said_again() -> None:
    old = Sections(
        goal=("user: A flight to Rome.",), facts=("user: I am allergic to nuts.",), exact=("Ab-1",)
    )
    new = Sections(
        facts=("user: i am allergic to nuts", "user: A flight to Rome", "user: two bags"),
        exact=("AB-1", "Ab-1"),
    )
    assert merged(old, new) == Sections(
        goal=("user: A flight to Rome.",),
        facts=("user: I am allergic to nuts.", "user: two bags"),
        exact=("Ab-1", "AB-1"),
    )


@given(ANY, ANY)
def test_merging_loses_and_doubles_nothing(old: Sections, new: Sections) -> None:
    both = merged(old, new)
    assert merged(both, new) == both
    assert merged(old, Sections()) == old
    said = {line for _, line in both.lines()}
    assert all(line in said for name, line in old.lines() if name == "exact")


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("budget: 300元", "budget: 500元", "budget: 500元（原：300元）"),
        ("budget: 500元（原：300元）", "Budget: 700元", "Budget: 700元（原：500元）"),
        (
            "Deadline day: 2024-05-03",
            "deadline day: 2024-05-10",
            "deadline day: 2024-05-10 (before: 2024-05-03)",
        ),
        ("status: pending", "status: shipped", "status: shipped (before: pending)"),
        ("passengers: 2", "passengers: 3", "passengers: 3 (before: 2)"),
        ("status: shipped (before: pending)", "status: shipped", "status: shipped (before: pending)"),
    ],
)
def test_a_newer_value_takes_the_place_of_the_older(old: str, new: str, line: str) -> None:
    assert merged(Sections(facts=("a", old, "b")), Sections(facts=(new,))) == Sections(facts=("a", line, "b"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("order: #W123", "order: #W456"),
        ("allergy: penicillin", "allergy: nuts"),
        ("patient: has had a fever since Monday", "patient: takes aspirin at night"),
        ("tool get_order: status: pending", "tool get_order: status: shipped"),
        ("user: budget: 300", "user: budget: 500"),
        ("price: 300元", "price: high"),
        ("favourite team of the brother: Herons", "favourite team: Otters"),
    ],
)
def test_what_may_both_be_true_is_kept_twice(old: str, new: str) -> None:
    assert merged(Sections(facts=(old,)), Sections(facts=(new,))) == Sections(facts=(old, new))


def test_an_open_item_that_is_done_leaves_open() -> None:
    old = Sections(open=("user: cancel order #W123", "user: cancel order #W456", "订酒店，两晚"))
    new = Sections(done=("assistant: Your order #W123 has been cancelled.", "已经订好酒店，两晚"))
    assert merged(old, new) == Sections(done=new.done, open=("user: cancel order #W456",))


def test_an_open_item_of_the_same_words_is_done_too() -> None:
    assert merged(Sections(open=("book the room",)), Sections(done=("booked the room",))).open == ()


FULL = Sections(
    goal=("user: Please find a hotel in Rome.",),
    facts=(
        "tool find_hotel: name=Roma, price=120",
        "user: We had a good trip last year with the family.",
        "user: I am allergic to feathers.",
    ),
    decisions=("user: Let's take the Roma.",),
    exact=("SN2023-188",),
)


def test_the_least_worthy_lines_go_first() -> None:
    order = []
    left = FULL
    for limit in range(words(written(FULL)) - 1, 0, -1):
        smaller = shortened(left, limit, words)
        order += [line for _, line in left.lines() if line not in [each for _, each in smaller.lines()]]
        left = smaller
    assert order == [
        FULL.facts[0],
        FULL.facts[1],
        FULL.decisions[0],
        FULL.goal[0],
        FULL.facts[2],
        "SN2023-188",
    ]


def test_of_equal_lines_the_older_goes_first() -> None:
    sections = Sections(facts=("user: alpha beta gamma", "user: delta epsilon zeta"))
    assert shortened(sections, 6, words).facts == ("user: delta epsilon zeta",)


def test_what_fits_stays_the_same_object() -> None:
    assert shortened(FULL, words(written(FULL)), words) is FULL


@given(ANY, st.integers(0, 60))
def test_what_is_shortened_fits_and_is_a_part(sections: Sections, limit: int) -> None:
    smaller = shortened(sections, limit, words, "zh")
    assert words(written(smaller, "zh")) <= limit
    assert shortened(smaller, limit, words, "zh") == smaller
    for name in SECTIONS:
        rest = iter(sections.of(name))
        assert all(line in rest for line in smaller.of(name))
