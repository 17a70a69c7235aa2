"""Handoffs: what the next agent is told of the conversation so far."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from ctxkit.core.budget import Budget
from ctxkit.core.items import Role
from ctxkit.core.provider import Entry
from ctxkit.models.question import Ask
from ctxkit.openai_agents.carrying import Written, carrying
from ctxkit.preparation import Preparation, Settings
from ctxkit.sessions.handoff import handed_over

if TYPE_CHECKING:
    from agents import HandoffInputData

__all__ = ["fold_handoff"]

WINDOW = 1_000_000
"""Tokens of the longest conversation that is folded."""

log = logging.getLogger("ctxkit.openai_agents")


def fold_handoff(
    summarizer: Ask | None = None, *, model: str | None = None
) -> Callable[[HandoffInputData], Awaitable[HandoffInputData]]:
    """An input filter for handoffs: the next agent gets the conversation so far as one summary message.

        billing = handoff(billing_agent, input_filter=fold_handoff(summarizer))

    It is what `Session.handoff` gives: nothing is there twice, neither a call, as it was made and in the summary, nor
    the user's last words, which follow in a message of their own only where the summary does not have them. The session
    still gets every item as it is. The instructions of an agent are of no conversation and go nowhere; system and
    developer messages of the history stay as they are, in front.

    Args:
        summarizer: a function of a `ctxkit.Question` that gives the text, plain or async; it is checked as that of
            `summarize` is. Without one the summary is made of the most telling sentences of the conversation itself;
            so it is too when the summarizer fails or its text is refused, and a warning is logged.
        model: the model that the requests are for, which picks the token counter.
    """

    async def folded(data: HandoffInputData) -> HandoffInputData:
        settings = Settings(
            "openai-responses",
            Budget(window=WINDOW),
            "extractive-summary",
            model=model,
            ask=summarizer,
            repair=True,
        )
        preparation = Preparation(settings)
        history, added = preparation.history, preparation.added(_said(data))
        meter = history.setting.meter
        history.do(lambda: carrying(history.adding(added), history.state, Written(), meter))
        kept = [item.raw for item in history.state.items if item.shape.role is Role.SYSTEM or item.shape.keep]
        history.announced()  # what was mended in the history is not of this
        made = await handed_over(preparation, preparation.view(history.state))
        for line in history.announced():
            log.warning("%s", line)
        if not made.messages:
            return data
        return data.clone(input_history=(*kept, *made.messages), pre_handoff_items=(), input_items=())

    return folded


def _said(data: HandoffInputData) -> list[Entry]:
    """All items so far, the call of the handoff and its result among them."""
    history: Any = data.input_history
    before = [{"role": "user", "content": history}] if isinstance(history, str) else list(history)
    run_items = (*data.pre_handoff_items, *data.new_items)
    since = (item.to_input_item() for item in run_items if item.type != "tool_approval_item")
    return [*before, *map(dict, since)]
