"""Sentences and clauses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.summaries.prose import (
    LONGEST,
    LONGEST_LISTED,
    LONGEST_WHOLE,
    content,
    is_prose,
    normal,
    one_line,
    passages,
    sentences,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yes. No! Why?", ["Yes.", "No!", "Why?"]),
        ("It costs 3.50 at www.x.example today. Fine", ["It costs 3.50 at www.x.example today.", "Fine"]),
        ("Dr. Lee, e.g. on Jan. 5, said so. Good.", ["Dr. Lee, e.g. on Jan. 5, said so.", "Good."]),
        ("I fly on May 20. I return on May 25.", ["I fly on May 20.", "I return on May 25."]),
        ("今天去北京。明天回来！好吗？行", ["今天去北京。", "明天回来！", "好吗？", "行"]),
        ("他说：“不行。”然后走了。", ["他说：“不行。”", "然后走了。"]),
        ("See the list:\n- first one\n2. second one", ["See the list:", "first one", "second one"]),
        ("Run it:\n```\nrm -rf build. Now.\n```\nDone.", ["Run it:", "Done."]),
        ("```\nnever closed", ["```", "never closed"]),
        ("", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert list(sentences(text)) == expected


def test_a_long_sentence_comes_in_runs_of_whole_clauses() -> None:
    clause = "and then we walked on along the river for a good while,"
    assert len(clause) == 55
    assert list(sentences(" ".join([clause] * 7))) == [" ".join([clause] * 5), " ".join([clause] * 2)]


def test_what_has_no_boundary_is_no_sentence() -> None:
    assert list(sentences("a" * (LONGEST + 1))) == []
    assert list(sentences("x" * LONGEST)) == ["x" * LONGEST]


@given(st.text(alphabet="ab .,!?。，；\n-`1）"))
def test_sentences_stand_in_the_text_as_they_are_and_are_short(text: str) -> None:
    for sentence in sentences(text):
        assert sentence in text
        assert 0 < len(sentence) <= LONGEST


@pytest.mark.parametrize("piece", ["a", ".", ". ", "，", ", ", "\n", "```\n", "1. ", "…", "。”"])
def test_a_hostile_megabyte_is_read(piece: str) -> None:
    for sentence in sentences(piece * (1_000_000 // len(piece))):
        assert len(sentence) <= LONGEST


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
        ("", []),
    ],
)
def test_passages(text: str, expected: list[str]) -> None:
    assert whole(text) == expected


def test_only_what_is_wanted_takes_its_list_along() -> None:
    assert whole("Food:\n- never a\n- b", "never") == ["never a"]


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
        ),
    ],
)
def test_a_hostile_text_has_passages(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    assert sum(len(found.whole) for found in passages(text, lambda sentence: True)) <= len(text)


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        ("Please cancel the second reservation.", True),
        ("我的订单{SN-1}呢", True),
        ("Set `max_tokens = 5` in the settings file of the service", True),
        ('{"type": "message", "id": 5}', False),
        ("at readFileSync (node:fs:443:20) {", False),
        ("| a | b |", False),
        ("return binding.readFileUtf8(path, flags);", False),
    ],
)
def test_code_is_no_prose(text: str, prose: bool) -> None:
    assert is_prose(text) is prose


def test_content_is_what_a_text_is_about() -> None:
    assert content("They would like Flight HAT023 with you") == {"flight", "hat023"}
    assert content("北京饭店") == {"北京", "京饭", "饭店"}


def test_normal_forms_are_equal_when_the_same_was_said() -> None:
    assert normal("- I am  allergic to Nuts! ") == normal("i am allergic to nuts")
    assert normal("Is it?") != normal("Is it")


def test_one_line() -> None:
    assert one_line(" a\r\n\n  b\x0bc  d ") == "a b c  d"


def test_plugins_have_the_same_sentences_and_what_binds() -> None:
    import ctxkit

    text = "I am allergic to nuts. The fare is 20 euros. 绝不要寄到旧地址。"
    assert [ctxkit.binds(each) for each in ctxkit.sentences(text)] == [True, False, True]
