"""Prices: what the tokens of a replay cost."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from ctxkit.errors import ConfigError
from ctxkit.presets import preset

__all__ = ["Prices"]


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a token, in any one unit.

    Attributes:
        input: of a token that comes from no cache, writing it to the cache included where that costs.
        cached: of one that is read from the prompt cache.
        output: of one that the model writes.

    Raises:
        ConfigError: a price that is no number, or below 0.
    """

    input: float
    cached: float
    output: float

    def __post_init__(self) -> None:
        for price in (self.input, self.cached, self.output):
            if not (isfinite(price) and price >= 0):
                raise ConfigError(f"a price is a number from 0 up, not {price!r}")

    @classmethod
    def of_model(cls, model: str) -> Prices:
        """The prices of a known model.

        Raises:
            ConfigError: nothing is known of it.
        """
        found = preset(model)
        return cls(found.cache_write, found.cache_read, found.output)

    @classmethod
    def read(cls, text: str) -> Prices:
        """Three numbers with slashes between them, as in `1.25/0.125/10`.

        Raises:
            ConfigError: it is none of that.
        """
        try:
            input, cached, output = map(float, text.split("/"))
        except ValueError:
            raise ConfigError(
                f"prices are three numbers, INPUT/CACHED/OUTPUT, as in 1.25/0.125/10, not {text!r:.60}"
            ) from None
        return cls(input, cached, output)

    def cost(self, *, tokens: int, cached: int, answers: int) -> float:
        """What requests cost.

        Args:
            tokens: of the requests; `cached` of them are read from the cache.
            answers: tokens of the answers.
        """
        return self.input * (tokens - cached) + self.cached * cached + self.output * answers
