"""Breaker: keeps a model that fails again and again from slowing every turn."""

from __future__ import annotations

import threading
from enum import Enum, auto

__all__ = ["FAILURES", "PAUSE_S", "Admission", "Breaker"]

FAILURES = 3
"""Questions that fail in a row before a model is left alone."""

PAUSE_S = 60.0
"""Seconds for which it is left alone then."""


class Admission(Enum):
    """Whether a question may be asked."""

    FREE = auto()
    """As often as its settings say."""
    ONCE = auto()
    """To see whether the model is back: without retries, and nobody else meanwhile."""
    SHUT = auto()
    """Not now."""


class Breaker:
    """Counts the failures of one model. Threads may share it.

    Attributes:
        failures: questions that failed since one was answered.
    """

    def __init__(self) -> None:
        self.failures = 0
        self._lock = threading.Lock()
        self._shut_until: float | None = None
        self._on_trial = False

    def admit(self, now: float) -> Admission:
        """Whether a question may be asked at this moment, in seconds of any steady clock.

        Whoever is admitted calls `settle` afterwards.
        """
        with self._lock:
            if self._shut_until is None:
                return Admission.FREE
            if now < self._shut_until or self._on_trial:
                return Admission.SHUT
            self._on_trial = True
            return Admission.ONCE

    def release(self) -> None:
        """Nothing came of a question, and nothing is learnt from it."""
        with self._lock:
            self._on_trial = False

    def settle(self, *, failed: bool, now: float, wait_s: float = 0.0) -> None:
        """What came of a question; `wait_s` are the seconds for which the model asked to be left alone."""
        with self._lock:
            self.failures = self.failures + 1 if failed else 0
            self._on_trial = False
            pause_s = max(wait_s, PAUSE_S if self.failures >= FAILURES else 0.0) if failed else 0.0
            self._shut_until = now + pause_s if pause_s else None

    def left_s(self, now: float) -> float:
        """Seconds until it may be asked again."""
        return max(0.0, (self._shut_until or now) - now)
