"""`summarize`: a model's summary in the place of the oldest turns, checked before it is taken."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr, field_validator, model_validator

from ctxkit.core.conversation import Unit
from ctxkit.core.edits import Plan, Replace
from ctxkit.core.facts import USER, active_facts
from ctxkit.core.view import View
from ctxkit.errors import ModelCallError, PlanRejected
from ctxkit.models.question import Answer, Question
from ctxkit.models.settings import AnyModel
from ctxkit.strategy import CompressionStrategy, Services
from ctxkit.summaries.answers import words_said
from ctxkit.summaries.covering import ENVELOPE, Covering, cover, max_summary_tokens, summary_text
from ctxkit.summaries.language import Language, language_of
from ctxkit.summaries.parts import Part, Turned, original_units, parted, spoken
from ctxkit.summaries.prompt import instructions, placeholders, request, requests, template_text
from ctxkit.summaries.validation import LEAST_TOKENS, Checked, checked

__all__ = ["Summarize"]

TIMEOUT_S = 120.0
"""Seconds for all the questions of one summary."""

TAKEN_OVER = "extractive-summary"
"""The kind whose summaries are gone on from too: what another rung of a ladder wrote while no model answered."""

LEAST_SAVED = 0.1
"""Of what a summary stands for: with less to save no model is asked."""

COVERINGS = 4
"""Ranges of units that are tried before all there is is covered."""

LARGEST = 8
"""Parts in which a conversation is summarised at most."""

ASK_WINDOW = 32_000
"""Tokens that a user's own function is taken to read, or as many as the budget's window has."""

LEAST_ROOM = 256
"""Tokens of the smallest part that is worth a question."""

SAFE_SHARE = 0.85
"""Of the room in a model's window that is used: its tokens are not quite those of the conversation's counter."""

READ_SHARE = 0.4
"""Of our count of a question: when the provider counted less, it has not read all of it."""

SHORTER = 0.6
"""Of the length asked for first, when what came was too long."""


class Summarize(CompressionStrategy):
    """Put a model's summary in the place of the oldest turns.

    The next time the model is shown the summary and the turns that came since, and adds to it. What it writes is
    checked before it is taken: see `ctxkit.summaries.validation.checked`. When anything is wrong with it, or no model
    answers, nothing changes and the report has the reason.

    Attributes:
        model: which model is asked: a name or a table. Without one the `ask` function of the manager is.
        max_tokens: of the summary: a number of tokens, or a share of the window. By default what the budget's summary
            region has room for, without such a region a fifth of the limit.
        keep_turns: the newest turns, which are summarised only when all before them is not enough.
        focus: what the model is to pay attention to, in your words.
        template: the instructions, instead of ctxkit's own: a text, or the path of a file (.txt, .md). `$language`,
            `$max_tokens`, `$max_words`, `$sections`, `$done` and `$focus` are filled in.
        reanchor_every: with each compaction whose number is a multiple of it the summary is made anew from the
            originals, so that nothing drifts; 0 for never.
    """

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
        if not (view.over or view.surplus_turns):
            return Plan()
        worth = _worth_asking(view, self)
        if worth is None:
            return Plan()
        covering, max_tokens = worth
        text, notes = await _Writing(self, view, services, covering, max_tokens).written()
        why = "; ".join(["old turns; a model's notes stand for them", *notes])
        return Plan.of(Replace(covering.units, text, why, self.kind))

    def longest(self, view: View) -> int:
        """How long the summary may be, in tokens."""
        asked = self.max_tokens
        tokens = int(asked * view.budget.window) if isinstance(asked, float) else asked
        if "summary" not in view.budget.regions:
            return max_summary_tokens(view, kind=self.kind, max_tokens=tokens)
        room = max_summary_tokens(view, kind=self.kind) + sum(unit.tokens for unit in _others(view))
        return room if tokens is None else min(room, tokens)


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
    """How long a summary may be for the target to be met and the least gain to be made."""
    view, tokens = covering.view, covering.tokens - ENVELOPE
    budget = view.budget
    least = budget.least_gain if view.tokens > budget.start else budget.min_gain or 0
    if view.tokens > budget.limit >= view.tokens - tokens + LEAST_TOKENS:
        least = 0  # the request would not fit without it
    slack = tokens - max(view.over, int(LEAST_SAVED * covering.tokens))
    return min(max(covering.room, slack), tokens - least)


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
    return after.over + after.surplus_turns


@dataclass(frozen=True)
class _Writing:
    """One summary in the making."""

    strategy: Summarize
    view: View
    services: Services
    covering: Covering
    max_tokens: int

    async def written(self) -> tuple[str, tuple[str, ...]]:
        """The text, and what there is to say about it.

        Raises:
            ModelCallError: no model answered, or not with a summary.
        """
        earlier, turned = self._material()
        parts = self._parts(turned)
        if len(parts) > LARGEST:
            raise ModelCallError(f"it would take {len(parts)} questions, more than {LARGEST}")
        words = words_said([each.said for each in turned])
        notes: list[str] = []
        for part in parts:
            done = await self._asked(part, earlier, words)
            earlier = done.text
            notes += done.notes
        return self._without_secrets(earlier), tuple(dict.fromkeys(notes))

    def _material(self) -> tuple[str, tuple[Turned, ...]]:
        """The earlier summary and what has come since; every so often no summary, and all from the originals."""
        view, covering = self.view, self.covering
        fresh = self._turned(covering.fresh)
        items = [item for unit in covering.earlier for item in unit.items]
        every, number = self.strategy.reanchor_every, view.state.compactions + 1
        if items and every and number % every == 0:
            everything = (*self._turned(original_units(view, items)), *fresh)
            if len(self._parts(everything)) <= LARGEST:
                return "", everything
        earlier = "\n".join(summary_text(view, item) for item in items)
        return _without(earlier, _forgotten(view)), fresh

    def _turned(self, units: Sequence[Unit]) -> tuple[Turned, ...]:
        gone = _forgotten(self.view)
        turned = spoken(self.view, units)
        if not gone:
            return turned
        return tuple(
            replace(
                each,
                said=replace(
                    each.said, text=_without(each.said.text, gone), call=_without(each.said.call, gone)
                ),
            )
            for each in turned
        )

    def _parts(self, turned: Sequence[Turned]) -> list[Part]:
        """What is summarised with one question each.

        Raises:
            ModelCallError: the window of the model is too small.
        """
        model, count = self.strategy.model, self.view.count
        window = model.window if model else max(self.view.budget.window, ASK_WINDOW)
        language = language_of(words_said([each.said for each in turned]))
        asked = count(self._instructions(language, self.max_tokens))
        room = int(SAFE_SHARE * (window - asked - self.max_tokens - _answer_tokens(self.max_tokens)))
        if room < LEAST_ROOM:
            raise ModelCallError(f"a window of {window} tokens has no room for what is to be summarised")
        return parted(turned, room=room, count=count, language=language)

    def _instructions(self, language: Language, max_tokens: int) -> str:
        strategy = self.strategy
        return instructions(
            language, max_tokens=max_tokens, focus=strategy.focus, template=strategy._template
        )

    async def _asked(self, part: Part, earlier: str, words: str) -> Checked:
        """The summary that goes on from an earlier one by a part; asked for once more, shorter, when it was too long."""
        wanted = max(LEAST_TOKENS, self.max_tokens // 3, self.max_tokens - self.view.count(earlier))
        done: Checked | None = None
        for shorter in (False, True):
            length = int(wanted * SHORTER) if shorter else wanted
            try:
                question = self._question(part, earlier, words, length, shorter=shorter)
                answer = await self._answer(question)
                if answer.complete or shorter:
                    done = self._checked(answer, question, part, earlier, words)
            except ModelCallError:
                if done is None:
                    raise
            if done is not None and not done.too_long:
                break
        assert done is not None  # the second round returns or raises
        return done

    def _question(self, part: Part, earlier: str, words: str, max_tokens: int, *, shorter: bool) -> Question:
        language = language_of(words or earlier)
        told = self._instructions(language, max_tokens)
        text = request(part.text, language, earlier=earlier, shorter=shorter)
        return Question(told, text, _answer_tokens(max_tokens))

    async def _answer(self, question: Question) -> Answer:
        """The answer to a question, which has not failed before.

        Raises:
            ModelCallError: it has, or the model did not answer, or did not read all of it.
        """
        request = question.digest
        if any(failure.request == request for past in self.view.past for failure in past.failures):
            raise ModelCallError("the same question failed before and is not asked again", request=request)
        answer = await self.services.models.ask(question, self.strategy.model)
        sent = self.view.count(question.instructions) + self.view.count(question.text)
        if 0 < answer.input_tokens < READ_SHARE * sent:
            raise ModelCallError(
                f"the model read {answer.input_tokens} of about {sent} tokens: its window is smaller than `window` says",
                request=request,
            )
        return answer

    def _checked(self, answer: Answer, question: Question, part: Part, earlier: str, words: str) -> Checked:
        return checked(
            answer.text,
            sources=part.sources,
            max_tokens=self.max_tokens,
            count=self.view.count,
            complete=answer.complete,
            earlier=earlier,
            words=words,
            sent=question.text,
            ignore=requests(language_of(words or earlier)),
            request=question.digest,
        )

    def _without_secrets(self, text: str) -> str:
        return _without(text, self.services.hooks.secrets_in(text))


def _answer_tokens(max_tokens: int) -> int:
    """Tokens that an answer may take: enough for one that is too long to come to its end and be shortened."""
    return 2 * max_tokens + 200


FORGOTTEN = "[...]"
"""What stands for what must not be kept: secrets, and what a user had forgotten."""

LEAST_FORGOTTEN = 4
"""Characters of a forgotten value from which on it is looked for: "no" says nothing by itself."""


def _without(text: str, values: Collection[str]) -> str:
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, FORGOTTEN)
    return text


def _forgotten(view: View) -> frozenset[str]:
    """The values of facts that a user took back: no summary goes on telling them."""
    facts = view.state.facts
    taken_back = {fact.name for fact in facts if fact.retracted and fact.by == USER}
    active = active_facts(facts)
    held = {fact.value for fact in active.values()}
    gone = {fact.value for fact in facts if fact.name in taken_back - active.keys() and not fact.retracted}
    return frozenset(value for value in gone - held if len(value) >= LEAST_FORGOTTEN)
