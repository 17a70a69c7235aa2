"""Each figure, worked out by hand from its sums."""

from __future__ import annotations

import pytest

from ctxkit.evaluation.metrics import METRICS, metrics, milliseconds_per_turn
from ctxkit.evaluation.prices import Prices
from ctxkit.evaluation.replay import Judge, Replay
from ctxkit.evaluation.scores import Score, score_of
from tests.evaluation.shop import REFUND, TENS, recorded, result

SUMS = Score(
    conversations=2,
    requests=10,
    sent=8,
    valid=6,
    fitting=7,
    grounded=5,
    usable=4,
    needs=40,
    held=30,
    far=10,
    far_held=3,
    constraints=5,
    kept=4,
    tokens=700,
    cached=350,
    repeated=500,
    everything=1_000,
    everything_cached=800,
    answers=60,
    turns=4,
    compactions=3,
    seconds=0.5,
)


def test_every_figure() -> None:
    assert metrics(SUMS, Prices(10, 1, 20)) == {
        "valid": 6 / 8,
        "fits": 7 / 10,
        "usable": 4 / 10,
        "recall": 30 / 40,
        "near": 27 / 30,  # 30 - 3 held of 40 - 10
        "far": 3 / 10,
        "constraints": 4 / 5,
        "cache": 350 / 700,
        "cache_repeated": 350 / 500,
        # 350 tokens at 10, 350 at 1, 60 at 20: 3500 + 350 + 1200 = 5050;
        # sending everything: 200 at 10, 800 at 1, 60 at 20: 2000 + 800 + 1200 = 4000
        "price": 5050 / 4000,
        "tokens": 700 / 1000,
        "compactions_per_100_turns": 75.0,
    }
    assert milliseconds_per_turn(SUMS) == 125.0


def test_a_share_of_nothing_is_none() -> None:
    assert set(metrics(Score(), Prices(1, 1, 1)).values()) == {None}
    assert milliseconds_per_turn(Score()) is None


def test_there_is_no_price_without_prices() -> None:
    assert metrics(SUMS)["price"] is None


def test_figures_as_tables_have_them() -> None:
    shown = {metric.name: metric.shown(metric.value(SUMS, None)) for metric in METRICS}
    assert (shown["recall"], shown["compactions_per_100_turns"], shown["price"]) == ("75.00%", "75.0", "-")


def test_figures_of_a_conversation_whose_old_result_was_cleared() -> None:
    judge = Judge(recorded(REFUND), 100)
    cleared = [*REFUND[:3], result("c1", "lamp"), *REFUND[4:]]
    sent = [
        judge.sent(2, REFUND[:2], None),
        judge.sent(4, REFUND[:4], None),
        judge.sent(6, cleared[:6], None),
        judge.sent(8, REFUND[5:8], None),
    ]
    found = metrics(score_of(Replay(tuple(sent))))
    assert found["valid"] == 1.0
    # 27, 61, 61 + 13 - 18 + 5 = 61, and 7 + 22 + 5 = 34 tokens, all up to 100
    assert found["fits"] == 1.0
    # W1234567 before 2 and before 6 are held; 129.95 before 6 is not
    assert found["recall"] == found["near"] == 2 / 3
    assert found["far"] is None
    # the request before 6 is the one that lacks something
    assert found["usable"] == 3 / 4
    # "You must not ship on Mondays" binds the last two; the last one begins after it
    assert found["constraints"] == 1 / 2
    # prefixes: 0, 27, 43 (system text, user message, call), 0; of the last only "Refund it." (7) is repeated
    assert found["cache"] == (27 + 43) / (27 + 61 + 61 + 34)
    assert found["cache_repeated"] == (27 + 43) / (27 + 48 + 7)
    # everything is 27, 61, 74 and 101
    assert found["tokens"] == (27 + 61 + 61 + 34) / (27 + 61 + 74 + 101)


def test_the_price_of_a_broken_prefix() -> None:
    judge = Judge(recorded(TENS), 100)
    sent = (
        judge.sent(1, TENS[:1], None),
        judge.sent(3, TENS[:3], None),
        judge.sent(5, TENS[2:5], None),
    )
    # 10 + 30 + 30 tokens, 10 of them cached, and answers of 30: 60 at 10, 10 at 1, 30 at 2 are 670;
    # with everything 10 + 30 + 50 tokens, 10 + 30 of them cached: 50 at 10, 40 at 1, 30 at 2 are 600
    assert metrics(score_of(Replay(sent)), Prices(10, 1, 2))["price"] == pytest.approx(670 / 600)
