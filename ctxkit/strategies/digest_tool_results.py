"""`digest-tool-results`: old tool results become their key fields; old steps fold into one digest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from ctxkit.core.conversation import Unit
from ctxkit.core.edits import Edit, Plan, Replace, Shorten
from ctxkit.core.items import PartKind
from ctxkit.core.provider import Entry
from ctxkit.core.view import View
from ctxkit.errors import PlanRejected
from ctxkit.literals import Rank, as_json, tokens_of
from ctxkit.strategies.digesting import fields_of, values_of
from ctxkit.strategies.folding import Known, packed, steps_of
from ctxkit.strategy import CompressionStrategy, Services

__all__ = ["DigestToolResults"]
import os
NEWEST = int(os.environ.get("NEWEST", "1"))
PROSE = int(os.environ.get('PROSE','0'))
RAW_SHARE = float(os.environ.get("RAW", "0.35"))
OVERHEAD = 60
MAX_ENTRIES = 2000


class DigestToolResults(CompressionStrategy):
    kind: Literal["digest-tool-results"] = "digest-tool-results"
    keep: int = Field(default=1, ge=0)
    exclude: frozenset[str] = frozenset()
    fold: bool = True

    def plan(self, view: View, services: Services) -> Plan:
        if not view.over:
            return Plan()
        free = [u for u in view.free() if not u.synthetic or u.items[0].edited == self.kind]
        if not free:
            return Plan()
        appended = [u for u in free if not u.synthetic]
        plan, whole = self._folded(view, appended) if len(appended) < len(free) else (Plan(), False)
        if whole and plan:
            return plan
        plan, whole = self._folded(view, free)
        if whole or not NEWEST:
            return plan
        for least in (Rank.FACT, Rank.KEY):
            smaller = self._newest(view, least)
            if not smaller:
                continue
            after = view.after(smaller.signed(self.kind))
            if not after.over:
                return smaller
            free = [u for u in after.free() if not u.synthetic or u.items[0].edited == self.kind]
            fold, whole = self._folded(after, free)
            plan = smaller + fold
            if whole:
                break
        return plan

    def _newest(self, view: View, least: Rank) -> Plan:
        from ctxkit.strategies.folding import shrunk
        newest = [r for r in view.results() if r.item.unit == view.units[-1].id and not r.item.edited]
        edits = []
        for r in newest:
            content = shrunk(r.value if isinstance(r.value, dict) else r.text, r.name, view.handle(r.item), self._asked(view), least)
            if content is not None and view.count(content if isinstance(content, str) else __import__("json").dumps(content)) < 0.9 * view.count(r.text):
                edits.append(Shorten(r.item.id, r.part, content, "results"))
        return Plan.of(*edits)

    def _asked(self, view):
        provider = view.setting.meter.provider
        return frozenset(n for i in view.state.items for p in provider.parts(i.raw) if p.kind is PartKind.ARGUMENTS for n in fields_of(as_json(p.text)))

    def _folded(self, view: View, free: Sequence[Unit]) -> tuple[Plan, bool]:
        plan, whole, over = self._folded_but(view, free, RAW_SHARE)
        if over or not plan:
            plan, whole, over = self._folded_but(view, free, 0)
        return plan, whole

    def _folded_but(self, view: View, free: Sequence[Unit], share: float) -> tuple[Plan, bool, int]:
        room = sum(u.tokens for u in free) - view.over
        raw = int(room * share)
        cut = len(free)
        while cut and free[cut - 1].tokens <= raw:
            cut -= 1
            raw -= free[cut].tokens
        old = free[:cut]
        if not old:
            return Plan(), False, 1
        budget = room - sum(u.tokens for u in free[cut:]) - OVERHEAD
        plan, whole = Plan(), False
        for _ in range(3):
            text, whole = self._text(view, old, budget) if budget > 0 else ("", False)
            plan = Plan.of(Replace(tuple(u.id for u in old), text or "-", "old steps, their values kept"))
            try:
                over = view.after(plan).over
            except PlanRejected:
                return Plan(), False, 1
            if not over:
                break
            budget -= over + 6
        return plan, whole and not over, over

    def _text(self, view: View, old: Sequence[Unit], budget: int) -> tuple[str, bool]:
        provider = view.setting.meter.provider
        entries = _entries(view, old)
        gone = {u.id for u in old}
        live = [u for u in view.units if u.id not in gone]
        args = [
            as_json(part.text)
            for entry in [*entries, *(i.raw for u in live for i in u.items if not i.synthetic)]
            for part in provider.parts(entry)
            if part.kind is PartKind.ARGUMENTS
        ]
        known = Known(
            frozenset(n for a in args for n in fields_of(a)),
            frozenset(v for a in args for v in values_of(a)),
            frozenset(t for u in live[-4:] for t in tokens_of(u.text)),
        )
        seen = {t for u in live if PROSE or u.synthetic or u.said_by_user for t in tokens_of(u.text)}
        seen |= {str(leaf.value) for s in steps_of([i.raw for u in live for i in u.items if not i.synthetic], provider) if not s.said for leaf in s.facts}
        return packed(steps_of(entries, provider), budget, known, view.count, seen)


def _entries(view: View, old: Sequence[Unit]) -> list[Entry]:
    ids = {
        id
        for unit in old
        for item in unit.items
        for id in ([item.id] if not item.synthetic else [i for span in item.stands_for for i in span])
    }
    return [view.setting.original(id) for id in sorted(ids)[-MAX_ENTRIES:]]
