"""Trials: a strategy, a generated conversation, and a window that it does not fit."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from ctxkit.strategy import CompressionStrategy
from ctxkit.testing.conversations import Payload, conversations
from ctxkit.testing.replay import size

__all__ = ["Check", "Trial", "over_trials", "words_of"]

SHARES = (0.2, 0.4, 0.6, 0.9)
"""Shares of a conversation's size that windows have."""

LEAST_WINDOW = 40
"""Tokens of the smallest window."""


@dataclass(frozen=True)
class Trial:
    """A strategy, a conversation, and a window, in tokens, that it does not fit."""

    strategy: CompressionStrategy
    payload: Payload
    window: int


Check: TypeAlias = Callable[[Trial], None]
"""Says whether one trial went well: raises AssertionError when it did not."""


def over_trials(strategy: CompressionStrategy, check: Check) -> Callable[[], None]:
    """A Hypothesis test that runs `check` on generated trials of a strategy; settings can be put around it.

    Users say the words of `words_of` now and then: what looks for words has something to find.
    """

    @given(conversations(words=words_of(strategy)), st.sampled_from(SHARES))
    def holds(payload: Payload, share: float) -> None:
        check(Trial(strategy, payload, max(LEAST_WINDOW, int(size(payload) * share))))

    return holds


def words_of(strategy: CompressionStrategy) -> tuple[str, ...]:
    """The words that the parameters of a strategy list, sorted."""
    lists = [getattr(strategy, name) for name in type(strategy).model_fields]
    words = {
        each
        for value in lists
        if isinstance(value, Collection) and not isinstance(value, str)
        for each in value
        if isinstance(each, str) and each.strip()
    }
    return tuple(sorted(words))
