"""Facts: what is remembered outside the conversation and written as the profile."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ctxkit.core.marks import fence

__all__ = ["USER", "Fact", "Speaker", "active_facts", "facts_text"]

Speaker = Literal["user", "assistant", "tool"]
"""Who said something, in falling order of trust."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement kept verbatim.

    Attributes:
        key: what it is about; a new value for the same key and subject supersedes the old one, which stays on
            record.
        value: the statement, verbatim.
        confidence: 0 to 1; a lower one never supersedes a higher one.
        turn: the turn in which it was remembered.
        by: who remembered it: "user", or a strategy's kind.
        source: ids of the items that it was taken from.
        retracted: this record takes the key back.
        subject: whom or what it is about, where that is not the conversation itself ("brother").
        said_by: "user", "assistant" or "tool": the least trusted of those that it was taken from. What a tool said
            is never written as profile.
        must_keep: it has to be in every request.
        priority: what is evicted last when there is no room for all; higher is kept longer.
        denied: it says that something is not so ("no known allergies").
    """

    key: str
    value: str
    confidence: float = 1.0
    turn: int = 0
    by: str = "user"
    source: tuple[int, ...] = ()
    retracted: bool = False
    subject: str = ""
    said_by: Speaker = "user"
    must_keep: bool = False
    priority: int = 0
    denied: bool = False

    @property
    def name(self) -> tuple[str, str]:
        """What two facts have in common of which the later one supersedes the earlier."""
        return self.subject, self.key

    @property
    def line(self) -> str:
        """The fact as it stands in a request: `key: value`, behind its subject if it has one."""
        key = f"{self.subject} / {self.key}" if self.subject else self.key
        return f"{_one_line(key)}: {_one_line(self.value)}"

    def stands_in(self, text: str) -> bool:
        """Whether a text says it: its whole line, or its value where that is long enough to say it by itself."""
        return self.line in text or (len(self.value) >= LEAST_TELLING and self.value in text)


LEAST_TELLING = 24
"""Characters from which on a value says what it is about: "2" or "nuts" may stand anywhere."""


def active_facts(facts: Sequence[Fact]) -> dict[tuple[str, str], Fact]:
    """The facts in force by name, in the order in which they were first remembered.

    A fact loses to an earlier one of higher confidence, and what a user said loses to nobody else; it wins over
    all others with its name.
    """
    active: dict[tuple[str, str], Fact] = {}
    for fact in facts:
        held = active.get(fact.name)
        if held is not None and (fact.confidence < held.confidence or (held.by == USER != fact.by)):
            continue
        if fact.retracted:
            active.pop(fact.name, None)
        else:
            active[fact.name] = fact
    return active


USER = "user"
"""`by` of what users themselves pin and remember; no strategy may sign with it."""


def facts_text(facts: Sequence[Fact]) -> str:
    """The facts as one fenced block, a line a fact, "" for none."""
    return fence("facts", "\n".join(fact.line for fact in facts)) if facts else ""


def _one_line(text: str) -> str:
    """A text as it is, unless it has several lines, of which one could pass for a fact: then as a JSON string."""
    return text if len(text.splitlines()) < 2 else json.dumps(text, ensure_ascii=False)
