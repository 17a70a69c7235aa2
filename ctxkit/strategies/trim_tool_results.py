"""`trim-tool-results`: a huge tool result keeps its head, its tail and its key fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import Field

from ctxkit.core.edits import Plan, Shorten
from ctxkit.core.items import Item, Part, PartKind
from ctxkit.core.marks import marked
from ctxkit.core.state import newest_unit
from ctxkit.core.view import View
from ctxkit.literals import as_json
from ctxkit.strategies.cutting import Note, cut_text, level
from ctxkit.strategies.cutting_json import cut_json, cut_strings
from ctxkit.strategies.saving import described, saved
from ctxkit.strategy import CompressionStrategy, Services

__all__ = ["TrimToolResults"]


class TrimToolResults(CompressionStrategy):
    """Cut the middle out of huge tool results, oldest first, until the target is met; the newest too.

    Text keeps its head and its tail and is cut between characters as a reader sees them. JSON stays JSON: long
    strings lose their middle, long lists keep their ends and the key fields of the rest. A marked note says how
    much is missing and names the handle of the original.

    Attributes:
        max_tokens: tokens that a result may have, its note of about 30 included; what is larger is cut to that.
            By default a third of the target of `tool_results`, a ninth of the limit without one, and three times
            that for the newest step. The results of the newest step are cut further when it would not fit alone.
        arguments: cut long strings in the arguments of calls too; everything else in them stays.
    """

    kind: Literal["trim-tool-results"] = "trim-tool-results"
    max_tokens: int | None = Field(default=None, ge=1)
    arguments: bool = False

    def plan(self, view: View, services: Services) -> Plan:
        kinds = (PartKind.RESULT, PartKind.ARGUMENTS) if self.arguments else (PartKind.RESULT,)
        old, new = _caps(view, self.max_tokens)
        newest, regions, edits = newest_unit(view.state), dict(view.regions), []
        reached_newest = False
        for payload in _payloads(view, kinds):
            item = payload.item
            if not reached_newest and item.region not in view.pressed_with(regions):
                continue
            reached_newest = item.unit == newest
            cap = new if reached_newest else old
            if payload.is_small(view, cap):
                continue
            content = _trimmed(payload.source(view), cap, view)
            gain = saved(view, item, payload.index, content) if content is not None else 0
            if gain > 0:
                regions[item.region] -= gain
                edits.append(Shorten(item.id, payload.index, content, f"cut to about {cap} tokens"))
        return Plan.of(*edits)


@dataclass(frozen=True, slots=True)
class _Payload:
    """A result or arguments: the item, the part, its number among the parts of its kind, and the handle of it all."""

    item: Item
    index: int
    part: Part
    number: int
    handle: str = ""
    media: tuple[str, ...] = ()

    def is_small(self, view: View, cap: int) -> bool:
        """Whether it may stay as it is. No character takes more than 4 tokens."""
        text = self.part.text
        return len(text) * 4 <= cap or view.count(text) <= cap

    def source(self, view: View) -> _Payload:
        """What to cut: the original, if what stands there is its trimmed form."""
        handle = view.handle(self.item)
        parts, index = view.parts(self.item), self.index
        if _said(handle) in self.part.text:
            parts = view.parts(replace(self.item, raw=view.original(self.item)))
            same = [at for at, part in enumerate(parts) if part.kind is self.part.kind]
            index = same[self.number]
        path = parts[index].path
        inside = (part for part in parts if part.kind is PartKind.MEDIA and part.path[: len(path)] == path)
        media = tuple(described(part) for part in inside)
        return replace(self, part=parts[index], handle=handle, media=media)

    def note(self, what: str) -> str:
        """The note on `what` was left out."""
        return marked(f"{', '.join((what, *self.media))} {_said(self.handle)}")


def _said(handle: str) -> str:
    return f"left out here; original: {handle}"


def _payloads(view: View, kinds: tuple[PartKind, ...]) -> Iterator[_Payload]:
    for item in view.changeable():
        numbers = dict.fromkeys(kinds, -1)
        for index, part in enumerate(view.parts(item)):
            if part.kind in numbers:
                numbers[part.kind] += 1
                yield _Payload(item, index, part, numbers[part.kind])


def _caps(view: View, max_tokens: int | None) -> tuple[int, int]:
    """Tokens that an old result and one of the newest step may have."""
    limit = view.budget.limit
    together = view.budget.caps(view.regions).get("tool_results", limit // 3)
    old = max_tokens or max(together // 3, 1)
    newest = next((unit for unit in view.units if unit.id == newest_unit(view.state)), None)
    if newest is None:
        return old, old
    sizes = [view.count(part.text) for part in newest.parts if part.kind is PartKind.RESULT]
    must = view.tokens - sum(unit.tokens for unit in view.units if unit.id not in view.fixed)
    must += newest.tokens - sum(sizes)
    room = max(view.budget.target(must) - must, (limit - must) // 2)
    share = level(sizes, min(room, together))
    return old, max(min(max_tokens or share, share), 1)


def _trimmed(payload: _Payload, cap: int, view: View) -> Any:
    """The payload, cut; None where nothing can be cut."""
    text, note = payload.part.text, payload.note
    if payload.part.kind is PartKind.RESULT:
        found = cut_json(text, cap, note, view.count)
        return found if found is not None else _cut(text, cap, note, view)
    value = as_json(text)
    return cut_strings(value, cap, note, view.count) if isinstance(value, dict) else None


def _cut(text: str, cap: int, note: Note, view: View) -> str:
    return cut_text(text, view.count(text), cap, note, view.count)
