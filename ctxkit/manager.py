"""ContextManager: the front door. Messages go in, requests that fit come out."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ctxkit.archive import Archive
from ctxkit.core.arrivals import Arrival, append
from ctxkit.core.budget import Budget
from ctxkit.core.edits import Edit, Pin, Plan, Remember, Retract, Unpin, malformed
from ctxkit.core.facts import USER, Fact
from ctxkit.core.items import Item
from ctxkit.core.kernel import Setting, apply
from ctxkit.core.profile import note_facts
from ctxkit.core.provider import Entry
from ctxkit.core.state import Meter, State, open_tail, stand_ins, wire
from ctxkit.core.view import View
from ctxkit.engine import Outcome, check_fits, compact, due, run_sync
from ctxkit.errors import ConfigError, ConversationError, OpenCallsError, ProviderFormatError
from ctxkit.explain import Explanation, explain
from ctxkit.jsons import copied, json_text, taken_in
from ctxkit.presets import find_preset
from ctxkit.providers import FormatName, provider
from ctxkit.rebase import rebase, since
from ctxkit.registry import strategy_of
from ctxkit.report import Report
from ctxkit.strategy import CompressionStrategy, Services
from ctxkit.telling import Telling
from ctxkit.tokens import TokenCounter, UsageRatio, counter_for

__all__ = ["ContextManager", "Request"]

RESERVED = ("system", "profile", "tools")
"""Regions that are filled by what messages are, and by `remember` and `prepare(tools=...)`."""

UNDO_DEPTH = 8
"""Compactions that can be undone, newest first."""


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
        budget: tokens that a request may take; see `Budget`.
        strategy: a kind name, a strategy, or a dict as in a config file.
        model: picks the token counter, and how the model treats its reasoning.
        counter: counts instead of the model's counter.
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
        budget: Budget | Mapping[str, Any],
        strategy: str | CompressionStrategy | Mapping[str, Any] = "hybrid",
        *,
        model: str | None = None,
        counter: TokenCounter | None = None,
        reasoning: Literal["strip", "keep", "refuse"] | None = None,
        repair: bool = False,
        strict: bool = False,
    ) -> None:
        if reasoning not in (None, "strip", "keep", "refuse"):
            raise ConfigError(f"reasoning is strip, keep or refuse, not {reasoning!r:.60}", path="reasoning")
        if model is not None and not isinstance(model, str):
            raise ConfigError(f"a model is a name, not {model!r:.60}", path="model")
        self._provider = provider(format)
        self._budget = _budget(budget)
        self._counter = counter if counter is not None else counter_for(model)
        self._meter = Meter(self._provider, self._counter.count)
        self._archive = Archive()
        known = find_preset(model) if model is not None else None
        policy = reasoning or ("strip" if known is not None and known.binds_thinking else "keep")
        self._setting = Setting(self._meter, self._archive.original, self._archive.taken, policy)
        self._services = Services(self.original, strict=strict)
        self._strategy = strategy_of(strategy)
        self._repair = repair
        self._lock = threading.RLock()
        self._state = State()
        self._version = 0
        self._undo: deque[State] = deque(maxlen=UNDO_DEPTH)
        self._sent = 0
        self._last_turn = 0
        self._retry_above = 0
        self._held = False
        self._tools: Any = None
        self._normalised: list[str] = []
        self._last: Telling | None = None
        self._usage = UsageRatio()

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
        messages: object,
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
        waiting = (
            (waiting,)
            if isinstance(waiting, str)
            else tuple(waiting)
            if isinstance(waiting, Iterable)
            else ()
        )
        if not all(isinstance(each, str) for each in waiting):
            raise ConfigError("waiting holds ids of calls, which are texts", path="waiting")
        name = self._provider.name
        entries = [
            taken_in(entry, format=name, path=f"messages[{at}]") for at, entry in self._dumped(messages)
        ]
        beside = taken_in(system, format=name, path="system")
        with self._lock:
            state = self._with_system(self._state, beside) if system is not None else self._state
            if self._sent and state.system != self._state.system:
                self._normalised.append("the system text changed: the prompt cache is broken")
            state = replace(state, waiting=state.waiting | frozenset(waiting))
            state, arrived, normalised = self._appended(state, entries, region)
            self._archive.log.extend(arrived)
            self._normalised.extend(normalised)
            self._state = state

    def _dumped(self, messages: object) -> Iterator[tuple[int, Entry]]:
        each = messages if isinstance(messages, list | tuple) else [messages]
        return enumerate(entry for message in each for entry in self._provider.dump(message))

    def _with_system(self, state: State, system: Any) -> State:
        tokens = self._meter.weight(self._provider.weigh_system(system))
        return replace(state, system=system, system_tokens=tokens)

    def _appended(
        self, state: State, entries: list[Entry], region: str
    ) -> tuple[State, list[Item], list[str]]:
        mended: list[str] = []
        if self._repair and not state.items:
            entries, repairs = self._provider.repair(entries)
            mended = [f"messages[{each.index}]: {each.rule}: {each.message}" for each in repairs]
        arrivals = [Arrival(entry, region) for entry in entries]
        state, arrived, normalised = append(state, arrivals, self._meter, lenient=self._repair)
        return state, arrived, [*mended, *normalised]

    def remember(self, key: str, value: str, *, confidence: float = 1.0) -> None:
        """Keep a fact for good: it is in every request from now on, whatever is compacted.

        A new value for a key supersedes the old one, unless its confidence (0 to 1) is lower.

        Raises:
            ConfigError: a key or value that is no text, or a confidence that is no number from 0 to 1.
        """
        self._edit(Remember(Fact(key, value, confidence), by=USER))

    def forget(self, key: str) -> None:
        """Take a fact back."""
        self._edit(Retract(key, by=USER))

    def pin(self, *positions: int, until: int | None = None) -> None:
        """Keep messages as they are, with the step they belong to.

        Args:
            positions: where they stand in the input: 0 is the first message that was added, -1 the newest.
            until: number of the last turn for which the pin holds; for good without it.

        Raises:
            ConversationError: there is no such message, or it was left out already.
        """
        with self._lock:
            self._edit(Pin(self._units(positions), until, by=USER))

    def unpin(self, *positions: int) -> None:
        """Take pins off again. The current user message and system text stay pinned all the same."""
        with self._lock:
            self._edit(Unpin(self._units(positions), by=USER))

    def _units(self, positions: Sequence[int]) -> tuple[int, ...]:
        units = {item.id: item.unit for item in self._state.items}
        for position in positions:
            if not isinstance(position, int) or isinstance(position, bool):
                raise ConfigError(f"a position is a whole number, not {position!r:.60}", path="positions")
        ids = [position + self._state.next_id if position < 0 else position for position in positions]
        for position, id in zip(positions, ids, strict=True):
            if id not in units:
                gone = (
                    "was left out by a compaction; undo() it first"
                    if 0 <= id < self._state.next_id
                    else "is unknown"
                )
                raise ConversationError(f"messages[{position}] {gone}")
        return tuple(dict.fromkeys(units[id] for id in ids))

    def _edit(self, edit: Edit) -> None:
        wrong = malformed(edit)
        if wrong:
            raise ConfigError(wrong)
        with self._lock:
            self._state, _, _ = apply(self._state, Plan.of(edit), self._setting)

    def use(self, strategy: str | CompressionStrategy | Mapping[str, Any]) -> None:
        """Compact by another strategy from now on."""
        found = strategy_of(strategy)
        with self._lock:
            self._strategy = found
            self._retry_above = 0
            self._services.disabled.clear()

    def observe_usage(self, input_tokens: int) -> None:
        """Tell what the provider counted for the last request, as its `usage` says.

        The counter learns from it: limits then hold for the provider's own count, at the high end of what was seen.

        Raises:
            ConfigError: not a number of tokens.
        """
        if not isinstance(input_tokens, int) or input_tokens < 0:
            raise ConfigError(f"usage is a number of tokens, not {input_tokens!r:.60}", path="input_tokens")
        with self._lock:
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
        selected = self._select(snapshot.view)
        done = await self._compress(snapshot) if selected.wanted else _Done(snapshot.view, selected)
        return self._structure(done, started)

    def prepare_sync(self, tools: Any = None) -> Request:
        """`prepare` for a caller that cannot await; it may be called inside a running event loop too."""
        started = time.perf_counter()
        snapshot = self._gather(tools)
        selected = self._select(snapshot.view)
        if selected.wanted:
            return self._structure(run_sync(lambda: self._compress(snapshot)), started)
        return self._structure(_Done(snapshot.view, selected), started)

    def compact(self) -> Report:
        """Compact now, whatever the triggers say, and tell what was done."""
        started = time.perf_counter()
        snapshot = self._snapshot()
        done = run_sync(lambda: self._compress(snapshot, asked=True))
        return self._telling(done, started).report

    def preview(self) -> Report:
        """What `compact` would do now; nothing changes."""
        started = time.perf_counter()
        view = self._snapshot().view
        outcome = run_sync(lambda: self._planned(view, _ASKED))
        done = _Done(outcome.after, _Selected("a preview", True), outcome)
        return self._told(done, (), started).report

    def _gather(self, tools: Any) -> _Snapshot:
        """Everything that a request is made from, at this moment."""
        given = None if tools is None else taken_in(tools, format=self._provider.name, path="tools")
        with self._lock:
            if given is not None and given != self._tools:
                self._tools = given
                tokens = self._counter.count(json_text(given))
                self._state = replace(self._state, tools_tokens=tokens)
                if self._sent:
                    self._normalised.append("the tool schemas changed: the prompt cache is broken")
            self._check_tail()
            self._check_first()
            self._note_facts()
            return self._snapshot()

    def _check_first(self) -> None:
        """Refuse a conversation that is broken from the start; what comes later is checked as it changes."""
        if self._sent:
            return
        for violation in self._view().violations.values():
            if violation.rule in self._provider.certain:
                raise ProviderFormatError(
                    f"the provider would refuse this: {violation.message} (see {violation.rule} in docs/wire-rules.md; "
                    "repair=True mends what can be mended)",
                    format=self._provider.name,
                    path=violation.path,
                    rule=violation.rule,
                )

    def _note_facts(self) -> None:
        """Write what was remembered since the last request, unless the provider would refuse it there: then later."""
        noted = note_facts(self._state, self._sent, self._meter)
        if noted is self._state:
            return
        before, after = self._view(), replace(self._view(), state=noted)
        if after.violations.keys() <= before.violations.keys():
            self._state = noted

    def _snapshot(self) -> _Snapshot:
        with self._lock:
            return _Snapshot(self._view(), self._version)

    def _check_tail(self) -> None:
        waiting = [
            call.call.id or call.call.name for call in open_tail(self._state) if not call.call.deferred
        ]
        if waiting:
            raise OpenCallsError(
                f"the messages end on calls without result: {', '.join(waiting)}; add their results first",
                calls=waiting,
            )

    def _select(self, view: View) -> _Selected:
        """Whether all of it goes out as it is, or why it has to be compressed."""
        trigger = due(view, last_turn=self._last_turn)
        if not trigger:
            return _Selected("none: under every trigger", False)
        if view.tokens <= view.budget.limit:
            if self._held:
                return _Selected(f"none: {trigger}, but the last compaction was undone", False)
            if view.tokens <= self._retry_above:
                later = f"is tried again above {self._retry_above} tokens"
                return _Selected(f"none: {trigger}, but the last one was not worth taking and {later}", False)
        return _Selected(trigger, True)

    async def _compress(self, snapshot: _Snapshot, *, asked: bool = False) -> _Done:
        """A compaction, committed; considered anew when the conversation was compacted or restored meanwhile."""
        while True:
            view = snapshot.view
            selected = _ASKED if asked else self._select(view)
            if not selected.wanted:
                return _Done(view, selected)
            outcome = await self._planned(view, selected)
            if not asked:
                check_fits(outcome.after, outcome.failures)
            if self._commit(outcome, snapshot.version):
                return _Done(outcome.after, selected, outcome)
            snapshot = self._snapshot()

    async def _planned(self, view: View, selected: _Selected) -> Outcome:
        """A compaction as it would be; one that the tokens did not start need not gain much."""
        budget = view.budget
        by_tokens = selected is not _ASKED and view.tokens > budget.start
        least_gain = budget.least_gain if by_tokens else budget.min_gain or 0
        view = replace(view, past=tuple(self._archive.past))
        return await compact(view, self._strategy, self._services, least_gain=least_gain)

    def _commit(self, outcome: Outcome, version: int) -> bool:
        """Take an outcome over, with what came in while it was planned; False when that cannot be."""
        with self._lock:
            if version != self._version:
                return False
            if outcome.refused:
                self._retry_above = outcome.before.tokens + outcome.before.budget.least_gain
                return True
            rebased = rebase(outcome, self._state, self._archive, self._meter)
            if rebased is None:
                return False
            self._undo.append(outcome.before.state)
            self._archive.commit(outcome.after.applied, outcome.after.named, outcome.past)
            self._state = rebased
            self._version += 1
            self._last_turn = rebased.turn
            self._retry_above, self._held = 0, False
            return True

    def _structure(self, done: _Done, started: float) -> Request:
        """The messages in wire order, with the report on them."""
        state = done.view.state
        check_fits(done.view, done.outcome.failures if done.outcome else ())
        entries, _ = wire(state, self._provider)
        with self._lock:
            self._sent = max(self._sent, state.next_id)
            self._normalised.extend(stand_ins(state))
        messages = [copied(entry) for entry in entries]
        return Request(messages, copied(state.system), self._telling(done, started))

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
        with self._lock:
            return explain(self._view(), self._archive)

    def original(self, handle: str) -> list[Entry]:
        """The messages that a handle stands for, as they were added; copies.

        Raises:
            UnknownHandleError: nothing is kept under that handle.
        """
        return [copied(self._archive.original(id)) for id in self._archive.positions(handle)]

    def undo(self) -> None:
        """Take the last compaction back. What it changed stays until the window itself overflows.

        Raises:
            ConversationError: there is none that can be undone.
        """
        with self._lock:
            if not self._undo:
                raise ConversationError(f"there is no compaction to undo (the last {UNDO_DEPTH} are kept)")
            before, now = self._undo[-1], self._state
            kept = replace(
                before,
                facts=now.facts,
                pins=tuple(pin for pin in now.pins if pin.by == USER or pin in before.pins),
                waiting=now.waiting,
                system=now.system,
                system_tokens=now.system_tokens,
                tools_tokens=now.tools_tokens,
                compactions=now.compactions,
            )
            try:
                self._state, _, _ = append(kept, since(before, self._archive), self._meter)
            except ProviderFormatError as error:
                raise ConversationError(
                    f"what came since cannot follow what was there before: {error}"
                ) from error
            self._undo.pop()
            self._version += 1
            self._held = True
            self._normalised.append("the last compaction was undone: the prompt cache is broken")

    def _view(self) -> View:
        budget = self._budget.scaled(self._usage.ratio("").high)
        return View(self._state, budget, self._setting)

    def _telling(self, done: _Done, started: float) -> Telling:
        """What there is to say since the last report; observers hear of a compaction."""
        with self._lock:
            normalised, self._normalised = tuple(self._normalised), []
        telling = self._told(done, normalised, started).observed()
        self._last = telling
        return telling

    def _told(self, done: _Done, normalised: tuple[str, ...], started: float) -> Telling:
        spent = time.perf_counter() - started
        return Telling(done.view, done.outcome, done.selected.why, normalised, self._counter, spent)


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The conversation at one moment, and how often it had been compacted or restored by then."""

    view: View
    version: int


@dataclass(frozen=True, slots=True)
class _Selected:
    """Whether a compaction is wanted, and why it is or is not."""

    why: str
    wanted: bool


_ASKED = _Selected("asked for", True)


@dataclass(frozen=True, slots=True)
class _Done:
    """The conversation that a request is made from, and the compaction that led to it, if there was one."""

    view: View
    selected: _Selected
    outcome: Outcome | None = None


def _budget(given: Budget | Mapping[str, Any]) -> Budget:
    if isinstance(given, Budget):
        return given
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"a budget is a Budget or a table such as {{'window': 8000}}, not {given!r:.60}", path="budget"
        )
    return Budget(**given)
