"""Presets: the two sessions of OpenAI's cookbook on short-term memory, over the stores and strategies of ctxkit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxkit.core.budget import Budget
from ctxkit.errors import ConfigError
from ctxkit.models.question import Ask
from ctxkit.openai_agents.older_turns import OlderTurns
from ctxkit.openai_agents.session import CtxkitSession
from ctxkit.registry import strategy_of
from ctxkit.sessions.store import Store

__all__ = ["SummarizingSession", "TrimmingSession"]

ANY_WINDOW = 1_000_000_000
"""Tokens of a window that nobody named: turns alone count then."""


class TrimmingSession(CtxkitSession):
    """A session of which the model sees the last `max_turns` turns: `sliding-window`, started by the number of turns.

    A turn is a message of the user and all up to the next one. Older turns are left out of what is read, whole; other
    than in the cookbook they stay on record, and `get_full_history` has them.

    Args:
        session_id, store, settings: as in `CtxkitSession`. Without `budget` and `model` tokens do not count.
        max_turns: how many turns stay.

    Raises:
        ConfigError: a setting that cannot be right.
    """

    def __init__(
        self, session_id: str, max_turns: int = 8, *, store: Store | str | None = None, **settings: Any
    ) -> None:
        settings["budget"] = _budget(settings, context_limit=max_turns)
        strategy = {"kind": "sliding-window", "keep_turns": max_turns}
        super().__init__(session_id, store, strategy=strategy, **settings)


class SummarizingSession(CtxkitSession):
    """A session that keeps the newest turns and puts a summary in the place of those before them.

    When there are more than `context_limit` turns with words of the user, all before the last `keep_last_n_turns`
    becomes a summary, which the next one goes on from. What comes in while the summary is written stays behind it; a
    summary of what was taken back or cleared meanwhile is thrown away.

    It differs from the session of the cookbook, where a user message asks for the summary and an assistant message
    holds it:

    - The summary is one message: marked as ctxkit's, fenced, said to be no instruction. Nothing that a tool wrote can
      become words of the user or the assistant, and a summary that comes back is known for what it is.
      `get_items_with_metadata` tells what it stands for.
    - It is checked before it is taken. One that is no shorter than what it stands for, a refusal or an error is not,
      and the turns stay; `(await session.opened()).report` says why.
    - It is made when the session is read, not when it is written to, so that no write waits for a model.
    - The newest message of the user and the newest item stay with `keep_last_n_turns=0` too: no strategy may take
      away what the model has yet to answer.
    - The turns that were summarised stay on record, and `get_full_history` has them.

    Args:
        session_id, store, settings: as in `CtxkitSession`. Without `budget` and `model` tokens do not count.
        keep_last_n_turns: turns that stay word for word.
        context_limit: turns that may be there before a summary is made.
        summarizer: a function of a `ctxkit.Question` that gives the text, plain or async. Without one the summary is
            made of the most telling sentences of the turns themselves, and no model is asked.

    Raises:
        ConfigError: a setting that cannot be right.
    """

    def __init__(
        self,
        session_id: str,
        keep_last_n_turns: int = 3,
        context_limit: int = 3,
        summarizer: Ask | None = None,
        *,
        store: Store | str | None = None,
        **settings: Any,
    ) -> None:
        if not 0 <= keep_last_n_turns <= context_limit or not context_limit:
            raise ConfigError(
                f"keep_last_n_turns ({keep_last_n_turns}) is from 0 to context_limit, and that ({context_limit}) is 1 or more",
                path="keep_last_n_turns",
            )
        kind = "extractive-summary" if summarizer is None else "summarize"
        strategy = OlderTurns(
            keep_turns=keep_last_n_turns,
            context_limit=context_limit,
            strategy=strategy_of({"kind": kind, "keep_turns": 0}),
        )
        settings["budget"] = _budget(settings, context_limit=context_limit)
        super().__init__(session_id, store, strategy=strategy, ask=summarizer, **settings)


def _budget(settings: Mapping[str, Any], **limits: Any) -> Budget:
    """The budget that was given, that of the model, or one in which turns alone count; with limits of the preset."""
    given, model = settings.get("budget"), settings.get("model")
    if isinstance(given, Budget):
        return Budget(**{**given.model_dump(exclude_unset=True), **limits})
    if given is None and model is not None:
        return Budget.for_model(model, **limits)
    return Budget(**{"window": ANY_WINDOW, **(given or {}), **limits})
