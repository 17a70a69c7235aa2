"""Pairing: which call a result answers, for those who read entries one after the other."""

from __future__ import annotations

import pytest

from ctxkit.core.items import Part, PartKind
from ctxkit.core.pairing import Awaited


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
