"""Held: whether a summary holds what must survive verbatim, in the name of whoever said it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from ctxkit.summaries.attribution import PERSONS, Quoted, quoted
from ctxkit.summaries.known import Known
from ctxkit.summaries.prose import normal, sentences
from ctxkit.summaries.sections import Sections
from ctxkit.summaries.specifics import Kind, Specific, specifics
from ctxkit.summaries.support import is_unverified

__all__ = ["BARE", "Locked", "Must", "Who"]

Who = tuple[str, str]
"""A speaker and, of several, the name; ("", "") for a line of an earlier summary that names nobody."""

BARE = frozenset({Kind.AMOUNT, Kind.DATE, Kind.TIME, Kind.CONSTRAINT, Kind.COMMAND})
"""Kinds that say nothing without their sentence, or bind nobody when a tool says them."""

_MARKS = "\"'“”‘’「」『』"


@dataclass(frozen=True, slots=True)
class Locked:
    """A specific that a summary must have verbatim, the line that it gets when it has not, and who said it."""

    specific: Specific
    line: str
    who: Who


class Must:
    """What must survive verbatim, and who said what, as far as it matters for where that counts as held.

    What binds is held by a line that says nothing but what its speaker said, in that speaker's name; where users have no
    names, or there is one of them, a line that names nobody will do. Any other value of a person's is held by what names
    nobody, or one who gave it; what only the assistant and tools gave is held wherever it stands.
    """

    def __init__(self) -> None:
        self._locks: dict[tuple[str, Who | None], Locked] = {}
        self._given_by: defaultdict[str, set[Who]] = defaultdict(set)
        self._said: defaultdict[Who, set[str]] = defaultdict(set)

    def lock(self, specific: Specific, line: str, who: Who) -> None:
        """Lock a specific. The first who gives a value tells its line; what binds is each one's own."""
        binds = specific.kind is Kind.CONSTRAINT
        self._locks.setdefault((specific.text, who if binds else None), Locked(specific, line, who))
        self.given(specific, who)

    def given(self, specific: Specific, who: Who) -> None:
        """Remember that somebody gave a value."""
        self._given_by[specific.text].add(who)

    def said(self, text: str, who: Who) -> None:
        """Remember what a person said, or a line of an earlier summary."""
        self._said[who].update(map(_plain, (text, *sentences(text))))

    @property
    def locks(self) -> tuple[Locked, ...]:
        """All that is locked, in the order in which it was."""
        return tuple(self._locks.values())

    @property
    def binding(self) -> frozenset[str]:
        """The lines of what binds."""
        return frozenset(each.line for each in self.locks if each.specific.kind is Kind.CONSTRAINT)

    def absent(self, sections: Sections) -> list[Locked]:
        """What the sections do not hold."""
        people = frozenset(author for by, author in self._said if by == "user" and author)
        lines = [(line, quoted(line, people)) for _, line in sections.lines()]
        ruling = {line: quoted(line, people) for section, line in sections.lines() if section != "done"}
        bound = self._bound(ruling)
        known = Known(line for line, _ in lines)
        absent = []
        for lock in self._locks.values():
            if lock.specific.kind is Kind.CONSTRAINT:
                held = lock.line in ruling or _plain(lock.specific.text) in bound[lock.who]
            else:
                held = any(self._counts(lock, *lines[at]) for at in known.where(lock.specific))
            if not held:
                absent.append(lock)
        return absent

    def _bound(self, lines: Mapping[str, Quoted]) -> defaultdict[Who, set[str]]:
        """What each speaker is quoted with, in lines that say nothing else."""
        found: defaultdict[Who, set[str]] = defaultdict(set)
        for line, quote in lines.items():
            whole, *pieces = _pieces(quote.said)
            for who in () if is_unverified(line) else self._who_may_be(quote):
                said = self._said[who]
                if whole in said or (pieces and said.issuperset(pieces)):
                    found[who].update((whole, *pieces, *_clauses(quote.said)))
        return found

    def _who_may_be(self, quote: Quoted) -> Iterator[Who]:
        """Whose words a line may be."""
        several = len({author for by, author in self._said if by == "user"}) > 1
        for by, author in tuple(self._said):
            named = (by, author) == (quote.by, quote.author)
            unnamed = not several and not quote.author and quote.by in (by, "")
            if named or unnamed:
                yield by, author

    def _counts(self, lock: Locked, line: str, quote: Quoted) -> bool:
        """Whether a line that has a value holds it."""
        given_by = self._given_by[lock.specific.text]
        if not any(by in PERSONS for by, _ in given_by):
            return True
        if is_unverified(line) or (quote.by == "tool" and lock.specific.kind in BARE):
            return False
        return not quote.by or any(by == quote.by and quote.author in (author, "") for by, author in given_by)


@lru_cache(maxsize=4096)
def _pieces(said: str) -> tuple[str, ...]:
    """A text, and its sentences."""
    return tuple(map(_plain, (said, *sentences(said))))


@lru_cache(maxsize=4096)
def _clauses(said: str) -> tuple[str, ...]:
    """What binds in a text."""
    return tuple(_plain(each.text) for each in specifics(said) if each.kind is Kind.CONSTRAINT)


def _plain(text: str) -> str:
    """A sentence without the marks of a quotation."""
    return normal(normal(text).strip(_MARKS))
