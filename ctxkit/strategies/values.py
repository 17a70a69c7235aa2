"""Values: what a JSON value or a text says, as facts that can be told apart, record by record."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ctxkit.literals import Rank, as_json, gist, has_literal, looks_like_id, rank
from ctxkit.strategies.digesting import MARK, MAX_DEPTH, NAMELESS, records_of, text_of
from ctxkit.strategies.listing import told_in

__all__ = ["Fact", "fact_of", "facts_of", "sentence", "sentences_of", "size_of"]

LONGEST_VALUE = 200
"""Characters of a string in JSON; of a longer one its telling sentences are facts."""

_PIECE = re.compile(r"[A-Za-z]{1,7}|\d{1,3}|[^\sA-Za-z\d]")
_ALIKE = str.maketrans("12345678", "99999999")

_OPENING = frozenset(("", "[", "{", " ", "\n", "\t", "\r"))
"""How a string begins that is empty, or may be JSON."""


class Fact(NamedTuple):
    """A value beside its field name, or a sentence.

    Attributes:
        field: the nearest key, "" for a sentence.
        text: the value as it is written.
        level: its rank by itself.
        size: tokens of it without its field name, about.
        asked: whether it is an argument of the call.
        group: the key of the object around, where it takes one to tell fields of one name apart.
        apart: 0 when it is of the same record as the one before it; else the more, the further out in the whole the
            two records part: 1 for two items of an order, 2 for items of two orders.
    """

    field: str
    text: str
    level: Rank
    size: int
    asked: bool = False
    group: str = ""
    apart: int = 0


def fact_of(field: str, text: str, asked: bool, group: str = "", apart: int = 0) -> Fact:
    """A value as a fact."""
    return Fact(field, text, *_rated(field, text.translate(_ALIKE)), asked, group, apart)


@lru_cache(maxsize=4096)
def _rated(field: str, text: str) -> tuple[Rank, int]:
    """Rank and size of a value; which digits there are makes no difference."""
    return rank(field, text), size_of(text) + 1


def size_of(text: str) -> int:
    """Tokens of a text, about: pieces of words, digits by threes, marks."""
    return len(_PIECE.findall(text))


def sentence(text: str, apart: int = 0) -> Fact:
    """A sentence as a fact."""
    return Fact("", text, Rank.KEY if has_literal(text) else Rank.DETAIL, size_of(text) + 1, apart=apart)


def sentences_of(*texts: str, short: bool = False) -> list[Fact]:
    """The telling sentences of texts; `short`: of one where none tells, what it says in short."""
    records: list[list[str]] = []
    for text in texts:
        records += told_in(text) or ([gist(text)] if short else [])
    return [
        sentence(each, int(not at and bool(number)))
        for number, record in enumerate(records)
        for at, each in enumerate(record)
    ]


def facts_of(values: Sequence[Any], *, asked: bool) -> list[Fact]:
    """The leaves of JSON values as facts. The key of the object around is told where it takes one to tell fields of
    one name apart, beside all that is in that object; and where it looks like a value itself."""
    leaves = _Leaves()
    leaves.add(values[0] if len(values) == 1 else list(values))
    levels, told = leaves.levels(), leaves.groups()
    return [
        fact_of(field, text, asked, group if group in told else "", levels[begins])
        for (group, field, text), begins in leaves.found.items()
    ]


class _Told(tuple[str, ...]):
    """The sentences of a record in a text."""


class _Record(NamedTuple):
    """A record that is in another: what it is, the key of the object around, its field, and how deep it stands."""

    value: Any
    group: str
    field: str
    depth: int


def _is_record(value: Any) -> bool:
    """Whether what stands in a list says more than one thing."""
    if type(value) is str:
        return len(value) > LONGEST_VALUE or as_json(value) is not None
    return type(value) in (dict, list)


class _Leaves:
    """The leaves of a JSON value, record by record: those of a record itself, then those of the records in it.

    Records are what lists hold that is not simply a value, and the members of an object that has no other, or whose key
    looks like a value. Any other object in a record is part of it.
    """

    def __init__(self) -> None:
        self.found: dict[tuple[str, str, str], int] = {}
        """The group, field and text of each leaf, in order, and how far in the outermost record stands that begins with
        it; 0 when none does."""
        self._begins = 0

    def levels(self) -> dict[int, int]:
        """How far apart what begins with so many records stands from what is before it."""
        begin = sorted(set(self.found.values()) - {0}, reverse=True)
        return {0: 0} | {level: apart for apart, level in enumerate(begin, 1)}

    def groups(self) -> frozenset[str]:
        """The keys of objects that are told."""
        around = {group for group, _, _ in self.found}
        if around <= {""}:
            return frozenset()
        groups: dict[str, set[str]] = {}
        for group, field, _ in self.found:
            groups.setdefault(field, set()).add(group)
        shared = (names for names in groups.values() if len(names) > 1)
        return frozenset(filter(looks_like_id, around)).union(*shared)

    def add(self, value: Any) -> None:
        """Add the leaves of a value."""
        self._record(_Record(value, "", NAMELESS, 0), 0)

    def _record(self, record: _Record, level: int) -> None:
        self._begins = min(self._begins or level, level)
        inner: list[_Record] = []
        self._own(*record, inner)
        for each in inner:
            self._record(each, level + 1)

    def _own(self, value: Any, group: str, field: str, depth: int, inner: list[_Record]) -> None:
        """Add the leaves of a value but for those of the records in it. JSON inside strings is read, of long strings the
        telling sentences, and of a table of records that name their own key the records."""
        kind = type(value)
        if kind is str:
            if len(value) <= LONGEST_VALUE and value[:1] not in _OPENING:
                self._leaf(group, field, value)
            else:
                self._text(value, group, field, depth, inner)
        elif kind is dict and depth <= MAX_DEPTH:
            self._members(value, group, field, depth, inner)
        elif kind is list and depth <= MAX_DEPTH:
            for each in value:
                if _is_record(each):
                    inner.append(_Record(each, group, field, depth + 1))
                else:
                    self._own(each, group, field, depth + 1, inner)
        elif kind is int or kind is float or kind is bool:
            self._leaf(group, field, text_of(value))
        elif kind is _Told:
            for each in value:
                self._leaf(group, field, each)

    def _members(
        self, value: dict[str, Any], group: str, field: str, depth: int, inner: list[_Record]
    ) -> None:
        records = records_of(value)
        if records is not None:
            inner.extend(_Record(each, group, field, depth + 1) for each in records)
            return
        is_table = len(value) > 1 and all(type(each) is dict for each in value.values())
        for key, each in value.items():
            if key == MARK:
                continue
            if type(each) is not dict:
                self._own(each, group, key or NAMELESS, depth + 1, inner)
            elif is_table or looks_like_id(key):
                inner.append(_Record(each, key, key or NAMELESS, depth + 1))
            else:
                self._own(each, key, key or NAMELESS, depth + 1, inner)

    def _text(self, value: str, group: str, field: str, depth: int, inner: list[_Record]) -> None:
        """Add what a string says that is not simply a value."""
        read = as_json(value)
        if read is not None:
            self._own(read, group, field, depth + 1, inner)
        elif len(value) > LONGEST_VALUE:
            told = told_in(value)
            if len(told) == 1:
                self._own(_Told(told[0]), group, field, depth, inner)
            else:
                inner.extend(_Record(_Told(each), group, field, depth) for each in told)
        elif value:
            self._leaf(group, field, value)

    def _leaf(self, group: str, field: str, text: str) -> None:
        leaf = group, field, text
        if leaf not in self.found:
            self.found[leaf] = self._begins if self.found else 0
            self._begins = 0
