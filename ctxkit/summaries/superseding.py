"""Superseding: when a newer line of a summary takes the place of an older one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ctxkit.literals import HAN, HAN_CHARACTER
from ctxkit.summaries.cues import binds
from ctxkit.summaries.prose import stems
from ctxkit.summaries.salience import unlabelled
from ctxkit.summaries.specifics import Kind, specifics

__all__ = ["finishes", "named", "superseded"]

LONGEST_VALUE = 60
"""Characters of a value that another may supersede; what is longer is a statement, and both are kept."""

FINISHED_SHARE = 0.6
"""Of the content of an open item: what a line in done has to say of it, to be about the same."""

_PAIR = re.compile(r"([^:：=]{1,40}?)(?::(?=\s)|：| =(?=\s))\s*(.+)")
_BEFORE = re.compile(r" ?[(（](?:before: |原：)[^()（）]{1,60}[)）]\Z")
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)*")
_STATE = re.compile(rf"[a-z_-]{{2,24}}|[{HAN}]{{1,6}}", re.IGNORECASE)
_MEASURES = frozenset({Kind.AMOUNT, Kind.DATE, Kind.TIME, Kind.VERSION})


@dataclass(frozen=True, slots=True)
class _Named:
    """`name: value`, and of which sort the value is: a kind of specific, a number, a state in one word."""

    name: str
    value: str
    sort: str


def named(line: str) -> str:
    """The name in a line `name: value` whose value a newer one may supersede, in lower case; "" for any other line.

    Identifiers supersede nothing, for there may be several; neither does a state that binds ("allergy: nuts"), nor
    what somebody is quoted with.
    """
    found = _read(line)
    return found.name.casefold() if found else ""


def superseded(old: str, new: str) -> str:
    """The line that stands for two `name: value` lines of one name: the new value, and which it was before.

    "" when the values are not of one sort; the old line when they are the same.
    """
    before, now = _read(old), _read(new)
    if before is None or now is None or before.sort != now.sort:
        return ""
    if before.value == now.value:
        return old
    note = f"（原：{before.value}）" if HAN_CHARACTER.search(new) else f" (before: {before.value})"
    return f"{_BEFORE.sub('', new)}{note}"


def finishes(done: str, item: str) -> bool:
    """Whether a line says that an open item is done: it has all its numbers and identifiers, and most of its words."""
    wanted, there = _stems(item), _stems(done)
    exact = {each for each in wanted if any(map(str.isdigit, each))}
    return len(wanted) > 1 and exact <= there and len(wanted & there) >= FINISHED_SHARE * len(wanted)


@lru_cache(maxsize=4096)
def _stems(line: str) -> frozenset[str]:
    return stems(unlabelled(line)[1])


def _read(line: str) -> _Named | None:
    by, text = unlabelled(line)
    pair = _PAIR.fullmatch(_BEFORE.sub("", text))
    if by or pair is None:
        return None
    name, value = pair.group(1).strip(), pair.group(2).strip(" .。")
    sort = _sort(value) if len(value) <= LONGEST_VALUE else ""
    binding = sort == "state" and binds(text)
    return _Named(name, value, sort) if sort and not binding else None


def _sort(value: str) -> str:
    if _NUMBER.fullmatch(value):
        return "number"
    found = specifics(value)
    if len(found) == 1 and found[0].kind in _MEASURES and len(found[0].text) * 2 >= len(value):
        return found[0].kind
    return "state" if _STATE.fullmatch(value) else ""
