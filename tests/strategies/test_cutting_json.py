"""JSON that is cut stays JSON, within its tokens."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.marks import marked
from ctxkit.strategies.cutting_json import cut_json, cut_strings
from ctxkit.tokens import counter_for

count = counter_for(None).count


def note(what: str) -> str:
    return marked(f"{what} left out here; original: ctx:1f3a9c02d4")


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "ID-7", "long " * 300]),
    lambda inner: (
        st.lists(inner, max_size=30)
        | st.dictionaries(st.sampled_from(["id", "name", "a", "b", "c" * 90]), inner)
    ),
    max_leaves=60,
)


@given(VALUES, st.integers(1, 400))
def test_what_comes_is_json_of_the_same_type_and_no_larger(value: Any, max_tokens: int) -> None:
    text = json.dumps(value)
    cut = cut_json(text, max_tokens, note, count)
    if not isinstance(value, dict | list):
        assert cut is None
        return
    assert cut is not None
    assert type(json.loads(cut)) is type(value)
    if count(text) <= max_tokens:
        assert json.loads(cut) == value


def test_white_space_goes_first() -> None:
    value = {"rows": [{"id": n} for n in range(20)]}
    assert cut_json(json.dumps(value, indent=8), 150, note, count) == json.dumps(value, separators=(",", ":"))


def test_json_inside_a_string_stays_json() -> None:
    inner = json.dumps([{"id": f"ROW-{n}", "text": "words " * 20} for n in range(50)])
    cut = cut_json(json.dumps({"content": [{"type": "text", "text": inner}]}), 300, note, count)
    assert cut is not None
    rows = json.loads(json.loads(cut)["content"][0]["text"])
    assert rows[0]["id"] == "ROW-0"


def test_key_fields_of_a_wide_object_stay() -> None:
    value = {**{f"flag_{n}": n % 2 == 0 for n in range(900)}, "order_id": "ORD-48213", "due": "2031-05-01"}
    cut = json.loads(cut_json(json.dumps(value), 200, note, count) or "")
    assert cut["order_id"] == "ORD-48213"
    assert cut["due"] == "2031-05-01"
    assert "fields left out here" in cut["ctxkit"]


def test_note_has_a_name_of_its_own() -> None:
    value = {"ctxkit": 1, **{f"flag_{n}": False for n in range(900)}}
    assert "left out here" in json.loads(cut_json(json.dumps(value), 100, note, count) or "")["ctxkit_"]


@pytest.mark.parametrize(
    "text", ["", "words", '"string"', "[1", "[NaN]", "[1e999]", "[" * 9_000 + "]" * 9_000, "12"]
)
def test_what_is_no_json_is_left_to_others(text: str) -> None:
    assert cut_json(text, 10, note, count) is None


def test_short_strings_of_arguments_stay_whatever_the_cap() -> None:
    value = {"path": "a/b.md", "lines": ["short"] * 99, "text": "words " * 500}
    cut = cut_strings(value, 1, note, count)
    assert cut is not None
    assert {**cut, "text": ""} == {**value, "text": ""}
    assert 200 < len(cut["text"]) + 60 < 400


def test_arguments_nested_too_deeply_are_left_to_others() -> None:
    deep: Any = "words " * 500
    for _ in range(150):
        deep = [deep]
    assert cut_strings({"a": deep}, 10, note, count) is None
