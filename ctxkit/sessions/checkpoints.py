"""Checkpoints: all that a log says up to a position, so that opening a session does not read it from the start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ctxkit.core.facts import Fact
from ctxkit.core.items import Item
from ctxkit.core.state import State
from ctxkit.errors import SessionError
from ctxkit.history import History
from ctxkit.sessions.book import Book
from ctxkit.sessions.changes import (
    Json,
    facts_from,
    facts_json,
    item_from,
    item_json,
    state_from,
    state_json,
)
from ctxkit.sessions.records import (
    MALFORMED,
    VERSION,
    from_bytes,
    kept_from,
    kept_json,
    past_from,
    past_json,
    to_bytes,
)

__all__ = ["checkpoint_bytes", "restore_checkpoint"]


class _Table:
    """Items that several states share, each once."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._places: dict[int, int] = {}

    def place(self, item: Item) -> int:
        if id(item) not in self._places:
            self._places[id(item)] = len(self.items)
            self.items.append(item)
        return self._places[id(item)]


def checkpoint_bytes(history: History, book: Book) -> bytes:
    """Everything that a log says, as bytes."""
    table, archive = _Table(), history.archive
    facts = history.state.facts
    states = [[_state_json(each, table, facts) for each in states] for states in _states(history)]
    in_use = {item.id for item in table.items if not item.synthetic}
    originals = [table.place(item) for item in archive.items(sorted(in_use))]
    told = {
        "v": VERSION,
        "states": states,
        "facts": facts_json(facts),
        "originals": originals,
        "table": [item_json(item) for item in table.items],
        "erased": sorted(archive.erased),
        "erased_to": archive.erased_to,
        "kept": kept_json(tuple(archive.kept.items())),
        "past": [past_json(past) for past in archive.past],
        "first_unsent": history.first_unsent,
        "version": history.version,
        "book": book.to_json(),
    }
    return to_bytes(told)


def _state_json(state: State, table: _Table, facts: Sequence[Fact]) -> Json:
    """A state; facts are only added, so that an earlier one has the first of them."""
    told = state_json(state, table.place)
    held = len(state.facts)
    return {**told, "facts": held if facts[:held] == state.facts else facts_json(state.facts)}


def _state_from(told: Json, table: Sequence[Item], facts: tuple[Fact, ...]) -> State:
    held = told.pop("facts")
    held_facts = facts[:held] if isinstance(held, int) else facts_from(held)
    return replace(state_from(told, table), facts=held_facts)


def _states(history: History) -> tuple[list[State], list[State], list[State]]:
    return [history.state], list(history.undoable), list(history.redoable)


def restore_checkpoint(body: bytes, history: History, *, session: str) -> Book | None:
    """Put a new history where a checkpoint was written; None for one that another version of ctxkit wrote: the log
    has it all.

    Raises:
        SessionError: it is no checkpoint; the history is as it was.
    """
    try:
        told = from_bytes(body)
        if told["v"] != VERSION:
            return None
        table = [item_from(each) for each in told["table"]]
        facts = facts_from(told["facts"])
        (state,), undoable, redoable = [
            [_state_from(each, table, facts) for each in states] for states in told["states"]
        ]
        read = {table[place].id: table[place] for place in told["originals"]}
        kept, past = kept_from(told["kept"]), list(map(past_from, told["past"]))
        erased, (erased_to, first_unsent, version) = set(told["erased"]), _numbers(told)
        book = Book.from_json(told["book"])
    except MALFORMED as error:
        raise SessionError(
            f"the checkpoint of session {session!r} cannot be read ({type(error).__name__})", session=session
        ) from error
    archive = history.archive
    archive.first, archive.read = state.next_id, read
    archive.erased, archive.erased_to = erased, erased_to
    archive.keep(kept)
    archive.past.extend(past)
    history.restore(state, undoable, redoable, first_unsent=first_unsent, version=version)
    return book


def _numbers(told: Json) -> tuple[int, int, int]:
    erased_to, first_unsent, version = told["erased_to"], told["first_unsent"], told["version"]
    if not all(isinstance(each, int) for each in (erased_to, first_unsent, version)):
        raise TypeError
    return erased_to, first_unsent, version
