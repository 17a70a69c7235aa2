"""Matching: which items of a run are in the log of its session."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from ctxkit.archive import NotLoaded
from ctxkit.core.items import Item
from ctxkit.core.marks import digest
from ctxkit.core.provider import Entry
from ctxkit.core.state import State
from ctxkit.providers.openai_responses_items import CALL_TYPES, OUTPUT_TYPES, type_of

__all__ = ["Key", "key_of", "unsaved"]

Key = tuple[str, str, str]
"""What an item is recognised by: its type, its role or the id of its call, a digest of what it says."""

NOT_SAID = frozenset({"id", "status", "created_by", "provider_data"})
"""Keys of an item that say nothing of its own. Ids are none to go by: other providers' items all have one placeholder,
and reasoning may be saved without its id."""


def key_of(entry: Entry) -> Key:
    """What an item is recognised by, however the SDK wrote it this time."""
    kind = type_of(entry)
    if kind in CALL_TYPES:
        return kind, str(entry.get(CALL_TYPES[kind].key)), ""
    if kind in OUTPUT_TYPES:
        return kind, str(entry.get(CALL_TYPES[OUTPUT_TYPES[kind]].output_key)), ""
    if kind == "message":
        return kind, str(entry.get("role")), _said(entry.get("content"))
    told = {name: value for name, value in entry.items() if name not in NOT_SAID}
    return kind, "", _digest(told)


def _said(content: object) -> str:
    """A digest of a message's content: one text is the same in a string and in a part."""
    match content:
        case [{"type": "input_text" | "output_text", "text": str(text)}]:
            return _digest(text)
        case _:
            return _digest(content)


def _digest(value: object) -> str:
    return digest(json.loads(json.dumps(value, default=str)))


def unsaved(run: Sequence[Entry], state: State, original: Callable[[int], Entry]) -> list[Entry] | None:
    """The newest items of a run that have not come into its session yet; None when the run does not hold all of the
    session, because a limit, a handoff or a function of the user's has taken something out of it.

    Args:
        run: the items that the model is to be given.
        state: the session as it is now; what a compaction left out of it may still be in the run.
        original: the entry that an item of the session arrived as.
    """
    keys = [key_of(entry) for entry in run]
    there = set(keys)
    waiting = {call.unit for call in state.open}
    items = [item for item in state.items if not item.synthetic and item.unit not in waiting]
    if not all(known & there or not known for known in (_keys(item, original) for item in items)):
        return None
    newest = max(items, key=lambda item: item.id, default=None)
    if newest is None:
        return None
    known = _keys(newest, original)
    as_often = sum(bool(known & _keys(item, original)) for item in items)
    at = [index for index, key in enumerate(keys) if key in known]
    return list(run[at[min(as_often, len(at)) - 1] + 1 :]) if at else None


def _keys(item: Item, original: Callable[[int], Entry]) -> set[Key]:
    """How an item may stand in a run: as it arrived, and as a compaction left it; empty when that cannot be told."""
    if not item.edited:
        return {key_of(item.raw)}
    try:
        return {key_of(item.raw), key_of(original(item.id))}
    except NotLoaded:
        return set()
