"""When a compaction is wanted: below the hard limit only when it can gain something, and not again and again."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit import Budget, CompressionStrategy, ContextManager, Drop, Plan, Services, View
from ctxkit.core.edits import Failure
from ctxkit.triggers import AS_BEFORE


class DropTwo(CompressionStrategy):
    """Drops the two oldest turns, however little that gains."""

    kind: str = "drop-two"

    def plan(self, view: View, services: Services) -> Plan:
        return Plan.of(Drop(tuple(unit.id for unit in view.free()[:4]), "two at a time"))


class Fails(CompressionStrategy):
    """Fails, and shows what it knows of earlier attempts."""

    kind: str = "fails"

    def plan(self, view: View, services: Services) -> Plan:
        raise ValueError(f"attempt {len(view.past) + 1}")


def _said(turn: int) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": f"question {turn} " + "word " * 20},
        {"role": "assistant", "content": f"answer {turn} " + "word " * 20},
    ]


def _requests(budget: Budget, strategy: CompressionStrategy, turns: int) -> list[Any]:
    context = ContextManager("openai-chat", budget, strategy)
    reports = []
    for turn in range(turns):
        context.add(_said(turn)[0])
        reports.append(context.prepare_sync().report)
        context.add(_said(turn)[1])
    return reports


def test_below_the_limit_there_are_at_most_so_many_compactions_in_so_many_turns() -> None:
    budget = Budget(window=4_000, compact_at=300, aim_for=100, min_gain=0, max_compactions=2, per_turns=6)
    reports = _requests(budget, DropTwo(), 30)
    compacted = [report.compacted for report in reports]
    assert all(sum(compacted[at : at + 6]) <= 2 for at in range(25))
    assert sum(compacted) > 4
    assert any(sum(compacted[at : at + 7]) == 3 for at in range(24))  # and no fewer than that
    held = [report.trigger for report in reports if "there were 2 in 6 turns" in report.trigger]
    assert held
    assert max(report.tokens_after for report in reports) <= 4_000


def test_why_a_compaction_waits_is_said_once_and_again_when_the_reason_is_another() -> None:
    budget = Budget(window=4_000, compact_at=300, aim_for=100, min_gain=0, max_compactions=2, per_turns=6)
    triggers = [report.trigger for report in _requests(budget, DropTwo(), 30)]
    held = [trigger for trigger in triggers if trigger.startswith("none: ")]
    assert held[0].endswith("there were 2 in 6 turns; the next one is when the limit is reached")
    assert set(held) == {AS_BEFORE, *(each for each in held if "there were 2 in 6 turns" in each)}
    for at, trigger in enumerate(triggers[1:], 1):
        assert (trigger == AS_BEFORE) is (trigger in held and triggers[at - 1] in held)


def test_the_same_moment_is_told_the_same_reason() -> None:
    context = ContextManager("openai-chat", Budget(window=4_000, compact_at=100, min_gain=90), DropTwo())
    context.add({"role": "system", "content": "rule " * 200})
    context.add({"role": "user", "content": "and now?"})
    first, second = context.prepare_sync().report.trigger, context.prepare_sync().report.trigger
    assert "less than min_gain = 90" in first
    assert first == second
    context.add([{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "Good."}])
    assert context.prepare_sync().report.trigger == AS_BEFORE


def test_the_reason_stays_the_same_when_its_numbers_have_more_digits() -> None:
    context = ContextManager("openai-chat", Budget(window=4_000, compact_at=100, min_gain=90), DropTwo())
    context.add([{"role": "system", "content": "rule " * 960}, {"role": "user", "content": "and now?"}])
    first = context.prepare_sync().report
    assert first.trigger.startswith("none: 972 tokens are over compact_at = 100, but ")
    context.add([{"role": "assistant", "content": "Yes. " * 20}, {"role": "user", "content": "Good."}])
    second = context.prepare_sync().report
    assert (second.trigger, second.tokens_after > 1_000) == (AS_BEFORE, True)


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        (Budget(window=4_000), "nothing to do: below every trigger"),
        (Budget(window=1_000), "1,208 tokens are over the limit of 1,000"),
        (Budget(window=4_000, compact_at=1_000), "1,208 tokens are over compact_at = 1,000"),
    ],
)
def test_triggers_in_words(budget: Budget, why: str) -> None:
    context = ContextManager("openai-chat", budget, DropTwo())
    context.add([{"role": "user", "content": "word " * 1_190}, {"role": "assistant", "content": "Yes."}])
    context.add({"role": "user", "content": "and now?"})
    assert context.prepare_sync().report.trigger == why


class Notes(CompressionStrategy):
    """Drops two turns, and says what it had no room for: the same for some compactions, then something else."""

    kind: str = "notes"

    def plan(self, view: View, services: Services) -> Plan:
        told = "no room for two facts" if view.state.compactions < 3 else "no room for three facts"
        dropped = Drop(tuple(unit.id for unit in view.free()[:4]), "two at a time")
        return Plan.of(dropped) + Plan(
            (), (Failure(self.kind, told, note=True), Failure("other", "it failed"))
        )


def test_a_note_that_stays_the_same_is_said_once_and_a_failure_each_time() -> None:
    budget = Budget(window=4_000, compact_at=100, aim_for=50, min_gain=0, max_compactions=64)
    reports = [report for report in _requests(budget, Notes(), 10) if report.compacted]
    told = [[each.why for each in report.failures] for report in reports[:4]]
    two, three, other = "no room for two facts", "no room for three facts", "it failed"
    assert told == [[two, other], [other], [other], [three, other]]


def test_the_hard_limit_always_compacts() -> None:
    budget = Budget(window=400, compact_at=300, aim_for=100, min_gain=0, max_compactions=1, per_turns=50)
    assert max(report.tokens_after for report in _requests(budget, DropTwo(), 30)) <= 400


def test_what_could_not_gain_enough_is_not_tried() -> None:
    budget = Budget(window=4_000, compact_at=100, aim_for=50, min_gain=90)
    context = ContextManager("openai-chat", budget, Fails(), strict=True)
    context.add({"role": "system", "content": "rule " * 200})
    context.add(_said(0))
    context.add({"role": "user", "content": "and now?"})
    report = context.prepare_sync().report
    assert not report.compacted
    assert "less than min_gain = 90" in report.trigger


def test_an_attempt_that_failed_is_in_the_past_of_the_next_one() -> None:
    context = ContextManager("openai-chat", Budget(window=10_000), Fails())
    context.add(_said(0))
    assert "attempt 1" in context.compact().failures[0].why
    assert "attempt 2" in context.compact().failures[0].why
    assert context.prepare_sync().messages == _said(0)


@pytest.mark.parametrize("settings", [{"max_compactions": 0}, {"max_compactions": 65}, {"per_turns": 0}])
def test_limits_that_cannot_be_are_refused(settings: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        Budget(window=100, **settings)


def test_three_attempts_that_failed_are_enough_until_some_turns_later() -> None:
    budget = Budget(window=6_000, compact_at=50, min_gain=0, per_turns=5)
    triggers = [report.trigger for report in _requests(budget, Fails(), 12)]
    tried = [turn for turn, trigger in enumerate(triggers) if trigger.endswith("anything to change")]
    assert tried == [1, 2, 3, 8]
    assert "but the last 3 attempts failed; the next one is 5 turns after the last" in triggers[4]


def test_an_attempt_that_only_notes_what_it_had_no_room_for_has_not_failed() -> None:
    class OnlyNotes(CompressionStrategy):
        kind: str = "only-notes"

        def plan(self, view: View, services: Services) -> Plan:
            return Plan.noted(self.kind, f"{len(view.units)} facts were not kept")

    budget = Budget(window=6_000, compact_at=50, min_gain=0, per_turns=5)
    triggers = [report.trigger for report in _requests(budget, OnlyNotes(), 12)]
    assert all(trigger.endswith("anything to change") for trigger in triggers[1:])


def test_what_keeps_failing_is_not_tried_in_every_turn() -> None:
    asked: list[str] = []

    def refuses(question: Any) -> str:
        asked.append(question.text)
        return "I am sorry, but I cannot help with that."

    context = ContextManager("openai-chat", Budget(window=50_000, context_limit=2), "summarize", ask=refuses)
    for turn in range(20):
        context.add(_said(turn)[0])
        context.prepare_sync()
        context.add(_said(turn)[1])
    assert 3 <= len(asked) <= 9
