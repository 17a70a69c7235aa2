"""Keep the bible of a story: style directions, characters, rules of its world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal

from pydantic import Field

from ctxkit import CompressionStrategy, Fact, Plan, Remember, Services, View
from ctxkit_fiction.bible import story_facts

__all__ = ["KeepStoryBible"]


class KeepStoryBible(CompressionStrategy):
    """Remember what the author said about style, characters and world, sentence by sentence, before it goes.

    Put it first in a hybrid. What the model wrote is never taken: a story is full of sentences that sound like rules.

    Attributes:
        max_share: share of the budget's limit that the remembered sentences may take together. Style comes first,
            then characters, then the world, the newest of each first; the report says what had no room.
    """

    kind: Literal["keep-story-bible"] = "keep-story-bible"
    max_share: float = Field(default=0.15, gt=0, le=0.5)

    def plan(self, view: View, services: Services) -> Plan:
        known = {fact.name: fact for fact in view.state.facts}
        room = view.room_for_pins(self.max_share, self.kind)
        fresh = {fact.name: fact for fact in _said(view) if not _is_known(fact, known)}
        newest_first = list(fresh.values())[::-1]
        kept, left = [], 0
        # what takes the place of an older sentence comes first: it leaves the others the most room
        for fact in sorted(newest_first, key=lambda each: (each.name not in known, -each.priority)):
            size = view.count(fact.line) - (view.count(known[fact.name].line) if fact.name in known else 0)
            if size <= room:
                kept.append(Remember(fact, "the author said so"))
                room -= size
            else:
                left += 1
        plan = Plan.of(*kept)
        return (
            plan + Plan.noted(self.kind, f"no room for {left} more sentences; raise max_share")
            if left
            else plan
        )


def _is_known(fact: Fact, known: Mapping[tuple[str, str], Fact]) -> bool:
    return fact.name in known and known[fact.name].value == fact.value


def _said(view: View) -> Iterator[Fact]:
    """What stands in the author's messages that may go, oldest first."""
    for unit in view.within("").free():
        if unit.said_by_user:
            source = tuple(item.id for item in unit.items)
            yield from (replace(fact, source=source) for fact in story_facts(unit.text))
