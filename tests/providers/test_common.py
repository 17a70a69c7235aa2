"""JSON helpers of the adapters."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage
from pydantic import BaseModel, Field

from ctxkit.errors import PlanError
from ctxkit.providers.common import dump_model, opaque_tokens, path_text, replace_at, text_of_json

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


@pytest.mark.parametrize("thing", [None, 3, {}, Aliased, object()])
def test_dump_model_of_anything_else_is_none(thing: object) -> None:
    assert dump_model(thing) is None
