"""Calls: those of a conversation that no result has come for, and results for them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ctxkit.core.items import Call, Result
from ctxkit.core.pairing import OpenCalls, named
from ctxkit.core.provider import Entry, Provider
from ctxkit.core.state import OpenCall, State
from ctxkit.errors import ConversationError

__all__ = [
    "Asked",
    "answering",
    "asked",
    "first_results",
    "is_told_by_order",
    "none_open",
    "result_text",
    "unanswered",
    "within_reach",
]


def unanswered(state: State) -> list[OpenCall]:
    """Calls that no result has come for, oldest first."""
    return [call for call in state.open if not call.closed]


@dataclass(frozen=True, slots=True)
class Asked:
    """An open call, told from all others.

    Attributes:
        call: the call.
        place: which it is of the calls of its step that nothing else tells from it.
        arguments: what it was given, as text.
    """

    call: OpenCall
    place: int
    arguments: str


def asked(state: State, name: str, provider: Provider) -> Asked | None:
    """The open call that an id or the name of a tool means; None when there is none."""
    at = named(state.open, name)
    return None if at is None else _asked(state, at, provider)


def within_reach(state: State, provider: Provider) -> list[Asked]:
    """The open calls, oldest first, that their results would reach now: where neither an id nor a name tells calls from
    each other, or one id is there twice, the newest step is answered first."""
    waiting = OpenCalls(state.open)
    return [
        _asked(state, at, provider)
        for at, each in enumerate(state.open)
        if not each.closed and waiting.find(Result(each.call.id, each.call.name)) == at
    ]


def _asked(state: State, at: int, provider: Provider) -> Asked:
    call = state.open[at]
    like = [
        place for place, each in enumerate(state.open) if (each.call, each.unit) == (call.call, call.unit)
    ]
    given = [text for made, text in _made_in(state, call.unit, provider) if made == call.call]
    place = len(given) - len(like) + like.index(at)
    return Asked(call, place, given[place])


def is_told_by_order(state: State, call: OpenCall) -> bool:
    """Whether a call of the step has no id, so that results are told apart by their order."""
    unit = (item for item in state.items if item.unit == call.unit)
    return any(each.id is None for item in unit for each in item.shape.calls)


def none_open(name: str, session: str) -> ConversationError:
    """What is raised when no such call is open."""
    return ConversationError(f"no call {name!r:.80} is open in session {session!r}; see open_calls()")


def _made_in(state: State, unit: int, provider: Provider) -> Iterator[tuple[Call, str]]:
    """The calls of a step, with what each was given."""
    for item in state.items:
        if item.unit == unit and item.shape.calls:
            yield from zip(item.shape.calls, provider.arguments(item.raw), strict=True)


def answering(state: State, call: OpenCall, text: str, provider: Provider) -> Entry:
    """The entry that answers an open call with a text, as its format has it."""
    unit = (item for item in state.items if item.unit == call.unit)
    entry = next(item.raw for item in unit if call.call in item.shape.calls)
    answered = provider.answer([entry], call.call, text)
    return next(each for each in answered if each is not entry)


def result_text(result: Any, call: OpenCall) -> str:
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
