"""The ladder: who is tried after whom, who is passed over, and what is told of it."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from ctxkit import (
    Budget,
    CompressionStrategy,
    ContextManager,
    Drop,
    ModelCallError,
    Plan,
    Services,
    StrategyError,
    View,
)
from ctxkit.core.edits import Failure
from ctxkit.core.view import Past
from ctxkit.registry import strategy_of
from ctxkit.strategies.drop_oldest import DropOldest
from ctxkit.strategies.fallback import FAILURES, PASSED_OVER, Fallback
from tests.servers.failing import says, serving
from tests.strategies import scribes
from tests.strategies.scribes import Schedule

PADDING = "The garden needs water and the paint is nearly dry by now. "
TRIED: list[str] = []
BROKEN: list[bool] = []


@pytest.fixture(autouse=True)
def nobody_tried_yet() -> None:
    TRIED.clear()
    BROKEN[:] = [True]


class Rung(CompressionStrategy):
    """Fails while it is broken; drops the oldest turn otherwise."""

    kind: Literal["rung"] = "rung"
    name: str = "rung"

    def plan(self, view: View, services: Services) -> Plan:
        TRIED.append(self.name)
        if BROKEN[0]:
            raise ModelCallError(f"{self.name} did not answer", transient=True)
        free = view.free()
        return Plan.of(Drop(tuple(unit.id for unit in free if unit.turn == free[0].turn)))


class Careless(CompressionStrategy):
    """Drops what is pinned."""

    kind: Literal["careless"] = "careless"

    def plan(self, view: View, services: Services) -> Plan:
        return Plan.of(Drop(tuple(unit.id for unit in view.units)))


class Idle(CompressionStrategy):
    """Finds nothing to do."""

    kind: Literal["idle"] = "idle"

    def plan(self, view: View, services: Services) -> Plan:
        TRIED.append(self.kind)
        return Plan()


def turns(count: int, *, start: int = 1) -> list[dict[str, Any]]:
    return [
        {"role": role, "content": f"{role} {at}: {PADDING * 3}"}
        for at in range(start, start + count)
        for role in ("user", "assistant")
    ]


def manager(strategy: Any, ask: Any = None, *, strict: bool = False, **budget: Any) -> ContextManager:
    given = {"window": 100_000, "context_limit": 2, **budget}
    return ContextManager("openai-chat", Budget(**given), strategy, ask=ask, strict=strict)


def filled(strategy: Any, ask: Any = None, **settings: Any) -> ContextManager:
    context = manager(strategy, ask, **settings)
    context.add([*turns(12), {"role": "user", "content": "So?"}])
    return context


@pytest.mark.parametrize("bad", [Rung(), Careless(), Idle()], ids=lambda rung: rung.kind)
def test_the_next_rung_is_tried_on_the_same_conversation(bad: CompressionStrategy) -> None:
    report = filled(Fallback(steps=(bad, DropOldest()))).compact()
    alone = filled(DropOldest()).compact()
    assert [(each.kind, each.by, each.positions) for each in report.edits] == [
        (each.kind, each.by, each.positions) for each in alone.edits
    ]
    assert [failure.by for failure in report.failures] == ([] if bad.kind == "idle" else [bad.kind])


def test_a_rung_that_is_enough_ends_the_ladder() -> None:
    report = filled(Fallback(steps=(DropOldest(), Rung()))).compact()
    assert {edit.by for edit in report.edits} == {"drop-oldest"}
    assert TRIED == []


def test_the_next_rung_goes_on_from_one_that_is_not_enough() -> None:
    BROKEN[0] = False
    report = filled(Fallback(steps=(Rung(), DropOldest()))).compact()
    assert [edit.by for edit in report.edits] == ["rung", "drop-oldest"]
    assert [edit.positions for edit in report.edits] == [(0, 1), tuple(range(2, 22))]


def test_nothing_is_tried_when_all_targets_are_met() -> None:
    assert not filled(Fallback(steps=(Rung(), Idle())), context_limit=50).compact().compacted
    assert TRIED == []


def test_when_every_rung_fails_nothing_changes_and_each_is_named() -> None:
    context = filled(Fallback(steps=(Rung(), Careless())))
    messages = context.prepare_sync().messages
    report = context.report
    assert report is not None
    assert messages == [*turns(12), {"role": "user", "content": "So?"}]
    assert [(each.by, each.why[:20]) for each in report.failures] == [
        ("rung", "rung did not answer"),
        ("careless", "its plan was rolled "),
    ]


def test_a_rung_that_keeps_failing_is_passed_over_and_then_tried_once() -> None:
    context = manager(Fallback(steps=(Rung(), DropOldest())))
    context.add(turns(2))
    told: list[list[str]] = []
    for at in range(FAILURES + PASSED_OVER + 1 + PASSED_OVER + 1):
        context.add(turns(1, start=3 + at))
        report = context.compact()
        assert report.edits[0].by == "drop-oldest"
        told.append([failure.by for failure in report.failures])
    failed, over = [["rung"]], [["rung, passed over"]]
    assert told == [*failed * FAILURES, *over * PASSED_OVER, *failed, *over * PASSED_OVER, *failed]
    assert len(TRIED) == FAILURES + 2


def test_a_rung_that_works_again_is_tried_every_time() -> None:
    context = manager(Fallback(steps=(Rung(), DropOldest())))
    context.add(turns(2))
    for at in range(FAILURES + PASSED_OVER + 3):
        BROKEN[0] = at < FAILURES
        context.add(turns(1, start=3 + at))
        report = context.compact()
    assert report.edits[0].by == "rung"
    assert len(TRIED) == FAILURES + 3


def test_passing_over_is_told_with_its_end() -> None:
    past = [Past(at, 9, 9, (Failure("rung", "no"),)) for at in range(FAILURES)]
    context = filled(Fallback(steps=(Rung(), DropOldest())))
    context._history.archive.past.extend(past)
    assert [(failure.by, failure.why) for failure in context.compact().failures] == [
        (
            "rung, passed over",
            "it failed 3 times in a row or more, and is tried again after this and the next 3 compactions",
        )
    ]


def test_a_ladder_on_a_ladder_does_not_fail_when_a_rung_of_it_rests() -> None:
    inner = Fallback(steps=(Rung(), Idle()))
    context = filled(Fallback(steps=(inner, DropOldest())))
    told = []
    for at in range(FAILURES + PASSED_OVER):
        context.add(turns(1, start=20 + at))
        told.append([failure.by for failure in context.compact().failures])
    assert told == [["rung"]] * FAILURES + [["rung, passed over"]] * PASSED_OVER


def test_the_last_rung_is_never_passed_over() -> None:
    context = filled(Fallback(steps=(Idle(), Rung())))
    for _ in range(FAILURES + 3):
        context.compact()
    assert TRIED == ["idle", "rung"] * (FAILURES + 3)


def test_rungs_of_one_kind_fail_each_for_itself() -> None:
    report = filled(Fallback(steps=(Rung(name="first"), Rung(name="second"), DropOldest()))).compact()
    assert [(each.by, each.why) for each in report.failures] == [
        ("rung 1", "first did not answer"),
        ("rung 2", "second did not answer"),
    ]


def test_in_strict_mode_only_the_last_rung_raises() -> None:
    report = filled(Fallback(steps=(Rung(), DropOldest())), strict=True).compact()
    assert [failure.by for failure in report.failures] == ["rung"]
    with pytest.raises(StrategyError, match="careless"):
        filled(Fallback(steps=(Rung(), Careless())), strict=True).compact()


def test_the_ladder_of_a_fallback_that_names_none() -> None:
    assert [step.kind for step in Fallback().steps] == [
        "summarize",
        "extractive-summary",
        "digest-tool-results",
        "drop-oldest",
    ]
    assert strategy_of("fallback") == Fallback()


@pytest.mark.parametrize(
    ("scribe", "by"),
    [(scribes.good, "summarize"), (scribes.refusing, "extractive-summary"), (None, "extractive-summary")],
)
def test_a_model_that_fails_is_stood_in_for(talk: Any, scribe: Any, by: str) -> None:
    for at in range(12):
        talk.user(f"Question {at}: is room {at} done? {PADDING * 3}").assistant(f"Yes. {PADDING * 3}")
    context = ContextManager(talk.format, Budget(window=1_200), "fallback", ask=scribe)
    context.add(talk.user("So?").entries)
    request = context.prepare_sync()
    assert [edit.by for edit in request.report.edits] == [by]
    assert [failure.by for failure in request.report.failures] == ([] if by == "summarize" else ["summarize"])
    assert request.report.tokens_after <= request.report.target
    assert talk.refused(request.messages) == []


def test_a_question_that_failed_for_good_is_not_sent_again() -> None:
    asked = Schedule([scribes.refusing])
    steps = (strategy_of("summarize"), Idle())
    context = filled(Fallback(steps=steps), asked)
    for _ in range(FAILURES - 1):
        context.compact()
    assert len(asked.questions) == 1


def told_of(strategy: Any, asked: Any, **settings: Any) -> list[str]:
    """Why steps failed in one compaction."""
    return [failure.why for failure in filled(strategy, asked, **settings).compact().failures]


LADDERS = {
    "fallback": {"kind": "fallback", "steps": ["summarize", "summarize", "drop-oldest"]},
    "first-that-fits": {"kind": "first-that-fits", "steps": ["summarize", "summarize", "drop-oldest"]},
    "hybrid": {
        "kind": "hybrid",
        "steps": ["summarize", {"kind": "fallback", "steps": ["summarize", "drop-oldest"]}],
    },
    "within": {
        "kind": "fallback",
        "steps": ["summarize", {"kind": "hybrid", "steps": ["summarize"]}, "drop-oldest"],
    },
}


@pytest.mark.parametrize("ladder", LADDERS.values(), ids=LADDERS)
@pytest.mark.parametrize(
    "scribe",
    [scribes.garbage, scribes.refusing, scribes.foreign_language, scribes.unread, scribes.no_text],
    ids=lambda scribe: scribe.__name__,
)
def test_a_question_that_failed_is_not_sent_again_by_a_later_step(ladder: Any, scribe: Any) -> None:
    asked = Schedule([scribe])
    first, second = told_of(ladder, asked)
    assert len(asked.questions) == 1
    assert "is not asked the same again" not in first
    assert "the `ask` function is not asked the same again: " in second


def test_neither_of_the_questions_for_an_answer_that_is_always_cut_off_is_sent_again() -> None:
    asked = Schedule([scribes.cut_off])
    told = told_of(LADDERS["fallback"], asked)
    assert len(asked.questions) == len({each.digest for each in asked.questions}) == 2
    assert "it was cut off before its end" in told[1]


def test_an_answer_that_was_only_too_long_was_not_refused() -> None:
    asked = Schedule([scribes.endless, scribes.refusing])
    steps = [{"kind": "summarize", "max_tokens": 200}, {"kind": "summarize", "max_tokens": 200}]
    context = filled({"kind": "fallback", "steps": steps}, asked)
    assert context.compact().edits
    assert context._preparation.models._function is not None
    assert list(context._preparation.models._function.failed) == [asked.questions[1].digest]


def test_what_may_pass_is_asked_again_by_a_later_step() -> None:
    asked = Schedule([scribes.blank, scribes.good])
    context = filled(LADDERS["fallback"], asked)
    assert [edit.by for edit in context.compact().edits] == ["summarize"]
    assert len({each.digest for each in asked.questions}) == 1
    assert len(asked.questions) == 2


def test_another_model_is_asked_the_same() -> None:
    with serving(says("I'm sorry, but I can't help with that request.")) as server:
        models = [
            {"name": name, "base_url": server.base_url, "window": 32_000, "retries": 0}
            for name in ("small", "large")
        ]
        steps = [{"kind": "summarize", "model": model} for model in (models[0], *models)]
        told = told_of({"kind": "fallback", "steps": [*steps, "drop-oldest"]}, None)
        assert [asked.body["model"] for asked in server.requests] == ["small", "large"]
        assert len({asked.said for asked in server.requests}) == 1
    assert ["is not asked the same again" in why for why in told] == [False, True, False]
    assert told[1].startswith("model 'small' ")


def test_another_question_may_be_asked_by_a_later_step() -> None:
    asked = Schedule([scribes.refusing])
    steps = ["summarize", {"kind": "summarize", "focus": "the paint"}, "drop-oldest"]
    told_of({"kind": "fallback", "steps": steps}, asked)
    assert len({each.digest for each in asked.questions}) == len(asked.questions) == 2
