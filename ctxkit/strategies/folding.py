"""Folding: which old units become one text, and what of their values that text holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat

from ctxkit.core.conversation import Unit
from ctxkit.core.edits import Plan, Replace
from ctxkit.core.gaps import ids_of
from ctxkit.core.items import PartKind
from ctxkit.core.provider import Entry
from ctxkit.core.view import View
from ctxkit.errors import PlanRejected
from ctxkit.literals import as_json, tokens_of
from ctxkit.strategies.digesting import fields_of
from ctxkit.strategies.packing import Known, Scored, Step, packed, ranked, steps_of

__all__ = ["Fold", "asked_of"]

WHOLE_SHARE = 0.2
"""Of the room for what may be folded: the newest units that fit into it stay whole."""

ENVELOPE = 54
"""Tokens of a fold beside its text, give or take a few: mark, title, fence, the entry around it."""

CUTS = 4
"""Places at which what is folded may end, when the provider would refuse what follows the last one."""

ATTEMPTS = 2
"""Texts that are tried: when the first is too long by the few, the second is not."""

SOURCE_WINDOWS = 1
"""Times the limit: as much of the newest originals is read for a digest that takes in earlier ones. What is older
has had its time, and the work of a compaction does not grow with the history."""

CHARACTERS = 4
"""Of a token, roughly."""

RECENT_UNITS = 4
"""The newest live units: what they talk about is what is going on."""

NOTHING = "nothing that later steps are likely to need"


@dataclass(frozen=True)
class Fold:
    """A plan that folds old units, and whether all that is likely to be needed is in the text."""

    plan: Plan
    whole: bool = False

    @classmethod
    def of(cls, view: View, *, kind: str, exclude: frozenset[str] = frozenset()) -> Fold:
        """Fold the oldest units until the target is met.

        First beside the folds that are there already, so that the prompt's prefix lasts; when that would lose
        something, all folds become one, made anew from the originals.

        Args:
            kind: the strategy's kind; what bears it was folded by it.
            exclude: names of tools whose results are not folded.
        """
        free = [
            unit
            for unit in view.free()
            if (not unit.synthetic or unit.items[0].edited == kind)
            and not any(call.name in exclude for item in unit.items for call in item.shape.calls)
        ]
        arrived = [unit for unit in free if not unit.synthetic]
        if not arrived:
            return cls(Plan())
        if len(arrived) < len(free):
            beside = _Folding(view, arrived, kind).fold()
            if beside.whole and beside.plan:
                return beside
        return _Folding(view, free, kind).fold()


class _Folding:
    """An attempt to fold the oldest of some units."""

    def __init__(self, view: View, units: Sequence[Unit], kind: str) -> None:
        self._view = view
        self._kind = kind
        self._units = units
        self._room = sum(unit.tokens for unit in units) - view.over

    def fold(self) -> Fold:
        best, over = self._fold(self._old(int(self._room * WHOLE_SHARE)))
        if not over and best.plan:
            return best
        for fewer in range(CUTS):
            every, left = self._fold(self._units[: len(self._units) - fewer])
            if every.plan:
                return every if left < over or not best.plan else best
        return best

    def _old(self, spared: int) -> Sequence[Unit]:
        """The units but for the newest ones, as many as fit into `spared` tokens."""
        end = len(self._units)
        while end and self._units[end - 1].tokens <= spared:
            end -= 1
            spared -= self._units[end].tokens
        return self._units[:end]

    def _fold(self, old: Sequence[Unit]) -> tuple[Fold, int]:
        """The fold of these units, and how far from the target it ends."""
        nothing = Fold(Plan()), self._view.over
        if not old:
            return nothing
        budget = self._room - sum(unit.tokens for unit in self._units[len(old) :]) - ENVELOPE
        digest = _Digest(self._view, old)
        for _ in range(ATTEMPTS):
            text, whole = digest.text(budget) if budget > 0 else ("", False)
            ids = tuple(unit.id for unit in old)
            plan = Plan.of(
                Replace(ids, text or NOTHING, "old steps; their likeliest values are kept", self._kind)
            )
            try:
                over = self._view.after(plan).over
            except PlanRejected:
                return nothing
            if not over or budget <= 0:
                break
            budget = min(budget, self._view.count(text)) - over
        return Fold(plan, whole and not over), over


class _Digest:
    """What old units say, from their originals, for texts of any size."""

    def __init__(self, view: View, old: Sequence[Unit]) -> None:
        gone = {unit.id for unit in old}
        self._view = view
        self._meter = view.setting.meter
        self._live = [unit for unit in view.units if unit.id not in gone]
        self._entries = _originals(view, old)

    def text(self, budget: int) -> tuple[str, bool]:
        """See `packed`."""
        return packed(self._steps, self._facts, budget, self._meter.count)

    @cached_property
    def _steps(self) -> list[Step]:
        return steps_of(self._entries, self._meter)

    @cached_property
    def _facts(self) -> list[Scored]:
        return ranked(self._steps, self._known, self._meter.count)

    @cached_property
    def _known(self) -> Known:
        received = [item.raw for unit in self._live for item in unit.items if not item.synthetic]
        kept = [unit for unit in self._live if unit.synthetic or unit.said_by_user]
        live = {token for unit in kept for token in tokens_of(unit.text)}
        live.update(*(step.values for step in steps_of(received, self._meter) if not step.said))
        recent = {token for unit in self._live[-RECENT_UNITS:] for token in tokens_of(unit.text)}
        asked = _asked([*self._entries, *received], self._view)
        return Known(asked, frozenset(recent), frozenset(live))


def _originals(view: View, units: Sequence[Unit]) -> list[Entry]:
    """What units were made from, as it arrived, in order: all of what is folded for the first time, and of what
    earlier folds stand for the newest."""
    items = [item for unit in units for item in unit.items]
    fresh = [view.original(item) for item in items if not item.synthetic]
    left = SOURCE_WINDOWS * CHARACTERS * view.budget.limit - sum(map(_length, fresh, repeat(view)))
    folded: list[Entry] = []
    ids = ids_of(item for item in items if item.synthetic)
    for id in (id for span in reversed(ids) for id in reversed(span)):
        entry = view.setting.original(id)
        left -= _length(entry, view)
        if left < 0:
            break
        folded.append(entry)
    return [*reversed(folded), *fresh]


def _length(entry: Entry, view: View) -> int:
    return sum(len(part.text) for part in view.setting.meter.read(entry)[1])


def asked_of(view: View) -> frozenset[str]:
    """The field names that the calls in sight were given, as words."""
    return _asked([item.raw for item in view.state.items if item.shape.calls], view)


def _asked(entries: Sequence[Entry], view: View) -> frozenset[str]:
    parts = (part for entry in entries for part in view.setting.meter.read(entry)[1])
    arguments = (as_json(part.text) for part in parts if part.kind is PartKind.ARGUMENTS)
    return frozenset(name for each in arguments for name in fields_of(each))
