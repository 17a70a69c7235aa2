"""Shown: which results of a conversation show source files, and how they are written anew."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ctxkit import Item, PartKind, View
from ctxkit_code.views import FEWEST_LINES, Call, FileView, call_of, view_in

__all__ = ["Shown", "repeated_in", "shown_in"]

MOST_JSON = 1_000_000
"""Characters of a JSON result that is looked into."""

MOST_DEPTH = 20
"""Lists and objects inside each other that are looked into."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A result that shows sources.

    Attributes:
        item, part: where it stands.
        text: what it says.
        views: the sources that it shows, by the text that each stands in.
        value: what it says as JSON, None for plain text.
        structured: its format takes JSON for it, not JSON text.
    """

    item: Item
    part: int
    text: str
    views: dict[str, FileView]
    value: Any = None
    structured: bool = False

    @property
    def at(self) -> tuple[int, int]:
        """Its item and its part."""
        return self.item.id, self.part

    def rewritten(self, write: Callable[[FileView], str]) -> Any:
        """Its content with each source as `write` writes it, None where that is "" for all; JSON stays JSON."""
        made = {text: write(each) for text, each in self.views.items()}
        if not any(made.values()):
            return None
        if self.value is None:
            return made[self.text]
        value = _replaced(self.value, made)
        return value if self.structured else json.dumps(value, ensure_ascii=False)


def shown_in(view: View, exclude: frozenset[str]) -> Iterator[Shown]:
    """The results that show sources and were not shortened yet, oldest first, without those of some tools."""
    calls = _calls(view)
    for result in view.results():
        item = result.item
        if (
            item.edited
            or result.name in exclude
            or result.text.count("\n") + result.text.count("\\n") < FEWEST_LINES
        ):
            continue
        call = call_of(calls.get((item.unit, view.parts(item)[result.part].call), ""))
        value = _json_of(result.text)
        texts = [(result.text, call)] if value is None else _strings(value, call)
        found = {text: view_in(text, asked) for text, asked in texts}
        views = {text: each for text, each in found.items() if each is not None}
        if views:
            yield Shown(item, result.part, result.text, views, value, isinstance(result.value, dict))


def repeated_in(shown: list[Shown]) -> frozenset[FileView]:
    """The views of which a newer one of the same file shows every line, with the same number."""
    repeated: set[FileView] = set()
    seen: dict[str, dict[int, str]] = {}
    for each in reversed([view for result in shown for view in result.views.values() if view.path]):
        newer = seen.setdefault(each.path, {})
        lines = dict(enumerate(each.lines, each.first))
        if lines.items() <= newer.items():
            repeated.add(each)
        else:
            newer.update({number: line for number, line in lines.items() if number not in newer})
    return frozenset(repeated)


def _calls(view: View) -> dict[tuple[int, str | None], str]:
    """The arguments of each call by its unit and id; of calls without ids, only where a unit has no second one."""
    found: dict[tuple[int, str | None], str] = {}
    for unit in view.units:
        for part in unit.parts:
            if part.reads_as is PartKind.ARGUMENTS:
                key = (unit.id, part.call)
                found[key] = "" if part.call is None and key in found else part.text
    return found


def _json_of(text: str) -> Any:
    """The list or object that a text is, None for any other."""
    if len(text) > MOST_JSON or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _strings(value: Any, call: Call, depth: int = 0) -> Iterator[tuple[str, Call]]:
    """The texts of several lines in a JSON value, each with what is known of its file: from the fields beside it."""
    if isinstance(value, str):
        if value.count("\n") >= FEWEST_LINES:
            yield value, call
    elif depth < MOST_DEPTH and isinstance(value, dict):
        beside = call_of(
            json.dumps({name: each for name, each in value.items() if isinstance(each, str | int)})
        )
        for each in value.values():
            yield from _strings(each, beside if beside.path else call, depth + 1)
    elif depth < MOST_DEPTH and isinstance(value, list):
        for each in value:
            yield from _strings(each, call, depth + 1)


def _replaced(value: Any, made: dict[str, str], depth: int = 0) -> Any:
    if isinstance(value, str):
        return made.get(value) or value
    if depth >= MOST_DEPTH:
        return value
    if isinstance(value, dict):
        return {name: _replaced(each, made, depth + 1) for name, each in value.items()}
    return [_replaced(each, made, depth + 1) for each in value] if isinstance(value, list) else value
