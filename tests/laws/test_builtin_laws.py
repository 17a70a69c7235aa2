"""Every law for every built-in strategy."""

import pytest

from ctxkit.registry import installed, strategy_of
from ctxkit.strategy import CompressionStrategy
from ctxkit.testing import STRATEGY_LAWS, Law

PARAMETERS = {
    "first-that-fits": {"steps": [{"kind": "clear-tool-results", "keep": 1}, {"kind": "drop-oldest"}]},
    "within": {"region": "tool_results", "strategy": {"kind": "clear-tool-results", "keep": 0}},
    "sliding-window": {"keep_turns": 2},
}


def _strategies() -> list[CompressionStrategy]:
    kinds = [each.kind for each in installed() if not each.error]
    return [strategy_of({"kind": kind, **PARAMETERS.get(kind, {})}) for kind in kinds]


@pytest.mark.parametrize("law", STRATEGY_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("strategy", _strategies(), ids=lambda strategy: strategy.kind)
def test_laws(strategy: CompressionStrategy, law: Law) -> None:
    law(strategy)
