"""What the kernel refuses of a plan by itself: edits that contradict each other."""

from __future__ import annotations

import pytest

from ctxkit import CompressionStrategy, ContextManager, Fact, Plan, Remember, Retract, Services, View


class Plans(CompressionStrategy):
    """Plans what it is given, whatever it is shown."""

    kind: str = "plans"
    made: Plan

    def plan(self, view: View, services: Services) -> Plan:
        return self.made


def _compacted(made: Plan) -> ContextManager:
    context = ContextManager("openai-chat", {"window": 4_000}, Plans(made=made))
    context.add(
        [{"role": "user", "content": "File it by Friday."}, {"role": "assistant", "content": "Fine."}]
    )
    context.add({"role": "user", "content": "And the appeal by Monday."})
    context.compact()
    return context


FRIDAY, MONDAY, AGAIN = (Fact("deadline", day) for day in ("Friday", "Monday", "Friday"))


@pytest.mark.parametrize(
    "edits",
    [
        (Remember(FRIDAY), Remember(MONDAY)),
        (Remember(FRIDAY), Retract("deadline"), Remember(MONDAY)),
        (Remember(FRIDAY, by="plans"), Remember(MONDAY)),
    ],
    ids=["two", "one between them", "one of them signed"],
)
def test_a_plan_may_not_have_two_values_for_one_fact(edits: tuple[Remember | Retract, ...]) -> None:
    """Both would be told as kept, and the request would have the last one alone."""
    context = _compacted(Plan.of(*edits))
    assert context.facts == ()
    assert context.report is not None
    assert [failure.why for failure in context.report.failures] == [
        "its plan was rolled back: the fact 'deadline' has two values in one plan, and only one is kept; number the "
        "keys, as in '2. deadline', or join the values"
    ]


def test_the_subject_of_such_a_fact_is_named() -> None:
    context = _compacted(
        Plan.of(*(Remember(Fact("team", each, subject="Ann")) for each in ("Otters", "Herons")))
    )
    assert context.report is not None
    assert "the fact 'team' of 'Ann' has two values" in context.report.failures[0].why


@pytest.mark.parametrize(
    ("made", "kept"),
    [
        (Plan.of(Remember(FRIDAY), Remember(AGAIN)), ["deadline: Friday"]),
        (
            Plan.of(Remember(FRIDAY), Remember(Fact("2. deadline", "Monday"))),
            ["deadline: Friday", "2. deadline: Monday"],
        ),
        (
            Plan.of(Remember(FRIDAY), Remember(Fact("deadline", "Monday", subject="appeal"))),
            ["deadline: Friday", "appeal / deadline: Monday"],
        ),
        (Plan.of(Remember(FRIDAY)) + Plan.of(Remember(MONDAY)), ["deadline: Monday"]),
    ],
    ids=["the same value", "two keys", "two subjects", "one stage after the other"],
)
def test_what_is_no_contradiction_is_remembered(made: Plan, kept: list[str]) -> None:
    context = _compacted(made)
    assert context.report is not None
    assert context.report.failures == ()
    assert [fact.line for fact in context.facts] == kept
