"""ContextManager: the front door. Messages go in, requests that fit come out."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from ctxkit.core.budget import Budget
from ctxkit.core.edits import Remember, Retract
from ctxkit.core.facts import USER, Fact, active_facts
from ctxkit.core.provider import Entry
from ctxkit.engine import Outcome, run_sync
from ctxkit.explain import Explanation, explain
from ctxkit.history import Added, Snapshot, Step
from ctxkit.models.question import Ask
from ctxkit.preparation import Done, Preparation, Request, Settings
from ctxkit.providers import FormatName
from ctxkit.report import Report
from ctxkit.restoring import Reading, Search, asked_in
from ctxkit.strategy import CompressionStrategy
from ctxkit.tokens import TokenCounter

__all__ = ["ContextManager", "Request"]


class ContextManager:
    """A conversation that always fits.

    It may be shared by threads and tasks: adding and committing take a lock, planning does not.

    Args:
        format: the wire format of the messages.
        budget: tokens that a request may take; see `Budget`. By default what the preset of the model says.
        strategy: a kind name, a strategy, or a dict as in a config file.
        model: picks the token counter, and how the model treats its reasoning.
        counter: counts instead of the model's counter.
        ask: what answers a strategy that asks a model and names none: a function of a `Question`, plain or async.
        reasoning: what to do for a model that ties its reasoning to all that stands before it: "strip" what a
            change made invalid, "keep" it (when the request asks the provider to drop it), or "refuse" to
            change anything before it. By default what the preset of the model says.
        repair: mend broken payloads and report it, instead of raising ProviderFormatError.
        strict: raise when a strategy fails, instead of rolling it back and reporting it.
        plugins: names of the plugins whose hooks are asked; by default all that are installed.

    Raises:
        ConfigError: an unknown format or strategy, or settings that contradict each other.
    """

    def __init__(
        self,
        format: FormatName,
        budget: Budget | Mapping[str, Any] | None = None,
        strategy: str | CompressionStrategy | Mapping[str, Any] = "hybrid",
        *,
        model: str | None = None,
        counter: TokenCounter | None = None,
        ask: Ask | None = None,
        reasoning: Literal["strip", "keep", "refuse"] | None = None,
        repair: bool = False,
        strict: bool = False,
        plugins: Collection[str] | None = None,
    ) -> None:
        settings = Settings(
            format,
            budget,
            strategy,
            model=model,
            counter=counter,
            ask=ask,
            reasoning=reasoning,
            repair=repair,
            strict=strict,
            plugins=plugins,
        )
        self._preparation = Preparation(settings)
        self._history = self._preparation.history

    def __repr__(self) -> str:
        state = self._history.state
        return f"<ContextManager {self._preparation.provider.name}, {len(state.items)} entries, {self.strategy.kind}>"

    @classmethod
    def from_config(cls, source: str | Path | Mapping[str, Any], **settings: Any) -> ContextManager:
        """A manager as a config file (TOML, YAML, JSON, a `pyproject.toml`) or a dict says; `settings` win.

        Raises:
            ConfigError: the file cannot be read, or a setting in it cannot be right; with its path in the file.
        """
        from ctxkit.config import load

        return load(source).manager(**settings)

    # What goes in

    def add(
        self,
        messages: object = (),
        *,
        system: Any = None,
        region: str = "",
        waiting: Iterable[str] = (),
        author: str = "",
        place: str = "",
        said_at: datetime | None = None,
    ) -> None:
        """Add what is new: one message or a list of them, as dicts or as the SDK's own objects.

        Args:
            messages: a message, a whole response (as the SDK's object or its JSON), or a list of these. They are copied.
            system: system text that stands beside the messages; it replaces what was there.
            region: the budget region they are accounted to, instead of the one they belong to by what they are:
                a name of your own, "recent", "summary" or "tool_results".
            waiting: ids of calls whose result may take several turns: an approval, a job.
            author: who wrote them, where several people or agents do; by default the `name` of a message that has
                one (OpenAI Chat). Summaries and facts say who said what; the messages stay as they are.
            place: where they were written: a channel, a thread.
            said_at: when, to the minute, in the clock of whoever reads it.

        Raises:
            ProviderFormatError: something is not of the format, or broken, or the list begins with all that was added so
                far (two messages at least); nothing of this call is added. Its `path` counts in the list that was given
                here, a whole response as the entries that it holds.
            ConfigError: a region that only ctxkit itself fills or that looks like a slip in one, `waiting` that holds no
                ids, or an author or a place that is no text of one line.
        """
        added = self._preparation.added(
            messages, system, region, waiting, author=author, place=place, said_at=said_at
        )
        self._history.do(lambda: self._adding(added))

    def _adding(self, added: Added) -> Step:
        self._history.refuse_repeated(added.entries)
        return self._history.adding(added)

    def remember(self, key: str, value: str, *, confidence: float = 1.0, subject: str = "") -> None:
        """Keep a fact for good: it is in every request from now on, whatever is compacted.

        A new value for a key (and subject, "brother") supersedes the old one, unless its confidence (0 to 1) is
        lower.

        Raises:
            ConfigError: a key or value that is no text, or a confidence that is no number from 0 to 1.
        """
        fact = Fact(key, value, confidence, subject=subject, must_keep=True)
        self._history.do(lambda: self._history.editing(Remember(fact, by=USER)))

    def forget(self, key: str, *, subject: str = "") -> None:
        """Take a fact back."""
        self._history.do(lambda: self._history.editing(Retract(key, subject=subject, by=USER)))

    def pin(self, *positions: int, until: int | None = None) -> None:
        """Keep messages as they are, with the step they belong to.

        Args:
            positions: where they stand in the input: 0 is the first message that was added, -1 the newest.
            until: number of the last turn for which the pin holds; for good without it.

        Raises:
            ConversationError: there is no such message, or it was left out already.
        """
        self._history.do(lambda: self._history.pinning(positions, until))

    def unpin(self, *positions: int) -> None:
        """Take pins off again. The current user message and system text stay pinned all the same."""
        self._history.do(lambda: self._history.unpinning(positions))

    def use(self, strategy: str | CompressionStrategy | Mapping[str, Any]) -> None:
        """Compact by another strategy from now on."""
        self._preparation.use(strategy)

    def observe_usage(self, input_tokens: int) -> None:
        """Tell what the provider counted for the last request, as its `usage` says.

        The counter learns from it: limits then hold for the provider's own count, at the high end of what was seen.
        They are never wider than by the counter itself. Tokens read from a cache count too (Anthropic reports them
        apart).

        Raises:
            ConfigError: not a number of tokens.
        """
        self._preparation.observe_usage(input_tokens)

    # What comes out

    async def prepare(self, tools: Any = None) -> Request:
        """The request to send now: everything, or what a compaction made of it.

        Args:
            tools: the tool schemas that go along, in the provider's JSON; they count, and are remembered for
                later calls without them.

        Raises:
            OpenCallsError: the messages end on a tool call without result.
            ProviderFormatError: the first request would be refused as it is.
            BudgetExceededError: what must stay is larger than the budget.
            StrategyError: a strategy failed, and `strict` is set.
        """
        started = time.perf_counter()
        snapshot = self._gathered(tools)
        done = self._preparation.select(snapshot)
        if done.selected.wanted:
            done = await self._preparation.compress(snapshot, self._commit, self._attempted)
        return self._structured(done, snapshot, started)

    def prepare_sync(self, tools: Any = None) -> Request:
        """`prepare` for a caller that cannot await; it may be called inside a running event loop too."""
        started = time.perf_counter()
        snapshot = self._gathered(tools)
        done = self._preparation.select(snapshot)
        if done.selected.wanted:
            done = run_sync(lambda: self._preparation.compress(snapshot, self._commit, self._attempted))
        return self._structured(done, snapshot, started)

    def compact(self) -> Report:
        """Compact now, whatever the triggers say, and tell what was done.

        Raises:
            StrategyError: a strategy failed, and `strict` is set.
        """
        started = time.perf_counter()
        snapshot = self._history.snapshot()
        done = run_sync(
            lambda: self._preparation.compress(snapshot, self._commit, self._attempted, asked=True)
        )
        return self._preparation.tell(done, started).report

    def preview(self) -> Report:
        """What `compact` would do now; nothing changes.

        A strategy that asks a model asks it for this too, and the report has what was asked. The answers are kept: the
        same questions, when the conversation has not changed, are not asked again.
        """
        return run_sync(self._preparation.preview)

    def _gathered(self, tools: Any) -> Snapshot:
        """Everything that a request is made from, at this moment."""
        with self._history.lock:
            self._history.do(lambda: self._preparation.tools(tools))
            self._history.do(lambda: self._history.noting(self._preparation.view))
            return self._history.snapshot()

    async def _commit(self, outcome: Outcome, version: int) -> Step | None:
        return self._history.do(lambda: self._history.committing(outcome, version))

    async def _attempted(self, outcome: Outcome) -> None:
        self._history.do(lambda: self._history.attempting(outcome))

    def _structured(self, done: Done, gathered: Snapshot, started: float) -> Request:
        wrong = self._preparation.checked(done, gathered)
        self._history.do(lambda: self._history.sending(done.view.state))
        return self._preparation.structured(done, wrong, started)

    # What there is to know

    @property
    def report(self) -> Report | None:
        """The report of the last request or compaction, None before the first."""
        return self._preparation.report

    @property
    def strategy(self) -> CompressionStrategy:
        """The strategy in use."""
        return self._preparation.strategy

    @property
    def budget(self) -> Budget:
        """The budget."""
        return self._preparation.budget

    def explain(self) -> list[Explanation]:
        """Where each message is now, and why: one explanation a message, in the order of the input."""
        with self._history.lock:
            return explain(self._preparation.view(self._history.state), self._history.archive)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts in force, those of users and those that strategies found; `source` are positions in the input."""
        return tuple(active_facts(self._history.state.facts).values())

    def restore(self, handle: str) -> bytes:
        """What `original` gives, as the JSON of the list, in UTF-8.

        Raises:
            UnknownHandleError: nothing is kept under that handle.
        """
        return json.dumps(self.original(handle)).encode()

    def original(self, handle: str) -> list[Entry]:
        """The messages that a handle stands for, as they were added; copies.

        Raises:
            UnknownHandleError: nothing is kept under that handle.
        """
        return self._history.original(handle)

    def run_restore(self, arguments: Any) -> str:
        """What a model reads that calls the tool of `restore_tool`: originals by handle or position, or what a search of
        all that is not shown any more found.

        It has no more than 2,000 tokens, and no more than an eighth of the limit; where there is more it says how to
        read on. A handle that is unknown, or arguments that are none, are answered in words. So that no
        compaction shrinks the result while it is needed, `pin(-1)` it, and take the pin off after.

        Args:
            arguments: of the call, as an object or as its JSON.
        """
        history, asked = self._history, asked_in(arguments)
        reading = Reading(history.state, history.archive, history.setting.meter, self.budget.limit)
        if not asked.is_search:
            return reading.answered(asked)
        search = Search(reading, asked.query)
        for item in history.archive.items(range(history.state.next_id)):
            search.look(item)
        return search.told()

    def undo(self) -> None:
        """Take the last compaction back, but for the facts that it remembered. It is not made again until the window
        itself overflows.

        Raises:
            ConversationError: there is none that can be undone.
        """
        self._history.do(self._history.undoing)

    def redo(self) -> None:
        """Take the compaction over again that was undone last, unless there was another since.

        Raises:
            ConversationError: there is none, or it changed what was pinned since.
        """
        self._history.do(self._history.redoing)
