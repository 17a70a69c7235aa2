"""Originals by their handles: each is read by its own, whatever a hash makes of them (P7)."""

from __future__ import annotations

from itertools import count
from typing import Any

from ctxkit import ContextManager, Drop, Plan
from ctxkit.core.marks import handle_of
from tests.test_containment import scripted


def _handle(place: int, entry: dict[str, Any]) -> str:
    """The handle that a message is given whose like nobody has."""
    return handle_of([[[place, place + 1]], entry])


def _two_alike() -> tuple[dict[str, Any], dict[str, Any]]:
    """Messages that would have the same handle in the first and in the third place; one pair of some ten thousand has."""
    seen: dict[str, dict[str, Any]] = {}
    for number in count():
        first, third = (
            {"role": "user", "content": f"{word} {number}" + " word" * 60} for word in ("one", "two")
        )
        seen[_handle(0, first)] = first
        if (handle := _handle(2, third)) in seen:
            return seen[handle], third
    raise AssertionError


def test_two_originals_never_have_one_handle() -> None:
    first, third = _two_alike()
    assert _handle(0, first) == _handle(2, third)
    dropped = iter([0, 2])
    strategy = scripted(lambda view: Plan.of(Drop((next(dropped),), "the oldest")))
    context = ContextManager("openai-chat", {"window": 2_000}, strategy)
    answer = {"role": "assistant", "content": "ok"}
    context.add([first, answer, third, answer, {"role": "user", "content": "now"}])
    handles = [context.compact().edits[0].handle for _ in range(2)]
    assert handles[0] == _handle(0, first)
    assert handles[1].startswith(handles[0])
    assert [context.original(handle) for handle in handles] == [[first], [third]]
