"""The hooks of this plugin, active wherever it is installed."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ctxkit import Fact, Report, Speaker, hook
from ctxkit_support import KIND
from ctxkit_support.facts import facts_in
from ctxkit_support.secrets import secrets_in
from ctxkit_support.sentences import has_deadline, is_demand, is_promise, sentences

__all__ = ["ctxkit_compacted", "ctxkit_extract_facts", "ctxkit_find_secrets", "ctxkit_is_key_message"]

_log = logging.getLogger("ctxkit_support")


@hook
def ctxkit_extract_facts(text: str, said_by: Speaker) -> Sequence[Fact]:
    """Promises, demands, orders, amounts, ways to reach a customer."""
    return facts_in(text, said_by)


@hook
def ctxkit_is_key_message(text: str, said_by: Speaker) -> bool:
    """Promises and demands that have a deadline."""
    return any(is_promise(each) or (is_demand(each) and has_deadline(each)) for each in sentences(text))


@hook
def ctxkit_find_secrets(text: str) -> Sequence[str]:
    """Card numbers, their codes and their dates."""
    return secrets_in(text)


@hook
def ctxkit_compacted(report: Report) -> None:
    """Warns in the log of `ctxkit_support` when a compaction had no room for a commitment."""
    for failure in report.failures:
        if failure.by == KIND:
            _log.warning(
                "compaction from %d to %d tokens: %s", report.tokens_before, report.tokens_after, failure.why
            )
