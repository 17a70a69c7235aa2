"""Edits and plans: what a strategy wants changed, as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from ctxkit.core.facts import Fact, unfit_field

__all__ = [
    "Close",
    "Drop",
    "Edit",
    "Failure",
    "Pin",
    "Plan",
    "Remember",
    "Replace",
    "Retract",
    "Shorten",
    "Strip",
    "Unpin",
]


@dataclass(frozen=True, slots=True)
class Drop:
    """Leave units out. A gap in a turn that stays is marked by one stand-in, which the kernel writes."""

    units: tuple[int, ...]
    why: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class Replace:
    """Put one summary, `text`, where the first of `units` stood, and leave the units out."""

    units: tuple[int, ...]
    text: str
    why: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class Shorten:
    """Write `content` for one part of an item: `part` counts in `view.parts(item)`."""

    item: int
    part: int
    content: Any
    why: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class Strip:
    """Take the reasoning out of units that stay, as far as their format permits."""

    units: tuple[int, ...]
    why: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class Close:
    """Give up on an open call: it is answered by the stand-in result `text` and no longer pinned."""

    call: str
    text: str
    why: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class Pin:
    """Keep units as they are, for good or until a turn with a number above `until` begins."""

    units: tuple[int, ...]
    until: int | None = None
    why: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class Unpin:
    """Take pins off again. What the conversation itself pins (the current user message) stays pinned."""

    units: tuple[int, ...]
    why: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class Remember:
    """Keep a fact in the profile."""

    fact: Fact
    why: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class Retract:
    """Take the fact with a key (and subject) back; what was superseded stays on record."""

    key: str
    confidence: float = 1.0
    subject: str = ""
    why: str = ""
    by: str = ""


Edit = Drop | Replace | Shorten | Strip | Close | Pin | Unpin | Remember | Retract


@dataclass(frozen=True, slots=True)
class Failure:
    """A step that was rolled back: which strategy, and why.

    Attributes:
        by: the strategy's kind, or the rung of a ladder.
        why: the reason.
        request: the digest of a request to a model that must not be sent again as it was, "" where there is none.
        note: the step did what it could, and this is what it had no room for.
    """

    by: str
    why: str
    request: str = ""
    note: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Stages of edits, applied one stage after the other: `a + b` is a, then b.

    Within a stage every edit refers to the conversation as the stage found it.
    """

    stages: tuple[tuple[Edit, ...], ...] = ()
    failures: tuple[Failure, ...] = ()

    @classmethod
    def of(cls, *edits: Edit) -> Plan:
        """A plan of one stage; without edits, the plan that changes nothing."""
        return cls((edits,)) if edits else cls()

    @classmethod
    def failed(cls, by: str, why: str, *, request: str = "") -> Plan:
        """The plan of a step that came to nothing; `request` as in `Failure`."""
        return cls(failures=(Failure(by, why, request),))

    @classmethod
    def noted(cls, by: str, why: str) -> Plan:
        """The plan that changes nothing and tells what a step had no room for; add it to the step's own."""
        return cls(failures=(Failure(by, why, note=True),))

    @property
    def edits(self) -> tuple[Edit, ...]:
        """All edits, in order."""
        return tuple(edit for stage in self.stages for edit in stage)

    def signed(self, by: str) -> Plan:
        """The same plan with `by` on each edit that names nobody yet."""
        if all(edit.by for edit in self.edits):
            return self
        stages = tuple(tuple(e if e.by else replace(e, by=by) for e in stage) for stage in self.stages)
        return Plan(stages, self.failures)

    def __add__(self, other: Plan) -> Plan:
        return Plan(self.stages + other.stages, self.failures + other.failures)

    def __bool__(self) -> bool:
        return any(self.stages)


def malformed(edit: object) -> str:
    """What is wrong with the values of an edit, "" when nothing is: whoever made it need not have been careful."""
    if not isinstance(edit, Edit):
        return f"{type(edit).__name__} is no edit"
    name = type(edit).__name__
    for each in fields(edit):
        value = getattr(edit, each.name)
        if not _FITS[each.name](value):
            hint = (
                "; units are ids in a tuple: tuple(unit.id for unit in ...)" if each.name == "units" else ""
            )
            return f"{name}.{each.name} cannot be {_brief(value)}{hint}"
    return ""


def _brief(value: object) -> str:
    """A value for a message; of a tuple of objects what they are, since all that they hold is long and says little."""
    if isinstance(value, tuple) and value and not isinstance(value[0], int | str):
        return f"a tuple of {type(value[0]).__name__}"
    return f"{value!r:.60}"


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _has_words(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_fact(value: object) -> bool:
    return type(value) is Fact and not unfit_field(value)


_FITS: dict[str, Callable[[object], bool]] = {
    "units": lambda value: isinstance(value, tuple) and len(value) > 0 and all(map(_is_number, value)),
    "item": _is_number,
    "part": _is_number,
    "content": lambda _: True,
    "text": _has_words,
    "call": _is_text,
    "subject": _is_text,
    "key": _has_words,
    "until": lambda value: value is None or _is_number(value),
    "fact": _is_fact,
    "confidence": lambda value: isinstance(value, int | float) and 0 <= value <= 1,
    "why": _is_text,
    "by": _is_text,
}


def only_marks(edits: Sequence[Edit]) -> bool:
    """Whether edits pin, unpin or remember and nothing else: they may grow a request."""
    return all(isinstance(edit, Pin | Unpin | Remember | Retract | Close) for edit in edits)
