"""Withdrawn: values of facts that a user took back, which nothing written from then on may go on telling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctxkit.core.edits import Remember, Replace
from ctxkit.core.facts import SHORTEST, Fact, active_facts, taken_back
from ctxkit.core.state import State

if TYPE_CHECKING:
    from ctxkit.engine import Outcome

__all__ = ["forgotten", "mentions_withdrawn"]


def forgotten(facts: Sequence[Fact]) -> frozenset[str]:
    """The values that a user took back, and that no fact in force has."""
    held = {fact.value for fact in active_facts(facts).values()}
    return frozenset(value for value in taken_back(facts).keys() - held if len(value) >= SHORTEST)


def mentions_withdrawn(outcome: Outcome, now: State) -> str:
    """The value that a compaction would go on telling although it was taken back while it was planned, "" for none.

    Args:
        outcome: the compaction, which knows the facts of the moment at which it began.
        now: the conversation as it is now, with the facts that were taken back meanwhile.
    """
    gone = sorted(forgotten(now.facts) - forgotten(outcome.before.state.facts))
    written = "\n".join(_written(outcome)) if gone else ""
    return next((value for value in gone if value in written), "")


def _written(outcome: Outcome) -> list[str]:
    """What a compaction writes in words of its own: summaries, and facts."""
    edits = [each.edit for each in outcome.after.applied]
    summaries = [edit.text for edit in edits if isinstance(edit, Replace)]
    return [*summaries, *(edit.fact.value for edit in edits if isinstance(edit, Remember))]
