"""Preparation: what a conversation is prepared with, and how a request is made: gather, select, compress, structure."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Literal

from ctxkit.archive import NotLoaded
from ctxkit.checks import request_failures
from ctxkit.config_error import moved, nearest
from ctxkit.core.budget import Budget, wrong_region
from ctxkit.core.edits import Failure
from ctxkit.core.flaws import mended
from ctxkit.core.items import Writer
from ctxkit.core.provider import Entry
from ctxkit.core.state import Meter, State, stand_ins
from ctxkit.core.view import View
from ctxkit.engine import Outcome, check_fits, compact
from ctxkit.errors import ConfigError, ProviderFormatError, StrategyError
from ctxkit.history import Added, History, Snapshot, Step
from ctxkit.hooks import Called, chosen
from ctxkit.jsons import copied, taken_in
from ctxkit.models.models import Models
from ctxkit.models.question import Ask
from ctxkit.presets import find_preset, unknown
from ctxkit.providers import FORMATS, FormatName, provider
from ctxkit.providers.foreign import refuse_other_vendor
from ctxkit.registry import strategy_of
from ctxkit.report import Report
from ctxkit.strategy import CompressionStrategy, Services
from ctxkit.telling import Telling
from ctxkit.tokens import TokenCounter, UsageRatio, counter_for
from ctxkit.tokens.checked import checked
from ctxkit.triggers import ASKED, Selected, Triggers, by_tokens

__all__ = ["Attempted", "Commit", "Done", "Preparation", "Request", "Settings"]

RESERVED = ("system", "profile", "tools")
"""Regions that are filled by what messages are, and by `remember` and `prepare(tools=...)`."""

Commit = Callable[[Outcome, int], Awaitable[Step | None]]
"""Takes a compaction over that was planned on the version of a snapshot; None when that cannot be."""

Attempted = Callable[[Outcome], Awaitable[None]]
"""Puts down what failed in a compaction that changes nothing."""


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


@dataclass(frozen=True, slots=True)
class Done:
    """The conversation that a request is made from, and the compaction that led to it, if there was one."""

    view: View
    selected: Selected
    outcome: Outcome | None = None

    @property
    def trigger(self) -> str:
        """Why there was a compaction or none, and why its plan was not taken."""
        refused = self.outcome.refused if self.outcome is not None else ""
        return f"{self.selected.why}; {refused}" if refused else self.selected.why

    @property
    def failures(self) -> tuple[Failure, ...]:
        """What was rolled back in the compaction."""
        return self.outcome.failures if self.outcome is not None else ()


@dataclass(frozen=True)
class Settings:
    """What a conversation is prepared with; see `ContextManager`.

    Raises:
        ConfigError: one of these cannot be right.
    """

    format: FormatName
    budget: Budget | Mapping[str, Any] | None = None
    strategy: str | CompressionStrategy | Mapping[str, Any] = "hybrid"
    model: str | None = None
    counter: TokenCounter | None = None
    ask: Ask | None = None
    reasoning: Literal["strip", "keep", "refuse"] | None = None
    repair: bool = False
    strict: bool = False
    plugins: Collection[str] | None = None

    def __post_init__(self) -> None:
        if self.reasoning not in (None, "strip", "keep", "refuse"):
            raise ConfigError(
                f"reasoning is strip, keep or refuse, not {self.reasoning!r:.60}", path="reasoning"
            )
        if not isinstance(self.model, str | None):
            raise ConfigError(f"a model is a name, not {self.model!r:.60}", path="model")
        for name, flag in (("repair", self.repair), ("strict", self.strict)):
            if not isinstance(flag, bool):
                raise ConfigError(f"{name} is true or false, not {flag!r:.60}", path=name)

    @classmethod
    def of(cls, named: Mapping[str, Any]) -> Settings:
        """Settings by their names.

        Raises:
            ConfigError: there is no such setting, no format, or one cannot be right.
        """
        known = [each.name for each in fields(cls)]
        for name in named:
            if name not in known:
                near = nearest(name, known) or f"; there are {', '.join(known)}"
                raise ConfigError(f"there is no setting {name!r:.60}{near}", path=str(name))
        if "format" not in named:
            raise ConfigError(f"which wire format? {' or '.join(FORMATS)}", path="format")
        return cls(**named)


class Preparation:
    """Format, budget, counter, strategy and triggers of one conversation, with its history.

    Raises:
        ConfigError: an unknown format or strategy, or settings that contradict each other.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        model = settings.model
        self.provider = provider(settings.format)
        self.budget = _budget(settings.budget, model)
        self.hooks = Called(chosen(settings.plugins))
        self.counter = self._counter(settings.counter, model)
        known = find_preset(model) if model is not None else None
        policy = settings.reasoning or ("strip" if known is not None and known.binds_thinking else "keep")
        meter = Meter(self.provider, self.counter.count)
        self.history = History(meter, reasoning=policy, repair=settings.repair)
        if model is not None and known is None and settings.counter is None and not self.counter.exact:
            self.history.announce(f"{unknown(model)}; its tokens are estimated")
        self.models = Models(settings.ask)
        self.services = Services(
            self.history.original, strict=settings.strict, models=self.models, hooks=self.hooks, model=model
        )
        self.strategy = strategy_of(settings.strategy)
        self.triggers = Triggers(self.history)
        self.last: Telling | None = None
        self.usage = UsageRatio()

    def _counter(self, given: TokenCounter | None, model: str | None) -> TokenCounter:
        """The counter that was given, or the one for the model: a plugin's, else ctxkit's own."""
        if given is not None:
            return checked(given, "counter")
        return (self.hooks.counter_for(model) if model else None) or counter_for(model)

    def again(self, **other: Any) -> Preparation:
        """The same for another conversation, with other settings where some are given.

        Raises:
            ConfigError: one of these cannot be right.
        """
        return Preparation(Settings.of({**vars(self._settings), "strategy": self.strategy, **other}))

    def use(self, strategy: str | CompressionStrategy | Mapping[str, Any]) -> None:
        """Compact by another strategy from now on."""
        self.strategy = strategy_of(strategy)
        self.triggers.reset()
        self.services.disabled.clear()

    def observe_usage(self, input_tokens: int) -> None:
        """Learn from what the provider counted for the last request.

        Raises:
            ConfigError: not a number of tokens.
        """
        if not isinstance(input_tokens, int) or isinstance(input_tokens, bool) or input_tokens < 0:
            raise ConfigError(f"usage is a number of tokens, not {input_tokens!r:.60}", path="input_tokens")
        if self.last is not None:
            self.usage = self.usage.observe("", self.last.view.tokens, input_tokens)

    def added(
        self,
        messages: object,
        system: Any = None,
        region: str = "",
        waiting: Iterable[str] = (),
        *,
        author: str = "",
        place: str = "",
        said_at: datetime | None = None,
    ) -> Added:
        """What a caller adds, checked and copied.

        Raises:
            ProviderFormatError: something is not of the format.
            ConfigError: a region that only ctxkit itself fills or that looks like a slip, `waiting` that holds no ids, an
                author or a place that is no text of one line, a time that is none.
        """
        writer = _writer(author, place, said_at)
        if not isinstance(region, str) or region in RESERVED:
            raise ConfigError(f"messages cannot be put into the region {region!r:.60}", path="region")
        if region and (wrong := wrong_region(region)):
            raise ConfigError(wrong, path="region")
        if not isinstance(waiting, Iterable):
            raise ConfigError(f"waiting holds ids of calls, not {waiting!r:.60}", path="waiting")
        calls = (waiting,) if isinstance(waiting, str) else tuple(waiting)
        if not all(isinstance(each, str) for each in calls):
            raise ConfigError("waiting holds ids of calls, which are texts", path="waiting")
        name, field = self.provider.name, self.provider.field
        given = messages if isinstance(messages, list | tuple) else [messages]
        for message in given:
            refuse_other_vendor(message, name)
        dumped = (entry for message in given for entry in self._dumped(message))
        entries = [taken_in(entry, format=name, path=f"{field}[{at}]") for at, entry in enumerate(dumped)]
        if system is not None and name == "openai-chat":
            for at, entry in enumerate(entries):
                self.provider.shape(entry, index=at)  # one of another format is told as that
            raise ProviderFormatError(
                "the system text is a message in the list, {'role': 'system', 'content': ...}",
                format=name,
                path="system",
            )
        beside = taken_in(system, format=name, path="system")
        return Added(entries, beside, region, calls, writer)

    def _dumped(self, message: object) -> list[Entry]:
        """The entries of a message. An answer that a model gave, as the SDK's object or a whole response, is mended where
        no provider takes it back: one without content goes, an empty list of calls too; the next report says so."""
        entries = self.provider.dump(message)
        if any(entry is message for entry in entries):
            return entries
        whole, repairs = mended(entries, self.provider)
        for each in repairs:
            self.history.announce(f"of a model's answer: {each.rule}: {each.message}")
        return whole

    # Gather, select, compress, structure: how a request is made

    def tools(self, tools: Any) -> Step | None:
        """The step that remembers the tool schemas that go along, None for none and for the same as before."""
        if tools is None:
            return None
        schemas = taken_in(tools, format=self.provider.name, path="tools")
        if not isinstance(schemas, list | dict):
            raise ConfigError(f"tools is a list of tool schemas, not {schemas!r:.60}", path="tools")
        return self.history.using_tools(schemas)

    def select(self, snapshot: Snapshot) -> Done:
        """Whether all of it goes out as it is, or why it has to be compressed."""
        view = self.view(snapshot.state)
        return Done(view, self.triggers.select(view))

    async def compress(
        self, snapshot: Snapshot, commit: Commit, attempted: Attempted, *, asked: bool = False
    ) -> Done:
        """A compaction, committed; considered anew when the conversation was compacted or restored meanwhile.

        Args:
            snapshot: the conversation that it is planned on.
            commit: takes it over.
            attempted: puts down what failed in one that is not.
            asked: whatever the triggers say.

        Raises:
            OpenCallsError, ProviderFormatError: a provider would not take the request; nothing is committed.
            BudgetExceededError: what must stay is larger than the budget.
            StrategyError: a strategy failed, and `strict` is set.
        """
        while True:
            view = self.view(snapshot.state)
            selected = ASKED if asked else self.triggers.select(view)
            if not selected.wanted:
                return Done(view, selected)
            outcome = await self.planned(view, selected)
            if outcome.refused or (not asked and outcome.after.tokens > view.budget.limit):
                await attempted(outcome)
            if not asked:
                check_fits(outcome.after, outcome.failures)
                self.history.check(outcome.after)
            if outcome.refused or await commit(outcome, snapshot.version) is not None:
                self.triggers.compacted(outcome, by_tokens=by_tokens(view, selected))
                return Done(outcome.after, selected, outcome)
            snapshot = self.history.snapshot()

    async def planned(self, view: View, selected: Selected) -> Outcome:
        """A compaction as it would be; one that the tokens did not start need not gain much.

        Raises:
            NotLoaded: a strategy wanted originals that have not been read from their store.
        """
        budget = view.budget
        least_gain = budget.least_gain if by_tokens(view, selected) else budget.min_gain or 0
        view = replace(view, past=tuple(self.history.archive.past))
        outcome = await compact(view, self.strategy, self.services, least_gain=least_gain)
        if self.history.archive.missed:
            raise NotLoaded(self.history.archive.missed)
        return outcome

    async def preview(self) -> Report:
        """What a compaction would do; nothing changes, and the answers of models are kept for the compaction."""
        started = time.perf_counter()
        with self.models.kept():
            outcome = await self.planned(self.view(self.history.state), ASKED)
        done = Done(outcome.after, Selected("a preview", True), outcome)
        return self.told(done, (), started).report

    def checked(self, done: Done, gathered: Snapshot) -> tuple[Failure, ...]:
        """What is wrong with the request that is about to be made.

        Args:
            done: what it is made from.
            gathered: the conversation as it was judged; where `done` has another, that is judged too.

        Raises:
            OpenCallsError, ProviderFormatError: what came or went meanwhile leaves none that a provider would take.
            BudgetExceededError: it is over its budget.
            StrategyError: something is wrong with it, and `strict` is set.
        """
        if done.view.state is not gathered.state:
            self.history.check(done.view)
        check_fits(done.view, done.failures)
        wrong = request_failures(done.view, self.hooks)
        if wrong and self.services.strict:
            raise StrategyError(f"{wrong[0].by}: {wrong[0].why}", kind=wrong[0].by)
        return wrong

    def structured(self, done: Done, wrong: tuple[Failure, ...], started: float) -> Request:
        """The messages in wire order, with the report on them."""
        state = done.view.state
        return Request(
            self.history.entries(state),
            copied(state.system),
            self.tell(done, started, wrong, stand_ins(state)),
        )

    def view(self, state: State) -> View:
        """A state with its limits; hard limits hold for the provider's own count, at the high end of what was seen."""
        budget = self.budget.scaled(max(1.0, self.usage.ratio("").high))
        return View(state, budget, self.history.setting)

    # What there is to say

    @property
    def report(self) -> Report | None:
        """The report of the last request or compaction, None before the first."""
        return self.last.report if self.last is not None else None

    def tell(
        self, done: Done, started: float, wrong: tuple[Failure, ...] = (), stood_for: Iterable[str] = ()
    ) -> Telling:
        """What there is to say since the last report; observers hear of a compaction."""
        announced = (*self.history.announced(), *stood_for)
        self.last = self.told(done, announced, started, wrong).observed(self.hooks)
        return self.last

    def told(
        self, done: Done, announced: tuple[str, ...], started: float, wrong: tuple[Failure, ...] = ()
    ) -> Telling:
        """What there is to say of a request."""
        spent = time.perf_counter() - started
        failures = (*(Failure(*each) for each in self.hooks.drained()), *wrong)
        return Telling(
            done.view,
            done.outcome,
            done.trigger,
            announced,
            self.counter,
            spent,
            failures,
            self.models.drained(),
        )


LONGEST_NAME = 200
"""Characters of the name of an author or a place."""


def _writer(author: Any, place: Any, said_at: Any) -> Writer:
    _check_name(author, "author")
    _check_name(place, "place")
    if said_at is not None and not isinstance(said_at, datetime):
        raise ConfigError(f"said_at is a datetime, not {said_at!r:.60}", path="said_at")
    return Writer(author, place, f"{said_at:%Y-%m-%d %H:%M}" if said_at else "")


def _check_name(given: Any, what: str) -> None:
    if not isinstance(given, str) or len(given) > LONGEST_NAME or len(given.splitlines()) > 1:
        raise ConfigError(
            f"the {what} is a text of one line, up to {LONGEST_NAME} characters, not {given!r:.60}", path=what
        )


def _budget(given: Budget | Mapping[str, Any] | None, model: str | None) -> Budget:
    if isinstance(given, Budget):
        return given
    if given is None and model is not None:
        return Budget.for_model(model)
    if not isinstance(given, Mapping):
        instead = "; or give model=, whose window it is then" if given is None else ""
        shown = f"{given!r:.60}{instead}"
        raise ConfigError(
            f"a budget is a Budget or a table such as {{'window': 8000}}, not {shown}", path="budget"
        )
    try:
        return Budget(**given)
    except ConfigError as error:
        raise moved(error, "budget") from None
