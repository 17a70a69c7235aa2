"""Benchmarks end with 1 where a bar is broken that the project holds."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from benchmarks import grounding, speed
from benchmarks.speed import Bar, at_most
from ctxkit.evaluation.scores import Score


@pytest.mark.parametrize(
    ("bars", "told", "code"),
    [
        ([], "a line\n", 0),
        ([at_most(1.2, 1.2)], "a line; bar: at most 1.2, met\n", 0),
        ([at_most(1.2, 1.2), at_most(4, 3)], "a line; bar: at most 1.2, met; bar: at most 3, BROKEN\n", 1),
        ([Bar("at least 100", False, ends=False)], "a line; bar: at least 100, BROKEN\n", 0),
    ],
    ids=["none", "met", "broken", "told alone"],
)
def test_speed(
    bars: list[Bar],
    told: str,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(speed.PARTS, "one", lambda: iter([("a line", bars)]))
    assert speed.main(["one"]) == code
    assert capsys.readouterr().out == told


@pytest.mark.parametrize(
    ("held", "cached", "arguments", "broken", "code"),
    [
        (98, 95, [], 0, 0),
        (97, 95, [], 1, 1),
        (98, 94, [], 1, 1),
        (97, 94, ["--share", "0.25"], 0, 0),
        (97, 94, ["--strategies", "drop-oldest"], 0, 0),
        (97, 94, ["--strategies", "drop-oldest,hybrid"], 2, 1),
        (97, 94, ["-c", "crosswoz"], 0, 0),
    ],
)
def test_grounding(
    held: int,
    cached: int,
    arguments: list[str],
    broken: int,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def replayed(*_: Any) -> list[tuple[Score, list[str]]]:
        return [(Score(needs=100, held=held, repeated=100, cached=cached), [])]

    monkeypatch.setattr(grounding, "_replayed", replayed)
    monkeypatch.setattr(sys, "argv", ["grounding.py", *arguments])
    assert grounding.main() == code
    assert capsys.readouterr().out.count("BROKEN") == broken
