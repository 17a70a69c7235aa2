"""Settings: which strategy is replayed in which budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ctxkit.core.budget import Budget
from ctxkit.errors import ConfigError
from ctxkit.manager import ContextManager
from ctxkit.strategy import CompressionStrategy

__all__ = ["Setting"]


@dataclass(frozen=True)
class Setting:
    """How a conversation is replayed.

    Attributes:
        name: of the strategy, in tables.
        strategy: a kind name, a strategy, or a dict as in a config file.
        share: the window as a share of the tokens of each conversation; None when `budget` has one.
        budget: settings of the budget, as in a config file.
        model: picks the token counter.
        manager: other settings of the ContextManager: `reasoning`, `strict`.

    Raises:
        ConfigError: neither a share nor a window, or a share that is not above 0.
    """

    name: str
    strategy: str | CompressionStrategy | Mapping[str, Any]
    share: float | None = None
    budget: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None
    manager: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.share is None and "window" not in self.budget:
            raise ConfigError(f"{self.name}: no share of the tokens and no window is given")
        if self.share is not None and not self.share > 0:
            raise ConfigError(f"{self.name}: a share of the tokens is above 0, not {self.share!r}")

    @property
    def size(self) -> str:
        """The window in words: "50 %" of each conversation, or "8,000" tokens."""
        return f"{self.budget['window']:,}" if self.share is None else f"{100 * self.share:g} %"

    def budget_for(self, tokens: int) -> Budget:
        """The budget for a conversation of so many tokens.

        Raises:
            ConfigError: the other settings of the budget contradict its share.
        """
        if self.share is None:
            return Budget(**self.budget)
        return Budget(**{**self.budget, "window": max(1, int(tokens * self.share))})

    def start(self, format: str, tokens: int) -> ContextManager:
        """A manager for a conversation of so many tokens."""
        return ContextManager(
            format,  # type: ignore[arg-type]
            self.budget_for(tokens),
            self.strategy,
            model=self.model,
            repair=True,
            **self.manager,
        )
