"""`clear-tool-results`: old tool results become a stub."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ctxkit.core.edits import Plan, Shorten
from ctxkit.core.marks import marked
from ctxkit.core.view import ToolResult, View
from ctxkit.strategies.saving import saved
from ctxkit.strategy import CompressionStrategy, Services

__all__ = ["ClearToolResults"]


class ClearToolResults(CompressionStrategy):
    """Replace old tool results by a marked stub with the handle of the original.

    Oldest first, until the target is met and at least `clear_at_least` tokens are gone. Calls, ids and everything
    else are untouched.

    Attributes:
        keep: the newest results that stay.
        exclude: names of tools whose results stay.
        clear_at_least: tokens that have to go; where that cannot be reached nothing is cleared, so that a prompt
            cache is not broken for little.
    """

    kind: Literal["clear-tool-results"] = "clear-tool-results"
    keep: int = Field(default=3, ge=0)
    exclude: frozenset[str] = frozenset()
    clear_at_least: int = Field(default=0, ge=0)

    def plan(self, view: View, services: Services) -> Plan:
        results = view.results()
        regions, edits, gained = dict(view.regions), [], 0
        for each in results[: max(0, len(results) - self.keep)]:
            enough = gained >= self.clear_at_least and each.item.region not in view.pressed_with(regions)
            if enough or each.name in self.exclude:
                continue
            stub = _stub(each, view)
            gain = saved(view, each.item, each.part, stub)
            if gain > 0:
                edits.append(Shorten(each.item.id, each.part, stub, "an old tool result"))
                regions[each.item.region] -= gain
                gained += gain
        return Plan.of(*edits) if gained >= self.clear_at_least else Plan()


def _stub(result: ToolResult, view: View) -> str:
    return marked(f"result cleared; original: {view.handle(result.item)}")
