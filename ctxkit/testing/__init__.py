"""For plugin authors: generated conversations in every format, the promises as laws, and what a store must do as
tests. Needs Hypothesis.

@pytest.mark.parametrize("law", STRATEGY_LAWS, ids=lambda law: law.__name__)
def test_laws(law: Law) -> None:
    law(MyStrategy())
"""

from __future__ import annotations

from ctxkit.testing.conversations import FORMATS, Payload, arrivals, conversations
from ctxkit.testing.laws import STRATEGY_LAWS, Law
from ctxkit.testing.stores import StoreSuite

__all__ = ["FORMATS", "STRATEGY_LAWS", "Law", "Payload", "StoreSuite", "arrivals", "conversations"]
