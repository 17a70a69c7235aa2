"""Listing: where in a text another record begins, and what of each is telling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.literals import telling
from ctxkit.strategies.listing import told_in


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ("id: W100\nstate: lost\nid: W200", [["id: W100", "state: lost"], ["id: W200"]]),
        ("state: lost\nid: W100\nstate: open", [["state: lost", "id: W100"], ["state: open"]]),
        ("id: W100\nstate: lost\n\nnote: x\nid: W200", [["id: W100", "state: lost"], ["note: x", "id: W200"]]),
        ("state: lost\nRef W100.\n\nstate: open\nRef W200.", [["state: lost", "Ref W100."], ["state: open", "Ref W200."]]),
        ("Mei: lost\n- Total: 5\nBob: open\n- Total: 6", [["Mei: lost", "- Total: 5"], ["Bob: open", "- Total: 6"]]),
        ("1. Order: W100\n - State: lost\n2. Order: W200", [["1. Order: W100", "- State: lost"], ["2. Order: W200"]]),
        ("Order W100\nState: lost\nOrder W200\nState: open", [["Order W100", "State: lost"], ["Order W200", "State: open"]]),
        (
            "**Order W100**\n\n- **State:** lost\n\n**Order W200**\n\n- **State:** open",
            [["**Order W100**", "- **State:** lost"], ["**Order W200**", "- **State:** open"]],
        ),
        ('{\n "id": "W100",\n "n": "5"\n},\n{\n "id": "W200",', [['"id": "W100",', '"n": "5"'], ['"id": "W200",']]),
        ("订单：W100\n状态：已发货\n订单：W200\n状态：已取消", [["订单：W100", "状态：已发货"], ["订单：W200", "状态：已取消"]]),
        ("Mei:\n- State: lost\nBob:\n- State: open", [["- State: lost"], ["- State: open"]]),
        ("id: W100\nstate: lost\nError E4031 was raised.", [["id: W100", "state: lost", "Error E4031 was raised."]]),
        ("One order, W100.\n\nAnother order, W200.", [["One order, W100.", "Another order, W200."]]),
        ("Nothing came up.", []),
    ],
)  # fmt: skip
def test_a_record_begins_with_what_the_name_belongs_to_that_was_said_before(
    text: str, records: list[list[str]]
) -> None:
    assert told_in(text) == records


LINES = st.lists(
    st.sampled_from(("a: 1", " - b: 2", "**c:** x", "Order W100", "", "  ", "a:", "12:30: go", "x"))
    | st.text()
)


@given(LINES)
def test_all_that_tells_is_told_once_and_in_order(lines: list[str]) -> None:
    text = "\n".join(lines)
    told = [sentence for record in told_in(text) for sentence in record]
    assert told == list(dict.fromkeys(telling(text)))
