"""The hook of this plugin, active wherever it is installed."""

from __future__ import annotations

from collections.abc import Sequence

from ctxkit import Fact, Speaker, hook
from ctxkit_code.facts import facts_in

__all__ = ["ctxkit_extract_facts"]


@hook
def ctxkit_extract_facts(text: str, said_by: Speaker) -> Sequence[Fact]:
    """Tests and how they went, errors and where, exit codes, files changed, signatures, versions."""
    return facts_in(text, said_by)
