"""Facts: what is remembered outside the conversation and written as the profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ctxkit.core.marks import fence

__all__ = ["Fact", "active_facts", "profile_text"]


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement kept verbatim.

    Attributes:
        key: what it is about; a new value for the same key supersedes the old one, which stays on record.
        value: the statement.
        confidence: 0 to 1; a lower one never supersedes a higher one.
        turn: the turn in which it was remembered.
        by: who remembered it: "user", or a strategy's kind.
        source: ids of the items that it was taken from.
        retracted: this record takes the key back.
    """

    key: str
    value: str
    confidence: float = 1.0
    turn: int = 0
    by: str = "user"
    source: tuple[int, ...] = ()
    retracted: bool = False


def active_facts(facts: Sequence[Fact]) -> dict[str, Fact]:
    """The facts in force, in the order in which their keys were first remembered.

    A fact loses to an earlier one of higher confidence and wins over all others with its key.
    """
    active: dict[str, Fact] = {}
    for fact in facts:
        held = active.get(fact.key)
        if held is not None and fact.confidence < held.confidence:
            continue
        if fact.retracted:
            active.pop(fact.key, None)
        else:
            active[fact.key] = fact
    return active


def profile_text(facts: Sequence[Fact]) -> str:
    """The facts as one fenced block of `key: value` lines, "" for none."""
    lines = [f"{fact.key}: {fact.value}" for fact in facts]
    return fence("facts", "\n".join(lines)) if lines else ""
