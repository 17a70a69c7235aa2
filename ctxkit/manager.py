"""ContextManager: the front door. Messages go in, requests that fit come out."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ctxkit.checks import request_failures
from ctxkit.core.budget import Budget
from ctxkit.core.edits import Failure, Remember, Retract
from ctxkit.core.facts import USER, Fact, active_facts
from ctxkit.core.provider import Entry
from ctxkit.core.state import Meter, State
from ctxkit.core.view import View
from ctxkit.engine import Outcome, check_fits, compact, run_sync
from ctxkit.errors import ConfigError, ProviderFormatError, StrategyError
from ctxkit.explain import Explanation, explain
from ctxkit.history import History, Snapshot
from ctxkit.hooks import Called
from ctxkit.jsons import copied, taken_in
from ctxkit.models.models import Models
from ctxkit.models.question import Ask
from ctxkit.presets import find_preset
from ctxkit.providers import FormatName, provider
from ctxkit.providers.foreign import refuse_other_vendor
from ctxkit.registry import strategy_of
from ctxkit.report import Report
from ctxkit.strategy import CompressionStrategy, Services
from ctxkit.telling import Telling
from ctxkit.tokens import TokenCounter, UsageRatio, counter_for
from ctxkit.triggers import ASKED, Selected, Triggers, by_tokens

__all__ = ["ContextManager", "Request"]

RESERVED = ("system", "profile", "tools")
"""Regions that are filled by what messages are, and by `remember` and `prepare(tools=...)`."""


@dataclass(frozen=True)
class Request:
    """What to send.

    Attributes:
        messages: the history in the provider's own JSON (`input` in Responses, `contents` in Gemini); a copy.
        system: the system text for Anthropic and Gemini, the `instructions` for Responses; None without one.
    """

    messages: list[Entry]
    system: Any
    _telling: Telling = field(repr=False, compare=False)

    @property
    def report(self) -> Report:
        """What was done and why."""
        return self._telling.report


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
    ) -> None:
        if reasoning not in (None, "strip", "keep", "refuse"):
            raise ConfigError(f"reasoning is strip, keep or refuse, not {reasoning!r:.60}", path="reasoning")
        if model is not None and not isinstance(model, str):
            raise ConfigError(f"a model is a name, not {model!r:.60}", path="model")
        self._provider = provider(format)
        self._budget = _budget(budget, model)
        self._hooks = Called()
        self._counter = counter or (self._hooks.counter_for(model) if model else None) or counter_for(model)
        known = find_preset(model) if model is not None else None
        policy = reasoning or ("strip" if known is not None and known.binds_thinking else "keep")
        meter = Meter(self._provider, self._counter.count)
        self._history = History(meter, reasoning=policy, repair=repair)
        self._models = Models(ask)
        self._services = Services(
            self._history.original, strict=strict, models=self._models, hooks=self._hooks, model=model
        )
        self._strategy = strategy_of(strategy)
        self._triggers = Triggers()
        self._last: Telling | None = None
        self._usage = UsageRatio()

    def __repr__(self) -> str:
        state = self._history.state
        return f"<ContextManager {self._provider.name}, {len(state.items)} entries, {self._strategy.kind}>"

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
    ) -> None:
        """Add what was said: one message or a list of them, as dicts or as the SDK's own objects.

        Args:
            messages: a message, a whole SDK response, or a list of these. They are copied.
            system: system text that stands beside the messages; it replaces what was there.
            region: the budget region they are accounted to, instead of the one they belong to by what they are:
                a name of your own, "recent", "summary" or "tool_results".
            waiting: ids of calls whose result may take several turns: an approval, a job.

        Raises:
            ProviderFormatError: something is not of the format, or broken; nothing of this call is added.
            ConfigError: a region that only ctxkit itself fills, or `waiting` that holds no ids.
        """
        if not isinstance(region, str) or region in RESERVED:
            raise ConfigError(f"messages cannot be put into the region {region!r:.60}", path="region")
        if not isinstance(waiting, Iterable):
            raise ConfigError(f"waiting holds ids of calls, not {waiting!r:.60}", path="waiting")
        calls = (waiting,) if isinstance(waiting, str) else tuple(waiting)
        if not all(isinstance(each, str) for each in calls):
            raise ConfigError("waiting holds ids of calls, which are texts", path="waiting")
        name = self._provider.name
        if system is not None and name == "openai-chat":
            raise ProviderFormatError(
                "the system text is a message in the list, {'role': 'system', 'content': ...}",
                format=name,
                path="system",
            )
        given = messages if isinstance(messages, list | tuple) else [messages]
        for message in given:
            refuse_other_vendor(message, name)
        dumped = (entry for message in given for entry in self._provider.dump(message))
        entries = [taken_in(entry, format=name, path=f"messages[{at}]") for at, entry in enumerate(dumped)]
        beside = taken_in(system, format=name, path="system")
        self._history.add(entries, system=beside, region=region, waiting=calls)

    def remember(self, key: str, value: str, *, confidence: float = 1.0, subject: str = "") -> None:
        """Keep a fact for good: it is in every request from now on, whatever is compacted.

        A new value for a key (and subject, "brother") supersedes the old one, unless its confidence (0 to 1) is
        lower.

        Raises:
            ConfigError: a key or value that is no text, or a confidence that is no number from 0 to 1.
        """
        fact = Fact(key, value, confidence, subject=subject, must_keep=True)
        self._history.edit(Remember(fact, by=USER))

    def forget(self, key: str, *, subject: str = "") -> None:
        """Take a fact back."""
        self._history.edit(Retract(key, subject=subject, by=USER))

    def pin(self, *positions: int, until: int | None = None) -> None:
        """Keep messages as they are, with the step they belong to.

        Args:
            positions: where they stand in the input: 0 is the first message that was added, -1 the newest.
            until: number of the last turn for which the pin holds; for good without it.

        Raises:
            ConversationError: there is no such message, or it was left out already.
        """
        self._history.pin(positions, until)

    def unpin(self, *positions: int) -> None:
        """Take pins off again. The current user message and system text stay pinned all the same."""
        self._history.unpin(positions)

    def use(self, strategy: str | CompressionStrategy | Mapping[str, Any]) -> None:
        """Compact by another strategy from now on."""
        self._strategy = strategy_of(strategy)
        self._triggers.reset()
        self._services.disabled.clear()

    def observe_usage(self, input_tokens: int) -> None:
        """Tell what the provider counted for the last request, as its `usage` says.

        The counter learns from it: limits then hold for the provider's own count, at the high end of what was seen.
        They are never wider than by the counter itself. Tokens read from a cache count too (Anthropic reports them
        apart).

        Raises:
            ConfigError: not a number of tokens.
        """
        if not isinstance(input_tokens, int) or input_tokens < 0:
            raise ConfigError(f"usage is a number of tokens, not {input_tokens!r:.60}", path="input_tokens")
        if self._last is not None:
            self._usage = self._usage.observe("", self._last.view.tokens, input_tokens)

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
        snapshot = self._gather(tools)
        selected = self._triggers.select(self._view(snapshot.state))
        done = (
            await self._compress(snapshot) if selected.wanted else _Done(self._view(snapshot.state), selected)
        )
        return self._structure(done, started)

    def prepare_sync(self, tools: Any = None) -> Request:
        """`prepare` for a caller that cannot await; it may be called inside a running event loop too."""
        started = time.perf_counter()
        snapshot = self._gather(tools)
        selected = self._triggers.select(self._view(snapshot.state))
        if selected.wanted:
            return self._structure(run_sync(lambda: self._compress(snapshot)), started)
        return self._structure(_Done(self._view(snapshot.state), selected), started)

    def compact(self) -> Report:
        """Compact now, whatever the triggers say, and tell what was done.

        Raises:
            StrategyError: a strategy failed, and `strict` is set.
        """
        started = time.perf_counter()
        snapshot = self._history.snapshot()
        done = run_sync(lambda: self._compress(snapshot, asked=True))
        return self._tell(done, started).report

    def preview(self) -> Report:
        """What `compact` would do now; nothing changes. A strategy that asks a model asks it for this too."""
        started = time.perf_counter()
        view = self._view(self._history.state)
        outcome = run_sync(lambda: self._planned(view, ASKED))
        done = _Done(outcome.after, Selected("a preview", True), outcome)
        return self._told(done, (), started).report

    # Gather, select, compress, structure: how a request is made

    def _gather(self, tools: Any) -> Snapshot:
        """Everything that a request is made from, at this moment."""
        if tools is not None:
            self._history.use_tools(taken_in(tools, format=self._provider.name, path="tools"))
        return self._history.ready(self._view)

    async def _compress(self, snapshot: Snapshot, *, asked: bool = False) -> _Done:
        """A compaction, committed; considered anew when the conversation was compacted or restored meanwhile."""
        while True:
            view = self._view(snapshot.state)
            selected = ASKED if asked else self._triggers.select(view)
            if not selected.wanted:
                return _Done(view, selected)
            outcome = await self._planned(view, selected)
            if outcome.refused or (not asked and outcome.after.tokens > view.budget.limit):
                self._history.note_attempt(outcome)
            if not asked:
                check_fits(outcome.after, outcome.failures)
            if outcome.refused or self._history.commit(outcome, snapshot.version):
                self._triggers.compacted(outcome, by_tokens=by_tokens(view, selected))
                return _Done(outcome.after, selected, outcome)
            snapshot = self._history.snapshot()

    async def _planned(self, view: View, selected: Selected) -> Outcome:
        """A compaction as it would be; one that the tokens did not start need not gain much."""
        budget = view.budget
        least_gain = budget.least_gain if by_tokens(view, selected) else budget.min_gain or 0
        view = replace(view, past=tuple(self._history.archive.past))
        return await compact(view, self._strategy, self._services, least_gain=least_gain)

    def _structure(self, done: _Done, started: float) -> Request:
        """The messages in wire order, with the report on them."""
        check_fits(done.view, done.outcome.failures if done.outcome else ())
        wrong = request_failures(done.view, self._hooks)
        if wrong and self._services.strict:
            raise StrategyError(f"{wrong[0].by}: {wrong[0].why}", kind=wrong[0].by)
        messages = self._history.sent(done.view.state)
        return Request(messages, copied(done.view.state.system), self._tell(done, started, wrong))

    # What there is to know

    @property
    def report(self) -> Report | None:
        """The report of the last request or compaction, None before the first."""
        return self._last.report if self._last is not None else None

    @property
    def strategy(self) -> CompressionStrategy:
        """The strategy in use."""
        return self._strategy

    @property
    def budget(self) -> Budget:
        """The budget."""
        return self._budget

    def explain(self) -> list[Explanation]:
        """Where each message is now, and why: one explanation a message, in the order of the input."""
        return explain(self._view(self._history.state), self._history.archive)

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

    def undo(self) -> None:
        """Take the last compaction back. What it changed stays until the window itself overflows.

        Raises:
            ConversationError: there is none that can be undone.
        """
        self._history.undo()
        self._triggers.hold()

    def _view(self, state: State) -> View:
        budget = self._budget.scaled(max(1.0, self._usage.ratio("").high))
        return View(state, budget, self._history.setting)

    def _tell(self, done: _Done, started: float, wrong: tuple[Failure, ...] = ()) -> Telling:
        """What there is to say since the last report; observers hear of a compaction."""
        self._last = self._told(done, self._history.announced(), started, wrong).observed()
        return self._last

    def _told(
        self, done: _Done, announced: tuple[str, ...], started: float, wrong: tuple[Failure, ...] = ()
    ) -> Telling:
        spent = time.perf_counter() - started
        failures = (*(Failure(*each) for each in self._hooks.drained()), *wrong)
        return Telling(
            done.view,
            done.outcome,
            done.selected.why,
            announced,
            self._counter,
            spent,
            failures,
            self._models.drained(),
        )


@dataclass(frozen=True, slots=True)
class _Done:
    """The conversation that a request is made from, and the compaction that led to it, if there was one."""

    view: View
    selected: Selected
    outcome: Outcome | None = None


def _budget(given: Budget | Mapping[str, Any] | None, model: str | None) -> Budget:
    if isinstance(given, Budget):
        return given
    if given is None and model is not None:
        return Budget.for_model(model)
    if not isinstance(given, Mapping):
        shown = f"{given!r:.60}"
        raise ConfigError(
            f"a budget is a Budget or a table such as {{'window': 8000}}, not {shown}", path="budget"
        )
    return Budget(**given)
