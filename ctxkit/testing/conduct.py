"""Conduct: what the kernel forgives a strategy, and its author should still know."""

from __future__ import annotations

import re
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Literal

from ctxkit.core.edits import Plan, Remember
from ctxkit.core.facts import Fact
from ctxkit.core.view import View
from ctxkit.strategy import CompressionStrategy, Services
from ctxkit.testing.replay import live
from ctxkit.testing.trials import Check, Trial
from ctxkit.testing.watched import Look, Watched

__all__ = ["CONDUCT", "Tally", "tally"]


REMEMBERED = ("meal", "dinner at eight")
"""What a user had every trial remember."""

RULE = Fact("rule", "Never call me before nine.", must_keep=True)
"""What another strategy keeps in every trial, because it must be kept."""

FACTS = 80
"""Tokens that these take, for which windows have to be larger."""


class KeepsARule(CompressionStrategy):
    """Remembers one rule, once, as `keep-key-facts` would."""

    kind: Literal["keeps-a-rule"] = "keeps-a-rule"

    def plan(self, view: View, services: Services) -> Plan:
        known = any(fact.name == RULE.name for fact in view.state.facts)
        return Plan() if known else Plan.of(Remember(RULE))


def plans_without_raising(trial: Trial) -> None:
    """P12: `plan` raises nothing and returns a Plan."""
    for look in _looks(trial):
        assert not look.raised, f"plan() raised {look.raised}"
        assert isinstance(look.made, Plan), f"plan() returned {type(look.made).__name__}, not a Plan"


def plans_the_same_twice(trial: Trial) -> None:
    """P10: the same view gives the same plan."""
    first = [look.plan for look in _looks(trial)]
    again = [look.plan for look in _looks(Trial(trial.strategy, deepcopy(trial.payload), trial.window))]
    for one, two in zip(first, again, strict=False):
        assert one == two, f"once it planned {one.edits or 'nothing'}, then {two.edits or 'nothing'}"
    assert len(first) == len(again)


def leaves_the_view_alone(trial: Trial) -> None:
    """P6: `plan` changes nothing of what it is shown."""
    for look in _looks(trial):
        assert not look.changed, f"plan() changed messages[{look.changed[0]}] in place"


def is_not_rolled_back(trial: Trial) -> None:
    """P12: its plans can be applied: nothing has to be contained."""
    for look in _looks(trial):
        why = look.rejected(trial.strategy.kind)
        assert not why or _unforeseen(why), f"its plan was rolled back: {why}"


CONDUCT: tuple[Check, ...] = (
    plans_without_raising,
    plans_the_same_twice,
    leaves_the_view_alone,
    is_not_rolled_back,
)
"""Every check of conduct."""


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


def tally(trial: Trial, so_far: Tally) -> None:
    """Count the plans of one trial."""
    for look in _looks(trial):
        so_far.asked += 1
        so_far.planned += bool(look.plan)
        if why := look.rejected(trial.strategy.kind):
            so_far.reasons[re.sub(r"\d+", "N", why)] += 1


def _looks(trial: Trial) -> list[Look]:
    watched = trial.strategy if isinstance(trial.strategy, Watched) else Watched.of(trial.strategy)
    seen = len(watched.looks)
    chain = {"kind": "hybrid", "steps": [KeepsARule(), watched]}
    live(trial.payload, chain, window=trial.window + FACTS, remember=REMEMBERED)
    return watched.looks[seen:]


def _unforeseen(why: str) -> bool:
    """Whether a strategy could only have known by trying: what a gap's mark takes is the kernel's affair."""
    return why.startswith("the request would grow")
