"""Cuts lie between characters as a reader sees them, and keep to their number of tokens."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.marks import marked
from ctxkit.strategies.cutting import cut_middle, cut_text, level
from ctxkit.tokens import counter_for

count = counter_for(None).count
CLUSTERS = (
    "a", "é", "e\u0301", "👩‍👩‍👧‍👦", "🇳🇴", "🇩", " ", "\n", "\r\n", "हि", "न्दी", "क्षि", "서", "\u1100\u1161\u11a8", "𠮷",
    "❤️", "\u0600", "\u200d", "👍🏽", "กำ", "1️⃣", "\u102b", "\u0301", "、", "\ud83d",
)  # fmt: skip


def note(what: str) -> str:
    return marked(f"{what} left out here")


@given(st.lists(st.sampled_from(CLUSTERS), min_size=1, max_size=60).map("".join), st.integers(0, 200))
def test_no_character_is_cut(text: str, chars: int) -> None:
    head, tail = cut_middle(text, chars)
    ends = {0, *(found.end() for found in regex.finditer(r"\X", text))}
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) <= len(text)
    assert len(head) in ends
    assert len(text) - len(tail) in ends


@given(st.lists(st.sampled_from(CLUSTERS), min_size=200, max_size=400).map("".join), st.integers(30, 200))
def test_tokens_are_kept_to(text: str, max_tokens: int) -> None:
    tokens = count(text)
    assert tokens <= max_tokens or count(cut_text(text, tokens, max_tokens, note, count)) <= max_tokens


@pytest.mark.parametrize(
    "text",
    [
        "🇳🇴" * 300_000,
        "a" * 10**6,
        "e\u0301" * 400_000,
        "\u0301" * 10**6,
        "❤️" * 300_000,
        " " * 10**6,
        "好" * 10**6,
    ],
)
def test_few_counts_are_enough_for_a_million_characters(text: str) -> None:
    counted: list[int] = []

    def counting(piece: str) -> int:
        counted.append(len(piece))
        return count(piece)

    tokens = count(text)
    cut = cut_text(text, tokens, 1_000, note, counting)
    assert count(cut) <= 1_000
    assert sum(counted) < 3 * len(text)
    assert len(counted) < 30


def test_much_of_the_room_is_used() -> None:
    text = "".join(f"Line {n} says that all is well.\n" for n in range(3_000))
    assert 800 < count(cut_text(text, count(text), 1_000, note, count)) <= 1_000


@pytest.mark.parametrize(
    ("sizes", "room", "expected"),
    [((), 10, 0), ((3, 4), 10, 4), ((3, 9, 9), 15, 6), ((9, 9), 1, 0), ((5, 5), -3, 0)],
)
def test_level(sizes: tuple[int, ...], room: int, expected: int) -> None:
    assert level(sizes, room) == expected
