"""For plugin authors: generated conversations in every format, and the promises as laws. Needs Hypothesis.

@pytest.mark.parametrize("law", STRATEGY_LAWS, ids=lambda law: law.__name__)
def test_laws(law: Law) -> None:
    law(MyStrategy())
"""

from __future__ import annotations

from ctxkit.testing.conversations import FORMATS, Payload, arrivals, conversations
from ctxkit.testing.laws import STRATEGY_LAWS, Law

__all__ = ["FORMATS", "STRATEGY_LAWS", "Law", "Payload", "arrivals", "conversations"]
