"""Folding: which old units become one text, and what of their values that text holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from ctxkit.core.conversation import Unit
from ctxkit.core.edits import Drop, Edit, Plan, Replace
from ctxkit.core.gaps import SUMMARY, inside
from ctxkit.core.items import PartKind
from ctxkit.core.provider import Entry
from ctxkit.core.view import View
from ctxkit.errors import PlanRejected
from ctxkit.literals import as_json
from ctxkit.strategies.digesting import fields_of
from ctxkit.strategies.packing import (
    FREE_TOKENS,
    Known,
    Scored,
    Talk,
    chosen,
    estimated,
    fitting,
    is_whole,
    kept,
    ranked,
)
from ctxkit.strategies.steps import Step, keep_written, lines_of, read_again, step_of, steps_of
from ctxkit.strategies.values import size_of

__all__ = ["Fold", "asked_of"]

SMALL_ROOM = 1000
"""Tokens of room for what may be folded, up to which all of it is folded, anew each time: verbatim units and a second
fold would take what little there is."""

WHOLE_SHARE = 0.5
"""Of a larger room: the newest units that fit into it stay whole."""

UNUSED_SHARE = 0.55
"""Of a larger room: when the folded units leave so much of it, more of the newest stay whole."""

FOLD_SHARE = 0.4
"""Of a larger room: what one fold may take."""

FOLDS_SHARE, MERGED_SHARE = 0.8, 0.5
"""Of a larger room: what all folds together may take before they become one, and what that one may take."""

SOURCE_TOKENS = 2_000
"""Newest originals that are read again when folds become one. What is older is taken from the folds themselves: the
work of a compaction does not grow with the history."""

ATTEMPTS = 3
"""Texts that are tried: when the first is too long by the few, a later one is not."""

SIZES = 6
"""Texts that are written to find one of the right size."""

LOOKED_AT = 60
"""Facts that are looked at to fill what a small text has left."""

SLACK, SLACK_SHARE = 100, 0.04
"""Tokens, and share, of a budget that need not be filled."""

WHY = "old steps; their likeliest values are kept"

MARK_TOKENS = 24
"""Tokens of the mark of a result that was shortened."""

RECENT_CALLS = 3
"""The newest calls: the fields that they were given are likely to be given again."""

CHARACTERS = 8_000
"""Of what was said last: so many are looked through for values that somebody spoke of."""


@dataclass(frozen=True)
class Fold:
    """A plan that folds old units, and whether there was too little room for what is likely to be needed."""

    plan: Plan
    starved: bool = False

    def __bool__(self) -> bool:
        return bool(self.plan)

    @classmethod
    def of(cls, view: View, *, kind: str, exclude: frozenset[str] = frozenset()) -> Fold:
        """Fold the oldest units until the target is met.

        Beside the folds that are there already, so that the prompt's prefix lasts; when these take too much, all
        become one. Where there is little room that is done each time, from the originals.

        Args:
            kind: the strategy's kind; what bears it was folded by it.
            exclude: names of tools whose results are not folded.
        """
        return _Folding(view, kind, exclude).fold()

    @classmethod
    def shared(
        cls, view: View, results: Sequence[Step], *, kind: str, exclude: frozenset[str]
    ) -> list[set[tuple[str, str]]]:
        """What of each of the newest results is worth more than what would have to go for it, as field and text."""
        return _Folding(view, kind, exclude).shared(results)


class _Folding:
    """The ways to fold the oldest units of a view."""

    def __init__(self, view: View, kind: str, exclude: frozenset[str]) -> None:
        self._view = view
        self._kind = kind
        free = [
            unit
            for unit in view.free()
            if (not unit.synthetic or unit.items[0].edited == kind)
            and not any(call.name in exclude for item in unit.items for call in item.shape.calls)
        ]
        self._targets = view.targets(item for unit in free for item in unit.items)
        self._folds = [unit for unit in free if unit.synthetic]
        arrived = [unit for unit in free if not unit.synthetic]
        self._arrived = arrived[: view.cut(arrived, len(arrived))]
        stays = {unit.id for unit in arrived[len(self._arrived) :]}
        self._free = [unit for unit in free if unit.id not in stays]
        self._room = self._left(self._free)

    def fold(self) -> Fold:
        if not self._view.over_whole:
            return self._of_regions()
        if self._room <= SMALL_ROOM:
            return self._folded(self._free, 1.0)
        whole = int(self._room * WHOLE_SHARE)
        fold = self._sparing(whole)
        unused = self._view.target - self._view.after(fold.plan).tokens if fold.plan else 0
        if unused > UNUSED_SHARE * self._room:
            spared = sum(unit.tokens for unit in self._arrived[len(self._old(whole)) :])
            fold = self._sparing(spared + unused) or fold
        return replace(fold or self._folded(self._free, 1.0), starved=False)

    def _of_regions(self) -> Fold:
        """Fold the oldest units with anything in a region that is over its target, as many as have to go for it."""
        old, sizes = list[Unit](), dict(self._view.regions)
        for unit in self._arrived:
            pressed = self._targets.pressed(sizes)
            if any(item.region in pressed for item in unit.items):
                old.append(unit)
                for item in unit.items:
                    sizes[item.region] -= item.tokens
        old = old[: self._view.cut(old, len(old))]
        fold = self._folded(old, 1.0)
        return self._folded([*self._folds, *old], 1.0) or fold if fold.starved and self._folds else fold

    def _sparing(self, whole: int) -> Fold:
        """Fold all but the newest units, as many as fit into `whole` tokens."""
        old = self._old(whole)
        folded = sum(unit.tokens for unit in self._folds)
        beside = bool(old) and folded <= (FOLDS_SHARE - FOLD_SHARE) * self._room
        fold = self._folded(old, FOLD_SHARE) if beside else Fold(Plan())
        if not fold.plan and self._folds:
            fold = self._folded([*self._folds, *old], MERGED_SHARE)
        return fold

    def shared(self, results: Sequence[Step]) -> list[set[tuple[str, str]]]:
        """Of each of the newest results what is worth more than what would have to go for it, as field and text."""
        return _Text(self._view, self._free, self._kind, self._left(self._free)).shared(results)

    def _old(self, spared: int) -> list[Unit]:
        """The arrived units but for the newest ones, as many as fit into `spared` tokens; up to where they may go."""
        end = len(self._arrived)
        while end and self._arrived[end - 1].tokens <= spared:
            end -= 1
            spared -= self._arrived[end].tokens
        return self._arrived[: self._view.cut(self._arrived, end)] if end else []

    def _folded(self, old: Sequence[Unit], share: float) -> Fold:
        if not old:
            return Fold(Plan())
        return _Text(self._view, old, self._kind, min(self._left(old), int(share * self._room))).fold()

    def _left(self, old: Sequence[Unit]) -> int:
        """Tokens that are left for what stands for these units."""
        return self._view.target - self._view.tokens + sum(unit.tokens for unit in old)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A text, "" where nothing is kept, what it was written from, and its size."""

    text: str
    steps: tuple[Step, ...]
    tokens: int


def _tokens(drafts: Sequence[_Draft]) -> int:
    return sum(draft.tokens for draft in drafts)


class _Text:
    """What stands for old units: one text before the current user message, one behind it."""

    def __init__(self, view: View, old: Sequence[Unit], kind: str, budget: int) -> None:
        self._view = view
        self._kind = kind
        turn = view.current_turn
        runs = ([u for u in old if u.turn != turn], [u for u in old if u.turn == turn])
        self._runs = [run for run in runs if run]
        self._budget = budget - len(self._runs) * _envelope(view)
        self._sizes: dict[str, int] = {}
        gone = {unit.id for unit in old}
        self._live = [unit for unit in view.units if unit.id not in gone]

    def fold(self) -> Fold:
        budget = self._budget
        best = Fold(Plan())
        for _ in range(ATTEMPTS):
            taken, drafts = self._drafts(budget)
            plan = self._plan(drafts)
            try:
                over = self._over(self._view.after(plan))
            except PlanRejected:
                break
            best = Fold(plan, bool(over) or not is_whole(self._facts, taken))
            if not over or not _tokens(drafts):
                break
            budget = min(budget, _tokens(drafts)) - over
        return best

    def shared(self, results: Sequence[Step]) -> list[set[tuple[str, str]]]:
        """See `_Folding.shared`."""
        steps = [*self._steps, *results]
        budget = self._budget + sum(fact.size for step in results for fact in step.facts)
        facts = ranked(steps, self._known, budget, fresh=len(results))
        best = kept(steps, facts[: chosen(facts, max(0, budget - MARK_TOKENS * len(results)))])
        return [
            {(f.field, f.text) for f in step.facts} if step is not None else set()
            for step in best[len(self._steps) :]
        ]

    def _over(self, after: View) -> int:
        """Tokens that shorter texts would have to save yet."""
        texts = (item for item in after.state.items if item.made == "summary" and item.edited == self._kind)
        return after.targets(texts).over(after.regions)

    def _plan(self, drafts: Sequence[_Draft]) -> Plan:
        """Each run replaced by its text, or left out; one that its text would not make smaller stays."""
        edits: list[Edit] = []
        for run, draft in zip(self._runs, drafts, strict=True):
            ids = tuple(unit.id for unit in run)
            if not draft.text:
                edits.append(Drop(ids, WHY, self._kind))
            elif draft.tokens + _envelope(self._view) < sum(unit.tokens for unit in run):
                edits.append(Replace(ids, draft.text, WHY, self._kind))
                keep_written(draft.text, draft.steps)
        return Plan.of(*edits)

    def _drafts(self, budget: int) -> tuple[int, list[_Draft]]:
        """The texts of a budget, which may be less than nothing, and how many facts are in them."""
        fits, fails, ratio = 0, len(self._facts) + 1, 1.0
        drafts = self._written(())
        for _ in range(SIZES):
            taken = min(chosen(self._facts, max(0, budget), ratio), fails - 1)
            if taken <= fits:
                break
            tried = self._written(self._facts[:taken])
            size = _tokens(tried)
            if size > budget:
                fails = taken
            else:
                fits, drafts = taken, tried
                if budget - size < min(SLACK, budget * SLACK_SHARE):
                    break
            ratio = size / estimated(self._facts[:taken])
        return fits, self._filled(drafts, fits, budget, ratio) if budget <= FREE_TOKENS else drafts

    def _filled(self, drafts: list[_Draft], taken: int, budget: int, ratio: float) -> list[_Draft]:
        """The texts with facts further back that fit into what is left, where every token counts."""
        told, rest = list(self._facts[:taken]), list(self._facts[taken + 1 : taken + 1 + LOOKED_AT])
        for _ in range(ATTEMPTS):
            more = list(fitting(rest, int((budget - _tokens(drafts)) / ratio)))
            if not more:
                break
            tried = self._written([*told, *more])
            if _tokens(tried) > budget:
                rest.remove(more[-1])
            else:
                told, drafts = [*told, *more], tried
                rest = [each for each in rest if each not in more]
        return drafts

    def _written(self, facts: Sequence[Scored]) -> list[_Draft]:
        """Facts as a text for each run."""
        steps = kept(self._steps, facts)
        drafts, first = [], 0
        for run in self._by_run:
            told = tuple(step for step in steps[first : first + len(run)] if step is not None)
            first += len(run)
            lines = lines_of(told)
            drafts.append(_Draft("\n".join(lines), told, sum(map(self._size, lines))))
        return drafts

    def _size(self, line: str) -> int:
        """Tokens of a line of a text; most lines are the same in all that are tried."""
        if line not in self._sizes:
            self._sizes[line] = self._view.count(f"{line}\n")
        return self._sizes[line]

    @cached_property
    def _by_run(self) -> list[list[Step]]:
        return [_steps(self._view, run) for run in self._runs]

    @cached_property
    def _steps(self) -> list[Step]:
        return [step for steps in self._by_run for step in steps]

    @cached_property
    def _facts(self) -> list[Scored]:
        return ranked(self._steps, self._known, self._budget)

    @cached_property
    def _known(self) -> Known:
        live = self._live
        received = steps_of(
            (item.raw for unit in live for item in unit.items if not item.synthetic), self._view.setting.meter
        )
        steps = [*self._steps, *received]
        calls = [step for step in steps if not step.said]
        said = (text for step in reversed(steps) if step.said for text in step.texts)
        taken = Counter(chain.from_iterable(step.given for step in calls))
        return Known(
            asked=frozenset().union(*(step.sets for step in calls)),
            recent=frozenset().union(*(step.sets for step in calls[-RECENT_CALLS:])),
            taken=taken,
            sources=frozenset(_sources(calls, taken.keys())),
            live=frozenset().union(*(step.values for step in received if not step.said)),
            talk=Talk("\n".join(said)[:CHARACTERS]),
        )


def _sources(calls: Sequence[Step], taken: Set[str]) -> Iterator[str]:
    """The names of fields in results from which calls took a value."""
    for step in calls:
        if not taken.isdisjoint(step.values):
            for place in step.places:
                if not place.asked and any(row[1] in taken for row in place.rows):
                    yield place.field


def _envelope(view: View) -> int:
    """Tokens of a fold beside its text, give or take a few."""
    return view.count(f"[ctxkit 000000] {SUMMARY} <ctx:000000>\n\n</ctx:000000>") + 5


def _steps(view: View, units: Sequence[Unit]) -> list[Step]:
    """What units say: as it arrived; what stands behind older folds as the folds tell it."""
    left = SOURCE_TOKENS - sum(unit.tokens for unit in units if not unit.synthetic)
    steps: list[Sequence[Step]] = []
    for unit in reversed(units):
        arrived: Sequence[Entry] | None
        if unit.items[0].document:
            steps.append([step_of(unit.items[0].region, part.text) for part in unit.parts])
            continue
        if unit.synthetic:
            arrived, left = _arrived(view, unit, left)
        else:
            arrived = [entry for item in unit.items for entry in view.originals(item)]
        steps.append(
            read_again(inside(unit.text)) if arrived is None else steps_of(arrived, view.setting.meter)
        )
    return [step for each in reversed(steps) for step in each]


def _arrived(view: View, fold: Unit, left: int) -> tuple[list[Entry] | None, int]:
    """The originals behind a fold, if they have no more than so many tokens; and how many are left then."""
    entries: list[Entry] = []
    for id in (id for span in fold.items[0].stands_for for id in span):
        entries.append(view.setting.original(id))
        left -= sum(
            size_of(part.text[: 8 * SOURCE_TOKENS]) for part in view.setting.meter.read(entries[-1])[1]
        )
        if left < 0:
            return None, 0
    return entries, left


def asked_of(view: View) -> frozenset[str]:
    """The field names that the calls in sight were given, as words."""
    entries = (item.raw for item in view.state.items if item.shape.calls)
    parts = (part for entry in entries for part in view.setting.meter.read(entry)[1])
    arguments = (as_json(part.text) for part in parts if part.reads_as is PartKind.ARGUMENTS)
    return frozenset(name for each in arguments for name in fields_of(each))
