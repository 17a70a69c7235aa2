"""Sentences that bind what comes after them, in English and Chinese."""

from __future__ import annotations

import pytest

from ctxkit.evaluation.constraints import Constraint, constraints, sentences
from ctxkit.evaluation.recording import Recording, Transcript
from tests.evaluation.shop import REFUND, recorded, result


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Hi. I must be home by 6. Thanks!", ["I must be home by 6"]),
        (
            "I'm allergic to nuts!\nNever seat me at the back.",
            ["I'm allergic to nuts", "Never seat me at the back"],
        ),
        ("Book it, but don't charge the gold card.", ["Book it, but don't charge the gold card"]),
        ("Don’t call me", ["Don’t call me"]),
        ("I don't remember. I do not know the id.", []),
        ("It costs at most\n  $300.5 in total", ["It costs at most"]),
        ("This mustard is good.", []),
        ("我对青霉素过敏。帮我订房！必须含早餐；其他都行", ["我对青霉素过敏", "必须含早餐"]),
        ("禁止吸烟", ["禁止吸烟"]),
        ("我想去故宫。", []),
        ("must", ["must"]),
        ("x" * 400 + " must", []),
    ],
)
def test_binding_sentences(text: str, found: list[str]) -> None:
    assert list(sentences(text)) == found


def test_constraints_are_what_users_said_where_they_said_it_first() -> None:
    must = {"role": "user", "content": "You must not ship on Mondays"}
    told = [
        {"role": "system", "content": "You must be kind."},
        *REFUND[1:3],
        result("c1", "This must not count."),
        {"role": "assistant", "content": "I must say so."},
        must,
    ]
    assert constraints(recorded(told)) == [Constraint(1, "You must not ship on Mondays")]


def test_words_beside_a_result_are_the_user_s() -> None:
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "must not count"},
                {"type": "text", "text": "Never mind the price."},
            ],
        },
    ]
    found = constraints(Recording(Transcript(messages, "anthropic")))
    assert found == [Constraint(2, "Never mind the price")]
