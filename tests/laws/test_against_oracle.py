"""The independent checker on what the built-ins make of generated conversations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.registry import installed, strategy_of
from ctxkit.strategy import CompressionStrategy
from ctxkit.testing import Payload, conversations
from ctxkit.testing.replay import live, size
from tests.laws.test_builtin_laws import PARAMETERS
from tests.oracle import OPEN, kept, rules, violations

KINDS = [each.kind for each in installed() if not each.error]
STEPS = [kind for kind in KINDS if kind not in ("hybrid", "within", "first-that-fits")]


def hybrids() -> st.SearchStrategy[CompressionStrategy]:
    """Random hybrids of the built-ins."""
    chains = st.lists(st.sampled_from(STEPS), min_size=1, max_size=5)
    return chains.map(
        lambda kinds: strategy_of({"kind": "hybrid", "steps": [{"kind": kind} for kind in kinds]})
    )


@pytest.mark.parametrize("kind", KINDS)
@given(payload=conversations(), share=st.sampled_from((0.15, 0.35, 0.6, 0.9)))
def test_built_ins(kind: str, payload: Payload, share: float) -> None:
    judge(payload, strategy_of({"kind": kind, **PARAMETERS.get(kind, {})}), share)


@given(payload=conversations(), strategy=hybrids(), share=st.sampled_from((0.15, 0.35, 0.6, 0.9)))
def test_random_hybrids(payload: Payload, strategy: CompressionStrategy, share: float) -> None:
    judge(payload, strategy, share)


def judge(payload: Payload, strategy: CompressionStrategy, share: float) -> None:
    """No request breaks a rule or lost what it may not lose, by the checker that shares no code with ctxkit."""
    window = max(40, int(size(payload) * share))
    _, steps = live(payload, strategy, window=window)
    for step in steps:
        if step.request is None:
            continue
        said = payload.messages[: step.added]
        before = rules(violations(payload.format, said, payload.system))
        after = violations(payload.format, step.messages, payload.system)
        assert rules(after) - before == set(), after
        if not before - OPEN:
            lost = kept(
                payload.format,
                said,
                step.messages,
                system_before=payload.system,
                system_after=step.request.system,
            )
            assert lost == []
