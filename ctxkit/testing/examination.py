"""Examination: every promise tried on a strategy, with the smallest conversation that breaks one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from hypothesis import HealthCheck, Phase, Verbosity, settings

from ctxkit.strategy import CompressionStrategy
from ctxkit.testing.conduct import COMPANY, CONDUCT, FailedInCompany, Tally, not_rolled_back_for, tally
from ctxkit.testing.finding import Example, Finding, Planned
from ctxkit.testing.hints import hint_for
from ctxkit.testing.laws import STRATEGY_LAWS
from ctxkit.testing.trials import Check, Trial, over_trials
from ctxkit.testing.watched import Look, Watched

__all__ = ["tried"]


def tried(
    strategy: CompressionStrategy, *, examples: int, laws: Collection[str], begins: Callable[[str], None]
) -> Iterator[Finding]:
    """Each check of conduct and each law of these names, tried on so many conversations, as soon as it is known.

    Args:
        strategy: what is tried.
        examples: conversations that each is tried on.
        laws: the names of the laws.
        begins: is told the claim of each before it is tried: one that never ends is known by it.
    """
    for check in CONDUCT:
        begins(_promise_of(check)[1])
        yield _found(strategy, check, examples)
    begins(_promise_of(not_rolled_back_for(""))[1])
    yield _how_plans_fared(strategy, examples)
    for law in STRATEGY_LAWS:
        if law.__name__ in laws:
            check = inspect.unwrap(law)
            begins(_promise_of(check)[1])
            yield _found(strategy, check, examples)


def _found(strategy: CompressionStrategy, check: Check, examples: int) -> Finding:
    promises, claim = _promise_of(check)
    broken = _smallest(strategy, check, examples)
    if broken is None:
        return Finding(check.__name__, promises, claim)
    error, example = broken
    happened = f"{error}" if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
    happened = happened.split("\nassert ")[0].strip() or "it did not hold for the conversation below"
    hint = hint_for(check.__name__, happened)
    note = COMPANY if isinstance(error, FailedInCompany) else ""
    return Finding(check.__name__, promises, claim, happened, hint, note, example)


def _how_plans_fared(strategy: CompressionStrategy, examples: int) -> Finding:
    """Whether plans are rolled back, with figures: one that is always contained breaks nothing, and is of no use.

    The hint and the smallest conversation are those of the commonest reason.
    """
    fared = Tally()
    _run(strategy, lambda trial: tally(trial, fared), examples)
    check = not_rolled_back_for(fared.foreseen)
    promises, claim = _promise_of(check)
    kept = Finding(check.__name__, promises, claim)
    finding = _found(strategy, check, examples) if fared.foreseen else kept
    why = ", ".join(f"{reason} ({count} times)" for reason, count in fared.reasons.most_common(3))
    if finding.kept and not fared.never_works:
        return replace(kept, note=_figures(fared, why))
    works = "contained, but it never works: all" if fared.never_works else "contained:"
    happened = f"{works} {fared.rejected} of its {fared.planned} plans were rolled back: {why}"
    note = "; ".join(filter(None, (_figures(fared, ""), finding.note)))
    hint, shown = hint_for(kept.name, fared.foreseen or why), finding.example
    if shown is not None:
        shown = replace(shown, plans=tuple(each for each in shown.plans if each.rejected))
    return replace(finding, happened=happened, hint=hint, note=note, example=shown)


def _figures(fared: Tally, why: str) -> str:
    told = f"{fared.asked} plans asked for, {fared.planned} with edits, {fared.rejected} rolled back"
    if why:
        return f"{told} ({why})"
    if not fared.planned:
        return (
            f"{told}; it found nothing to change in any conversation, so the other lines say little about it"
        )
    return told


def _promise_of(check: Check) -> tuple[str, str]:
    """The promises that a check names, and what it says of them."""
    told = inspect.cleandoc(check.__doc__ or "").splitlines()[0].rstrip(".")
    promises, claim = re.fullmatch(r"((?:P\d+(?:, )?)*):? ?(.*)", told).groups()  # type: ignore[union-attr]
    return promises, claim


def _smallest(strategy: CompressionStrategy, check: Check, examples: int) -> tuple[Exception, Example] | None:
    """What breaks a check, and the smallest conversation with which it does: Hypothesis runs that one last."""
    last: list[tuple[Exception, Trial, Watched]] = []

    def watched(trial: Trial) -> None:
        seen = Watched.of(strategy)
        try:
            check(Trial(seen, trial.payload, trial.window))
        except Exception as error:
            last[:] = [(error, trial, seen)]
            raise
        except BaseException as error:  # Hypothesis would take it for the end of its own run
            escaped = AssertionError(f"plan() raised {type(error).__name__}: {error}, which ends programs")
            last[:] = [(escaped, trial, seen)]
            raise escaped from error

    try:
        _run(strategy, watched, examples)
    except Exception:
        if not last:
            raise
        failed, trial, seen = last[0]
        plans = [_planned(look, strategy.kind) for look in seen.looks if look.plan]
        once = {repr(plan): plan for plan in plans}  # what stands in a plugin's plan need not be hashable
        window = failed.window if isinstance(failed, FailedInCompany) else trial.window
        return failed, Example(trial.payload, window, tuple(once.values()))
    return None


def _planned(look: Look, kind: str) -> Planned:
    return Planned(look.messages, look.plan.edits, "; ".join(look.rejected(kind)))


def _run(strategy: CompressionStrategy, check: Callable[[Trial], None], examples: int) -> None:
    """Run a check on the same conversations each time, without a word.

    It runs in a thread: nobody presses Ctrl-C there, and a plan's own KeyboardInterrupt is contained as all else is
    that it raises.
    """
    quiet = settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        print_blob=False,
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    with ThreadPoolExecutor(1) as thread:
        thread.submit(quiet(over_trials(strategy, check))).result()
