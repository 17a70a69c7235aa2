"""How far a provider's own token numbers are from ours, learnt from the `usage` of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import exp, log, sqrt
from types import MappingProxyType

__all__ = ["Ratio", "UsageRatio"]

_PRIOR_SAMPLES = 2
_PRIOR_SPREAD = 0.05
_SIGMAS = 2.0
_LEAST, _MOST = 0.1, 10.0


@dataclass(frozen=True, slots=True)
class Ratio:
    """Reported tokens for each counted token: the likely ratio, and what it hardly ever falls below or exceeds."""

    low: float = 1.0
    mid: float = 1.0
    high: float = 1.0


@dataclass(frozen=True, slots=True)
class UsageRatio:
    """What was learnt so far, by model; a value: `observe` returns the next one.

    For a model with n observations x = ln(reported / counted), clipped to ratios of 0.1 to 10:

        mid  = exp(mean x)
        v    = (2 · 0.05² + Σ (x − mean)²) / (2 + n)        as if two observations had been seen 5 % apart before
        high = mid · exp(2 · √(v · (1 + 1/n)))              low = mid / the same

    So one observation gives a band of 12 % on either side, ten that agree one of 4 %. Without any it is 1, 1, 1:
    the counter as it is. The band is the usual one for the next value of a normal variable, here the logarithm.
    """

    _sums: Mapping[str, tuple[int, float, float]] = field(default_factory=lambda: MappingProxyType({}))

    def observe(self, model: str, counted: int, reported: int) -> UsageRatio:
        """What is known after one more request, which we counted as `counted` tokens and its provider as `reported`.

        Numbers below 1 are no observation and change nothing.
        """
        if counted < 1 or reported < 1:
            return self
        x = log(min(_MOST, max(_LEAST, reported / counted)))
        n, total, squares = self._sums.get(model, (0, 0.0, 0.0))
        after = {**self._sums, model: (n + 1, total + x, squares + x * x)}
        return UsageRatio(MappingProxyType(after))

    def ratio(self, model: str) -> Ratio:
        """The ratio for a model; 1 with no band if nothing was observed for exactly this name."""
        n, total, squares = self._sums.get(model, (0, 0.0, 0.0))
        if n == 0:
            return Ratio()
        mean = total / n
        scatter = max(0.0, squares - n * mean * mean)
        variance = (_PRIOR_SAMPLES * _PRIOR_SPREAD**2 + scatter) / (_PRIOR_SAMPLES + n)
        half = _SIGMAS * sqrt(variance * (1 + 1 / n))
        return Ratio(low=exp(mean - half), mid=exp(mean), high=exp(mean + half))
