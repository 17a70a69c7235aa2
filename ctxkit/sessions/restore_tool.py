"""Restore tool: calls of it answered from the log of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxkit.core.edits import Pin, Unpin
from ctxkit.core.state import State
from ctxkit.restoring import NAME, Reading, Search, asked_in, restore_tool
from ctxkit.sessions import calls
from ctxkit.sessions.paging import records
from ctxkit.sessions.records import arrived_in, legible

if TYPE_CHECKING:
    from ctxkit.sessions.session import Session

__all__ = ["answer_call", "restore_tool", "run_restore"]

PINNED_SHARE = 4
"""Of the limit, one part in so many: what is restored may take while its turn lasts, and no compaction shrink it."""

BY = "restore"
"""Who pins what was restored."""


async def run_restore(session: Session, arguments: Any) -> str:
    """The answer to a call of the tool; never more tokens than `Reading.most`, whatever is asked for."""
    await session.refresh()
    history = session._history
    reading = Reading(history.state, history.archive, history.setting.meter, session.preparation.budget.limit)
    asked = asked_in(arguments)
    if not asked.is_search:
        return await session._log.paged(lambda: reading.answered(asked))
    search = Search(reading, asked.query)
    async for position, told in records(session.store, session.id, upto=session.position):
        with legible(session.id, position):
            arrived = arrived_in(told)
        for item in arrived:
            search.look(item)
    return search.told()


async def answer_call(session: Session, call: str) -> str:
    """Answer an open call of the tool, and keep the answer from shrinking as long as its turn lasts; what it is.

    Raises:
        ConversationError: no such call is open.
    """
    await session.refresh()
    asked = session._asked(call)
    text = await run_restore(session, asked.arguments)
    if not await session._answer(asked, text):
        raise calls.none_open(call, session.id)
    for edit in _pins(session, asked.call.unit):
        await session._edit(edit)
    return text


def _pins(session: Session, unit: int) -> list[Pin | Unpin]:
    """The pin on a step that did nothing but read earlier context, and those that have to go for it."""
    state = session._history.state
    room = session.preparation.budget.limit // PINNED_SHARE - _tokens(state, unit)
    made = [call for item in state.items if item.unit == unit for call in item.shape.calls]
    if room < 0 or any(call.name != NAME for call in made):
        return []
    old = [pin.unit for pin in state.pins if pin.by == BY and pin.until == state.turn and pin.unit != unit]
    gone = []
    for each in reversed(old):
        room -= _tokens(state, each)
        if room < 0:
            gone.append(each)
    pin = Pin((unit,), state.turn, "read again in this turn", BY)
    return [pin, Unpin(tuple(gone), "others were read since", BY)] if gone else [pin]


def _tokens(state: State, unit: int) -> int:
    return sum(item.tokens for item in state.items if item.unit == unit)
