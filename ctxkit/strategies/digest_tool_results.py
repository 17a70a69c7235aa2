"""`digest-tool-results`: old tool results become their key fields; old steps fold into one digest."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ctxkit.core.edits import Edit, Plan, Replace, Shorten
from ctxkit.core.view import View
from ctxkit.strategies.folding import Fold
from ctxkit.strategy import CompressionStrategy, Services

__all__ = ["DigestToolResults"]


class DigestToolResults(CompressionStrategy):
    kind: Literal["digest-tool-results"] = "digest-tool-results"
    keep: int = Field(default=1, ge=0)
    exclude: frozenset[str] = frozenset()
    fold: bool = True

    def plan(self, view: View, services: Services) -> Plan:
        if not view.over:
            return Plan()
        fold = Fold(view, self.kind)
        return fold.plan()
