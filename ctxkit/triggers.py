"""Triggers: when a compaction is wanted, and what the past ones taught about that."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from ctxkit.core.view import Past, View
from ctxkit.engine import Outcome, due
from ctxkit.history import History

__all__ = ["ASKED", "AS_BEFORE", "Selected", "Triggers", "by_tokens"]


@dataclass(frozen=True, slots=True)
class Selected:
    """Whether a compaction is wanted, and why it is or is not."""

    why: str
    wanted: bool


ASKED = Selected("asked for", True)

AS_BEFORE = "none: held back, for the same reason as before"
"""What a request is told after the one that was told the reason."""

_NUMBER = re.compile(r"\d[\d,]*")


def by_tokens(view: View, selected: Selected) -> bool:
    """Whether it is the tokens that start a compaction."""
    return selected is not ASKED and view.tokens > view.budget.start


class Triggers:
    """The budget's triggers, less what the past compactions taught: one that cannot gain enough is not tried, and
    below the hard limit there are at most `max_compactions` in `per_turns` turns, and pauses when they keep failing.
    While the last compaction is undone there is none until the window itself overflows.

    What was done is read from the history, so that every worker at a session knows it.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._lock = threading.Lock()
        self._retry_above = 0
        self._forgiven: Past | None = None
        self._said = ("", 0)

    def select(self, view: View) -> Selected:
        """Whether all of it goes out as it is, or why it has to be compressed."""
        with self._lock:
            trigger = due(view, last_turn=next(self._turns(), 0))
            if not trigger:
                return Selected("nothing to do: below every trigger", False)
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
        if self._history.redoable:
            return "the last compaction was undone"
        if view.tokens <= self._retry_above:
            later = f"is tried again above {self._retry_above:,} tokens"
            return f"the last one was not worth taking and {later}"
        failed = self._failed()
        if len(failed) >= FAILURES and view.state.turn - failed[0] < budget.per_turns:
            return f"the last {len(failed)} attempts failed; the next one is {budget.per_turns} turns after the last"
        lately = sum(turn > view.state.turn - budget.per_turns for turn in self._turns())
        if lately >= budget.max_compactions:
            return (
                f"there were {lately} in {budget.per_turns} turns; the next one is when the limit is reached"
            )
        if view.tokens > budget.start and view.shrinkable < budget.least_gain:
            return (
                f"what may shrink has {view.shrinkable:,} tokens, less than min_gain = {budget.least_gain:,}"
            )
        return ""

    def _turns(self) -> Iterator[int]:
        """The turns at which there was a compaction, the newest first."""
        return (past.turn for past, taken in self._past() if taken)

    def _failed(self) -> list[int]:
        """The turns of the attempts in which a step failed since the last compaction, the newest first; one that notes
        what it had no room for has not failed."""
        failed = []
        for past, taken in self._past():
            if taken or past is self._forgiven:
                break
            failed += [past.turn] if any(not each.note for each in past.failures) else []
        return failed

    def _past(self) -> Iterator[tuple[Past, bool]]:
        """What was tried, the newest first, and whether it was taken: an attempt has the number of the next one."""
        number = self._history.state.compactions + 1
        for past in reversed(tuple(self._history.archive.past)):
            yield past, past.number < number
            number = min(number, past.number)

    def compacted(self, outcome: Outcome, *, by_tokens: bool) -> None:
        """A compaction was taken; or refused: when tokens started it, none is tried until there is more to gain."""
        with self._lock:
            if not outcome.refused:
                self._retry_above = 0
            elif by_tokens:
                self._retry_above = outcome.before.tokens + outcome.before.budget.least_gain

    def reset(self) -> None:
        """Another strategy may find what the last one did not."""
        with self._lock:
            past = self._history.archive.past
            self._retry_above, self._forgiven = 0, past[-1] if past else None


FAILURES = 3
"""Attempts in a row that changed nothing since steps failed, after which the next one waits for some turns."""
