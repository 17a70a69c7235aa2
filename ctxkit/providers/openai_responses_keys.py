"""Keys: what an item of Responses is recognised by, however it was written this time."""

from __future__ import annotations

import json

from ctxkit.core.marks import digest
from ctxkit.core.provider import Entry
from ctxkit.providers.openai_responses_items import CALL_TYPES, OUTPUT_TYPES, type_of

__all__ = ["Key", "key_of"]

Key = tuple[str, str, str]
"""What an item is recognised by: its type, its role or the id of its call, a digest of what it says."""

NOT_SAID = frozenset({"id", "status", "created_by", "provider_data"})
"""Keys of an item that say nothing of its own. Ids are none to go by: other providers' items all have one placeholder,
and reasoning may be saved without its id."""


def key_of(entry: Entry) -> Key:
    """What an item is recognised by, however the SDK wrote it this time; never raises for an item."""
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
