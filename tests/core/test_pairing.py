"""Pairing: which call a result answers, for those who read entries one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ctxkit.core.items import Call, Part, PartKind, Result
from ctxkit.core.pairing import Awaited, OpenCalls, ids_first, named
from ctxkit.core.state import OpenCall


def call(id: str | None, name: str = "look") -> Part:
    return Part((), PartKind.ARGUMENTS, {}, "{}", name, id)


def result(id: str | None, name: str = "") -> Part:
    return Part((), PartKind.RESULT, "", "", name, id)


def answered(*read: Part) -> list[int | None]:
    """For each result that is read, the place of its call among what is read."""
    calls = Awaited[int]()
    found = []
    for at, part in enumerate(read):
        if part.kind is PartKind.ARGUMENTS:
            calls.add(part, at)
        else:
            found.append(calls.take(part))
    return found


def test_a_result_answers_the_call_with_its_id() -> None:
    assert answered(call("a"), call("b"), result("b"), result("a")) == [1, 0]


def test_without_ids_the_name_and_the_order_tell() -> None:
    read = (call(None), call(None, "ask"), call(None), result(None, "look"), result(None, "look"))
    assert answered(*read, result(None, "ask")) == [0, 2, 1]


def test_a_result_answers_a_call_once() -> None:
    assert answered(call("a"), result("a"), result("a")) == [0, None]
    assert answered(call(None), result(None, "look"), result(None, "look")) == [0, None]


@pytest.mark.parametrize("id", ["a", None])
def test_an_id_or_a_name_that_comes_again_is_that_of_the_newest_step(id: str | None) -> None:
    """The call that was never answered waits; the step behind it goes first."""
    read = (call(id), call("b", "ask"), result("b"), call(id), result(id, "look"), result(id, "look"))
    assert answered(*read) == [1, 3, 0]


def test_what_answers_no_call_is_told_so() -> None:
    assert answered(call("a"), result("b"), result(None, "ask")) == [None, None]


def opened(id: str | None, name: str = "look", *, unit: int = 0, closed: str = "") -> OpenCall:
    return OpenCall(Call(id, name), unit, 0, closed)


def taken(calls: Sequence[OpenCall], *results: Result) -> list[int | None]:
    """The places of the calls that results answer, one after the other."""
    waiting = OpenCalls(calls)
    return [waiting.take(result) for result in results]


@pytest.mark.parametrize(
    ("calls", "results", "places"),
    [
        ([opened(None), opened("a"), opened(None)], [Result(None, "look")] * 4, [0, 1, 2, None]),
        ([opened(None), opened("a"), opened(None)], [Result("b", "look")] * 3, [0, 2, None]),
        ([opened(None, "")], [Result("b", "look")], [0]),
        ([opened(None, ""), opened(None)], [Result(None, "look")] * 2, [0, 1]),
        ([opened(None), opened(None, "")], [Result(None)] * 2, [0, 1]),
        ([opened(None, "ask"), opened(None)], [Result(None, "look"), Result(None)], [1, 0]),
        (
            [opened(None), opened(None, unit=1), opened(None, "ask", unit=2)],
            [Result(None, "look")] * 2,
            [1, 0],
        ),
        ([opened(None, "", unit=1), opened(None, unit=2)], [Result(None, "look")] * 2, [1, 0]),
        ([opened(None, closed="x"), opened(None)], [Result(None, "look")] * 2, [1, 0]),
        ([opened(None), opened(None, unit=1, closed="x")], [Result(None, "look")] * 2, [0, 1]),
        ([opened("a", closed="x"), opened("a", unit=1), opened("a", unit=2)], [Result("a")] * 3, [2, 1, 0]),
        ([opened("a"), opened("b"), opened("c")], [Result("b"), *[Result(None, "look")] * 2], [1, 0, 2]),
        ([opened("a"), opened("a", "ask")], [Result("a", "ask"), Result("a"), Result("a")], [0, 1, None]),
        ([opened("a"), opened("a", unit=1), opened("a", unit=1)], [Result("a")] * 4, [1, 2, 0, None]),
        ([opened("a", closed="x"), opened("a"), opened("a")], [Result("a")] * 3, [1, 2, 0]),
        ([opened("a", unit=1, closed="x"), opened("a", unit=1, closed="y")], [Result("a")] * 2, [0, 1]),
        ([opened("a"), opened("a", unit=1, closed="x"), opened(None)], [Result("a")] * 3, [0, 1, 2]),
    ],
)
def test_which_call_a_result_is_for(
    calls: list[OpenCall], results: list[Result], places: list[int | None]
) -> None:
    assert taken(calls, *results) == places


def test_calls_that_are_put_back_stand_where_they_stood() -> None:
    calls = [opened(None), opened("a"), opened(None), opened("b", unit=1)]
    waiting = OpenCalls(calls)
    out = {key: waiting.pop(key) for key in (3, 0, 1)}
    waiting.put_back(out)
    assert list(waiting) == calls
    assert [waiting.find(Result(id, "look")) for id in ("a", "b", None, "other")] == [1, 3, 3, 0]
    assert waiting.add(opened("c")) == 4


class Watched:
    """An open call that counts how often anybody looks at it."""

    looks = 0
    unit, closed = 0, ""

    def __init__(self, id: str | None) -> None:
        self._call = Call(id, "look")

    @property
    def call(self) -> Call:
        Watched.looks += 1
        return self._call


@pytest.mark.parametrize("ids", ["none", "all", "of the results alone"])
def test_a_result_finds_its_call_without_a_look_at_the_others(ids: str) -> None:
    many, Watched.looks = 500, 0
    calls: Any = [Watched(str(at) if ids == "all" else None) for at in range(many)]
    results = [Result(None if ids == "none" else str(at), "look") for at in range(many)]
    assert taken(calls, *results) == list(range(many))
    assert Watched.looks <= 20 * many


def test_results_with_an_id_go_first() -> None:
    assert ids_first([Result(None), Result("b"), Result(None), Result("a")]) == [1, 3, 0, 2]


def test_the_results_of_one_entry_are_told_their_calls_those_with_an_id_first() -> None:
    waiting = OpenCalls([opened("a"), opened(None), opened("b", "ask")])
    assert waiting.take_all([Result(None, "look"), Result("a"), Result("c", "ask")]) == [1, 0, None]
    assert waiting.left() == [(2, opened("b", "ask"))]


@pytest.mark.parametrize(
    ("calls", "name", "at"),
    [
        ([opened("a"), opened("a")], "a", 0),
        ([opened("a"), opened("a", unit=1), opened("b", unit=1), opened("a", unit=1)], "a", 1),
        ([opened("a"), opened("a", unit=1, closed="x")], "a", 0),
        ([opened("look", "ask"), opened("b")], "look", 0),
        ([opened("a"), opened("b", unit=1), opened("c", unit=1)], "look", 1),
        ([opened("a", closed="x")], "a", None),
    ],
)
def test_which_call_an_id_or_a_name_means(calls: list[OpenCall], name: str, at: int | None) -> None:
    assert named(calls, name) == at
