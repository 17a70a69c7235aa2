"""Cutting JSON values to a number of tokens: they stay JSON, and what tells most stays in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from ctxkit.literals import Rank, as_json, rank
from ctxkit.strategies.cutting import ATTEMPTS, FULL_SHARE, Count, Note, between, cut_middle, level, some

__all__ = ["cut_json", "cut_strings"]

_DEEPEST = 100
"""Levels of nesting beyond which a value is not read as JSON."""
_FEW = 4
"""Elements of a list that all stay, cut down."""
_FIELD = 24
"""Characters that a field has at least, its name included."""
_SHORT = 200
"""Characters up to which the arguments of a call stay as they are."""


def cut_json(text: str, max_tokens: int, note: Note, count: Count) -> str | None:
    """The JSON text `text` as compact JSON of at most `max_tokens`, or of as few as its notes take; None where
    it is none.

    Long strings lose their middle. Long lists keep their first and last elements and the key fields of the
    others, objects their key fields and what is short before the rest. Each place says in a note what is missing.
    """
    value = as_json(text)
    cutter = _Cutter(note, count)
    compact = _written(value) if value is not None and cutter.takes(value) else None
    if compact is None:
        return None
    return _fitted(lambda room: cutter.cut(value, room), compact, max_tokens, count)


def cut_strings(value: dict[str, Any], max_tokens: int, note: Note, count: Count) -> dict[str, Any] | None:
    """The same object with its long strings cut to a common length so that it has at most `max_tokens`, or as
    few as that can reach: nothing but strings of more than 200 characters is touched.

    None for what is nested too deeply, or holds what JSON has no words for.
    """
    cutter = _Cutter(note, count)
    compact = _written(value) if cutter.takes(value) else None
    if compact is None:
        return None
    long = [len(text) for text in _strings(value) if len(text) > _SHORT]
    rest = len(compact) - sum(long)

    def cut(room: int) -> Any:
        longest = max(level(long, room - rest), _SHORT)
        return _mapped(value, lambda text: cutter.cut_text(text, longest) if len(text) > longest else text)

    fitted = _fitted(cut, compact, max_tokens, count)
    return None if fitted is None else json.loads(fitted)


def _fitted(cut: Callable[[int], Any], compact: str, max_tokens: int, count: Count) -> str | None:
    """What `cut` makes of a value at the largest number of characters that was found to fit; at none, if none
    does."""
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
            if size >= max_tokens * FULL_SHARE:
                break
        else:
            too_long = room
        if too_long - fits <= 1:
            break
        room = between(fits, too_long, room * max_tokens // max(size, 1))
    return best if best is not None else _written(cut(0))


class _Cutter:
    """Cuts values to a number of characters of compact JSON, as nearly as their notes permit."""

    def __init__(self, note: Note, count: Count) -> None:
        self._note = note
        self._count = count
        self._note_size = len(note("99 elements and all but key fields of 99 more"))
        self._sizes: dict[int, int] = {}
        self._inner: dict[str, Any] = {}
        self._ordered: dict[int, tuple[list[str], int]] = {}
        self._counted: dict[str, int] = {}

    def takes(self, value: Any) -> bool:
        """Take the sizes of all that is in `value`; False if it is nested too deeply."""
        try:
            self._measure(value, 0)
        except RecursionError:
            return False
        return True

    def _measure(self, value: Any, depth: int) -> int:
        if depth > _DEEPEST:
            raise RecursionError
        match value:
            case dict():
                size = 2 + sum(len(key) + 4 + self._measure(each, depth + 1) for key, each in value.items())
            case list():
                size = 2 + sum(1 + self._measure(each, depth + 1) for each in value)
            case _:
                return _scalar_size(value)
        self._sizes[id(value)] = size
        return size

    def _size(self, value: Any) -> int:
        return self._sizes[id(value)] if isinstance(value, dict | list) else _scalar_size(value)

    def cut(self, value: Any, room: int) -> Any:
        """A value that takes about `room` characters."""
        if self._size(value) <= room:
            return value
        match value:
            case str():
                return self._cut_string(value, room)
            case list():
                return self._cut_list(value, room)
            case dict():
                return self._cut_object(value, room)
            case _:
                return value

    def _cut_string(self, text: str, room: int) -> str:
        """A string, cut; one that holds JSON still holds JSON."""
        if text not in self._inner:
            value = as_json(text)
            self._inner[text] = value if value is not None and self.takes(value) else None
        inner = self._inner[text]
        cut = _written(self.cut(inner, room)) if inner is not None else None
        return cut if cut is not None and len(cut) < len(text) else self.cut_text(text, room)

    def cut_text(self, text: str, room: int) -> str:
        """A text without its middle, or as it is when the note would be longer than what it stands for."""
        if len(text) <= self._note_size:
            return text
        head, tail = cut_middle(text, max(room - self._note_size, 0))
        note = self._note(some(self._tokens(text[len(head) : len(text) - len(tail)]), "token"))
        cut = "\n".join(filter(None, (head, note, tail)))
        return cut if len(cut) < len(text) else text

    def _tokens(self, text: str) -> int:
        if text not in self._counted:
            self._counted[text] = self._count(text)
        return self._counted[text]

    def _cut_list(self, items: list[Any], room: int) -> list[Any]:
        if len(items) <= _FEW and room > len(items) * self._note_size:
            longest = level(map(self._size, items), room - len(items))
            return [self.cut(each, longest) for each in items]
        inner = max(room - self._note_size, 0)
        front, back, used = self._ends(items, inner // 2)
        first = [self.cut(items[0], inner // 2)] if not front and inner > 4 * self._note_size else []
        front, used = (1, inner // 2) if first else (front, used)
        middle = items[front : len(items) - back]
        reduced = self._reduced(middle, inner - used)
        note = self._note(_missing(len(middle) - len(reduced), len(reduced)))
        return [*(first or items[:front]), *reduced, note, *items[len(items) - back :]]

    def _ends(self, items: list[Any], room: int) -> tuple[int, int, int]:
        """How many elements of the front and the back have room together, and the characters they take."""
        front = back = used = 0
        while front + back < len(items):
            at_front = front <= back
            size = 1 + self._size(items[front] if at_front else items[-1 - back])
            if used + size > room:
                break
            used += size
            front, back = front + at_front, back + (not at_front)
        return front, back, used

    def _reduced(self, items: list[Any], room: int) -> list[dict[str, Any]]:
        """The key fields of as many of the first elements as there is room for."""
        reduced: list[dict[str, Any]] = []
        for each in items:
            fields = (
                {key: value for key, value in each.items() if _is_key(key, value)}
                if isinstance(each, dict)
                else {}
            )
            room -= 1 + self._measure(fields, 0)
            if not fields or room < 0:
                break
            reduced.append(fields)
        return reduced

    def _cut_object(self, fields: dict[str, Any], room: int) -> dict[str, Any]:
        if len(fields) == 1:
            return {key: self.cut(value, room - len(key) - 6) for key, value in fields.items()}
        room = max(room - self._note_size, 0)
        ordered, telling = self._order(fields)
        first = ordered[: room // _FIELD]
        sizes = {key: len(key) + 4 + self._size(fields[key]) for key in first}
        keys, others = first[:telling], first[telling:]
        while keys and sum(sizes[key] for key in keys) > room:
            keys.pop()
        longest = level((sizes[key] for key in others), room - sum(sizes[key] for key in keys))
        least = longest - self._note_size
        stay = {*keys, *(key for key in others if sizes[key] <= longest or len(key) < least)}
        cut = {key: self.cut(fields[key], longest - len(key) - 4) for key in fields if key in stay}
        if len(cut) < len(fields):
            cut[_free_key(fields)] = self._note(some(len(fields) - len(cut), "field"))
        return cut

    def _order(self, fields: dict[str, Any]) -> tuple[list[str], int]:
        """The names of an object's fields, key fields first, and how many of these there are."""
        if id(fields) not in self._ordered:
            telling = [key for key, value in fields.items() if _is_key(key, value)]
            known = set(telling)
            ordered = [*telling, *(key for key in fields if key not in known)]
            self._ordered[id(fields)] = (ordered, len(telling))
        return self._ordered[id(fields)]


def _is_key(field: str, value: Any) -> bool:
    """Whether a field is one that later calls take over: an id, a name, a date, an amount, a state."""
    return (
        not isinstance(value, dict | list)
        and rank(field, value) >= Rank.FACT
        and _scalar_size(value) <= _SHORT
    )


def _scalar_size(value: Any) -> int:
    return len(value) + 2 if isinstance(value, str) else len(str(value))


def _missing(left: int, reduced: int) -> str:
    if not reduced:
        return some(left, "element")
    if not left:
        return f"all but key fields of {some(reduced, 'element')}"
    return f"{some(left, 'element')} and all but key fields of {reduced} more"


def _free_key(fields: dict[str, Any]) -> str:
    key = "ctxkit"
    while key in fields:
        key += "_"
    return key


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for each in value.values():
                yield from _strings(each)
        case list():
            for each in value:
                yield from _strings(each)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    match value:
        case str():
            return change(value)
        case dict():
            return {key: _mapped(each, change) for key, each in value.items()}
        case list():
            return [_mapped(each, change) for each in value]
        case _:
            return value


def _written(value: Any) -> str | None:
    """Compact JSON text; None for what JSON has no words for (NaN). Half pairs are escaped, as they came."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:
        return None
    return text
