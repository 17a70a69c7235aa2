"""The hooks of this plugin, active wherever it is installed."""

from __future__ import annotations

from collections.abc import Sequence

from ctxkit import Fact, Speaker, hook
from ctxkit_medical.checking import complaints
from ctxkit_medical.facts import facts_in

__all__ = ["ctxkit_check_request", "ctxkit_extract_facts"]


@hook
def ctxkit_extract_facts(text: str, said_by: Speaker) -> Sequence[Fact]:
    """Allergies, contraindications, pregnancy, blood thinners, doses, conditions."""
    return facts_in(text, said_by)


@hook
def ctxkit_check_request(text: str, facts: Sequence[Fact]) -> Sequence[str]:
    """Medical facts that are missing, and advice against them."""
    return complaints(text, facts)
