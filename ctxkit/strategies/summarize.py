"""`summarize`: a model's summary in the place of the oldest turns, checked before it is taken."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, PrivateAttr, field_validator, model_validator

from ctxkit.core.conversation import Unit
from ctxkit.core.edits import Plan, Replace
from ctxkit.core.view import View
from ctxkit.errors import PlanRejected
from ctxkit.models.settings import AnyModel
from ctxkit.strategies.summarizing import Writing
from ctxkit.strategy import CompressionStrategy, Services
from ctxkit.summaries.covering import ENVELOPE, Covering, cover, max_summary_tokens
from ctxkit.summaries.prompt import placeholders, template_text
from ctxkit.summaries.validation import LEAST_TOKENS

__all__ = ["Summarize"]

TIMEOUT_S = 120.0
"""Seconds for all the questions of one summary."""

TAKEN_OVER = "extractive-summary"
"""The kind whose summaries are gone on from too: what another rung of a ladder wrote while no model answered."""

LEAST_SAVED = 0.1
"""Of what a summary stands for: with less to save no model is asked."""

COVERINGS = 4
"""Ranges of units that are tried before all there is is covered."""

LONGEST = 3_000
"""Tokens of the longest summary when nobody says: models write no longer ones well, and many write no longer answers."""


class Summarize(CompressionStrategy):
    """Put a model's summary in the place of the oldest turns.

    The next time the model is shown the summary and the turns that came since, and adds to it. What it writes is
    checked before it is taken: see `ctxkit.summaries.validation.checked`. When anything is wrong with it, or no model
    answers, nothing changes and the report has the reason.

    When earlier notes leave too little room for new ones, the model is asked once more, for their older part in half the
    words: see `ctxkit.summaries.condensing.condensed`. So what is old is kept in less detail, and what is oldest in least.

    Attributes:
        model: which model is asked: a name or a table. Without one the `ask` function of the manager is.
        max_tokens: of the summary: a number of tokens, or a share of the window. By default what the budget's summary
            region has room for, without such a region a fifth of the limit and no more than 3,000.
        keep_turns: the newest turns, which are summarised only when all before them is not enough.
        focus: what the model is to pay attention to, in your words.
        template: the instructions, instead of ctxkit's own: a text, or the path of a file (.txt, .md). `$language`,
            `$max_tokens`, `$max_words`, `$sections`, `$done` and `$focus` are filled in.
        reanchor_every: with each compaction whose number is a multiple of it the summary is made anew from the
            originals, so that nothing drifts; 0 for never. Originals that would take more than 8 questions are read
            again a slice at a time, each time the next, and the report says so.
    """

    model_config = ConfigDict(hide_input_in_errors=True)  # a table of a model may have a key in it by mistake

    kind: Literal["summarize"] = "summarize"
    timeout_s: float | None = Field(default=TIMEOUT_S, gt=0)
    model: AnyModel | None = None
    max_tokens: Annotated[int, Field(ge=1)] | Annotated[float, Field(gt=0, le=1)] | None = None
    keep_turns: int = Field(default=2, ge=0)
    focus: str = ""
    template: str | None = None
    reanchor_every: int = Field(default=8, ge=0)
    _template: str = PrivateAttr(default="")

    @field_validator("template")
    @classmethod
    def _can_be_filled(cls, value: str | None) -> str | None:
        template_text(value)
        return value

    @model_validator(mode="after")
    def _has_place_for_focus(self) -> Summarize:
        if self.focus and self.template and "focus" not in placeholders(template_text(self.template)):
            raise ValueError("the template has no place for the focus: write $focus where it belongs")
        return self

    def model_post_init(self, _: Any) -> None:
        self._template = template_text(self.template)

    async def plan(self, view: View, services: Services) -> Plan:
        if not (view.over or view.surplus_turns) or _beyond_help(view):
            return Plan()
        worth = _worth_asking(view, self)
        if worth is None:
            return Plan()
        covering, max_tokens = worth
        made = await Writing(self, view, services, covering, max_tokens).written()
        why = "; ".join(["old turns; a model's notes stand for them", *made.notes])
        return Plan(((Replace(covering.units, made.text, why, self.kind),),), made.failures)

    @property
    def told(self) -> str:
        """The text of the template, "" for ctxkit's own."""
        return self._template

    def longest(self, view: View) -> int:
        """How long the summary may be, in tokens."""
        asked = self.max_tokens
        tokens = int(asked * view.budget.window) if isinstance(asked, float) else asked
        if "summary" not in view.budget.regions:
            return min(LONGEST, max_summary_tokens(view, kind=self.kind)) if tokens is None else tokens
        room = max_summary_tokens(view, kind=self.kind) + sum(unit.tokens for unit in _others(view))
        return room if tokens is None else min(room, tokens)


def _beyond_help(view: View) -> bool:
    """Whether what cannot shrink is over the limit by itself: no summary makes the request fit then."""
    return view.tokens - view.shrinkable > view.budget.limit


def _worth_asking(view: View, strategy: Summarize) -> tuple[Covering, int] | None:
    """What a summary is to stand for, and how long it may be; None when the gain would not be worth a question."""
    longest, least, best = strategy.longest(view), 1, None
    for attempt in range(COVERINGS):
        covering = cover(
            view,
            kind=strategy.kind,
            expected_tokens=longest,
            keep_turns=strategy.keep_turns,
            least=least if attempt < COVERINGS - 1 else len(view.units),
        )
        if covering is None:
            break
        covering = replace(covering, earlier=(*_others(view), *covering.earlier))
        max_tokens = min(longest, _room(covering))
        over = _over(covering, max_tokens)
        if over is not None and (best is None or not over):
            best = covering, max_tokens
        if over == 0 or covering.complete:
            break
        least = 2 * len(covering.fresh)
    return best


def _others(view: View) -> tuple[Unit, ...]:
    """The summaries of another strategy that this one goes on from."""
    firsts = ((unit, unit.items[0]) for unit in view.free())
    return tuple(unit for unit, first in firsts if first.made == "summary" and first.edited == TAKEN_OVER)


def _room(covering: Covering) -> int:
    """How long a summary may be for the least gain to be made and the target to be met, or else the limit."""
    view, tokens = covering.view, covering.tokens - ENVELOPE
    budget = view.budget
    least = budget.least_gain if view.tokens > budget.start else budget.min_gain or 0
    if view.tokens > budget.limit >= view.tokens - tokens + LEAST_TOKENS:
        least = 0  # the request would not fit without it
    meets = tokens - max(view.over_free, int(LEAST_SAVED * covering.tokens))
    fits = tokens - max(0, view.tokens - budget.limit)
    return min(meets if meets >= LEAST_TOKENS else min(covering.room, fits), tokens - least)


def _over(covering: Covering, max_tokens: int) -> int | None:
    """How far from the target a summary of this length would end; None for one that says nothing or is not accepted."""
    if max_tokens < LEAST_TOKENS:
        return None
    view, text = covering.view, "a " * max_tokens
    while view.count(text) > max_tokens:
        text = text[: len(text) * max_tokens // view.count(text)]
    try:
        after = view.after(Plan.of(Replace(covering.units, text, by=Summarize.model_fields["kind"].default)))
    except PlanRejected:
        return None
    return after.over_free + after.surplus_turns
