"""`clear-tool-results`: old tool results become a stub."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ctxkit.core.edits import Plan, Shorten
from ctxkit.core.marks import is_marked, marked
from ctxkit.core.view import ToolResult, View
from ctxkit.strategy import CompressionStrategy, Services

__all__ = ["ClearToolResults"]


class ClearToolResults(CompressionStrategy):
    """Replace old tool results by a marked stub with the handle of the original.

    Oldest first, until the target is met and at least `clear_at_least` tokens are gone; the newest `keep`
    results and those of the tools in `exclude` stay. Calls, ids and everything else are untouched.
    """

    kind: Literal["clear-tool-results"] = "clear-tool-results"
    keep: int = Field(default=3, ge=0)
    exclude: frozenset[str] = frozenset()
    clear_at_least: int = Field(default=0, ge=0)

    def plan(self, view: View, services: Services) -> Plan:
        results = view.results()
        old = [each for each in results[: len(results) - self.keep] if each.name not in self.exclude]
        edits, gained = [], 0
        for each in old:
            if gained >= max(view.over, self.clear_at_least):
                break
            stub = _stub(each, view)
            gain = view.count(each.text) - view.count(stub)
            if gain > 0 and not is_marked(each.text):
                edits.append(Shorten(each.item.id, each.part, stub, "an old tool result"))
                gained += gain
        return Plan.of(*edits) if gained >= self.clear_at_least else Plan()


def _stub(result: ToolResult, view: View) -> str:
    return marked(f"result cleared; original: {view.handle(result.item)}")
