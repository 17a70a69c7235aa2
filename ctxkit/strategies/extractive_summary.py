"""`extractive-summary`: a summary without a model, of the sentences that carry most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pydantic import Field

from ctxkit.core.edits import Drop, Plan, Replace
from ctxkit.core.view import View
from ctxkit.errors import PlanRejected
from ctxkit.strategy import CompressionStrategy, Services
from ctxkit.summaries.covering import Covering, cover, max_summary_tokens
from ctxkit.summaries.language import Language, language_of
from ctxkit.summaries.results import LONGEST_LINE
from ctxkit.summaries.salience import Said, Salient, said, salient
from ctxkit.summaries.sections import HEADINGS, Sections, merged, parse, shortened, written

__all__ = ["ExtractiveSummary", "extracted"]

ATTEMPTS = 4
"""Coverings that are tried before all there is is covered, and texts that are tried for that."""

SHORTEST_LINE = 6
"""Tokens of a line, at least: no more lines than fit at that size are weighed."""

SHORTEST_RESULT = 80
"""Characters that the line of a tool result may have however little room there is; where there is more, half as many
as there are tokens."""

NOTHING: dict[Language, str] = {"en": "none", "zh": "无"}
"""What stands under facts when there is nothing to say, or no room."""

READ = 20_000
"""Characters of what people said that tell the language of a conversation."""


class ExtractiveSummary(CompressionStrategy):
    """Put a summary in the place of the oldest turns: their most telling sentences, each with who said it.

    It needs no model. Sentences of users count most, then those of the assistant, then fields of tool results; more
    when they bind, prefer, decide, name an identifier, an amount or a date, less when they were said before. They
    stand verbatim under goal, facts, decisions, done and open. The next compaction adds to the summary what came
    since; its lines stay as they are while there is room, then the least worthy go.

    Attributes:
        max_tokens: the longest text; by default what the budget's summary region has room for, without such a region
            a fifth of the limit.
        keep_turns: the newest turns, which are summarised only when all before them is not enough.
        language: of headings and labels; "auto" is the language of what people said.
    """

    kind: Literal["extractive-summary"] = "extractive-summary"
    max_tokens: int | None = Field(default=None, ge=1)
    keep_turns: int = Field(default=2, ge=0)
    language: Literal["auto", "en", "zh"] = "auto"

    def plan(self, view: View, services: Services) -> Plan:
        best, least = _Tried(Plan(), view), 1
        if best.met:
            return Plan()
        longest = max_summary_tokens(view, kind=self.kind, max_tokens=self.max_tokens)
        for attempt in range(ATTEMPTS):
            covering = self._cover(view, longest, least if attempt < ATTEMPTS - 1 else len(view.units))
            if covering is None:
                break
            best = min(best, self._tried(covering, longest), key=lambda each: each.missed)
            if covering.complete or best.met:
                break
            least = 2 * len(covering.fresh)
        return best.plan if best.fits else self._without_summary(view, best)

    def _cover(self, view: View, longest: int, least: int) -> Covering | None:
        return cover(view, kind=self.kind, expected_tokens=longest, keep_turns=self.keep_turns, least=least)

    def _tried(self, covering: Covering, longest: int) -> _Tried:
        """The plan for a covering; when all is covered, with as short a text as the target wants."""
        room, best = min(longest, covering.room), _Tried(Plan(), covering.view)
        draft = _Draft(covering, self.language, room)
        for _ in range(ATTEMPTS):
            text = draft.text(room)
            why = "old turns; their most telling sentences are kept"
            tried = _accepted(covering.view, Plan.of(Replace(covering.units, text, why, self.kind)))
            if tried is None:
                break
            best = tried
            if not (best.after.over_free and room and covering.complete):
                break
            room = max(0, min(room, covering.view.count(text)) - best.after.over_free)
        return best

    def _without_summary(self, view: View, best: _Tried) -> Plan:
        """All that is free left out, when nothing else fits: not even the frame of a summary."""
        covering = self._cover(view, 0, len(view.units))
        if covering is None:
            return best.plan
        dropped = _accepted(view, Plan.of(Drop(covering.units, "no room for a summary of it", self.kind)))
        return dropped.plan if dropped is not None and dropped.fits else best.plan


def extracted(covering: Covering, room: int) -> str:
    """The summary of a covering in at most `room` tokens, in the language of what people said."""
    return _Draft(covering, "auto", room).text(room)


@dataclass(frozen=True)
class _Tried:
    """A plan, and the view after it."""

    plan: Plan
    after: View

    @property
    def missed(self) -> tuple[int, int]:
        """How far from the targets it ends, in tokens and in turns."""
        return self.after.over_free, self.after.surplus_turns

    @property
    def met(self) -> bool:
        """Whether all targets are met."""
        return self.missed == (0, 0)

    @property
    def fits(self) -> bool:
        """Whether the request is within the limit."""
        return self.after.tokens <= self.after.budget.limit


def _accepted(view: View, plan: Plan) -> _Tried | None:
    """A plan that breaks no promise, None for another."""
    try:
        return _Tried(plan, view.after(plan))
    except PlanRejected:
        return None


class _Draft:
    """The summary of a covering, for texts of up to `room` tokens."""

    def __init__(self, covering: Covering, language: Literal["auto", "en", "zh"], room: int) -> None:
        self._view = covering.view
        self._earlier = parse(covering.earlier_text)
        self._longest_result = min(LONGEST_LINE, max(SHORTEST_RESULT, room // 2))
        self._spoken = said(covering.view, covering.fresh)
        self._language = _headed(covering.earlier_text) or _spoken_language(self._spoken)
        if language != "auto":
            self._language = language

    def text(self, room: int) -> str:
        """The summary in at most `room` tokens; when there is nothing, that it says nothing."""
        best = sorted(range(len(self._lines)), key=lambda at: (-self._lines[at].worth, at))[
            : room // SHORTEST_LINE
        ]
        new = Sections.gathered(
            (line.section, line.line) for line in (self._lines[at] for at in sorted(best))
        )
        sections = shortened(merged(self._earlier, new), room, self._view.count, self._language)
        return written(sections, self._language) or self._nothing()

    @cached_property
    def _lines(self) -> tuple[Salient, ...]:
        known = [line for _, line in self._earlier.lines()]
        return salient(self._spoken, self._language, known, longest_result=self._longest_result)

    def _nothing(self) -> str:
        heading = HEADINGS[self._language]["facts"]
        return f"{heading}: {NOTHING[self._language]}"


def _headed(text: str) -> Language | None:
    """The language of a summary that was written here, None for any other text."""
    first = text.partition("\n")[0].rstrip(":：")
    return next((language for language, names in HEADINGS.items() if first in names.values()), None)


def _spoken_language(spoken: Sequence[Said]) -> Language:
    people = "\n".join(each.text[:READ] for each in spoken if each.by in ("user", "assistant"))
    return language_of(people[-READ:] or "\n".join(each.text[:READ] for each in spoken)[-READ:])
