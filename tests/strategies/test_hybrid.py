"""How hybrid runs its steps, by the public API."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from ctxkit import Budget, CompressionStrategy, ContextManager, Drop, Pin, Plan, Services, StrategyError, View
from ctxkit.errors import ConfigError
from ctxkit.registry import strategy_of
from ctxkit.strategies.clear_tool_results import ClearToolResults
from ctxkit.strategies.drop_oldest import DropOldest
from ctxkit.strategies.hybrid import Hybrid

LOG = "2031-02-03 01:14 WARN row skipped, column price empty, sheet 3\n" * 60


class DropsEverything(CompressionStrategy):
    """Breaks its promises: it drops what is pinned."""

    kind: Literal["drops-everything"] = "drops-everything"

    def plan(self, view: View, services: Services) -> Plan:
        return Plan.of(Drop(tuple(unit.id for unit in view.units)))


class Raises(CompressionStrategy):
    """Raises."""

    kind: Literal["raises"] = "raises"

    def plan(self, view: View, services: Services) -> Plan:
        raise RuntimeError("no such thing")


class PinsFirst(CompressionStrategy):
    """Pins the first unit, in its own time."""

    kind: Literal["pins-first"] = "pins-first"

    async def plan(self, view: View, services: Services) -> Plan:
        return Plan.of(Pin((view.units[0].id,)))


def held(talk: Any, *steps: CompressionStrategy, window: int = 2_000, strict: bool = True) -> ContextManager:
    talk.user("First.").step(LOG).assistant("Done.").user(f"Second. {LOG}").assistant("Done.").user("So?")
    context = ContextManager(talk.format, Budget(window=window), Hybrid(steps=steps), strict=strict)
    context.add(talk.entries)
    return context


def test_steps_run_in_order_until_the_target_is_met(talk: Any) -> None:
    context = held(talk, ClearToolResults(keep=0), DropOldest(), window=5_000)
    report = context.prepare_sync().report
    assert not report.compacted
    context = held(type(talk)(talk.format), ClearToolResults(keep=0), DropOldest(), window=2_500)
    report = context.prepare_sync().report
    assert [edit.by for edit in report.edits] == ["clear-tool-results", "drop-oldest"][: len(report.edits)]
    assert report.tokens_after <= report.target


def test_later_steps_go_on_from_what_the_ones_before_left(talk: Any) -> None:
    talk.user(f"First. {LOG}").assistant("Done.").user("Second.").step(LOG).assistant("Done.").user("So?")
    context = ContextManager(
        talk.format, Budget(window=1_000), Hybrid(steps=(ClearToolResults(keep=0), DropOldest()))
    )
    context.add(talk.entries)
    report = context.prepare_sync().report
    assert [(edit.kind, edit.by) for edit in report.edits] == [
        ("Shorten", "clear-tool-results"),
        ("Drop", "drop-oldest"),
    ]


@pytest.mark.parametrize("bad", [DropsEverything(), Raises()])
def test_step_that_fails_is_rolled_back_and_named(talk: Any, bad: CompressionStrategy) -> None:
    context = held(talk, bad, DropOldest(), strict=False)
    request = context.prepare_sync()
    assert [failure.by for failure in request.report.failures] == [bad.kind]
    assert {edit.by for edit in request.report.edits} == {"drop-oldest"}
    assert talk.refused(request.messages) == []


@pytest.mark.parametrize("bad", [DropsEverything(), Raises()])
def test_step_that_fails_is_raised_in_strict_mode(chat: Any, bad: CompressionStrategy) -> None:
    with pytest.raises(StrategyError) as raised:
        held(chat, bad, DropOldest()).prepare_sync()
    assert raised.value.kind == bad.kind


def test_what_a_step_pins_is_out_of_reach_of_the_next(talk: Any) -> None:
    context = held(talk, PinsFirst(), DropOldest(), window=1_000)
    assert context.prepare_sync().messages[0] == talk.entries[0]


def test_steps_are_read_from_names_and_dicts() -> None:
    read = strategy_of(
        {"kind": "hybrid", "steps": ["drop-oldest", {"kind": "clear-tool-results", "keep": 1}]}
    )
    assert read == Hybrid(steps=(DropOldest(), ClearToolResults(keep=1)))


def test_hybrid_of_no_steps_is_refused() -> None:
    with pytest.raises(ConfigError, match="steps"):
        strategy_of({"kind": "hybrid", "steps": []})
