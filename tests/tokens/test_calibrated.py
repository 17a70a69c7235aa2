"""What is learnt from a provider's usage numbers."""

from __future__ import annotations

from math import exp, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.tokens import Ratio, UsageRatio


def test_nothing_observed_leaves_the_counter_as_it_is() -> None:
    assert UsageRatio().ratio("m") == Ratio(1.0, 1.0, 1.0)


def test_one_observation_has_the_documented_band() -> None:
    ratio = UsageRatio().observe("m", 1_000, 1_200).ratio("m")
    half = exp(2 * sqrt(2 * 0.05**2 / 3 * 2))
    assert ratio.mid == pytest.approx(1.2)
    assert ratio.high == pytest.approx(1.2 * half)
    assert ratio.low == pytest.approx(1.2 / half)


def test_agreement_narrows_and_disagreement_widens_the_band() -> None:
    def high(*reported: int) -> float:
        learnt = UsageRatio()
        for each in reported:
            learnt = learnt.observe("m", 1_000, each)
        return learnt.ratio("m").high / learnt.ratio("m").mid

    assert high(*[1_200] * 20) < high(1_200) < high(800, 1_600)


def test_observing_gives_a_new_value_and_models_are_apart() -> None:
    before = UsageRatio()
    after = before.observe("a", 100, 150)
    assert before.ratio("a") == Ratio()
    assert after.ratio("b") == Ratio()
    assert after.ratio("a").mid == pytest.approx(1.5)


@pytest.mark.parametrize(("counted", "reported"), [(0, 5), (5, 0), (-1, 3)])
def test_no_observation(counted: int, reported: int) -> None:
    assert UsageRatio().observe("m", counted, reported) == UsageRatio()


@given(st.lists(st.tuples(st.integers(1, 10**9), st.integers(1, 10**9)), min_size=1, max_size=30))
def test_low_mid_high_are_ordered(pairs: list[tuple[int, int]]) -> None:
    learnt = UsageRatio()
    for counted, reported in pairs:
        learnt = learnt.observe("m", counted, reported)
    ratio = learnt.ratio("m")
    assert 0 < ratio.low < ratio.mid < ratio.high
