"""What a payload becomes when it is taken in: plain JSON, or an error that says what in it is none."""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

from ctxkit import ContextManager, ProviderFormatError
from ctxkit.jsons import MAX_DEPTH, taken_in


class Role(str, enum.Enum):  # noqa: UP042 - as SDKs of today still write it
    USER = "user"


class Word(enum.StrEnum):
    USER = "user"


class Level(enum.IntEnum):
    HIGH = 3


class Pair(enum.Enum):
    ONE = ("a", Level.HIGH)


class Text(str):
    """Shows itself as something else."""

    __slots__ = ()

    def __str__(self) -> str:
        return "CHANGED"

    def __format__(self, spec: str) -> str:
        return "CHANGED"


class Real(float):
    def __repr__(self) -> str:
        return "CHANGED"


class Whole(int):
    def __repr__(self) -> str:
        return "CHANGED"


class Point(NamedTuple):
    x: int
    y: Text


class Made(BaseModel):
    """What an SDK has."""

    role: Role
    level: int = 7


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        (Role.USER, "user"),
        (Word.USER, "user"),
        (Level.HIGH, 3),
        (Pair.ONE, ["a", 3]),
        (Text("words"), "words"),
        (Real(1.5), 1.5),
        (Whole(4), 4),
        (True, True),
        (Point(1, Text("two")), [1, "two"]),
        (OrderedDict(a=Text("b")), {"a": "b"}),
        ({Text("key"): 1, Role.USER: 2}, {"key": 1, "user": 2}),
        (Made(role=Role.USER), {"role": "user"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_of_classes_of_their_own_become_plain_ones(given: Any, plain: Any) -> None:
    taken = taken_in({"inside": [given]}, format="x")["inside"][0]
    assert taken == plain
    assert list(_classes(taken)) == list(_classes(plain))


def _classes(value: Any) -> Iterator[type]:
    yield type(value)
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield type(key)
        yield from _classes(each)


class Unread(dict[str, Any]):
    def items(self) -> Any:
        raise KeyError("lost")


class Endless(list[Any]):
    def __iter__(self) -> Any:
        raise RuntimeError


class Wrapping(enum.Enum):
    ONE = 1

    @property
    def value(self) -> Any:
        return self


class Dumping:
    def model_dump(self, **options: Any) -> Any:
        return self


class Hiding:
    @property
    def model_dump(self) -> Any:
        raise OSError("closed")


class Loose(BaseModel):
    value: object


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (Unread(a=1), "Unread cannot be written as JSON: KeyError: 'lost'"),
        (Endless([1]), "Endless cannot be written as JSON: RuntimeError, without words"),
        (Made, "the class Made is not a JSON value"),
        (Role, "the class Role is not a JSON value"),
        (Loose(value=object()), "Loose cannot be written as JSON: PydanticSerializationError"),
        (Hiding(), "Hiding cannot be written as JSON: OSError: closed"),
        (Wrapping.ONE, "nested more than 200 levels deep"),
        (Dumping(), "nested more than 200 levels deep"),
        ({1: 2}, "the key 1 is not a string"),
        ({(Text("a"),): 2}, "the key a tuple is not a string"),
        (Real("nan"), "nan is not a JSON number"),
        (Whole(10**5000), "the integer has too many digits"),
        (b"", "bytes is not a JSON value"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_json_is_told_with_its_place(given: Any, why: str) -> None:
    with pytest.raises(ProviderFormatError) as raised:
        taken_in({"inside": [1, given]}, format="x", path="tools")
    assert raised.value.path == "tools.inside[1]"
    assert str(raised.value).startswith(f"x: tools.inside[1]: {why}")


@pytest.mark.parametrize("kind", [dict, OrderedDict])
def test_classes_of_their_own_may_be_nested_as_deep_as_any(kind: type[dict[str, Any]]) -> None:
    deep: Any = "deep"
    for _ in range(MAX_DEPTH):
        deep = kind(inside=deep)
    assert str(taken_in(deep, format="x")).count("inside") == MAX_DEPTH
    with pytest.raises(ProviderFormatError, match="nested more than 200 levels"):
        taken_in([[deep]], format="x")


def test_what_comes_through_the_front_door_is_plain_or_told() -> None:
    context = ContextManager("openai-chat", {"window": 2_000})
    context.add({Text("role"): Role.USER, "content": Text("words"), "x": {"level": Level.HIGH}})
    [message] = context.prepare_sync().messages
    assert message == {"role": "user", "content": "words", "x": {"level": 3}}
    assert set(_classes(message)) == {dict, str, int}
    with pytest.raises(ProviderFormatError, match=r"tools\[0\]: the class Made"):
        context.prepare_sync(tools=[Made])
    with pytest.raises(ProviderFormatError, match=r"content\[0\]: the class Made"):
        context.add({"role": "user", "content": [Made]})
    with pytest.raises(ProviderFormatError, match=r"messages\[0\]\.x: Loose cannot be written as JSON"):
        context.add({"role": "user", "content": "a", "x": Loose(value=object())})
