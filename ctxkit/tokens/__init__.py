"""Counting tokens: texts by `counter_for(model)`, media by the providers' rules, corrected by reported usage.

Nothing here imports tiktoken until the first exact count.
"""

from __future__ import annotations

from ctxkit.tokens.calibrated import Ratio, UsageRatio
from ctxkit.tokens.counter import TiktokenCounter, TokenCounter, counter_for
from ctxkit.tokens.estimate import EstimateCounter

__all__ = ["EstimateCounter", "Ratio", "TiktokenCounter", "TokenCounter", "UsageRatio", "counter_for"]
