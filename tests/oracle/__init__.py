"""A second opinion on the wire rules: written from `docs/wire-rules.md` alone, it shares no code with ctxkit.

`violations` judges one payload, `kept` judges what a compression made of another. Both return sentences that begin
with the name of a rule. Left out are the rules that a payload does not show: R13 and R18 (how the request is made),
A14 and A18 (which model), C15, C18, G8, G9 and G12 (sources contradict each other).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.oracle import anthropic, chat, gemini, responses
from tests.oracle.kept import kept

__all__ = ["FORMATS", "OPEN", "kept", "rules", "violations"]

OPEN = frozenset({"C6", "R2-end", "A1-end", "G13"})
"""Rules that say only that a call waits at the end: legal to hold, not to send."""

_CHECKS = {
    "openai-chat": chat.check,
    "openai-responses": responses.check,
    "anthropic": anthropic.check,
    "gemini": gemini.check,
}
FORMATS = tuple(_CHECKS)


def violations(format: str, messages: Sequence[Any], system: Any = None) -> list[str]:
    """What a provider would refuse in this payload, each as "RULE: where: what"."""
    strays = [
        f"shape: messages[{i}]: not an object"
        for i, entry in enumerate(messages)
        if not isinstance(entry, dict)
    ]
    return strays or _CHECKS[format](list(messages), system)


def rules(found: Sequence[str]) -> set[str]:
    """The names of the rules in a list that `violations` or `kept` gave."""
    return {line.split(":", 1)[0] for line in found}
