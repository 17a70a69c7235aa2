"""CtxkitSession: a session of the OpenAI Agents SDK that any store keeps and any strategy compacts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ctxkit.core.edits import Strip
from ctxkit.core.state import State
from ctxkit.errors import ConfigError, OpenCallsError, ProviderFormatError
from ctxkit.jsons import copied
from ctxkit.openai_agents.model_calls import ModelCalls
from ctxkit.openai_agents.rows import Row, checked_limit, dangling, newest, newest_rows, rows_of, without_tail
from ctxkit.preparation import Done, Preparation, Settings
from ctxkit.providers import FormatName, provider
from ctxkit.sessions.closing import Closing
from ctxkit.sessions.loop_lock import LoopLock
from ctxkit.sessions.outgoing import Outgoing, Ready, tokens_of
from ctxkit.sessions.recalled import recorded
from ctxkit.sessions.records import Record
from ctxkit.sessions.session import Session
from ctxkit.sessions.store import Store, checked_id
from ctxkit.sessions.stores import store_of
from ctxkit.sessions.stores.memory import MemoryStore
from ctxkit.triggers import Selected

if TYPE_CHECKING:
    from agents import AgentBase, CallModelData, ModelInputData, SessionSettings, TResponseInputItem

__all__ = ["CtxkitSession"]

FORMAT: FormatName = "openai-responses"

LEFTOVER = "openai-agents"
"""Who takes out reasoning whose call was taken back."""


class CtxkitSession(Closing):
    """A `Session` of the OpenAI Agents SDK over a `ctxkit` session.

    The runner reads it once a run and writes to it in pieces. What it reads fits the budget, and is valid by itself:
    calls have their results, reasoning what it belongs to. In a long tool loop the runner does not read again; give it
    `input_filter` too, which has the same state:

        RunConfig(call_model_input_filter=session.input_filter)

    It is opened when it is first used, and may be shared by runs, tasks and event loops as far as its store may be.

    Args:
        session_id: 1 to 200 ASCII letters, digits and `._:@+=/-`.
        store: where it is kept, or the address of it, "sqlite:chats.db" for instance; without one in memory, as long
            as this object lives. A store that is opened here is closed by `close`.
        session_settings: the SDK's, or a table of them; its `limit` holds for reads that name none.
        background, snapshots: see `Session.open`.
        settings: what `ContextManager` takes, but for the format: `budget`, `strategy`, `model`, `ask` and so on.

    Raises:
        ConfigError: a setting that cannot be right.
    """

    def __init__(
        self,
        session_id: str,
        store: Store | str | None = None,
        *,
        session_settings: SessionSettings | Mapping[str, Any] | None = None,
        background: bool = False,
        snapshots: bool = True,
        **settings: Any,
    ) -> None:
        self.session_id = checked_id(session_id)
        self.session_settings = _settings(session_settings)
        settings = _without_format(settings)
        Preparation(Settings.of({"format": FORMAT, **settings}))  # so that a wrong setting is told here
        self._store = store if store is not None else MemoryStore()
        store_of(self._store)  # a wrong address too
        self._background, self._snapshots = background, snapshots
        self._settings = settings
        self._session: Session | None = None
        self._calls: ModelCalls | None = None
        self._is_filtered = False
        self._opening = LoopLock()

    @classmethod
    def from_config(
        cls,
        session_id: str,
        source: str | Path | Mapping[str, Any],
        store: Store | str | None = None,
        **settings: Any,
    ) -> Self:
        """A session as a config file or a dict says, its `store` too unless one is given; `settings` win.

        `format` may be left out there: it is `openai-responses`.

        Raises:
            ConfigError: the file cannot be read, or a setting in it cannot be right.
        """
        from ctxkit.config import load

        config = load(source)
        said = {name: value for name, value in config.settings().items() if name in config.model_fields_set}
        where = store if store is not None else config.store
        return cls(session_id, store=where, **{**said, **settings})

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.session_id}>"

    async def opened(self) -> Session:
        """The ctxkit session behind it, for all else that one can do: facts, pins, undo, reports, forks.

        Raises:
            SessionError: the log cannot be read.
            StoreError: the store cannot be reached.
        """
        session = await self._opened()
        await session.refresh()
        return session

    async def _opened(self) -> Session:
        """The same as far as it was read: what is written finds out by itself what is new."""
        async with self._opening:
            if self._session is None:
                self._session = await Session.open(
                    self.session_id,
                    self._store,
                    background=self._background,
                    snapshots=self._snapshots,
                    format=FORMAT,
                    **self._settings,
                )
                self._calls = ModelCalls(self._session, self._settings, self._rows)
            return self._session

    async def close(self) -> None:
        """Wait for a compaction in the background, and close the store if it was opened here."""
        if self._session is not None:
            await self._session.close()
            self._session = self._calls = None

    # The protocol of the SDK

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items that a request would hold now, oldest first; compacted first when that is due.

        When calls wait for results nothing is compacted, and the next report says so. Reasoning whose call was taken
        back is left out.

        What is given is put on record as a request, with "what the session gave" in its `trigger`: what of it the model
        was sent is not known here. Once `input_filter` was asked for, it does that for each call of a model, and reads
        are on record no more.

        Args:
            limit: the newest so many, less what would stand there without its call, its result or its reasoning; 0
                for none. By default what `session_settings` say, without them all.

        Raises:
            BudgetExceededError: what must stay is larger than the budget.
            ConfigError: the limit is no whole number.
            ProviderFormatError: what was added would be refused, and cannot be read otherwise: one id is there twice.
            StrategyError: a strategy failed, and `strict` is set.
            StoreError: the store failed.
        """
        session = await self.opened()
        ready, rows = await self._read(session, limit)
        if rows and not self._is_filtered:
            entries = [row.going for row in rows]
            await session._sent(ready, Outgoing(entries, tokens=tokens_of(entries)))
        return [copied(row.raw) for row in rows]

    async def add_items(self, items: Sequence[TResponseInputItem]) -> None:
        """Add items, all or none.

        Raises:
            ProviderFormatError: one of them is no item of Responses, or answers no call.
            StoreError: the store failed; whether they were written is known after the next call.
        """
        if not items:
            return
        await (await self._opened()).add(list(items))

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the newest item back, for good, and give it as it was added; None when there is none.

        Raises:
            StoreError: the store failed.
        """
        return await (await self.opened()).pop()  # type: ignore[return-value]

    async def clear_session(self) -> None:
        """Take everything back, for good.

        Raises:
            StoreError: the store failed.
        """
        session = await self.opened()
        if session.position:
            await session.clear()

    # In a tool loop

    @property
    def input_filter(self) -> Callable[[CallModelData[Any]], Awaitable[ModelInputData]]:
        """What the model is to see of a run, before each call: for `RunConfig.call_model_input_filter`.

        A compaction is made in the session itself, once for all that come after. Instructions and function tools
        count. Where the run does not hold what the session does, because of a limit or a handoff filter, what it
        holds is compacted by itself in memory. Nothing is added to the session here; that is the runner's. Each call of
        a model is on record as a request, as it was sent.

        It raises BudgetExceededError when what must stay is larger than the budget, StrategyError when a strategy
        failed and `strict` is set, StoreError when the store failed.
        """
        self._is_filtered = True
        return self._filtered

    async def _filtered(self, data: CallModelData[Any]) -> ModelInputData:
        session = await self.opened()
        await self._without_leftovers(session)
        assert self._calls is not None
        run: list[Any] = data.model_data.input
        system = data.model_data.instructions or ""
        messages: list[Any] = await self._calls.sent(run, system=system, tools=_tools(data.agent))
        return replace(data.model_data, input=messages)

    # What there is to know

    async def compact(self) -> None:
        """Compact now, whatever the budget says; `(await session.opened()).report` tells what was done.

        Raises:
            StrategyError: a strategy failed, and `strict` is set.
            StoreError: the store failed.
        """
        await (await self._opened()).compact()

    async def get_items_with_metadata(self, limit: int | None = None) -> list[dict[str, Any]]:
        """What `get_items` gives, each as `{"message": ..., "metadata": ...}`.

        The metadata of an item that was added are its `position` in the input, counted from 0, and its `turn`, and
        `edited_by` when a strategy shortened it. What ctxkit wrote is `synthetic`, of a `kind` ("summary", "profile",
        "gap" and so on), and `stands_for` are the positions of the items that it stands for.
        """
        _, rows = await self._read(await self.opened(), limit)
        return [{"message": copied(row.raw), "metadata": row.metadata} for row in rows]

    async def get_full_history(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Every item that was added and not taken back, as it was added, each as `{"message": ..., "metadata": ...}`.

        The metadata are its `position`, its `fate` ("present", "summarised", "dropped" and so on), `why` and `by`
        which strategy, and the `handle` of the original; see `ctxkit.Explanation`.

        Args:
            limit: the newest so many.
        """
        session = await self.opened()
        told = newest(await session.explain(), limit)
        original = session.preparation.history.archive.original
        return [
            {
                "message": dict(original(each.position)),
                "metadata": {
                    "synthetic": False,
                    "position": each.position,
                    "fate": each.fate,
                    "why": each.why,
                    "by": each.by,
                    "handle": each.handle,
                },
            }
            for each in told
        ]

    async def _read(self, session: Session, limit: int | None) -> tuple[Ready, list[Row]]:
        """What a reader is given, and the request that it would be."""
        history = session.preparation.history
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        limit = checked_limit(limit)
        if not history.state.items or (limit is not None and limit <= 0):
            return self._as_it_is(session, "nothing was asked for"), []
        ready = await self._ready(session)
        while dangling(history.state):  # somebody else's words came behind reasoning meanwhile
            ready = await self._ready(session)
        view = session.preparation.view(history.state)
        selected = replace(ready.done.selected, why=f"what the session gave; {ready.done.selected.why}")
        rows = without_tail(self._rows(view.state))
        rows = rows if limit is None else newest_rows(rows, limit)
        return replace(ready, done=replace(ready.done, view=view, selected=selected)), rows

    async def _ready(self, session: Session) -> Ready:
        """The next request, compacted when that is due; as it is while something of it has yet to come."""
        history = session.preparation.history
        await self._without_leftovers(session)
        try:
            ready, _ = await session._ready(None)
        except OpenCallsError as error:
            why = f"calls wait for results ({', '.join(map(str, error.calls))})"
        except ProviderFormatError:
            if dangling(history.state):  # since somebody else's words came behind it
                return await self._ready(session)
            if not history.state.items:
                return self._as_it_is(session, "none: there is nothing to read")
            if len(without_tail(self._rows(history.state))) == len(self._rows(history.state)):
                raise
            why = "reasoning waits for what it belongs to"
        else:
            return ready
        history.announce(f"items were read while {why}; nothing was compacted")
        return self._as_it_is(session, f"none: {why}")

    def _as_it_is(self, session: Session, why: str) -> Ready:
        view = session.preparation.view(session.preparation.history.state)
        return Ready(Done(view, Selected(why, False)), (), session._log.book.erased_at)

    async def _without_leftovers(self, session: Session) -> None:
        """Take reasoning out of what is shown that stands between others' items, its own call taken back."""
        history = session.preparation.history

        def made(at: float) -> Record | None:
            units = dangling(history.state)
            edit = Strip(units, "what it belongs to was taken back", LEFTOVER)
            return recorded(history.editing(edit), at) if units else None

        await session._log.write(made)

    def _rows(self, state: State) -> list[Row]:
        """How a state is given to a model."""
        return rows_of(state, provider(FORMAT))


def _without_format(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings without the format, which is that of the SDK's items."""
    if settings.get("format", FORMAT) != FORMAT:
        raise ConfigError(
            f"the items of the Agents SDK are of the format {FORMAT}, not {settings['format']!r:.60}, whatever model "
            "answers; leave it out",
            path="format",
        )
    return {name: value for name, value in settings.items() if name != "format"}


def _settings(given: SessionSettings | Mapping[str, Any] | None) -> SessionSettings | None:
    """The SDK's settings of a session, read by the SDK itself where they are a table."""
    if given is None:
        return None
    from agents.memory.session_settings import coerce_session_settings

    try:
        return coerce_session_settings(dict(given) if isinstance(given, Mapping) else given)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"these are no settings of a session: {error}", path="session_settings") from error


def _tools(agent: AgentBase[Any]) -> list[dict[str, Any]]:
    """The schemas of an agent's function tools, so that they count; what servers and handoffs add is not known here."""
    return [
        {
            "type": "function",
            "name": tool.name,
            "description": getattr(tool, "description", ""),
            "parameters": tool.params_json_schema,
        }
        for tool in agent.tools
        if hasattr(tool, "params_json_schema")
    ]
