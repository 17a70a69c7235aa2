"""Triggers: when a compaction is wanted, and what the past ones taught about that."""

from __future__ import annotations

import re
import threading
from collections import deque
from dataclasses import dataclass

from ctxkit.core.view import View
from ctxkit.engine import Outcome, due

__all__ = ["ASKED", "AS_BEFORE", "Selected", "Triggers", "by_tokens"]


@dataclass(frozen=True, slots=True)
class Selected:
    """Whether a compaction is wanted, and why it is or is not."""

    why: str
    wanted: bool


ASKED = Selected("asked for", True)

AS_BEFORE = "none: held back, for the same reason as before"
"""What a request is told after the one that was told the reason."""

_NUMBER = re.compile(r"\d+")


def by_tokens(view: View, selected: Selected) -> bool:
    """Whether it is the tokens that start a compaction."""
    return selected is not ASKED and view.tokens > view.budget.start


class Triggers:
    """The budget's triggers, less what the past compactions taught: one that cannot gain enough is not tried, and
    below the hard limit there are at most `max_compactions` in `per_turns` turns, and pauses when they keep failing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: deque[int] = deque(maxlen=MOST_REMEMBERED)
        self._retry_above = 0
        self._held = False
        self._failed: list[int] = []
        self._said = ("", 0)

    def select(self, view: View) -> Selected:
        """Whether all of it goes out as it is, or why it has to be compressed."""
        with self._lock:
            trigger = due(view, last_turn=self._turns[-1] if self._turns else 0)
            if not trigger:
                return Selected("none: under every trigger", False)
            instead = "" if view.tokens > view.budget.limit else self._held_back(view)
            if not instead:
                self._said = ("", 0)
                return Selected(trigger, True)
            return Selected(self._once(f"none: {trigger}, but {instead}", view.state.next_id), False)

    def _once(self, why: str, next_id: int) -> str:
        """Why none was made, in full for the first request of which it is true; numbers alone are nothing new."""
        said, since = self._said
        reason = _NUMBER.sub("0", why)
        if reason == said and next_id > since:
            return AS_BEFORE
        self._said = (reason, next_id)
        return why

    def _held_back(self, view: View) -> str:
        """Why a compaction that is not needed yet waits, "" when it does not."""
        budget = view.budget
        if self._held:
            return "the last compaction was undone"
        if view.tokens <= self._retry_above:
            later = f"is tried again above {self._retry_above} tokens"
            return f"the last one was not worth taking and {later}"
        if len(self._failed) >= FAILURES and view.state.turn - self._failed[-1] < budget.per_turns:
            return f"the last {len(self._failed)} attempts failed; the next one is {budget.per_turns} turns after the last"
        lately = sum(turn > view.state.turn - budget.per_turns for turn in self._turns)
        if lately >= budget.max_compactions:
            return (
                f"there were {lately} in {budget.per_turns} turns; the next one is when the limit is reached"
            )
        shrinkable = {item.id: item.tokens for unit in view.free() for item in unit.items}
        free = sum((shrinkable | {item.id: item.tokens for item in view.changeable()}).values())
        if view.tokens > budget.start and free < budget.least_gain:
            return f"what may shrink has {free} tokens, less than min_gain = {budget.least_gain}"
        return ""

    def compacted(self, outcome: Outcome, *, by_tokens: bool) -> None:
        """A compaction was taken; or refused: when tokens started it, none is tried until there is more to gain."""
        with self._lock:
            if outcome.refused and outcome.failures:
                self._failed.append(outcome.before.state.turn)
            elif not outcome.refused:
                self._failed.clear()
            if outcome.refused and not by_tokens:
                return
            if outcome.refused:
                self._retry_above = outcome.before.tokens + outcome.before.budget.least_gain
            else:
                self._turns.append(outcome.after.state.turn)
                self._retry_above, self._held = 0, False

    def hold(self) -> None:
        """A compaction was undone: until the window itself overflows there is none."""
        with self._lock:
            self._held = True

    def reset(self) -> None:
        """Another strategy may find what the last one did not."""
        with self._lock:
            self._retry_above = 0
            self._failed.clear()


FAILURES = 3
"""Attempts in a row that changed nothing since steps failed, after which the next one waits for some turns."""

MOST_REMEMBERED = 64
"""Compactions whose turn is remembered; `max_compactions` is not above it."""
