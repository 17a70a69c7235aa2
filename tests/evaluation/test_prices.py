"""Prices: of a model, or as three numbers."""

from __future__ import annotations

import pytest

from ctxkit.errors import ConfigError
from ctxkit.evaluation.prices import Prices


def test_prices_of_a_model() -> None:
    assert Prices.of_model("gpt-5") == Prices(1.25, 0.125, 10)


def test_what_is_not_read_from_a_cache_is_written_to_it() -> None:
    # Anthropic asks 3 dollars for a million tokens of input, 3.75 when they are written to the cache
    assert Prices.of_model("claude-sonnet-4-5") == Prices(3.75, 0.3, 15)


def test_three_numbers() -> None:
    assert Prices.read("10/1/20") == Prices(10, 1, 20)
    assert Prices.read("10/1/20").cost(tokens=100, cached=60, answers=5) == 40 * 10 + 60 * 1 + 5 * 20


@pytest.mark.parametrize("text", ["", "1/2", "1/2/3/4", "a/b/c", "1,2,3"])
def test_what_is_no_triple_is_told(text: str) -> None:
    with pytest.raises(ConfigError, match="three numbers"):
        Prices.read(text)


@pytest.mark.parametrize("text", ["-1/2/3", "1/nan/3", "1/2/inf"])
def test_a_price_is_a_number_from_0_up(text: str) -> None:
    with pytest.raises(ConfigError, match="a number from 0 up"):
        Prices.read(text)


def test_an_unknown_model_has_none() -> None:
    with pytest.raises(ConfigError, match="no preset"):
        Prices.of_model("nobody-1")
