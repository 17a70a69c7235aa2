"""Literals: what counts as one, where it stands, what stands beside it."""

from __future__ import annotations

import pytest

from ctxkit.evaluation.values import literals, names_in, quoted, stands_in, strings, text_names


def test_literals_are_strings_and_numbers_of_three_characters_and_more() -> None:
    value = {"id": " W12 ", "n": 12, "price": 129.5, "ok": True, "deep": [{"city": "Rome"}, "no", 300]}
    assert list(literals(value)) == ["W12", "129.5", "Rome", "300"]


def test_strings_are_all_strings() -> None:
    assert list(strings({"a": ["b", {"c": "d"}], "n": 1})) == ["b", "d"]


@pytest.mark.parametrize(
    ("literal", "text", "there"),
    [
        ("123", "order 123.", True),
        ("123", "order 1234", False),
        ("123", "A123", False),
        ("123", "#1234 and 123", True),
        ("北京", "我在北京工作", True),
        ("123", "订单123号", True),
        ("a@b", "mail a@b, please", True),
    ],
)
def test_a_literal_stands_where_it_is_no_piece_of_a_word(literal: str, text: str, there: bool) -> None:
    assert stands_in(literal, text) is there


def test_names_are_those_of_the_nearest_field() -> None:
    value = {"order": {"id": "W12", "items": ["lamp", {"sku": "W12"}]}, "W12": {"paid": True}}
    assert set(names_in("W12", value)) == {"id", "sku", "", "W12"}
    assert list(text_names("W12", "Order: W12, and\n  id = W12; total: 7 W12")) == ["Order", "id", "total"]
    assert list(text_names("朝阳区", "地址：朝阳区")) == ["地址"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Earlier. Find order W12 for Ann. More", True),
        ("[kept] Find  order\tW12 for Ann", False),
        ("[kept]\nFind order W12 for Ann", True),
        ("W12", False),
        ("order W12 is late", False),
    ],
)
def test_a_quotation_is_a_sentence_or_line_of_a_source(text: str, told: bool) -> None:
    assert quoted("W12", text, ["Hello. Find order W12 for Ann. Bye."]) is told
