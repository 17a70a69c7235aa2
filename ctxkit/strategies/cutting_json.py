"""Cutting JSON values to a number of tokens: they stay JSON, and what tells most stays in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from ctxkit.literals import Rank, as_json, rank
from ctxkit.strategies.cutting import ATTEMPTS, Count, Note, cut_middle, level

__all__ = ["cut_json", "cut_strings"]

_DEEPEST = 100
"""Levels of nesting beyond which a value is not read as JSON."""
_FULL_SHARE = 0.85
_FEW = 4
"""Elements of a list that all stay, cut down."""
_FIELD = 24
"""Characters that a field has at least, its name included."""
_SHORT = 200
"""Characters up to which the arguments of a call stay as they are."""
_NOTE_KEY = "ctxkit"


def cut_json(text: str, max_tokens: int, note: Note, count: Count) -> str | None:
    """The JSON text `text` as compact JSON of at most `max_tokens`; None where it is none, or cannot be cut so far.

    Long strings lose their middle. Long lists keep their first and last elements and the key fields of the
    others, objects their key fields and what is short before the rest. Each place says in a note what is missing.
    """
    value = as_json(text)
    cutter = _Cutter(note, count)
    if value is None or not cutter.measure(value):
        return None
    compact = _written(value)
    if compact is None:
        return None
    return _fitted(lambda room: cutter.cut(value, room), compact, max_tokens, count)


def cut_strings(value: dict[str, Any], max_tokens: int, note: Note, count: Count) -> dict[str, Any] | None:
    """The same object with its long strings cut to a common length so that it has about `max_tokens`.

    Nothing but strings of more than 200 characters is touched; None if that does not come to anything.
    """
    cutter = _Cutter(note, count)
    compact = _written(value) if cutter.measure(value) else None
    if compact is None:
        return None
    long = [len(text) for text in _strings(value) if len(text) > _SHORT]
    rest = len(compact) - sum(long)

    def cut(room: int) -> Any:
        longest = max(level(long, room - rest), _SHORT)
        return _mapped(value, lambda text: cutter.cut_string(text, longest) if len(text) > longest else text)

    fitted = _fitted(cut, compact, max_tokens, count) or _written(cut(0))
    return None if fitted is None else json.loads(fitted)


def _fitted(cut: Callable[[int], Any], compact: str, max_tokens: int, count: Count) -> str | None:
    """What `cut` makes of a value at the largest number of characters that was found to fit."""
    tokens = count(compact)
    if tokens <= max_tokens:
        return compact
    best, fits, too_long = None, -1, len(compact)
    room = len(compact) * max_tokens // tokens
    for _ in range(ATTEMPTS):
        text = _written(cut(room))
        size = count(text) if text is not None else tokens
        if size <= max_tokens:
            best, fits = text, room
            if size >= max_tokens * _FULL_SHARE:
                break
        else:
            too_long = room
        if too_long - fits <= 1:
            break
        room = room * max_tokens // max(size, 1)
        if not fits < room < too_long:
            room = (fits + too_long) // 2
    return best


class _Cutter:
    """Cuts values to a number of characters of compact JSON, as nearly as their notes permit."""

    def __init__(self, note: Note, count: Count) -> None:
        self._note = note
        self._count = count
        self._sizes: dict[int, int] = {}
        self._note_size = len(note("999 elements and all but key fields of 999 more"))

    def measure(self, value: Any, depth: int = 0) -> bool:
        """Take the sizes of all containers in `value`; False if it is nested too deeply."""
        if depth > _DEEPEST:
            return False
        match value:
            case dict():
                size = sum(len(key) + 4 + self._size(each) for key, each in value.items() if self.measure(each, depth + 1))
            case list():
                size = sum(1 + self._size(each) for each in value if self.measure(each, depth + 1))
        return True
