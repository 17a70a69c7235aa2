"""The promises as laws: functions that try a strategy on generated conversations and fail with the smallest
one on which it breaks its promise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from functools import wraps
from itertools import takewhile
from typing import TypeAlias

from hypothesis import HealthCheck, note, settings

from ctxkit.core.provider import Entry
from ctxkit.core.state import Meter
from ctxkit.errors import BudgetExceededError, OpenCallsError
from ctxkit.manager import ContextManager
from ctxkit.providers import provider
from ctxkit.strategy import CompressionStrategy
from ctxkit.testing.replay import Step, live
from ctxkit.testing.trials import Check, Trial, over_trials
from ctxkit.tokens import counter_for

__all__ = ["STRATEGY_LAWS", "Law"]

Law: TypeAlias = Callable[[CompressionStrategy], None]
"""Tries one promise on one strategy; raises AssertionError with the smallest conversation that breaks it."""


def _law(check: Check) -> Law:
    """The law that holds when `check` passes on every trial; `inspect.unwrap` gives `check` back."""

    @wraps(check)
    def law(strategy: CompressionStrategy) -> None:
        quiet = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=False)
        quiet(over_trials(strategy, check))()

    return law


@_law
def accepted_by_its_provider(trial: Trial) -> None:
    """P1, P2: a request breaks no wire rule that the conversation as it was did not break."""
    adapter = provider(trial.payload.format)
    _, steps = live(trial.payload, trial.strategy, window=trial.window)
    for step in _requests(steps):
        system = trial.payload.system
        said = trial.payload.messages[: step.added]
        before = Counter(each.rule for each in adapter.violations(said, system=system))
        after = adapter.violations(step.messages, system=system)
        new = Counter(each.rule for each in after) - before
        assert not new, f"the provider would refuse the request: {[str(each) for each in after]}"


@_law
def order_is_kept(trial: Trial) -> None:
    """P3: what is there unaltered stands in the order in which it was said."""
    _, steps = live(trial.payload, trial.strategy, window=trial.window)
    for step in _requests(steps):
        said = iter(trial.payload.messages[: step.added])
        for message in (m for m in step.messages if m in trial.payload.messages):
            assert any(message == each for each in said), f"out of order or doubled: {message!r:.200}"


@_law
def pins_stay(trial: Trial) -> None:
    """P4: system text, the current user message and what was pinned are in every request, unaltered."""
    messages = trial.payload.messages
    adapter = provider(trial.payload.format)
    users = [at for at, each in enumerate(messages) if adapter.shape(each).role == "user"]
    pinned = users[:1]
    _, steps = live(trial.payload, trial.strategy, window=trial.window, pin=pinned)
    leading = list(takewhile(lambda each: adapter.shape(each).role == "system", messages))
    for step in _requests(steps):
        there = [at for at in (*pinned, *users) if at < step.added]
        current = [messages[max(there)]] if there else []
        for message in (
            *leading[: step.added],
            *(messages[at] for at in pinned if at < step.added),
            *current,
        ):
            assert message in step.messages, f"not in the request any more: {message!r:.200}"
        assert step.request is None or step.request.system == trial.payload.system


@_law
def fits_or_says_so(trial: Trial) -> None:
    """P5: a request is within the window, counted anew; if that cannot be, the error has the figures."""
    adapter = provider(trial.payload.format)
    meter = Meter(adapter, counter_for(None).count)
    _, steps = live(trial.payload, trial.strategy, window=trial.window)
    for step in steps:
        if step.error is not None:
            assert step.error.needed > step.error.limit == trial.window
            assert sum(step.error.by_region.values()) == step.error.needed
            continue
        system = meter.weight(adapter.weigh_system(trial.payload.system))
        tokens = system + sum(meter.entry(message) for message in step.messages)
        assert tokens <= trial.window, f"{tokens} tokens are over the window of {trial.window}"


@_law
def leaves_alone(trial: Trial) -> None:
    """P6: under every trigger nothing changes; compacting twice changes nothing the second time."""
    payload = trial.payload
    context, steps = live(payload, trial.strategy, window=10**9)
    for step in _requests(steps):
        assert step.request is not None
        assert not step.request.report.compacted, "it was asked though there was nothing to do"
        if not step.request.report.normalised:
            assert step.messages == payload.messages[: step.added], "a request that fits was changed"
    context, _ = live(payload, trial.strategy, window=trial.window)
    context.compact()
    once = context.explain()
    report = context.compact()
    more = ", ".join(
        f"{edit.kind} of {f'messages{list(edit.positions)}' if edit.positions else edit.detail}"
        for edit in report.edits
    )
    assert not report.compacted, f"compact() was called twice, and the second time changed more: {more}"
    assert context.explain() == once, "the second time changed what is said of a message"


@_law
def nothing_is_lost(trial: Trial) -> None:
    """P7: each message has one fate on record, and what is not there as it was can be read by its handle."""
    context, _ = live(trial.payload, trial.strategy, window=trial.window)
    shown = context.prepare_sync().messages if not _open(context) else None
    explained = context.explain()
    assert [each.position for each in explained] == list(range(len(trial.payload.messages)))
    for each in explained:
        if each.fate in ("present", "pinned") and shown is not None:
            there = trial.payload.messages[each.position] in shown
            assert there, f"messages[{each.position}] is called {each.fate}, and is not in the request"
        if each.fate in ("shortened", "stripped", "summarised", "dropped"):
            assert each.why, f"messages[{each.position}] was {each.fate} without a reason"
            originals = context.original(each.handle)
            there = trial.payload.messages[each.position] in originals
            assert there, f"messages[{each.position}] cannot be read by its handle {each.handle}"


@_law
def prefix_is_kept(trial: Trial) -> None:
    """P9: between two compactions each request begins with the one before."""
    _, steps = live(trial.payload, trial.strategy, window=trial.window)
    before: list[Entry] = []
    normalised: tuple[str, ...] = ()
    for step in _requests(steps):
        assert step.request is not None
        report = step.request.report
        if not report.compacted and not report.normalised and not normalised:
            same = step.messages[: len(before)] == before
            assert same, f"the request after {step.added} messages does not begin with the one before"
        normalised = report.normalised
        before = step.messages


@_law
def same_in_same_out(trial: Trial) -> None:
    """P10: the same conversation gives the same requests."""
    _, first = live(trial.payload, trial.strategy, window=trial.window)
    _, second = live(deepcopy(trial.payload), trial.strategy, window=trial.window)
    same = [step.messages for step in first] == [step.messages for step in second]
    assert same, "the same conversation was added twice, and the requests differ"


@_law
def input_is_untouched(trial: Trial) -> None:
    """P7: what was added is not changed in place, nor by changing what comes out."""
    before = deepcopy(trial.payload)
    _, steps = live(trial.payload, trial.strategy, window=trial.window)
    for message in (message for step in steps for message in step.messages):
        message.clear()
    assert trial.payload == before, "a message that was added has changed in place"


@_law
def never_raises(trial: Trial) -> None:
    """P12: it never raises: a good strategy has nothing to contain."""
    _, steps = live(trial.payload, trial.strategy, window=trial.window)
    marks = ("raised", "no unit", "no item")
    raised = dict.fromkeys(
        each for step in steps for each in step.failures if any(mark in each for mark in marks)
    )
    assert not raised, "; ".join(raised)


STRATEGY_LAWS: tuple[Law, ...] = (
    accepted_by_its_provider,
    order_is_kept,
    pins_stay,
    fits_or_says_so,
    leaves_alone,
    nothing_is_lost,
    prefix_is_kept,
    same_in_same_out,
    input_is_untouched,
    never_raises,
)
"""Every law that a strategy has to keep."""


def _requests(steps: list[Step]) -> list[Step]:
    note(f"requests after {[step.added for step in steps]} messages")
    return [step for step in steps if step.request is not None]


def _open(context: ContextManager) -> bool:
    """Whether no request can be made: a call is open, or what must stay is too large."""
    try:
        context.prepare_sync()
    except (OpenCallsError, BudgetExceededError):
        return True
    return False
