"""Counting with tiktoken: the same numbers as tiktoken itself, offline, for any text."""

from __future__ import annotations

import itertools
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ctxkit.errors import ConfigError
from ctxkit.tokens import EstimateCounter, TiktokenCounter, counter, counter_for
from ctxkit.tokens.tiktoken_files import ENCODINGS, encoding

PIECES = [
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    "a",
    "Bc",
    "é",
    "9",
    "12",
    ".",
    ",",
    "/",
    '"',
    "'s",
    "你",
    "。",
    "あ",
    "한",
]
PIECES += ["\u0301", "\u3000", "😀", "\ud83d", "\x1c", "\x85", "<|endoftext|>", "(", "|", "\u200b", "٣", "Ⅷ"]
mixes = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def plain(name: str, text: str) -> int:
    return len(encoding(name).encode(text, disallowed_special=()))


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
@given(text=st.one_of(mixes, st.text()))
@example(text="\ud83d")
@example(text="a\n\n  \nb  c")
@settings(max_examples=150, deadline=None)
def test_safe_places_add_up(name: str, text: str) -> None:
    at = [0, *(found.start() for found in counter._SAFE_PLACE.finditer(text)), len(text)]
    cut = [text[start:end] for start, end in itertools.pairwise(at)]
    assert "".join(cut) == text
    assert sum(plain(name, piece) for piece in cut) == plain(name, text)


def test_long_text_counts_as_tiktoken_does() -> None:
    text = (
        "The order #W123 of 2024-01-02 (total: $1,234.56) isn't here.\n\n  def f(x):\n\treturn x\n你好，世界。"
        * 3_000
    )
    assert len(list(counter._pieces(text))) > 1
    assert TiktokenCounter().count(text) == plain("o200k_base", text)


@pytest.mark.parametrize("char", [" ", "\t", "\u3000", "\n", "a", "A", "你", "😀", "!", "7", "\ud83d"])
def test_a_million_equal_characters_are_counted(char: str) -> None:
    assert 0 < TiktokenCounter().count(char * 1_000_000) <= 1_000_000


def test_special_token_text_is_ordinary_text() -> None:
    assert 3 <= TiktokenCounter("cl100k_base").count("<|endoftext|>") <= 12


def test_count_of_nothing_is_zero() -> None:
    assert TiktokenCounter().count("") == 0


def test_pickled_by_name() -> None:
    again = pickle.loads(pickle.dumps(TiktokenCounter("cl100k_base")))
    assert again == TiktokenCounter("cl100k_base")
    assert again.count("hello world") == 2


def test_unknown_encoding_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match="o200k_base"):
        TiktokenCounter("p50k_base")


def test_threads_get_one_and_the_same_encoding() -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len({id(each) for each in pool.map(encoding, ["o200k_harmony"] * 8)}) == 1


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (None, "tiktoken/o200k_base"),
        ("gpt-5", "tiktoken/o200k_base"),
        ("openai/gpt-5.1-2025-11-13", "tiktoken/o200k_base"),
        ("gpt-6-sol", "tiktoken/o200k_base"),
        ("o3-mini", "tiktoken/o200k_base"),
        ("gpt-4.1-mini", "tiktoken/o200k_base"),
        ("ft:gpt-4o-2024-08-06:org::id", "tiktoken/o200k_base"),
        ("gpt-4-turbo", "tiktoken/cl100k_base"),
        ("gpt-3.5-turbo-0125", "tiktoken/cl100k_base"),
        ("gpt-oss-120b", "tiktoken/o200k_harmony"),
        ("text-davinci-003", "estimate/other"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "estimate/claude"),
        ("claude-opus-5-5", "estimate/claude-4.7"),
        ("models/gemini-2.5-pro", "estimate/gemini"),
        ("llama-4", "estimate/other"),
    ],
)
def test_counter_for(model: str | None, name: str) -> None:
    found = counter_for(model)
    assert found.name == name
    assert found.exact == name.startswith("tiktoken/")


def test_importing_tokens_imports_no_tiktoken_and_counting_needs_no_network() -> None:
    code = (
        "import sys, socket, ctxkit.tokens as t; assert 'tiktoken' not in sys.modules\n"
        "def refuse(*_, **__): raise AssertionError('network')\n"
        "socket.socket.connect = refuse; socket.getaddrinfo = refuse\n"
        "print([t.TiktokenCounter(n).count('hello world') for n in ('o200k_base', 'cl100k_base', 'o200k_harmony')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[2, 2, 2]\n"


def test_encoding_names_are_those_of_tiktoken() -> None:
    assert [encoding(name).name for name in ENCODINGS] == list(ENCODINGS)


@pytest.mark.parametrize("family", ["claude", "claude-4.7", "gemini", "other"])
@given(text=st.text())
@example(text="\ud83d")
@settings(max_examples=40, deadline=None)
def test_estimate_never_raises_and_never_misses_a_text(family: str, text: str) -> None:
    assert EstimateCounter(family).count(text) >= (1 if text.strip() else 0)


@pytest.mark.parametrize(
    "text",
    [
        "Please change my reservation to the earlier flight on Friday, and keep the window seat if you can. "
        * 5,
        "请帮我把周五的航班改签到更早的一班，如果可以的话请保留靠窗的座位。" * 5,
        '{"order_id": "W2378156", "items": [{"name": "keyboard", "price": 125.5}], "status": "pending"}' * 5,
        "def total(items):\n    return sum(item.price * item.count for item in items)\n" * 5,
    ],
    ids=["english", "chinese", "json", "code"],
)
def test_estimate_is_within_a_quarter(text: str) -> None:
    exact = plain("o200k_base", text)
    assert 0.75 * exact <= EstimateCounter("other").count(text) / 1.3 <= 1.25 * exact


def test_estimate_has_a_price_for_every_character() -> None:
    counted = EstimateCounter("other").count
    assert [
        code
        for code in [*range(0x10000), *range(0x10000, 0x110000, 997)]
        if not chr(code).isspace() and counted(chr(code)) < 1
    ] == []


def test_unknown_family_is_refused() -> None:
    with pytest.raises(ConfigError, match="gemini"):
        EstimateCounter("gpt")
