"""Facts: what is remembered outside the conversation and written as the profile."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from ctxkit.core.marks import fence

__all__ = ["USER", "Fact", "active_facts", "profile_text"]


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

    A fact loses to an earlier one of higher confidence, and what a user said loses to nobody else; it wins over
    all others with its key.
    """
    active: dict[str, Fact] = {}
    for fact in facts:
        held = active.get(fact.key)
        if held is not None and (fact.confidence < held.confidence or (held.by == USER != fact.by)):
            continue
        if fact.retracted:
            active.pop(fact.key, None)
        else:
            active[fact.key] = fact
    return active


USER = "user"
"""`by` of what users themselves pin and remember; no strategy may sign with it."""


def profile_text(facts: Sequence[Fact]) -> str:
    """The facts as one fenced block of `key: value` lines, "" for none."""
    lines = [f"{_one_line(fact.key)}: {_one_line(fact.value)}" for fact in facts]
    return fence("facts", "\n".join(lines)) if lines else ""


def _one_line(text: str) -> str:
    """A text as it is, unless it has several lines, of which one could pass for a fact: then as a JSON string."""
    return text if len(text.splitlines()) < 2 else json.dumps(text, ensure_ascii=False)
