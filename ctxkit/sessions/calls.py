"""Calls: those of a conversation that no result has come for, and results for them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterable
from typing import Any

from ctxkit.core.items import PartKind
from ctxkit.core.provider import Entry, Provider
from ctxkit.core.state import OpenCall, State
from ctxkit.errors import ConversationError

__all__ = ["arguments", "caller", "first_results", "named", "result_entry", "text_of", "unanswered"]


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


def arguments(state: State, call: OpenCall, provider: Provider) -> str:
    """What an open call was given, as text: JSON as a rule. Of calls that nothing tells apart the oldest is meant."""
    parts = provider.parts(caller(state, call))
    calls = [part for part in parts if part.kind in _ASKED and (part.call, part.name) != (None, "")]
    own = [part for part in calls if part.call == call.call.id and part.name in ("", call.call.name)]
    return own[-state.open.count(call)].text if own else ""


_ASKED = (PartKind.ARGUMENTS, PartKind.OPAQUE)
"""What the arguments of a call are; those that are signed are opaque."""


def result_entry(state: State, call: OpenCall, text: str, provider: Provider) -> Entry:
    """The entry that answers an open call with a text, as its format has it."""
    entry = caller(state, call)
    answered = provider.answer([entry], call.call, text)
    return next(each for each in answered if each is not entry)


def text_of(result: Any, call: OpenCall) -> str:
    """What a tool gave, as text: a text as it is, else its JSON.

    Raises:
        ConversationError: it is neither.
    """
    if isinstance(result, str):
        return result
    try:
        return json.dumps(result, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConversationError(
            f"the call {call.call.id or call.call.name!r} was run and gave {type(result).__name__}, which is neither text "
            "nor JSON; give it to answer() as text, or it stays open"
        ) from error


def first_results(
    entries: Iterable[Entry], waiting: Iterable[str | None], answered: Container[str], provider: Provider
) -> tuple[list[Entry], list[str]]:
    """Entries less the results of calls that were answered before, by the log or by an entry before them, and the ids of
    these calls. What else an entry says stays.

    Args:
        waiting: ids of the calls that are open.
        answered: ids of the calls that were answered last.
    """
    counts, now, kept, repeated = Counter(waiting), set[str](), list[Entry](), list[str]()
    for entry in entries:
        shape = provider.shape(entry)
        counts.update(call.id for call in shape.calls)
        ids = [result.id for result in shape.results if result.id is not None]
        again = [id for id in ids if not counts[id] and (id in answered or id in now)]
        counts.subtract(set(ids) - set(again))
        now.update(ids)
        less = provider.without_results(entry, frozenset(again)) if again else entry
        kept += [less] if less is not None else []
        repeated += dict.fromkeys(again)
    return kept, repeated
