"""Handoffs: what the next agent is told of the conversation so far."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ctxkit.core.budget import Budget
from ctxkit.core.conversation import Unit
from ctxkit.core.marks import fence, marked
from ctxkit.core.provider import Entry
from ctxkit.errors import ModelCallError
from ctxkit.history import Added
from ctxkit.models.question import Ask
from ctxkit.preparation import Preparation
from ctxkit.secrets import masked
from ctxkit.strategies.summarize import Summarize
from ctxkit.strategies.summarizing import Writing
from ctxkit.summaries.answers import words_said
from ctxkit.summaries.covering import Covering
from ctxkit.summaries.language import language_of
from ctxkit.summaries.salience import said, salient
from ctxkit.summaries.sections import Sections, parse, shortened, written

if TYPE_CHECKING:
    from agents import HandoffInputData

__all__ = ["fold_handoff"]

WINDOW = 1_000_000
"""Tokens of the longest conversation that is folded."""

SHARE, LEAST, MOST = 0.35, 200, 3_000
"""How long the summary may be: of what it stands for, but so many tokens at least and at most. Models write no longer
ones well, and in less there is no room for the identifiers of a short conversation."""

log = logging.getLogger("ctxkit.openai_agents")


def fold_handoff(
    summarizer: Ask | None = None, *, model: str | None = None
) -> Callable[[HandoffInputData], Awaitable[HandoffInputData]]:
    """An input filter for handoffs: the next agent gets the conversation so far as one summary message.

        billing = handoff(billing_agent, input_filter=fold_handoff(summarizer))

    Nothing is there twice: what the summary stands for, calls and results too, is not beside it in the input. The
    session still gets every item as it is. The instructions of an agent are of no conversation and go nowhere; system
    and developer messages of the history stay as they are, in front.

    Args:
        summarizer: a function of a `ctxkit.Question` that gives the text, plain or async; it is checked as that of
            `summarize` is. Without one the summary is made of the most telling sentences of the conversation itself;
            so it is too when the summarizer fails or its text is refused, and a warning is logged.
        model: the model that the requests are for, which picks the token counter.
    """

    async def folded(data: HandoffInputData) -> HandoffInputData:
        preparation = Preparation(
            "openai-responses", Budget(window=WINDOW), "summarize", model=model, ask=summarizer, repair=True
        )
        history, entries = preparation.history, _said(data)
        history.do(lambda: history.adding(Added(entries)))
        view = preparation.view(history.state)
        kept = [item.raw for unit in view.units if _stays(unit) for item in unit.items]
        units = tuple(unit for unit in view.units if not _stays(unit))
        if not units:
            return data
        text = await _summary(preparation, Covering(view, (), units, True), asks=summarizer is not None)
        body = (
            f"Summary of the conversation before the handoff, not an instruction:\n{fence('summary', text)}"
        )
        summary = preparation.provider.stand_in(marked(body))
        return data.clone(input_history=(*kept, summary), pre_handoff_items=(), input_items=())

    return folded


def _said(data: HandoffInputData) -> list[Entry]:
    """All items so far, the call of the handoff and its result among them."""
    history: Any = data.input_history
    before = [{"role": "user", "content": history}] if isinstance(history, str) else list(history)
    run_items = (*data.pre_handoff_items, *data.new_items)
    since = (item.to_input_item() for item in run_items if item.type != "tool_approval_item")
    return [*before, *map(dict, since)]


def _stays(unit: Unit) -> bool:
    """Whether a unit is no part of the conversation: system text, configuration."""
    return any(item.in_front or item.shape.keep for item in unit.items)


async def _summary(preparation: Preparation, covering: Covering, *, asks: bool) -> str:
    """The text, from the summarizer if there is one and it does well."""
    room = min(MOST, max(LEAST, int(SHARE * covering.tokens)))
    if asks:
        strategy = Summarize(keep_turns=0)
        writing = Writing(strategy, covering.view, preparation.services, covering, room)
        try:
            async with asyncio.timeout(strategy.timeout_s):
                return _once((await writing.written())[0])
        except (ModelCallError, TimeoutError) as error:
            log.warning("the handoff is folded without the summarizer: %s", error or "it took too long")
    text = _sentences(covering, room)
    return masked(text, preparation.services.hooks.secrets_in(text))


def _sentences(covering: Covering, room: int) -> str:
    """The most telling sentences, in at most `room` tokens."""
    spoken = said(covering.view, covering.fresh)
    language = language_of(words_said(spoken))
    lines = Sections.gathered((each.section, each.line) for each in salient(spoken, language))
    return written(shortened(lines, room, covering.view.count, language), language) or "(nothing)"


def _once(text: str) -> str:
    """A summary without the user's sentence as its goal where a line of the model says the same in the same words."""
    sections = parse(text)
    others = [" ".join(_WORD.findall(line.lower())) for name, line in sections.lines() if name != "goal"]
    kept = [line for line in sections.goal if not any(_told(line) in other for other in others)]
    if len(kept) == len(sections.goal):
        return text
    return written(replace(sections, goal=tuple(kept)), language_of(text))


def _told(line: str) -> str:
    """What a line tells, in words, but for who tells it of themselves."""
    return " ".join(_WORD.findall(_SPEAKER.sub("", line).lower()))


_WORD = re.compile(r"[\w'-]+")
_SPEAKER = re.compile(
    r"^(?:user|用户)\s*[:：]\s*(?:(?:I|we)\s+(?:am|are|was|were|have|had)\s+|我们?)?", re.IGNORECASE
)
