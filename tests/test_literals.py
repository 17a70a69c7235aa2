"""Which values are taken for identifiers, and which sentences carry one."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.literals import Rank, as_json, rank, telling, words_of


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("note", None, Rank.NOTHING),
        ("note", "", Rank.NOTHING),
        ("active", True, Rank.DETAIL),
        ("seats", 7, Rank.DETAIL),
        ("departs", "19:30:00", Rank.DETAIL),
        ("text", "words " * 20, Rank.DETAIL),
        ("text", "x1" * 200, Rank.DETAIL),
        ("total_amount", 12, Rank.FACT),
        ("total_amount", 1204.5, Rank.FACT),
        ("status", "delivered", Rank.FACT),
        ("firstName", "Mei", Rank.KEY),
        ("until", "2024-05-19", Rank.KEY),
        ("email", "mei@example.com", Rank.KEY),
        ("where", "SFO", Rank.KEY),
        ("script", "src/main", Rank.KEY),
        ("orderId", "blue", Rank.ID),
        ("reservation", "YAX4DR", Rank.ID),
        ("payment", "credit_card_4938634", Rank.ID),
        ("酒店名称", "希尔顿", Rank.KEY),
        ("订单编号", "八", Rank.ID),
    ],
)
def test_rank(field: str, value: Any, expected: Rank) -> None:
    assert rank(field, value) is expected


def test_a_field_that_calls_were_given_is_a_key() -> None:
    assert rank("seatClass", "window", frozenset({"seat class"})) is Rank.KEY


@pytest.mark.parametrize("field", ["order_id", "orderId", "Order ID", "order-id", "orderID"])
def test_the_words_of_a_field_name_are_the_same_in_every_spelling(field: str) -> None:
    assert words_of(field) == ("order", "id")


def test_telling_sentences() -> None:
    text = "All went well. Order #W12 left on May 3rd! Nothing else.\nstate: open\n一切顺利。订单A12已发货。"
    assert list(telling(text)) == ["Order #W12 left on May 3rd!", "state: open", "订单A12已发货。"]


def test_a_very_long_line_gives_its_literals() -> None:
    assert list(telling("word " * 300 + "/srv/app.py" + " word" * 300)) == ["/srv/app.py"]


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "{", "plain", "12", '"text"', ""])
def test_what_is_no_object_or_list_in_json_is_none(text: str) -> None:
    assert as_json(text) is None
