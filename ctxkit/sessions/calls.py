"""Calls: those of a conversation that no result has come for, and results for them."""

from __future__ import annotations

from ctxkit.core.provider import Entry, Provider
from ctxkit.core.state import OpenCall, State
from ctxkit.errors import ConversationError

__all__ = ["caller", "named", "result_entry", "unanswered"]


def unanswered(state: State) -> list[OpenCall]:
    """Calls that no result has come for, oldest first."""
    return [call for call in state.open if not call.closed]


def named(state: State, name: str, session: str) -> OpenCall:
    """The oldest open call with an id or a name.

    Raises:
        ConversationError: none is.
    """
    for call in unanswered(state):
        if name in (call.call.id, call.call.name):
            return call
    raise ConversationError(f"no call {name!r:.80} is open in session {session!r}; see open_calls()")


def caller(state: State, call: OpenCall) -> Entry:
    """The entry that makes an open call; not a copy."""
    unit = (item for item in state.items if item.unit == call.unit)
    return next(item.raw for item in unit if any(each == call.call for each in item.shape.calls))


def result_entry(state: State, call: OpenCall, text: str, provider: Provider) -> Entry:
    """The entry that answers an open call with a text, as its format has it."""
    entry = caller(state, call)
    answered = provider.answer([entry], call.call, text)
    return next(each for each in answered if each is not entry)
