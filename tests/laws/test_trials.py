"""What the laws try a strategy on: its own words are said, and a strategy that never makes a plan is found."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import find

from ctxkit import CompressionStrategy, Plan, Services, View
from ctxkit.testing import STRATEGY_LAWS, conversations
from ctxkit.testing.trials import words_of


class Raises(CompressionStrategy):
    """Raise, whatever there is."""

    kind: Literal["raises"] = "raises"
    words: tuple[str, ...] = ("gluten", "麸质", " ")
    tools: frozenset[str] = frozenset({"menu"})
    share: float = 0.5

    def plan(self, view: View, services: Services) -> Plan:
        raise ValueError("no plan today")


def test_a_strategy_that_always_raises_breaks_a_law() -> None:
    (never_raises,) = (law for law in STRATEGY_LAWS if law.__name__ == "never_raises")
    with pytest.raises(AssertionError, match="raises: it raised ValueError: no plan today"):
        never_raises(Raises())


def test_the_words_of_a_strategy_are_those_that_its_parameters_list() -> None:
    assert words_of(Raises()) == ("gluten", "menu", "麸质")


@pytest.mark.parametrize("format", ["openai-chat", "openai-responses", "anthropic", "gemini"])
def test_users_say_these_words(format: str) -> None:
    found = find(conversations(format, words=("麸质",)), lambda payload: "麸质" in str(payload.messages))
    assert any("麸质" in str(message) and message["role"] == "user" for message in found.messages)
    assert not any("麸质" in str(message) and message["role"] != "user" for message in found.messages)
