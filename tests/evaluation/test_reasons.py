"""Why steps could not do their work: reasons counted, and the commonest of each step."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxkit.evaluation.reasons import MOST_KEPT, MOST_TOLD, Reason, Reasons, StepReasons

NO_MODEL = "no model is named"


def test_steps_come_with_their_commonest_reason_first() -> None:
    given = [("a", "one"), ("a", "two"), ("a", "two"), ("b", "x"), ("b", "x"), ("b", "x"), ("b", "x")]
    assert Reasons.of(given).by_step() == [
        StepReasons("b", 4, (Reason("x", 4),)),
        StepReasons("a", 3, (Reason("two", 2), Reason("one", 1))),
    ]


def test_what_is_as_often_is_in_the_order_of_the_alphabet() -> None:
    given = [("b", "y"), ("b", "x"), ("a", "z"), ("a", "z")]
    assert Reasons.of(given).by_step() == [
        StepReasons("a", 2, (Reason("z", 2),)),
        StepReasons("b", 2, (Reason("x", 1), Reason("y", 1))),
    ]


def test_reasons_that_differ_in_numbers_are_one() -> None:
    given = [
        ("keep", "no room for messages[28, 62] (680 tokens)"),
        ("keep", "no room for messages[1..3, 5] (9,999 tokens)"),
        ("keep", "HTTP 503 (Unavailable)"),
        ("other", "no room for messages[7] (1 tokens)"),
    ]
    (keep, other) = Reasons.of(given).by_step()
    assert keep.reasons == (
        Reason("no room for messages[1..3, 5] (9,999 tokens)", 2),
        Reason("HTTP 503 (Unavailable)", 1),
    )
    assert other.count == 1


def test_what_is_kept_is_bounded() -> None:
    (step,) = Reasons.of([("a", word * MOST_KEPT) for word in "abcdefgh"]).by_step()
    assert step.count == 8
    assert len(step.reasons) == MOST_TOLD
    assert all(len(reason.why) == MOST_KEPT for reason in step.reasons)


pairs = st.tuples(st.sampled_from("ab"), st.sampled_from(["x", "y", "n 1", "n 2", "n 33"]))


@given(st.lists(pairs), st.lists(pairs))
def test_reasons_add_up_in_any_order(first: list[tuple[str, str]], second: list[tuple[str, str]]) -> None:
    whole = Reasons.of([*first, *second])
    assert Reasons.of(first) + Reasons.of(second) == whole
    assert Reasons.of(second) + Reasons.of(first) == whole
    assert sum(step.count for step in whole.by_step()) == len(first) + len(second)


def test_none_is_nothing() -> None:
    assert Reasons.of([]) == Reasons()
    assert Reasons().by_step() == []
