"""Sentences and clauses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.summaries.prose import (
    LONGEST,
    content,
    is_prose,
    legible,
    normal,
    one_line,
    places_of,
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
        ("Ann (b. 2015 approx.) is here. Good.", ["Ann (b. 2015 approx.) is here.", "Good."]),
        ("Item A.1 (max. 3 pcs.) is sold. Good.", ["Item A.1 (max. 3 pcs.) is sold.", "Good."]),
        ("Ann (is she 5?) is here. Good.", ["Ann (is she 5?) is here.", "Good."]),
        (
            "The box (it is red. Leave it.) is here. Good.",
            ["The box (it is red. Leave it.) is here.", "Good."],
        ),
        ("(It is red. Leave it.) Good.", ["(It is red.", "Leave it.)", "Good."]),
        ("I like it (a lot.) Good.", ["I like it (a lot.)", "Good."]),
        ("I like it :( So be it. Good.", ["I like it :( So be it.", "Good."]),
        ("安（2015年生。很高）来了。好。", ["安（2015年生。很高）来了。", "好。"]),
        ('He said "No." Then he left.', ['He said "No."', "Then he left."]),
        ('"Stop!" he said. Good.', ['"Stop!" he said.', "Good."]),
        ("I like... nuts. Good... So be it.", ["I like... nuts.", "Good...", "So be it."]),
        (
            "It is the U.K. branch, at 9 a.m. on Sat. at 7 y.o. prices. Good.",
            ["It is the U.K. branch, at 9 a.m. on Sat. at 7 y.o. prices.", "Good."],
        ),
        (
            "He is J. R. Lee, Ph.D. of no. 5. See No. 7. Good.",
            ["He is J. R. Lee, Ph.D. of no. 5.", "See No. 7.", "Good."],
        ),
        (
            "Take max. 3 tbsp. of it. I have 3 pcs. Good.",
            ["Take max. 3 tbsp. of it.", "I have 3 pcs.", "Good."],
        ),
        (
            "Use v1.0. Read a.txt at x.example/?a=b. Good.",
            ["Use v1.0.", "Read a.txt at x.example/?a=b.", "Good."],
        ),
        ("我用nuts.不要放。OK", ["我用nuts.", "不要放。", "OK"]),
        ("It is my mother's. I like it.", ["It is my mother's.", "I like it."]),
        ("We need: 1. Nuts. 2. Milk. Good.", ["We need: 1. Nuts.", "2. Milk.", "Good."]),
        ("我要：1. 花生。2. 虾。好。", ["我要：1. 花生。", "2. 虾。", "好。"]),
        ("I have 1. You have more.", ["I have 1.", "You have more."]),
        ("```ls``` fails.\nI go.\n```cd``` too.", ["```ls``` fails.", "I go.", "```cd``` too."]),
        ("````\n```\nx\n```\n````\nI go.", ["I go."]),
        ("~~~\n```\nx\n~~~\nI go.\n```", ["I go.", "```"]),
        ("```a\nx\n```b\ny\n```\nI go.", ["I go."]),
        ("```\nx\n``` and then\nI go.\n```\ny\n```", ["``` and then", "I go."]),
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


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        ".",
        ". ",
        "，",
        ", ",
        "\n",
        "```\n",
        "1. ",
        "…",
        "。”",
        "x (a. b) ",
        "(a. ",
        "(",
        "a.) ",
        "... a",
        "x. (",
        "：1. ",
        "a 1. ",
        "我 ",
        "~~~\n",
        "`",
    ],
)
def test_a_hostile_megabyte_is_read(piece: str) -> None:
    for sentence in sentences(piece * (1_000_000 // len(piece))):
        assert len(sentence) <= LONGEST


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


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Do\u00a0not \u200b\tcall\r\nme", "Do not call me"),
        ("ne\u00adver\ufeff", "never"),
        ("Ｎｅｖｅｒ　１", "Never 1"),
        ("don’t, don´t, donʼt, don`t", "don't, don't, don't, don't"),
        ("plain, 不变。", "plain, 不变。"),
        ("我 对\n花\u3000\u200b 生 a 过 敏", "我对花生 a 过敏"),
    ],
)
def test_words_are_looked_for_in_what_is_seen(text: str, read: str) -> None:
    assert legible(text) == read


@given(st.text(alphabet="ab我 \t\n\u00a0\u200b\u00ad\u3000’Ａ、"))
def test_each_character_that_is_seen_has_its_place(text: str) -> None:
    places = places_of(text)
    assert len(places) == len(legible(text))
    assert places == sorted(set(places))
    assert all(read in (text[at], " ", "'", "A") for at, read in zip(places, legible(text), strict=True))
