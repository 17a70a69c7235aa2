"""Asides: conversations of runs that are not, or not all, what their session holds."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ctxkit.archive import Archive, Handles, Kept
from ctxkit.core.provider import Entry
from ctxkit.core.state import State
from ctxkit.manager import ContextManager
from ctxkit.openai_agents.carrying import Written, carrying
from ctxkit.openai_agents.rows import Row
from ctxkit.providers.openai_responses_keys import Key, key_of

__all__ = ["Aside", "Asides", "ranges"]

MOST = 8
"""Asides that are remembered, the newest: a run has one at a time."""


@dataclass(frozen=True, slots=True)
class Aside:
    """What a run is to see.

    Attributes:
        rows: its entries; ids are those of the aside.
        state: of the aside.
        trigger: why it was compacted, or not.
        archive: its originals.
    """

    rows: list[Row]
    state: State
    trigger: str
    archive: Archive

    def handles(self, held: Mapping[Key, Sequence[int]]) -> Handles:
        """What its handles stand for in the session. One of what has yet to come into the session is left out until it
        did; what never will is left out of it.

        Args:
            held: the ids of the session's originals by their keys, oldest first.
        """
        used, known = Counter[Key](), dict[int, int]()
        for item in self.archive.log:
            key = key_of(item.raw)
            if ids := held.get(key):
                known[item.id] = ids[min(used[key], len(ids) - 1)]
                used[key] += 1
        newest, found = max(known, default=-1), list[tuple[str, Kept]]()
        for handle, kept in self.archive.kept.items():
            ids = sorted({known[id] for span in kept.ids for id in span if id in known})
            if ids and kept.ids[-1].stop - 1 <= newest:
                found.append((handle, Kept(ranges(ids))))
        return tuple(found)


class Asides:
    """What runs go on with behind a handoff filter, or with a part of the session. Each is compacted in memory, and
    recognised by what it was given before, so that its prefix stays the same from one call of the model to the next.

    Args:
        settings: what `ContextManager` takes, but for the format.
        rows: how a state is given to a model.
        session: the originals of the session, whose handles are not to be used for others.
    """

    def __init__(
        self, settings: Mapping[str, Any], rows: Callable[[State], list[Row]], session: Archive
    ) -> None:
        self._rows = rows
        self._session = session
        self._settings = {**settings, "repair": True}
        self._asides: deque[tuple[list[Key], ContextManager]] = deque(maxlen=MOST)

    async def prepared(self, run: Sequence[Entry], *, written: Written, system: str, tools: Any) -> Aside:
        """The items of a run as the model is to see them.

        Args:
            written: what ctxkit wrote in the session.

        Raises:
            BudgetExceededError: what must stay is larger than the budget.
        """
        keys = [key_of(entry) for entry in run]
        known, context = self._found(keys)
        history, added = context._history, context._preparation.added(list(run[len(known) :]), system)
        meter = history.setting.meter
        history.do(lambda: carrying(history.adding(added), history.state, written, meter))
        known[:] = keys
        request = await context.prepare(tools=tools)
        return Aside(self._rows(history.state), history.state, request.report.trigger, history.archive)

    def _found(self, keys: list[Key]) -> tuple[list[Key], ContextManager]:
        """The aside that these items go on with, or a new one."""
        for known, context in reversed(self._asides):
            if keys[: len(known)] == known:
                return known, context
        context = ContextManager("openai-responses", **self._settings)
        history = context._history
        history.setting = replace(
            history.setting,
            taken=lambda handle, ids: history.archive.taken(handle, ids) or self._is_other(handle, ids),
        )
        self._asides.append(([], context))
        return self._asides[-1]

    def _is_other(self, handle: str, ids: tuple[range, ...]) -> bool:
        """Whether a handle of the session cannot be that of so many originals."""
        held = self._session.kept.get(handle)
        return held is not None and sum(map(len, held.ids)) != sum(map(len, ids))


def ranges(ids: Iterable[int]) -> tuple[range, ...]:
    """Ids, lowest first, as ranges."""
    found = list[range]()
    for id in ids:
        if found and found[-1].stop == id:
            found[-1] = range(found[-1].start, id + 1)
        else:
            found.append(range(id, id + 1))
    return tuple(found)
