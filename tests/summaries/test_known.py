"""Looking exact values up: the index finds what a plain search finds."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.summaries.known import Known, replaced
from ctxkit.summaries.specifics import Kind, Specific

TEXTS = st.text(alphabet="aB1-/. 号元", max_size=30)
PIECES = st.text(alphabet="aB1-/.号元", min_size=1, max_size=5)


def bounded(piece: str) -> str:
    """A pattern for a piece that is not a part of something longer, the plain way."""
    before = r"(?<![A-Za-z0-9])" if re.match(r"[A-Za-z0-9]", piece) else ""
    after = r"(?![A-Za-z0-9])" if re.search(r"[A-Za-z0-9]\Z", piece) else ""
    return before + re.escape(piece) + after


@given(st.lists(TEXTS, max_size=3), PIECES)
def test_a_value_is_found_where_a_plain_search_finds_it(texts: list[str], piece: str) -> None:
    specific = Specific(Kind.IDENTIFIER, piece)
    there = {at for at, text in enumerate(texts) if re.search(bounded(piece), text)}
    known = Known(texts)
    assert known.where(specific) == there
    assert known.has(specific) is bool(there)
    assert known.missing([specific]) == (() if there else (specific,))


@given(TEXTS, PIECES)
def test_a_value_is_replaced_wherever_it_stands_by_itself(text: str, piece: str) -> None:
    marked = replaced(text, piece, "?")
    assert marked == re.sub(bounded(piece), "?", text) or piece in piece[1:] + piece


def test_amounts_count_by_their_number() -> None:
    known = Known(["the total was 1234.5", "元"])
    assert known.has(Specific(Kind.AMOUNT, "$1,234.50"))
    assert not known.has(Specific(Kind.AMOUNT, "$1,243.50"))


@pytest.mark.parametrize(
    ("kind", "said", "written", "there"),
    [
        (Kind.AMOUNT, "1,234.56 EUR", "1234.56 EUR", False),
        (Kind.AMOUNT, "1,234.56 EUR", "it was 1,234.56 EUR", True),
        (Kind.COMMAND, "rm -R /srv/Data", "rm -r /srv/data", False),
        (Kind.IDENTIFIER, "AB12cD", "ab12Cd", False),
    ],
)
def test_what_is_missing_is_what_does_not_stand_there_verbatim(
    kind: Kind, said: str, written: str, there: bool
) -> None:
    assert Known([written]).verbatim(Specific(kind, said)) is there
