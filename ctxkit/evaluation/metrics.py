"""Metrics: what is worked out from the sums of a score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ctxkit.evaluation.prices import Prices
from ctxkit.evaluation.scores import Score

__all__ = ["METRICS", "Metric", "metrics", "milliseconds_per_turn"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of a score.

    Attributes:
        name: in JSON.
        title: in tables.
        meaning: one sentence.
        value: the figure; None where it would be a share of nothing, or a price without prices.
        percent: whether it is a share of 1; else it is a plain number.
    """

    name: str
    title: str
    meaning: str
    value: Callable[[Score, Prices | None], float | None]
    percent: bool = True

    def shown(self, value: float | None) -> str:
        """The figure as tables have it."""
        if value is None:
            return "-"
        return f"{100 * value:.2f}%" if self.percent else f"{value:.1f}"


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _price(score: Score, prices: Prices | None) -> float | None:
    if prices is None:
        return None
    cost = prices.cost(tokens=score.tokens, cached=score.cached, answers=score.answers)
    return _ratio(
        cost,
        prices.cost(tokens=score.everything, cached=score.everything_cached, answers=score.answers),
    )


METRICS = (
    Metric(
        "valid",
        "valid",
        "of the requests made, those that break no wire rule that the conversation does not break itself",
        lambda score, _: _ratio(score.valid, score.sent),
    ),
    Metric(
        "fits",
        "fits",
        "of the requests asked for, those made and within the budget",
        lambda score, _: _ratio(score.fitting, score.requests),
    ),
    Metric(
        "usable",
        "usable",
        "of the requests asked for, those that are valid, fit, and hold everything that the answer's calls need",
        lambda score, _: _ratio(score.usable, score.requests),
    ),
    Metric(
        "recall",
        "recall",
        "of the literals that the answers' calls need, those that the request held",
        lambda score, _: _ratio(score.held, score.needs),
    ),
    Metric(
        "near",
        "near",
        "the same for literals last said no more than one budget back",
        lambda score, _: _ratio(score.held - score.far_held, score.needs - score.far),
    ),
    Metric(
        "far",
        "far",
        "the same for literals last said more than one budget back",
        lambda score, _: _ratio(score.far_held, score.far),
    ),
    Metric(
        "constraints",
        "constraints",
        "of the binding sentences that users said before their newest message, those in the request word for word",
        lambda score, _: _ratio(score.kept, score.constraints),
    ),
    Metric(
        "cache",
        "cache",
        "of all tokens sent, those in the common prefix with the request before",
        lambda score, _: _ratio(score.cached, score.tokens),
    ),
    Metric(
        "cache_repeated",
        "repeated",
        "the same as a share of the tokens that were not new in their request",
        lambda score, _: _ratio(score.cached, score.repeated),
    ),
    Metric("price", "price", "what it costs, as a share of what sending everything costs", _price),
    Metric(
        "tokens",
        "tokens",
        "tokens sent, as a share of those that sending everything takes",
        lambda score, _: _ratio(score.tokens, score.everything),
    ),
    Metric(
        "compactions_per_100_turns",
        "comp./100",
        "compactions in 100 turns (a turn is a user message and all that answers it)",
        lambda score, _: _ratio(100 * score.compactions, score.turns),
        percent=False,
    ),
)
"""Every figure that is the same on each run, in the order of the tables."""


def metrics(score: Score, prices: Prices | None = None) -> dict[str, float | None]:
    """The figures of a score, by name.

    Args:
        prices: without them there is no price.
    """
    return {metric.name: metric.value(score, prices) for metric in METRICS}


def milliseconds_per_turn(score: Score) -> float | None:
    """Time that making the requests of a turn took; another on each run."""
    return _ratio(1_000 * score.seconds, score.turns)
