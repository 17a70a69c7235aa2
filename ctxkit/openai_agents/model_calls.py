"""ModelCalls: what the models of runs are sent, call by call, from a session and beside it, and put on record so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ctxkit.core.provider import Entry
from ctxkit.core.state import State
from ctxkit.core.view import View
from ctxkit.errors import OpenCallsError, ProviderFormatError
from ctxkit.jsons import copied
from ctxkit.openai_agents.asides import Aside, Asides, ranges
from ctxkit.openai_agents.matching import Matching
from ctxkit.openai_agents.rows import Row, rows_of
from ctxkit.preparation import Done
from ctxkit.providers.openai_responses_keys import Key, key_of
from ctxkit.sessions.ahead import named
from ctxkit.sessions.outgoing import ASIDE, FRESH, Beside, Going, Outgoing, Ready, tokens_of
from ctxkit.sessions.records import to_bytes
from ctxkit.sessions.session import Session
from ctxkit.triggers import Selected

__all__ = ["ModelCalls"]

Rows = Callable[[State], list[Row]]


class ModelCalls:
    """The calls of models that one session is behind.

    Args:
        session: the session.
        settings: what `ContextManager` takes, but for the format.
        rows: how a state is given to a model.
    """

    def __init__(self, session: Session, settings: Mapping[str, Any], rows: Rows) -> None:
        self._session = session
        self._history = session.preparation.history
        self._matching = Matching(self._history)
        self._asides = Asides(settings, rows, self._history.archive)
        self._rows = rows

    async def sent(self, run: Sequence[Entry], *, system: str, tools: Any) -> list[Entry]:
        """What the model is to be sent of a run; it is on record as it is.

        Raises:
            BudgetExceededError: what must stay is larger than the budget.
            StrategyError: a strategy failed, and `strict` is set.
            StoreError: the store failed.
        """
        fresh = await self._session._log.paged(lambda: self._matching.unsaved(run))
        made = None if fresh is None else await self._from_session(fresh, system, tools)
        ready, outgoing = made if made is not None else await self._beside(run, system, tools)
        await self._session._sent(ready, outgoing)
        return [copied(raw) for raw, _, _ in outgoing.entries]

    # From the session

    async def _from_session(
        self, fresh: Sequence[Entry], system: str, tools: Any
    ) -> tuple[Ready, Outgoing] | None:
        """What the session holds, and behind it what the runner has not saved yet; None where that cannot be sent."""
        session, budget = self._session, self._session.preparation.budget
        if system != (self._history.state.system or ""):
            await session.add(system=system)
        if fresh and self._size(self._history.state, fresh) > budget.start:
            await session.compact()
        try:
            ready, _ = await session._ready(tools)
        except (OpenCallsError, ProviderFormatError):
            return None
        view = ready.done.view
        if fresh and self._size(view.state, fresh) > budget.limit:
            return None
        behind = [self._fresh(raw, view.state.next_id + at) for at, raw in enumerate(fresh)]
        entries = [*(row.going for row in self._rows(view.state)), *behind]
        return ready, Outgoing(entries, view.state.system, view.state.tools, self._sizes(view, entries))

    def _size(self, state: State, fresh: Sequence[Entry]) -> int:
        """Tokens of the next request with items that the session does not have yet."""
        return self._session.preparation.view(state).tokens + sum(
            map(self._history.setting.meter.entry, fresh)
        )

    def _sizes(self, view: View, entries: Sequence[Going]) -> dict[str, int]:
        """The sizes of a view by region, and of what goes out beside it."""
        plain = rows_of(view.state, self._history.setting.meter.provider)
        sizes = Counter(view.regions)
        sizes.update(tokens_of(entries))
        sizes.subtract(tokens_of(row.going for row in plain))
        return dict(sizes)

    def _fresh(self, raw: Entry, id: int, stands_for: tuple[range, ...] = ()) -> Going:
        raw = copied(raw)
        tokens = self._history.setting.meter.entry(raw)
        return raw, id, Beside(id, raw, FRESH, tokens, stands_for, named(raw))

    # Beside it

    async def _beside(self, run: Sequence[Entry], system: str, tools: Any) -> tuple[Ready, Outgoing]:
        """What a run holds that is not what the session does, compacted by itself."""
        erased_at, state = self._session._log.book.erased_at, self._history.state
        log = self._session._log
        written = await log.paged(lambda: self._matching.written(run, self._rows))
        aside = await self._asides.prepared(run, written=written, system=system, tools=tools)
        held = await log.paged(self._matching.held)
        entries = self._placed(aside, state, held)
        done = Done(
            self._session.preparation.view(state), Selected(f"beside the session; {aside.trigger}", False)
        )
        beside = {"system": aside.state.system_tokens, "tools": aside.state.tools_tokens}
        tokens = tokens_of(entries, **beside)
        kept = tuple(each for each in aside.handles(held) if each[0] not in self._history.archive.kept)
        return Ready(done, (), erased_at), Outgoing(
            entries, aside.state.system, aside.state.tools, tokens, kept
        )

    def _placed(self, aside: Aside, state: State, held: Mapping[Key, Sequence[int]]) -> list[Going]:
        """The entries of an aside: as the session's own where they are, else as what they are beside it.

        What was made of several goes with each of them when it is erased, and nobody can tell of which it was made.
        """
        used, meter = Counter[Key](), self._history.setting.meter
        everything = self._kept(state)
        placed: list[Going] = []
        for at, row in enumerate(aside.rows):
            if row.item is None or row.item.synthetic or row.item.edited:
                made = Beside(-1 - at, row.raw, ASIDE, meter.entry(row.raw), everything)
                placed.append((row.raw, made.id, made))
                continue
            key = key_of(row.raw)
            ids = held.get(key)
            if ids is None:
                placed.append(self._fresh(row.raw, state.next_id + at, everything))
                continue
            placed.append(self._own(ids[min(used[key], len(ids) - 1)], row))
            used[key] += 1
        return placed

    def _kept(self, state: State) -> tuple[range, ...]:
        """The ids of all that came into the session and was not erased, as ranges."""
        archive = self._history.archive
        return ranges(id for id in range(archive.erased_to, state.next_id) if not archive.is_erased(id))

    def _own(self, id: int, row: Row) -> Going:
        """An entry that the session has too, by its id; as it is, where the run has it in other bytes."""
        (item,) = self._history.archive.items((id,))
        if to_bytes(item.raw) == to_bytes(row.raw):
            return item.raw, id, item
        made = replace(item, raw=row.raw, edited=ASIDE)
        return row.raw, id, made
