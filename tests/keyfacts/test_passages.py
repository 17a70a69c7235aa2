"""Whole sentences over the ends of lines, and the lists that they introduce."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.keyfacts.passages import LONGEST_LISTED, LONGEST_WHOLE, passages


def whole(text: str, wanted: str = "") -> list[str]:
    return [found.whole for found in passages(text, lambda sentence: wanted in sentence)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yes. No!\nWhy?", ["Yes.", "No!", "Why?"]),
        ("> We go on\n> and on.\nFine.", ["We go on\n> and on.", "Fine."]),
        ("> Take:\n> - a\n> - b\n\nFine.", ["Take:\n> - a\n> - b", "Fine."]),
        ("- one\n- two", ["one", "two"]),
        ("- one:\n  - a\n- two", ["one:\n  - a", "two"]),
        ("- one\n  - a\n- two", ["one\n  - a", "two"]),
        ("Take:\n- x\nThe rest is here.", ["Take:\n- x", "The rest is here."]),
        ("Take:\n- a\n(b)\n- c", ["Take:\n- a\n(b)\n- c"]),
        ("Take:\n- a\n\n# Next\n\n- b", ["Take:\n- a", "Next\n\n- b"]),
        ("# One\n## Two\n- a\n# Three\nEnd.", ["One\n## Two\n- a", "Three\nEnd."]),
        ("Done.\n- Tom", ["Done.", "Tom"]),
        ("Done.\n- a\n- b", ["Done.\n- a\n- b"]),
        ("Done? No.\n- a", ["Done?", "No.", "a"]),
        ("Run it:\n```\na\n```\nDone.", ["Run it:\n```\na\n```", "Done."]),
        ("Run it.\n```\na\n```\nDone.", ["Run it.", "Done."]),
        ("We go. As here:\n- a", ["We go. As here:\n- a"]),
        ("We go.\nAs here:\n- a", ["We go.\nAs here:\n- a"]),
        ("Food:\n\na\n\nb\n\nThat is all of it.", ["Food:\n\na\n\nb", "That is all of it."]),
        ("Hi Tom,\n\nThanks.", ["Hi Tom,", "Thanks."]),
        ("1)\n2) a", ["a"]),
        ("a | b\n--|--\nc | d\nThat is all.", ["a | b\n--|--\nc | d", "That is all."]),
        ("a\tof\nb\tc\n\nd", ["a\tof\nb\tc", "d"]),
        ("a,b\nc,4\nThat is, all.", ["a,b\nc,4", "That is, all."]),
        ("a  b\nc  d\nThat is all.  Good.", ["a  b\nc  d", "That is all.", "Good."]),
        ("Take 3 xyz. of it. so be it.", ["Take 3 xyz. of it. so be it."]),
        ("take it. so be it.", ["take it.", "so be it."]),
        ("", []),
    ],
)
def test_passages(text: str, expected: list[str]) -> None:
    assert whole(text) == expected


def test_only_what_is_wanted_takes_its_list_along() -> None:
    assert whole("Food:\n- never a\n- b", "never") == ["never a"]


@pytest.mark.parametrize(
    ("text", "taken", "is_cut", "may_lack"),
    [
        ("We met. I like nuts. Never give it away.", "I like nuts. Never give it away.", False, True),
        ("I like nuts. Never give it away.", "I like nuts. Never give it away.", False, False),
        ("# Nuts\nNever give them away.", "Nuts\nNever give them away.", False, False),
        ("I like nuts. Bob came. He ran. Never ask him.", "Bob came. He ran. Never ask him.", False, True),
        ("Hello Ann. Never ask him.", "Never ask him.", False, False),
        (
            "I like 3 xyz. of it. Never ask me for 3 xyz. of nuts.",
            "Never ask me for 3 xyz. of nuts.",
            False,
            False,
        ),
        ("- nuts\n\nNever give them away.", "Never give them away.", True, False),
        ("- nuts\n- Never give them away.", "Never give them away.", False, False),
        ("```\nnuts\n```\nNever give them away.", "Never give them away.", True, False),
        ("a\tb\nNever\tBob", "Never\tBob", True, False),
    ],
)
def test_a_sentence_takes_along_what_it_leans_on(text: str, taken: str, is_cut: bool, may_lack: bool) -> None:
    (found,) = passages(text, lambda sentence: "Never" in sentence)
    assert (found.whole, found.is_cut, found.may_lack) == (taken, is_cut, may_lack)


@pytest.mark.parametrize(
    ("text", "is_cut"),
    [
        ("Take " + "a, b, " * 150 + "c.", False),
        ("Take " + "a, b, " * 300 + "c.", True),
        ("Take:\n" + "- a\n" * 64, False),
        ("Take:\n" + "- a\n" * 65, True),
        (f"Take:\n- a\n- {'b' * LONGEST_LISTED}\n", True),
        ("Take:\n```\n" + "a\n" * 70 + "```", True),
        ("Take:\na\nThen:\nb", True),
        ("Take " + "a and\nb and\n" * 100, True),
    ],
)
def test_what_is_too_long_is_cut_and_says_so(text: str, is_cut: bool) -> None:
    found = next(passages(text, lambda sentence: sentence.startswith("Take")))
    assert found.is_cut is is_cut
    assert len(found.whole) <= LONGEST_WHOLE + LONGEST_LISTED


@given(st.text(alphabet="ab .,:!?。，；\n-`1）>#"))
def test_passages_stand_in_the_text_as_they_are(text: str) -> None:
    at = 0
    for found in passages(text, lambda sentence: True):
        at = text.index(found.whole, at) + len(found.whole)
        assert found.whole.startswith(found.sentence)


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "a:\n",
            "- a:\n",
            "a\n- b\n",
            "> ",
            ">",
            "> a\n",
            "# a\n",
            "# a\n## b\n",
            "a:\n\n",
            "a,\n",
            "a to\n\n",
            "- ",
        ),
        *(
            " ",
            "_",
            "：_",
            "👇",
            "</b>",
            "a:</b>\n",
            "a. b:\n- c\n",
            "```\na\n",
            "(a) ",
            "  - a\n    b\n",
            "a:\nb.\n\n",
            "a\tb\n",
            "a | b\n",
            "a,b\n",
            "Never it. ",
            "Never it.\n",
            "A. b. ",
        ),
    ],
)
def test_a_hostile_text_has_passages(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    assert sum(len(found.whole) for found in passages(text, lambda sentence: True)) <= len(text)
