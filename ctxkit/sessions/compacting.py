"""Compacting: a compaction of a session, without a lock on it, by one worker at a time, beside the conversation or before
a request."""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractAsyncContextManager
from typing import Any

from ctxkit.engine import Outcome, refuse_inside_plan
from ctxkit.history import Snapshot, Step
from ctxkit.preparation import Done, Preparation
from ctxkit.report import Report, told
from ctxkit.sessions.leases import leased
from ctxkit.sessions.log import Log
from ctxkit.sessions.records import Record
from ctxkit.triggers import Selected

__all__ = ["Compacting"]

LEASE_S = 30.0
"""Seconds for which a worker has a compaction for itself; renewed while it is at it."""

NAME = "compaction"
"""The lease that a worker takes to compact."""


class Compacting:
    """What compacts one session.

    A compaction is planned on the conversation as it was, with no lock. It is written only if what it covers is
    still there; what came meanwhile stays behind it. A lease keeps two workers from paying for the same summary.

    Args:
        background: compact beside the conversation while a request still fits its budget.
    """

    def __init__(self, log: Log, preparation: Preparation, *, background: bool) -> None:
        self._log = log
        self._history = preparation.history
        self._preparation = preparation
        self._background = background
        self._task: asyncio.Task[Report] | None = None

    async def before_request(self, snapshot: Snapshot) -> Done:
        """The conversation that a request is made from: as it is, or compacted where that is due."""
        done = self._preparation.select(snapshot)
        if not done.selected.wanted:
            return done
        fits = done.view.tokens <= done.view.budget.limit
        if fits and self._background:
            self.in_background()
            return _as_it_is(done, "it is compacted in the background")
        async with self._leased(wait=not fits) as ours:
            if not ours:
                return _as_it_is(done, "another worker compacts")
            await self._log.refresh()
            return await self._compress(self._history.snapshot(), asked=False)

    async def now(self) -> Report:
        """A compaction, whatever the triggers say; a worker that is at it is waited for."""
        started = time.perf_counter()
        async with self._leased(wait=True):
            await self._log.refresh()
            done = await self._compress(self._history.snapshot(), asked=True)
        return self._preparation.tell(done, started).report

    def in_background(self) -> asyncio.Task[Report]:
        """A compaction beside the conversation: the task that does it, the one that is at it if there is one."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self.now())
            self._task.add_done_callback(self._tell_failure)
        return self._task

    def _tell_failure(self, task: asyncio.Task[Report]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._history.announce(f"the compaction in the background failed: {error}")

    async def settled(self) -> None:
        """Wait for the compaction in the background, if there is one."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def preview(self) -> Report:
        """What a compaction would do."""
        return await self._log.paged_plan(self._preparation.preview)

    async def _compress(self, snapshot: Snapshot, *, asked: bool) -> Done:
        """A compaction; made anew with the originals that a strategy wanted and that lay in the store."""
        return await self._log.paged_plan(
            lambda: self._preparation.compress(snapshot, self._commit, self._attempted, asked=asked),
        )

    async def _commit(self, outcome: Outcome, version: int) -> Step | None:
        def made(at: float) -> Record | None:
            step = self._history.committing(outcome, version)
            return None if step is None else Record(step.kind, at, step, self._told(outcome))

        record = await self._log.write(made)
        return record.step if record is not None else None

    async def _attempted(self, outcome: Outcome) -> None:
        def made(at: float) -> Record | None:
            step = self._history.attempting(outcome)
            return None if step is None else Record(step.kind, at, step)

        await self._log.write(made)

    def _told(self, outcome: Outcome) -> dict[str, Any]:
        """What a record says of a compaction: by which strategy, with which edits."""
        return {
            "strategy": self._preparation.strategy.kind,
            "tokens": [outcome.before.tokens, outcome.after.tokens],
            "edits": [told(each).model_dump(mode="json") for each in outcome.after.applied],
        }

    def _leased(self, *, wait: bool) -> AbstractAsyncContextManager[bool]:
        """Have the compaction of this session for oneself; without `wait`, False when another task or worker has it."""
        refuse_inside_plan(self._history.setting)  # which has the lease, and would be waited for
        return leased(self._log.store, self._log.id, NAME, LEASE_S, wait=wait)


def _as_it_is(done: Done, why: str) -> Done:
    return Done(done.view, Selected(f"none: {done.selected.why}; {why}", False))
