"""What a view tells a strategy: what was remembered, and what there is room for."""

from __future__ import annotations

from typing import Literal

import pytest

from ctxkit import CompressionStrategy, ContextManager, Fact, Pin, Plan, Remember, Services, View, sentences


class KeepDeadlines(CompressionStrategy):
    """Remembers what users say about deadlines, under one key: what was said last counts."""

    kind: Literal["keep-deadlines"] = "keep-deadlines"

    def plan(self, view: View, services: Services) -> Plan:
        known = {fact.value for fact in view.remembered}
        said = [each for unit in view.free() if unit.said_by_user for each in sentences(unit.text)]
        new = [each for each in said if "deadline" in each and each not in known]
        return Plan.of(Remember(Fact("deadline", new[-1]))) if new else Plan()


def _deadlines(*said: str) -> ContextManager:
    context = ContextManager("openai-chat", {"window": 4_000}, KeepDeadlines())
    for each in said:
        context.add([{"role": "user", "content": each}, {"role": "assistant", "content": "Fine."}])
    context.add({"role": "user", "content": "Go on."})
    context.compact()
    return context


def _lines(context: ContextManager) -> list[str]:
    return [fact.line for fact in context.facts]


def test_what_was_superseded_is_still_among_what_was_remembered() -> None:
    context = _deadlines("The deadline is Friday.")
    context.add(
        [{"role": "assistant", "content": "Good."}, {"role": "user", "content": "The deadline is Monday."}]
    )
    context.add([{"role": "assistant", "content": "Good."}, {"role": "user", "content": "Go on."}])
    context.compact()
    assert _lines(context) == ["deadline: The deadline is Monday."]
    assert not context.compact().compacted  # Friday, which is still there to be read, does not come back
    assert _lines(context) == ["deadline: The deadline is Monday."]


def test_what_a_user_took_back_is_still_among_what_was_remembered() -> None:
    context = _deadlines("The deadline is Friday.")
    assert _lines(context) == ["deadline: The deadline is Friday."]
    context.forget("deadline")
    context.compact()
    assert _lines(context) == []


class Fills(CompressionStrategy):
    """Remembers a rule, and pins what it has room for beside it."""

    kind: Literal["fills"] = "fills"

    def plan(self, view: View, services: Services) -> Plan:
        view = view.after(rule := Plan.of(Remember(Fact("rule", "Never call me before nine."), by=self.kind)))
        room, pins = view.room_for_pins(1.0, self.kind), list[int]()
        for unit in view.free():
            if unit.tokens <= room:
                pins.append(unit.id)
                room -= unit.tokens
        return rule + Plan.of(Pin(tuple(pins))) if pins else rule


@pytest.mark.parametrize("window", range(60, 120, 7))
def test_what_there_is_room_for_can_be_pinned_beside_facts_that_are_not_written_yet(window: int) -> None:
    """The facts stand in the profile that there is, not in a text of their own."""
    context = ContextManager("openai-chat", {"window": window, "aim_for": window}, Fills())
    context.remember("meal", "dinner at eight")
    context.add([{"role": "assistant", "content": "word"} for _ in range(20)])
    context.add({"role": "user", "content": "Go on."})
    report = context.compact()
    assert report.failures == ()
    assert [edit.kind for edit in report.edits] == ["Remember", "Pin"]
