"""Conduct: what the kernel forgives a strategy, and its author should still know."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection
from copy import deepcopy
from dataclasses import dataclass, field
from functools import wraps
from typing import Literal

from ctxkit.core.edits import Plan, Remember
from ctxkit.core.facts import Fact
from ctxkit.core.view import View
from ctxkit.strategy import CompressionStrategy, Services
from ctxkit.testing.replay import live
from ctxkit.testing.trials import Check, Trial
from ctxkit.testing.watched import Look, Watched

__all__ = ["COMPANY", "CONDUCT", "FailedInCompany", "Tally", "not_rolled_back_for", "tally"]

REMEMBERED = ("meal", "dinner at eight")
"""What a user has a conversation remember, in company."""

RULE = Fact("rule", "Never call me before nine.", must_keep=True)
"""What another strategy keeps there, because it must be kept."""

FACTS = 80
"""Tokens that these take, for which windows have to be larger."""

COMPANY = (
    f"it went well alone; this was behind a strategy that remembers {RULE.line!r}, and a user had"
    f" {': '.join(REMEMBERED)!r} remembered"
)
"""What is said of a strategy that fails in company only."""


class FailedInCompany(AssertionError):
    """A check that company broke, with the window in tokens that there was for both."""

    def __init__(self, said: str, window: int) -> None:
        super().__init__(said)
        self.window = window


class KeepsARule(CompressionStrategy):
    """Remembers one rule, once, as `keep-key-facts` would."""

    kind: Literal["keeps-a-rule"] = "keeps-a-rule"

    def plan(self, view: View, services: Services) -> Plan:
        known = any(fact.name == RULE.name for fact in view.state.facts)
        return Plan() if known else Plan.of(Remember(RULE))


def _in_company_too(check: Callable[[Trial, bool], None]) -> Check:
    """The check with a strategy alone, and then in company: behind another one, beside what both have to keep.

    Only what it did where it failed is left among its looks. What fails alone never gets into company, so its
    smallest conversation has no room for anything else in it.

    Raises:
        FailedInCompany: it failed there, and not alone.
    """

    @wraps(check)
    def checked(trial: Trial) -> None:
        check(trial, False)
        watched = _watched(trial)
        watched.looks.clear()
        try:
            check(Trial(watched, trial.payload, trial.window), True)
        except AssertionError as error:
            raise FailedInCompany(f"{error}", trial.window + FACTS) from error

    return checked


@_in_company_too
def plans_without_raising(trial: Trial, in_company: bool) -> None:
    """P12: `plan` raises nothing and returns a Plan."""
    for look in _looks(trial, in_company):
        assert not look.raised, f"plan() raised {look.raised}"
        assert isinstance(look.made, Plan), f"plan() returned {type(look.made).__name__}, not a Plan"


@_in_company_too
def plans_the_same_twice(trial: Trial, in_company: bool) -> None:
    """P10: the same view gives the same plan."""
    first = [look.plan for look in _looks(trial, in_company)]
    same = Trial(trial.strategy, deepcopy(trial.payload), trial.window)
    again = [look.plan for look in _looks(same, in_company)]
    for one, two in zip(first, again, strict=False):
        assert one == two, f"once it planned {one.edits or 'nothing'}, then {two.edits or 'nothing'}"
    assert len(first) == len(again)


@_in_company_too
def leaves_the_view_alone(trial: Trial, in_company: bool) -> None:
    """P6: `plan` changes nothing of what it is shown."""
    for look in _looks(trial, in_company):
        assert not look.changed, f"plan() changed {_named(look.changed, look.view)} in place"


CONDUCT: tuple[Check, ...] = (plans_without_raising, plans_the_same_twice, leaves_the_view_alone)
"""Every check of conduct that says the same of all plans."""


def not_rolled_back_for(reason: str) -> Check:
    """The check that a plan which is rolled back for this reason breaks; see `Tally`."""

    @_in_company_too
    def is_not_rolled_back(trial: Trial, in_company: bool) -> None:
        """P12: its plans can be applied: nothing has to be contained."""
        for look in _looks(trial, in_company):
            assert _reason(look, trial.strategy.kind) != reason, f"its plan was rolled back: {reason}"

    return is_not_rolled_back


@dataclass
class Tally:
    """How the plans of a strategy fared.

    Attributes:
        asked: how often a plan was asked for.
        planned: how many of the plans had edits.
        reasons: why plans were rolled back, with N for each number, and how often.
    """

    asked: int = 0
    planned: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def rejected(self) -> int:
        """How many plans were rolled back."""
        return self.reasons.total()

    @property
    def never_works(self) -> bool:
        """Whether it planned something, and none of it was ever applied."""
        return 0 < self.planned == self.rejected

    @property
    def foreseen(self) -> str:
        """The commonest of the reasons that a strategy could have known of, "" when there is none: what a gap's mark
        takes is the kernel's affair, and found by trying alone."""
        return next(
            (each for each, _ in self.reasons.most_common() if not each.startswith("the request would grow")),
            "",
        )


def tally(trial: Trial, so_far: Tally) -> None:
    """Count the plans of one trial, alone and in company."""
    for look in (*_looks(trial, False), *_looks(trial, True)):
        so_far.asked += 1
        so_far.planned += bool(look.plan)
        if why := _reason(look, trial.strategy.kind):
            so_far.reasons[why] += 1


def _reason(look: Look, kind: str) -> str:
    """Why a plan was rolled back, with N for each number, and each sentence once; "" when it was not."""
    return "; ".join(dict.fromkeys(re.sub(r"-?\d+", "N", each) for each in look.rejected(kind)))


def _watched(trial: Trial) -> Watched:
    return trial.strategy if isinstance(trial.strategy, Watched) else Watched.of(trial.strategy)


def _looks(trial: Trial, in_company: bool) -> list[Look]:
    watched = _watched(trial)
    seen = len(watched.looks)
    if in_company:
        chain = {"kind": "hybrid", "steps": [KeepsARule(), watched]}
        live(trial.payload, chain, window=trial.window + FACTS, remember=REMEMBERED)
    else:
        live(trial.payload, watched, window=trial.window)
    return watched.looks[seen:]


def _named(changed: Collection[int], view: View) -> str:
    """The first message that was changed, by its position; what ctxkit wrote has none."""
    if messages := [id for id in changed if id >= 0]:
        return f"messages[{min(messages)}]"
    made = next(item.made for item in view.state.items if item.id in changed)
    return f"the {made} that ctxkit wrote"
