"""Presets: the two sessions of OpenAI's cookbook on short-term memory, over the stores and strategies of ctxkit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ctxkit.core.budget import Budget
from ctxkit.core.marks import marked
from ctxkit.core.provider import Entry
from ctxkit.core.state import Meter, State
from ctxkit.errors import ConfigError
from ctxkit.models.question import Ask
from ctxkit.openai_agents.older_turns import OlderTurns
from ctxkit.openai_agents.rows import Row, newest
from ctxkit.openai_agents.session import CtxkitSession
from ctxkit.registry import strategy_of
from ctxkit.sessions.store import Store

__all__ = ["SummarizingSession", "TrimmingSession"]

ANY_WINDOW = 1_000_000_000
"""Tokens of a window that nobody named: turns alone count then."""

PROMPT = marked("Summarize the conversation we had so far.")
"""What the summary answers: the cookbook's words, marked as nobody's."""

PROMPT_TOKENS = 40
"""Tokens of that message, and of the form that the summary has as its answer, from above."""


class TrimmingSession(CtxkitSession):
    """A session of which the model sees the last `max_turns` turns: `sliding-window`, started by the number of turns.

    A turn is a message of the user and all up to the next one. The question of a run comes on top of them, since the
    runner puts it behind what it has read. Older turns are left out of what is read, whole; other than in the cookbook
    they stay on record, and `get_full_history` has them.

    Args:
        session_id, store, settings: as in `CtxkitSession`, but for the strategy, which it has. Without `budget` and
            `model` tokens do not count.
        max_turns: how many turns stay.

    Raises:
        ConfigError: a setting that cannot be right.
    """

    def __init__(
        self, session_id: str, max_turns: int = 8, *, store: Store | str | None = None, **settings: Any
    ) -> None:
        _check_turns(max_turns=max_turns)
        _check_free(settings, "strategy")
        settings["budget"] = _budget(settings, context_limit=max_turns)
        strategy = {"kind": "sliding-window", "keep_turns": max_turns}
        super().__init__(session_id, store, strategy=strategy, **settings)


class SummarizingSession(CtxkitSession):
    """A session that keeps the newest turns and puts a summary in the place of those before them.

    When there are more than `context_limit` turns with words of the user, all before the last `keep_last_n_turns`
    becomes a summary, which the next one goes on from. What comes in while the summary is written stays behind it; a
    summary of what was taken back or cleared meanwhile is thrown away.

    The summary is a pair, as in the cookbook: a user message asks for it, an assistant message holds it.
    `get_items_with_metadata` and `get_full_history` tell of both that they are `synthetic`, of which `kind`
    ("history_summary_prompt", "history_summary"), and what they stand for. What differs from the cookbook:

    - Both are marked as ctxkit's, and the summary is fenced and said to be no instruction: nothing that a tool wrote can
      become words of the user or the assistant, and a summary that comes back is known for what it is.
    - It is checked before it is taken. One that is no shorter than what it stands for, a refusal or an error is not,
      and the turns stay; `(await session.opened()).report` says why.
    - It is made when the session is read, not when it is written to, so that no write waits for a model.
    - With `keep_last_n_turns=0` everything is summarised but the newest message of the user and the newest item: no
      strategy may take away what the model has yet to answer.
    - The turns that were summarised stay on record, and `get_full_history` has them in front of the pair.

    Args:
        session_id, store, settings: as in `CtxkitSession`, but for the strategy, which it has. Without `budget` and
            `model` tokens do not count.
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
        _check_turns(keep_last_n_turns=keep_last_n_turns, context_limit=context_limit)
        _check_free(settings, "strategy", "ask")
        if not 0 <= keep_last_n_turns <= context_limit or not context_limit:
            raise ConfigError(
                f"from 0 to context_limit ({context_limit}), which is 1 or more; not {keep_last_n_turns}",
                path="keep_last_n_turns",
            )
        kind = "extractive-summary" if summarizer is None else "summarize"
        strategy = OlderTurns(
            keep_turns=keep_last_n_turns,
            context_limit=context_limit,
            strategy=strategy_of({"kind": kind, "keep_turns": 0}),
        )
        settings["budget"] = _less(_budget(settings, context_limit=context_limit), PROMPT_TOKENS)
        super().__init__(session_id, store, strategy=strategy, ask=summarizer, **settings)

    async def get_full_history(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Every item as it was added, and the summary behind what it stands for, each as `{"message": ..., "metadata":
        ...}`; see `CtxkitSession.get_full_history`."""
        full = await super().get_full_history()
        session = await self.opened()
        for row in reversed(self._rows(session.preparation.history.state)):
            if row.told and row.item is not None:
                end = max(span.stop for span in row.item.stands_for)
                at = sum(each["metadata"].get("position", end) < end for each in full)
                full.insert(at, {"message": dict(row.raw), "metadata": row.metadata})
        return [*newest(full, limit)]

    def _rows(self, state: State) -> list[Row]:
        """The entries of a state, summaries as pairs."""
        assert self._session is not None
        meter = self._session.preparation.history.setting.meter
        return [each for row in super()._rows(state) for each in _as_pair(row, meter)]


def _check_turns(**given: object) -> None:
    """Refuse what is no number of turns."""
    for name, turns in given.items():
        if isinstance(turns, int) and not isinstance(turns, bool) and turns >= (name == "max_turns"):
            continue
        least = "1 or more" if name == "max_turns" else "0 or more"
        store = f"; a store is given by its name, store={turns!r:.80}" if isinstance(turns, str) else ""
        raise ConfigError(f"a number of turns is {least}, not {turns!r:.60}{store}", path=name)


def _check_free(settings: Mapping[str, Any], *names: str) -> None:
    """Refuse settings that a preset has of its own."""
    for name in names:
        if settings.get(name) is not None:
            raise ConfigError("this session has its own; CtxkitSession is the one that takes any", path=name)


def _as_pair(row: Row, meter: Meter) -> tuple[Row, ...]:
    """A summary as an answer, behind what asks for it; any other row as it is."""
    if row.item is None or row.item.made != "summary":
        return (row,)
    text = meter.read(row.raw)[1][0].text
    asked, answer = meter.provider.stand_in(PROMPT), {"role": "assistant", "content": text}
    turns = f"< all before idx {max(span.stop for span in row.item.stands_for)} >"
    return (
        _written(row, asked, meter, kind="history_summary_prompt", summary_for_turns=turns),
        _written(row, answer, meter, kind="history_summary", summary_for_turns=turns),
    )


def _written(row: Row, raw: Entry, meter: Meter, **told: str) -> Row:
    """One of the two messages that a summary is given as."""
    assert row.item is not None
    return replace(row, raw=raw, item=replace(row.item, raw=raw, tokens=meter.entry(raw)), told=told)


def _less(budget: Budget, tokens: int) -> Budget:
    """A budget with room kept for what is written beside what it counts."""
    limit = budget.limit - tokens
    if limit < 1:
        raise ConfigError(
            f"a window of {budget.window} with {budget.reply} for the reply has no room for a summary",
            path="budget",
        )
    capped = {
        name: min(value, limit)
        for name in ("compact_at", "aim_for")
        if (value := getattr(budget, name)) is not None
    }
    return budget.model_copy(update={"reply": budget.reply + tokens, **capped})


def _budget(settings: Mapping[str, Any], **limits: Any) -> Budget:
    """The budget that was given, that of the model, or one in which turns alone count; with limits of the preset."""
    given, model = settings.get("budget"), settings.get("model")
    if isinstance(given, Budget):
        return Budget(**{**given.model_dump(exclude_unset=True), **limits})
    if given is None and model is not None:
        return Budget.for_model(model, **limits)
    return Budget(**{"window": ANY_WINDOW, **(given or {}), **limits})
