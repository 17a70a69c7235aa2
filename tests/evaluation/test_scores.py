"""Sums over requests, which add up."""

from __future__ import annotations

from dataclasses import fields, replace

from hypothesis import given
from hypothesis import strategies as st

from ctxkit.evaluation.lost import Loss, Lost
from ctxkit.evaluation.needs import Need
from ctxkit.evaluation.reasons import Reasons
from ctxkit.evaluation.replay import Measured, Replay, replay
from ctxkit.evaluation.scores import Score, score_of
from ctxkit.evaluation.settings import Setting
from tests.evaluation.shop import REFUND, TENS, recorded

NEAR, FAR, LOST = Need("aaa", 0, 100, True), Need("bbb", 0, 101, True), Need("ccc", 0, 500, False)

GOOD = Measured(
    at=2,
    turn=1,
    limit=100,
    needs=(NEAR, FAR),
    constraints=("must a", "must b"),
    kept=("must b",),
    tokens=100,
    cached=60,
    repeated=80,
    everything=200,
    everything_cached=150,
    answer=7,
    compacted=True,
    failures=(("a", "no model"), ("b", "no room")),
    seconds=0.5,
)


def test_a_request_in_sums() -> None:
    # far is what is older than the limit of 100: 101 is, 100 is not
    assert score_of(Replay((GOOD,), excluded=3, waiting=1)) == Score(
        conversations=1,
        excluded=3,
        waiting=1,
        requests=1,
        sent=1,
        valid=1,
        fitting=1,
        grounded=1,
        usable=1,
        needs=2,
        held=2,
        far=1,
        far_held=1,
        constraints=2,
        kept=1,
        tokens=100,
        cached=60,
        repeated=80,
        everything=200,
        everything_cached=150,
        answers=7,
        turns=1,
        compactions=1,
        failures=2,
        reasons=Reasons.of(GOOD.failures),
        unkept=Lost((Loss("must a", 1, 2),)),
        seconds=0.5,
    )


def test_what_was_lost_is_told_with_how_often_and_where_first() -> None:
    some = replace(GOOD, needs=(NEAR, LOST), kept=GOOD.constraints)
    more = replace(some, at=6, needs=(LOST, replace(NEAR, held=False)))
    refused = replace(GOOD, at=8, needs=(LOST,), constraints=("must a",), kept=(), refusal="too large")
    score = score_of(Replay((some, more, refused)))
    assert score.lost == Lost((Loss("ccc", 3, 2), Loss("aaa", 1, 6)))
    assert score.unkept == Lost((Loss("must a", 1, 8),))


def test_usable_is_valid_and_fitting_and_grounded() -> None:
    broken = replace(GOOD, violations=("C2",))
    over = replace(GOOD, tokens=101)
    lost = replace(GOOD, needs=(NEAR, LOST))
    score = score_of(Replay((GOOD, broken, over, lost)))
    assert (score.sent, score.valid, score.fitting, score.grounded, score.usable) == (4, 3, 3, 3, 1)
    assert (score.needs, score.held, score.far, score.far_held) == (8, 7, 4, 3)


def test_a_refusal_counts_as_all_missing_and_sends_nothing() -> None:
    asked = Measured(2, 1, 100, (replace(NEAR, held=False),), ("must a",), refusal="too large", seconds=1.0)
    lost, unkept = Lost((Loss("aaa", 1, 2),)), Lost((Loss("must a", 1, 2),))
    expected = Score(
        conversations=1,
        requests=1,
        needs=1,
        constraints=1,
        turns=1,
        lost=lost,
        unkept=unkept,
        seconds=1.0,
    )
    assert score_of(Replay((asked,))) == expected
    failed = replace(asked, failures=(("a", "no model"),))
    reasons = Reasons.of([("a", "no model")])
    assert score_of(Replay((failed,))) == replace(expected, failures=1, reasons=reasons)


def test_turns_are_those_in_which_something_was_asked() -> None:
    requests = tuple(replace(GOOD, turn=turn) for turn in (1, 1, 4))
    assert score_of(Replay(requests)).turns == 2


COUNTS = [each.name for each in fields(Score) if each.name not in ("reasons", "lost", "unkept")]

reasons = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy"))).map(Reasons.of)
lost = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 9))).map(Lost.of)
scores = st.builds(
    Score, **{name: st.integers(0, 1_000) for name in COUNTS}, reasons=reasons, lost=lost, unkept=lost
)


@given(st.lists(scores, max_size=5), st.integers(0, 5))
def test_shards_add_up_to_the_whole(one_a_conversation: list[Score], cut: int) -> None:
    all_of_them = [
        replace(each, lost=each.lost.within(f"{at}"), unkept=each.unkept.within(f"{at}"))
        for at, each in enumerate(one_a_conversation)
    ]
    first, second = sum(all_of_them[:cut], Score()), sum(all_of_them[cut:], Score())
    assert first + second == sum(all_of_them, Score())


def test_each_sum_is_added() -> None:
    once, twice = Reasons.of([("a", "x")]), Reasons.of([("a", "x"), ("a", "x")])
    one, lost = Lost((Loss("a", 1, 2),)), Lost((Loss("a", 1, 2), Loss("a", 1, 2)))
    first = Score(**{name: at for at, name in enumerate(COUNTS, 1)}, reasons=once, lost=one, unkept=one)  # type: ignore[arg-type]
    both = Score(**{name: 2 * at for at, name in enumerate(COUNTS, 1)}, reasons=twice, lost=lost, unkept=lost)  # type: ignore[arg-type]
    assert first + first == both


def test_conversations_add_up() -> None:
    setting = Setting("hybrid", "hybrid", share=1.0)
    first, second = (score_of(replay(recorded(each), setting)) for each in (REFUND, TENS))
    both = first + second
    assert (both.conversations, both.requests, both.turns) == (2, 4 + 3, 2 + 3)
    assert both.tokens == (27 + 61 + 74 + 101) + (10 + 30 + 50)
