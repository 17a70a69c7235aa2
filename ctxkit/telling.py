"""Telling: what there is to say about a request, put down when it is made and written out when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile

from ctxkit.core.edits import Failure
from ctxkit.core.view import View
from ctxkit.engine import Outcome
from ctxkit.hooks import Called
from ctxkit.models.models import ModelCall
from ctxkit.report import Report, called, failed, region_reports, told
from ctxkit.tokens import TokenCounter

__all__ = ["Telling"]


@dataclass(frozen=True)
class Telling:
    """Everything that the report on a request is made from.

    Attributes:
        view: the conversation of the request.
        outcome: the compaction that led to it, None without one.
        trigger: why there was one, "" without one.
        normalised: what else changed since the last report.
        counter: what counted.
        failures: what else went wrong: hooks, checks of the request.
        calls: the models that were asked.
        seconds: what it took.
    """

    view: View
    outcome: Outcome | None
    trigger: str
    normalised: tuple[str, ...]
    counter: TokenCounter
    seconds: float
    failures: tuple[Failure, ...] = ()
    calls: tuple[ModelCall, ...] = ()

    @property
    def compacted(self) -> bool:
        """Whether a compaction was taken."""
        return self.outcome is not None and not self.outcome.refused

    @cached_property
    def report(self) -> Report:
        """The report."""
        view, outcome = self.view, self.outcome
        before = outcome.before if outcome is not None else view
        return Report(
            format=view.setting.meter.provider.name,
            compacted=self.compacted,
            trigger=self.trigger,
            tokens_before=before.tokens,
            tokens_after=view.tokens,
            tokens_same=_same(before, view),
            limit=view.budget.limit,
            target=view.target,
            regions=region_reports(before.regions, view.regions, view.budget.caps(view.regions)),
            edits=tuple(map(told, view.applied if self.compacted else ())),
            failures=tuple(map(failed, (*(_news(outcome) if outcome else ()), *self.failures))),
            model_calls=tuple(map(called, self.calls)),
            normalised=self.normalised,
            counter=self.counter.name,
            exact=self.counter.exact,
            compactions=view.state.compactions,
            seconds=self.seconds,
        )

    def observed(self, hooks: Called) -> Telling:
        """The same with every observer of compactions told; what those that failed raised is in the report."""
        if not self.compacted or self.outcome is None:
            return self
        failures = tuple(Failure(by, why) for by, why in hooks.tell_observers(lambda: self.report))
        if not failures:
            return self
        return replace(self, failures=(*self.failures, *failures))


def _same(before: View, after: View) -> int:
    """Tokens with which a request begins as the one before: tools, system text beside the messages, the first entries."""
    pairs = zip(before.state.items, after.state.items, strict=False)
    first = takewhile(lambda pair: pair[0].raw is pair[1].raw, pairs)
    return after.state.tools_tokens + after.state.system_tokens + sum(item.tokens for item, _ in first)


def _news(outcome: Outcome) -> tuple[Failure, ...]:
    """What failed, and those notes that the compaction before did not have word for word. Of one that is taken that is the
    last one taken: what an attempt in between could not keep was still there then."""
    taken = outcome.before.state.compactions
    past = (each for each in reversed(outcome.before.past) if outcome.refused or each.number <= taken)
    before = next((each.failures for each in past), ())
    return tuple(each for each in outcome.failures if not (each.note and each in before))
