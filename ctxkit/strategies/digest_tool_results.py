"""`digest-tool-results`: old tool results become their key fields; old steps fold into one digest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from ctxkit.core.edits import Plan, Shorten
from ctxkit.core.items import PartKind
from ctxkit.core.marks import marked
from ctxkit.core.state import newest_unit
from ctxkit.core.view import ToolResult, View
from ctxkit.literals import Rank
from ctxkit.strategies.digesting import digest, picked, written
from ctxkit.strategies.folding import Fold, asked_of
from ctxkit.strategies.saving import saved
from ctxkit.strategies.steps import step_of
from ctxkit.strategy import CompressionStrategy, Services

__all__ = ["DigestToolResults"]

LEAST_SAVED_SHARE = 0.1
"""Of a result: what its digest has to save to be worth it."""


class DigestToolResults(CompressionStrategy):
    """Fold old steps into digests of their key fields: identifiers, names, dates, amounts, codes, states.

    The oldest steps, with what was said between them, become one text: a line a call with the values of its
    arguments and results, each beside its field name, and the sentences that carry a literal. The likeliest to be
    needed stay; the calls that were made before, and what was said, tell which those are. Later folds stand beside
    earlier ones until these take too much; then all become one. A fold names the handle of its originals.

    Without `fold`, within one region, when nothing can be folded, and while it is not the whole but a region alone that
    is over its target, results are shortened where they stand, oldest first; when that is not enough for the region, the
    oldest steps with something in it fold. A result that is JSON stays JSON; text keeps its `name: value` lines and the
    sentences that carry a literal. What newer results say too is left out.

    Attributes:
        keep: the newest results that stay when results are shortened where they stand. Where there is very little
            room one of the newest step is shortened all the same, when likelier values would have to go for it.
        exclude: names of tools whose results stay.
        fold: fold old steps.
    """

    kind: Literal["digest-tool-results"] = "digest-tool-results"
    keep: int = Field(default=1, ge=0)
    exclude: frozenset[str] = frozenset()
    fold: bool = True

    def plan(self, view: View, services: Services) -> Plan:
        if not view.over:
            return Plan()
        plan = self._folded(view) if view.over_whole else Plan()
        after = view.after(plan)
        if after.over:
            plan += self._in_place(after)
            after = view.after(plan)
        return plan + self._folded(after) if after.over and not after.over_whole else plan

    def _results(self, view: View) -> list[ToolResult]:
        return [each for each in view.results() if each.name not in self.exclude]

    def _in_place(self, view: View) -> Plan:
        """Results shortened where they stand, lightly where that is enough."""
        results = self._results(view)
        light = self._shortened(view, results, Rank.FACT)
        if light and not view.after(light).over:
            return light
        return self._shortened(view, results, Rank.KEY) or light

    def _folded(self, view: View) -> Plan:
        """Old steps folded; where there is too little room for them, the newest results make some."""
        if not self.fold or view.scope:
            return Plan()
        fold = Fold.of(view, kind=self.kind, exclude=self.exclude)
        newest = newest_unit(view.state)
        shorter = (
            self._shared(view, [each for each in self._results(view) if each.item.unit == newest])
            if fold.starved
            else Plan()
        )
        if not shorter:
            return fold.plan
        after = view.after(shorter)
        return shorter + Fold.of(after, kind=self.kind, exclude=self.exclude).plan if after.over else shorter

    def _shared(self, view: View, newest: Sequence[ToolResult]) -> Plan:
        """The newest results in JSON, reduced to what is worth more than what would have to go for it."""
        steps = [step_of(each.name, _source(view, each)) for each in newest]
        shares = Fold.shared(view, steps, kind=self.kind, exclude=self.exclude) if steps else []
        edits = []
        for each, wanted in zip(newest, shares, strict=True):
            mark = marked(f"key fields; original: {view.handle(each.item)}")
            content = picked(_source(view, each), mark, wanted)
            if content is not None and _gain(view, each, content):
                content = content if isinstance(each.value, dict) else written(content)
                edits.append(Shorten(each.item.id, each.part, content, "the key fields of a tool result"))
        return Plan.of(*edits)

    def _shortened(self, view: View, results: Sequence[ToolResult], least: Rank) -> Plan:
        return _digested(view, results, least, spare=self.keep)


def _digested(view: View, results: Sequence[ToolResult], least: Rank, *, spare: int = 0) -> Plan:
    """Results shortened where they stand, oldest first until the target is met, the newest `spare` not at all."""
    digests = _digests(view, results, least)
    regions, edits = dict(view.regions), []
    for each, content in zip(results[: max(0, len(results) - spare)], digests, strict=False):
        if each.item.region not in view.pressed_with(regions):
            continue
        gain = _gain(view, each, content) if content is not None else 0
        if gain:
            edits.append(Shorten(each.item.id, each.part, content, "the key fields of an old tool result"))
            regions[each.item.region] -= gain
    return Plan.of(*edits)


def _gain(view: View, result: ToolResult, content: Any) -> int:
    """Tokens that a digest saves, 0 when it is not worth it."""
    gain = saved(view, result.item, result.part, content)
    size = min(result.item.tokens, view.count(result.text))  # its message may hold others
    return gain if gain > LEAST_SAVED_SHARE * size else 0


def _digests(view: View, results: Sequence[ToolResult], least: Rank) -> list[Any]:
    """The digest of each result, without what newer ones say; None for one that is such a digest already."""
    asked, seen = asked_of(view), set[str]()
    made: list[Any] = []
    for each in reversed(results):
        note = f"digest {int(least)}; original: {view.handle(each.item)}"
        text = _source(view, each)
        content = digest(text, marked(note), least=least, asked=asked, seen=seen)
        done = marked(note) in each.text
        made.append(None if done else content if isinstance(each.value, dict) else written(content))
    return made[::-1]


def _source(view: View, result: ToolResult) -> str:
    """The text of a result as it arrived, if what stands there was shortened before."""
    item = result.item
    if not item.edited or item.synthetic:
        return result.text
    before = view.parts(replace(item, raw=view.original(item)))
    parts = view.parts(item)
    number = sum(part.kind is PartKind.RESULT for part in parts[: result.part])
    originals = [part.text for part in before if part.kind is PartKind.RESULT]
    return originals[number] if number < len(originals) else result.text
