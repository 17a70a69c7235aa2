"""Checks of a request that is about to go out: are the facts that must be kept in it, and what do plugins say."""

from __future__ import annotations

from ctxkit.core.edits import Failure
from ctxkit.core.facts import active_facts
from ctxkit.core.items import SHOWN
from ctxkit.core.view import View
from ctxkit.hooks import Called

__all__ = ["request_failures"]


def request_failures(view: View, hooks: Called) -> tuple[Failure, ...]:
    """What is wrong with the request that a view would be sent as, () when nothing is."""
    facts = tuple(active_facts(view.state.facts).values())
    if not facts:
        return ()
    waits = "it cannot stand here yet and follows as soon as the provider permits"
    unseen = (
        Failure("must-keep", f"{fact.line!r:.80} is not in this request: {waits}") for fact in view.unseen()
    )
    if not hooks.checks_requests:
        return tuple(unseen)
    parts = (part for item in view.state.items for part in view.parts(item))
    text = "\n".join(part.text for part in parts if part.reads_as in SHOWN)
    return (*unseen, *(Failure(by, why) for by, why in hooks.complaints(text, facts)))
