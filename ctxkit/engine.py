"""Engine: one compaction, from a state to the next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ctxkit.core.conversation import Unit
from ctxkit.core.edits import Failure, Shorten, only_marks
from ctxkit.core.kernel import Applied, Setting
from ctxkit.core.profile import fold_facts
from ctxkit.core.state import newest_unit, pending_tokens
from ctxkit.core.view import Past, View
from ctxkit.errors import BudgetExceededError, ConversationError
from ctxkit.strategy import CompressionStrategy, Services, advance

__all__ = ["Outcome", "check_fits", "compact", "due", "refuse_inside_plan", "run_sync"]

T = TypeVar("T")

SMALL = {"gap": "stand-ins for what was left out", "ledger": "facts that tools told"}
"""What ctxkit wrote that stays, beside the profile, as it is called when a request does not fit."""


@dataclass(frozen=True, repr=False)
class Outcome:
    """What a compaction came to: the view before and after, and the steps that failed.

    `refused` says why the plan was not worth taking, "" when it was; `after` is then the view before.
    """

    before: View
    after: View
    failures: tuple[Failure, ...]
    refused: str = ""

    @property
    def past(self) -> Past:
        """The compaction in figures, for `view.past`."""
        before = self.before
        return Past(
            before.state.compactions + 1, before.tokens, self.after.tokens, self.failures, before.state.turn
        )


def due(view: View, *, last_turn: int) -> str:
    """Why a compaction is due, "" when none is; `last_turn` is the turn of the last one."""
    budget = view.budget
    if view.tokens > budget.limit:
        return f"{view.tokens:,} tokens are over the limit of {budget.limit:,}"
    if view.tokens > budget.start:
        return f"{view.tokens:,} tokens are over compact_at = {budget.start:,}"
    if budget.context_limit is not None and view.surplus_turns:
        turns = sum(1 for turn in view.turns if turn.number)
        return f"{turns} turns are over context_limit = {budget.context_limit}"
    if budget.every is not None and view.state.turn - last_turn >= budget.every:
        return f"{budget.every} turns have come since the last compaction"
    return ""


async def compact(
    view: View, strategy: CompressionStrategy, services: Services, *, least_gain: int
) -> Outcome:
    """View, plan, check, apply: the state after a strategy's plan, or the reason why it was not taken.

    A plan that saves less than `least_gain` tokens is not taken, unless the request would not fit without it.

    Raises:
        ConversationError: a strategy asks for this while it plans a compaction of the same conversation.
        StrategyError: a step failed, and `services.strict` is set.
    """
    before = replace(view, applied=(), named={})
    with _planning(view.setting):
        plan, after = await advance(strategy, _with_profile(before), services)
    if len(after.state.facts) > len(before.state.facts):
        after = _with_profile(after)
    only = only_marks(plan.edits)
    refused = _no_room(before, after) if only else _no_gain(before, after, least_gain)
    refused = refused or _lost(before, after)
    if not refused:
        state = replace(after.state, compactions=before.state.compactions + 1)
        after = replace(after, state=state, applied=_lasting(after))
    # a copy has worked nothing out yet: what a long history made is not kept for the report
    before = replace(before)
    return Outcome(before, before if refused else after, plan.failures, refused)


@dataclass(eq=False, slots=True)
class _Planning:
    """A plan that is being made for a conversation, which its setting names; over when it is made."""

    setting: Setting
    is_over: bool = False


_PLANNING: ContextVar[tuple[_Planning, ...]] = ContextVar("planning", default=())
"""The plans that whoever runs here was called by, also from a thread or a task that one of them started."""


def refuse_inside_plan(setting: Setting) -> None:
    """Refuse to begin a compaction of a conversation inside a plan for one: it would ask for itself without end.

    Raises:
        ConversationError: a plan for it is being made, and asks for this.
    """
    if any(each.setting is setting and not each.is_over for each in _PLANNING.get()):
        raise ConversationError(
            "a compaction of this conversation is being planned, and its strategy asks for another one; a plan says what "
            "to change, and asks the conversation for nothing"
        )


@contextmanager
def _planning(setting: Setting) -> Iterator[None]:
    """Let a plan be made for a conversation; raises what `refuse_inside_plan` raises."""
    refuse_inside_plan(setting)
    ours = _Planning(setting)
    token = _PLANNING.set((*_PLANNING.get(), ours))
    try:
        yield
    finally:
        ours.is_over = True
        _PLANNING.reset(token)


def _with_profile(view: View) -> View:
    """The view with all facts in the profile, unless the provider would refuse it there."""
    state = fold_facts(view.state, view.setting.meter)
    if state is view.state:
        return view
    folded = replace(view, state=state)
    return view if view.newly_refused(folded) else folded


def _lasting(after: View) -> tuple[Applied, ...]:
    """The edits that still show: an item that was left out later was not worth shortening before."""
    there = {item.id for item in after.state.items}
    return tuple(
        each for each in after.applied if not isinstance(each.edit, Shorten) or each.edit.item in there
    )


def _lost(before: View, after: View) -> str:
    """Which fact that must be kept would be in sight no more, "" when there is none (P4)."""
    gone = [fact for fact in after.unseen() if fact not in before.unseen()]
    return "".join(f"{fact.line!r:.80} must be kept, and would be lost; " for fact in gone).rstrip("; ")


def _no_room(before: View, after: View) -> str:
    """Why pins and facts alone cannot be taken over, "" when they can: they may grow a request that still fits."""
    if after.state is before.state:
        return "no strategy found anything to change"
    if after.tokens > before.budget.limit >= before.tokens:
        return f"with new pins and facts it would have {after.tokens:,} tokens, over the limit"
    return ""


def _no_gain(before: View, after: View, least_gain: int) -> str:
    """Why an outcome is not worth a broken prompt cache, "" when it is."""
    budget, gain = before.budget, before.tokens - after.tokens
    needed = before.tokens > budget.limit >= after.tokens
    fewer = after.surplus_turns < before.surplus_turns and after.tokens <= max(before.tokens, budget.limit)
    if gain < max(least_gain, 1) and not (needed or fewer):
        return f"it would save {gain:,} tokens, less than min_gain = {least_gain:,}"
    return ""


def check_fits(view: View, failures: Sequence[Failure] = ()) -> None:
    """Raise BudgetExceededError, naming what cannot shrink and what failed, when a request is over its limit."""
    limit = view.budget.limit
    if view.tokens <= limit:
        return
    fixed = tuple(_fixed(view))
    raise BudgetExceededError(
        f"the smallest request that was reached has {view.tokens} tokens, {view.tokens - limit} over the limit of "
        f"{limit} (window {view.budget.window} less reply {view.budget.reply}); "
        f"what cannot be reduced: {', '.join(fixed) or 'nothing'}. {_left(view)}"
        f"{''.join(f'{each.by} failed: {each.why}. ' for each in failures)}"
        "Raise the window, shorten these, or choose a strategy that folds more",
        needed=view.tokens,
        limit=limit,
        by_region=view.regions,
        fixed=fixed,
        failures=tuple(f"{each.by}: {each.why}" for each in failures),
    )


def _left(view: View) -> str:
    """What may be reduced yet, and what of it may not be left out."""
    units = {item.unit for item in view.reducible}
    if not units:
        return ""
    stay = dict.fromkeys(view.leaders, "the tool loop has to begin with its thinking, A16")
    newest = newest_unit(view.state)
    told = {unit: stay.get(unit, "the newest") for unit in sorted(units) if unit in stay or unit == newest}
    kept = " and ".join(f"messages[{unit}] ({why})" for unit, why in told.items())
    only = f", of which {kept} may be shortened only" if kept else ""
    return f"The strategy left {view.shrinkable} tokens in {len(units)} other steps and messages{only}. "


def _fixed(view: View) -> list[str]:
    """What cannot be reduced, one line each; with what `_left` tells it is all of the request."""
    sizes, reducible = view.regions, {item.id for item in view.reducible}
    lines = [f"{name} {sizes[name]} tokens" for name in ("system", "tools", "profile") if sizes.get(name)]
    others = {"stand-ins for results": pending_tokens(view.state, view.setting.meter)}
    for unit in view.units:
        tokens = sum(item.tokens for item in unit.items if item.id not in reducible)
        made = unit.items[0].made
        if made in SMALL:
            others[SMALL[made]] = others.get(SMALL[made], 0) + tokens
        elif tokens and not unit.items[0].in_front:
            lines.append(f"messages[{unit.id}] ({_reason(view, unit)}) {tokens} tokens")
    return [*lines, *(f"{name} {tokens} tokens" for name, tokens in others.items() if tokens)]


def _reason(view: View, unit: Unit) -> str:
    if any(call.unit == unit.id for call in view.state.open):
        return "waits for a result"
    if any(pin.unit == unit.id for pin in view.state.pins):
        return "pinned"
    if unit.id in view.fixed:
        return "the newest from the user or provider"
    minimums = {name for name, region in view.budget.regions.items() if region.min}
    return f"kept by the min of {' and '.join(sorted(minimums & {item.region for item in unit.items}))}"


def run_sync(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The result of a coroutine for a caller that cannot await, also inside a running event loop."""
    if not _in_a_loop():
        return _run(make)
    with ThreadPoolExecutor(1, thread_name_prefix="ctxkit") as pool:
        return pool.submit(copy_context().run, _run, make).result()


CLEAN_UP_S = 1.0
"""Seconds that cancelled work gets to clean up."""


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """`asyncio.run` without its signal handlers, which would write out the whole conversation as text."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(make())
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:  # they get a moment to clean up; one that does not end holds nobody up
            loop.run_until_complete(asyncio.wait(left, timeout=CLEAN_UP_S))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
