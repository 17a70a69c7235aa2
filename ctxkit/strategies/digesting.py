"""Digests: JSON values and texts reduced to what later calls may need."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from ctxkit.jsons import json_text
from ctxkit.literals import Rank, as_json, rank, telling, words_of

__all__ = ["Digester", "Level", "fields_of"]

MAX_DEPTH = 40
"""Levels of nesting below which nothing is kept."""

LONGEST = 160
"""Characters to which a string that is prose is cut."""


class Level(IntEnum):
    """How much a digest leaves out."""

    LIGHT = 1
    """Empty fields, repetitions, long prose."""
    FACTS = 2
    """Flags, counters, times and prose as well."""
    KEYS = 3
    """All but identifiers, names, dates, codes and the fields that calls are given."""


@dataclass
class Digester:
    """Makes digests, and leaves out the records that it has seen before: begin with the newest text.

    Attributes:
        asked: field names that calls were given, as words.
        level: how much to leave out.
        seen: the records and values seen so far.
    """

    asked: frozenset[str]
    level: Level
    seen: set[str] = field(default_factory=set)

    def value(self, value: Any, name: str = "") -> Any:
        """A JSON value without what the level leaves out; None when nothing is left."""
        return self._pruned(name, value, 0)

    def text(self, text: str) -> str:
        """The sentences and `name: value` lines of a text that carry a literal, each once."""
        kept = [line for line in dict.fromkeys(telling(text)) if line not in self.seen]
        self.seen.update(kept)
        return "\n".join(kept)

    def _pruned(self, name: str, value: Any, depth: int) -> Any:
        match value:
            case dict():
                return self._record(name, value, depth) if depth < MAX_DEPTH else None
            case list():
                return self._list(name, value, depth) if depth < MAX_DEPTH else None
            case str() if (inner := as_json(value)) is not None:
                return self._pruned(name, inner, depth + 1)
            case str() if len(value) > LONGEST:
                return self._prose(name, value)
            case _:
                return value if rank(name, value, self.asked) >= int(self.level) else None

    def _record(self, name: str, value: dict[str, Any], depth: int) -> Any:
        keyed = _keyed(value)
        if keyed is not None:
            return self._list(name, keyed, depth)
        scalars = {
            key: each
            for key, each in value.items()
            if not isinstance(each, dict | list)
            and rank(_inherited(name, key), each, self.asked) >= int(self.level)
        }
        known = {f"{' '.join(words_of(key))}={each}" for key, each in scalars.items()}
        fresh = not known <= self.seen
        self.seen |= known
        kept = {}
        for key, each in value.items():
            if isinstance(each, dict | list) or (isinstance(each, str) and len(each) > LONGEST):
                pruned = self._pruned(key, each, depth + 1)
                if pruned is not None:
                    kept[key] = pruned
            elif fresh and key in scalars:
                kept[key] = each
        return kept or None

    def _list(self, name: str, value: list[Any], depth: int) -> Any:
        kept, once = [], set()
        for each in value:
            pruned = self._pruned(name, each, depth + 1)
            if pruned is None:
                continue
            text = json_text(pruned)
            if text not in once:
                once.add(text)
                kept.append(pruned)
        return kept or None

    def _prose(self, name: str, value: str) -> str | None:
        if self.level is Level.LIGHT:
            return _cut(self.text(value) or value)
        if len(value) > 8 * LONGEST or self.level is Level.FACTS:
            return _cut(self.text(value)) or None
        return None


def _cut(text: str) -> str:
    if len(text) <= 4 * LONGEST:
        return text
    return text[: 4 * LONGEST].rsplit(None, 1)[0] + " …"


def _inherited(parent: str, key: str) -> str:
    """The name by which a field is judged: numbers in `prices: {economy: 90}` are prices."""
    return key


def _keyed(value: dict[str, Any]) -> list[Any] | None:
    """The records of a table that is keyed by their ids, each of which names its own: `{"a1": {"id": "a1"}}`."""
    if not value or not all(isinstance(each, dict) for each in value.values()):
        return None
    for key, each in value.items():
        if not any(isinstance(inner, str | int) and str(inner) == key for inner in each.values()):
            return None
    return list(value.values())


def fields_of(value: Any, name: str = "", depth: int = 0) -> Iterable[str]:
    """The names of all fields in call arguments, as words."""
    if depth > MAX_DEPTH:
        return
    match value:
        case dict():
            for key, each in value.items():
                yield " ".join(words_of(key))
                yield from fields_of(each, key, depth + 1)
        case list():
            for each in value:
                yield from fields_of(each, name, depth + 1)


def written(value: Any) -> str:
    """A digest as compact JSON text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
