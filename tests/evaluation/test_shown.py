"""What a request shows: received texts whole, edited ones only where they say what a value is."""

from __future__ import annotations

import pytest

from ctxkit.evaluation.needs import Mentions
from ctxkit.evaluation.shown import Shown
from tests.evaluation.shop import ORDER, REFUND, recorded, result

RECORDING = recorded(REFUND)
MENTIONS = Mentions(RECORDING)


def shown(*messages: dict[str, object]) -> Shown:
    """What these messages show in place of the first six."""
    return Shown(RECORDING, MENTIONS, 6, [RECORDING.read(message) for message in messages])


def note(text: str) -> Shown:
    return shown({"role": "user", "content": text})


def test_a_received_text_holds_all_that_stands_in_it() -> None:
    assert shown(REFUND[2], result("c1", ORDER)).holds("129.95")
    assert not shown(REFUND[1], REFUND[2]).holds("129.95")


def test_system_text_holds_nothing() -> None:
    assert not shown({"role": "system", "content": ORDER}).holds("129.95")


def test_a_text_that_comes_later_is_no_received_one() -> None:
    refund = REFUND[6]["tool_calls"][0]["function"]["arguments"]
    assert not note(refund).holds("129.95")  # amount: a name that it gets only by the answer itself


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ('{"total":129.95}', True),
        ('{"weight":129.95}', False),
        ("digest: total: 129.95, order: x", True),
        ("129.95 and other numbers", False),
        ('["129.95"]', False),
        ("total: 1129.95", False),
    ],
)
def test_in_an_edited_text_a_value_counts_beside_its_name(text: str, held: bool) -> None:
    assert note(text).holds("129.95") is held


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("Find order W1234567 for Ann", True),
        ("Earlier: . Find order W1234567 for Ann. And more.", True),
        ("The user asked about W1234567", False),
        ("W1234567", False),
    ],
)
def test_or_in_the_sentence_that_it_was_said_in(text: str, held: bool) -> None:
    assert note(text).holds("W1234567") is held


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("- You must not\n  ship on Mondays!", True),
        ('{"said":["\\"Listen\\": You must not ship on Mondays"]}', True),
        ("You must ship on Mondays", False),
        ("you must not ship on mondays", False),
    ],
)
def test_a_sentence_is_said_word_for_word(text: str, there: bool) -> None:
    assert note(text).says("You must not ship on Mondays") is there


def test_a_received_sentence_is_said() -> None:
    assert shown(REFUND[1]).says("You must not ship on Mondays")
    assert not shown(REFUND[5]).says("You must not ship on Mondays")
