"""JSON helpers of the adapters."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage
from pydantic import BaseModel, Field

from ctxkit.errors import PlanError
from ctxkit.providers.common import (
    at_path,
    dump_model,
    is_object_text,
    kind_of,
    opaque_tokens,
    path_text,
    replace_at,
    string_of,
    text_of_json,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def nested(depth: int, *, core: Any = None) -> Any:
    value = core
    for level in range(depth):
        value = [value] if level % 2 else {"k": value}
    return value


def test_a_path_reads_as_in_code() -> None:
    assert path_text("messages", 3, "tool_calls", 0, "id") == "messages[3].tool_calls[0].id"
    assert path_text("messages") == "messages"


def test_replace_at_copies_the_path_and_shares_the_rest() -> None:
    entry: dict[str, Any] = {"content": [{"text": "a"}, {"text": "b"}], "other": [1]}
    changed = replace_at(entry, ("content", 0, "text"), "A")
    assert changed == {"content": [{"text": "A"}, {"text": "b"}], "other": [1]}
    assert entry["content"][0] == {"text": "a"}
    assert changed["content"][1] is entry["content"][1]
    assert changed["other"] is entry["other"]
    assert list(changed) == list(entry)


@pytest.mark.parametrize(
    "path",
    [(), ("content", 2, "text"), ("content", "x", "y"), ("gone", 0), ("other", 0, "x"), ("content", -1)],
)
def test_replace_at_refuses_a_path_that_is_not_there(path: tuple[str | int, ...]) -> None:
    with pytest.raises(PlanError):
        replace_at({"content": [{"text": "a"}], "other": [1]}, path, "x")


def test_what_stands_at_a_path() -> None:
    entry: dict[str, Any] = {"content": [{"text": "a"}, {"text": "b"}]}
    assert at_path(entry, ("content", 1, "text")) == "b"
    assert at_path(entry, ()) is entry


@pytest.mark.parametrize("path", [("content", 2), ("gone", "x"), ("content", "x"), ("content", 0, "text", 0)])
def test_a_path_at_which_nothing_stands_is_told(path: tuple[str | int, ...]) -> None:
    with pytest.raises(PlanError, match=f"nothing at {re.escape(path_text(*path))};"):
        at_path({"content": [{"text": "a"}]}, path)


@given(JSON)
def test_what_is_read_of_any_value(value: Any) -> None:
    is_text = isinstance(value, str)
    assert string_of(value) == (value if is_text else "")
    assert kind_of({"type": value}) == string_of(value)
    assert kind_of(value) == (string_of(value.get("type")) if isinstance(value, dict) else "")
    assert is_object_text(json.dumps(value)) == isinstance(value, dict)
    assert not is_object_text(value if not is_text else f"[{value}")


def test_text_that_is_nested_too_deeply_is_no_object() -> None:
    assert not is_object_text('{"a":' * 100_000)


@given(JSON)
def test_json_text_is_compact_json(value: Any) -> None:
    assert text_of_json(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@given(JSON)
def test_json_text_at_any_depth_is_the_same_json(value: Any) -> None:
    depth = 5_000
    plain = text_of_json(value)
    assert text_of_json(nested(depth, core=value)) == '[{"k":' * (depth // 2) + plain + "}]" * (depth // 2)


def test_json_text_of_what_is_no_json() -> None:
    circle: list[Any] = [1]
    circle.append(circle)
    assert text_of_json(circle) == "[1,null]"
    assert text_of_json({"a": "\ud800é", "b": b"x", 3: (1,)}) == '{"a":"\ud800é","b":"b\'x\'","3":[1]}'
    assert text_of_json([10**5_000]).startswith('["0x')


def test_opaque_tokens_are_a_quarter_of_the_length() -> None:
    assert opaque_tokens("x" * 43) == 10


class Aliased(BaseModel):
    some_key: str = Field(alias="someKey")
    unset: int = 3


def test_dump_model_gives_wire_names_and_only_what_was_set() -> None:
    assert dump_model(Aliased(someKey="x")) == {"someKey": "x"}
    assert dump_model(ChatCompletionMessage(role="assistant", content=None)) == {
        "role": "assistant",
        "content": None,
    }


def test_dump_model_without_nulls_gives_what_has_a_value() -> None:
    assert dump_model(Aliased(someKey="x"), nulls=False) == {"someKey": "x", "unset": 3}
    bare = ChatCompletionMessage(role="assistant", content=None)
    assert dump_model(bare, nulls=False) == {"role": "assistant"}


@pytest.mark.parametrize("thing", [None, 3, {}, Aliased, object()])
def test_dump_model_of_anything_else_is_none(thing: object) -> None:
    assert dump_model(thing) is None
