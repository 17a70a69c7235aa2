"""Asides: conversations of runs that are not, or not all, what their session holds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxkit.core.provider import Entry
from ctxkit.core.state import State
from ctxkit.manager import ContextManager
from ctxkit.openai_agents.rows import Row
from ctxkit.providers.openai_responses_keys import Key, key_of

__all__ = ["Aside", "Asides"]

MOST = 8
"""Asides that are remembered, the newest: a run has one at a time."""


@dataclass(frozen=True, slots=True)
class Aside:
    """What a run is to see.

    Attributes:
        rows: its entries; ids are those of the aside.
        state: of the aside.
        trigger: why it was compacted, or not.
    """

    rows: list[Row]
    state: State
    trigger: str


class Asides:
    """What runs go on with behind a handoff filter, or with a part of the session. Each is compacted in memory, and
    recognised by what it was given before, so that its prefix stays the same from one call of the model to the next.

    Args:
        settings: what `ContextManager` takes, but for the format.
        rows: how a state is given to a model.
    """

    def __init__(self, settings: Mapping[str, Any], rows: Callable[[State], list[Row]]) -> None:
        self._rows = rows
        self._settings = {**settings, "repair": True}
        self._asides: deque[tuple[list[Key], ContextManager]] = deque(maxlen=MOST)

    async def prepared(self, run: Sequence[Entry], *, system: str, tools: Any) -> Aside:
        """The items of a run as the model is to see them.

        Raises:
            BudgetExceededError: what must stay is larger than the budget.
        """
        keys = [key_of(entry) for entry in run]
        known, context = self._found(keys)
        context.add(list(run[len(known) :]), system=system)
        known[:] = keys
        request = await context.prepare(tools=tools)
        state = context._history.state
        return Aside(self._rows(state), state, request.report.trigger)

    def _found(self, keys: list[Key]) -> tuple[list[Key], ContextManager]:
        """The aside that these items go on with, or a new one."""
        for known, context in reversed(self._asides):
            if keys[: len(known)] == known:
                return known, context
        self._asides.append(([], ContextManager("openai-responses", **self._settings)))
        return self._asides[-1]
