"""CtxkitSession: a session of the OpenAI Agents SDK that any store keeps and any strategy compacts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ctxkit.archive import NotLoaded
from ctxkit.core.items import Item
from ctxkit.core.provider import Entry
from ctxkit.core.state import wire
from ctxkit.errors import OpenCallsError
from ctxkit.jsons import copied
from ctxkit.openai_agents.asides import Asides
from ctxkit.openai_agents.matching import Matching
from ctxkit.preparation import Preparation
from ctxkit.providers import FormatName
from ctxkit.sessions.closing import Closing
from ctxkit.sessions.session import Session
from ctxkit.sessions.store import Store, checked_id
from ctxkit.sessions.stores.memory import MemoryStore

if TYPE_CHECKING:
    from agents import AgentBase, CallModelData, ModelInputData, SessionSettings, TResponseInputItem

__all__ = ["CtxkitSession"]

FORMAT: FormatName = "openai-responses"


class CtxkitSession(Closing):
    """A `Session` of the OpenAI Agents SDK over a `ctxkit` session.

    The runner reads it once a run and writes to it in pieces. What it reads fits the budget, and is valid by itself:
    calls have their results, reasoning what it belongs to. In a long tool loop the runner does not read again; give it
    `input_filter` too, which has the same state:

        RunConfig(call_model_input_filter=session.input_filter)

    It is opened when it is first used, and may be shared by runs, tasks and event loops as far as its store may be.

    Args:
        session_id: 1 to 200 letters, digits and `._:@+=/-`.
        store: where it is kept, or the address of it, "sqlite:chats.db" for instance; without one in memory, as long
            as this object lives. A store that is opened here is closed by `close`.
        session_settings: the SDK's; its `limit` holds for reads that name none.
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
        session_settings: SessionSettings | None = None,
        background: bool = False,
        snapshots: bool = True,
        **settings: Any,
    ) -> None:
        self.session_id = checked_id(session_id)
        self.session_settings = session_settings
        Preparation(FORMAT, **settings)  # so that a wrong setting is told here
        self._store = store if store is not None else MemoryStore()
        self._background, self._snapshots = background, snapshots
        self._settings = settings
        self._session: Session | None = None
        self._matching: Matching | None = None
        self._opening = asyncio.Lock()
        self._asides = Asides(settings)

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
            return self._session

    async def close(self) -> None:
        """Wait for a compaction in the background, and close the store if it was opened here."""
        if self._session is not None:
            await self._session.close()
            self._session = self._matching = None

    # The protocol of the SDK

    async def get_items(self, limit: int | None = None, *, wrapper: Any = None) -> list[TResponseInputItem]:
        """The items that a request would hold now, oldest first; compacted first when that is due.

        When calls wait for results nothing is compacted, and the next report says so.

        Args:
            limit: the newest so many, less what would stand there without its call, its result or its reasoning; 0
                for none. By default what `session_settings` say, without them all.
            wrapper: not used.

        Raises:
            BudgetExceededError: what must stay is larger than the budget.
            StrategyError: a strategy failed, and `strict` is set.
            StoreError: the store failed.
        """
        return [message for message, _ in await self._read(limit)]  # type: ignore[misc]

    async def add_items(self, items: Sequence[TResponseInputItem], *, wrapper: Any = None) -> None:
        """Add items, all or none.

        Raises:
            ProviderFormatError: one of them is no item of Responses, or answers no call.
            StoreError: the store failed; whether they were written is known after the next call.
        """
        if items:
            await (await self._opened()).add(list(items))

    async def pop_item(self, *, wrapper: Any = None) -> TResponseInputItem | None:
        """Take the newest item back, for good, and give it as it was added; None when there is none.

        Raises:
            StoreError: the store failed.
        """
        return await (await self.opened()).pop()  # type: ignore[return-value]

    async def clear_session(self, *, wrapper: Any = None) -> None:
        """Take everything back, for good.

        Raises:
            StoreError: the store failed.
        """
        session = await self.opened()
        if session.position:
            await session.clear()

    # In a tool loop

    async def input_filter(self, data: CallModelData[Any]) -> ModelInputData:
        """What the model is to see of a run, before each call: for `RunConfig.call_model_input_filter`.

        A compaction is made in the session itself, once for all that come after. Instructions and function tools
        count. Where the run does not hold what the session does, because of a limit or a handoff filter, what it
        holds is compacted by itself in memory. Nothing is added to the session here; that is the runner's.

        Raises:
            BudgetExceededError: what must stay is larger than the budget.
            StrategyError: a strategy failed, and `strict` is set.
            StoreError: the store failed.
        """
        run: list[Any] = data.model_data.input
        system, tools = data.model_data.instructions or "", _tools(data.agent)
        messages = await self._from_session(run, system, tools)
        if messages is None:
            messages = await self._asides.prepared(run, system=system, tools=tools)
        return replace(data.model_data, input=messages)

    async def _from_session(self, run: list[Entry], system: str, tools: Any) -> list[Entry] | None:
        """The run as the session has it, and what the runner has not saved yet; None where that is not the run."""
        session = await self.opened()
        history = session.preparation.history
        if self._matching is None:
            self._matching = Matching(history)
        try:
            fresh = self._matching.unsaved(run)
        except NotLoaded:
            await session.explain()  # reads all originals
            fresh = self._matching.unsaved(run)
        if fresh is None:
            return None
        if system != (history.state.system or ""):
            await session.add(system=system)
        if fresh and _tokens(session, fresh) > session.preparation.budget.start:
            await session.compact()
        try:
            messages = (await session.prepare(tools)).messages
        except OpenCallsError:
            return None
        fits = not fresh or _tokens(session, fresh) <= session.preparation.budget.limit
        return [*messages, *fresh] if fits else None

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
        return [{"message": each, "metadata": told} for each, told in await self._read(limit)]

    async def get_full_history(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Every item that was added and not taken back, as it was added, each as `{"message": ..., "metadata": ...}`.

        The metadata are its `position`, its `fate` ("present", "summarised", "dropped" and so on), `why` and `by`
        which strategy, and the `handle` of the original; see `ctxkit.Explanation`.

        Args:
            limit: the newest so many.
        """
        session = await self.opened()
        told = await session.explain()
        original = session.preparation.history.archive.original
        full = [
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
        return full if limit is None else full[max(0, len(full) - limit) :]

    async def _read(self, limit: int | None) -> list[tuple[Entry, dict[str, Any]]]:
        """Items with their metadata, as `get_items` and `get_items_with_metadata` give them."""
        session = await self.opened()
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        history = session.preparation.history
        if not history.state.items or (limit is not None and limit <= 0):
            return []
        try:
            await session.prepare()
        except OpenCallsError as error:
            calls = ", ".join(map(str, error.calls))
            history.announce(f"items were read while calls wait for results ({calls}); nothing was compacted")
        entries, ids = wire(history.state, session.preparation.provider)
        items = {item.id: item for item in history.state.items}
        units = [items[id].unit if id in items else id for id in ids]
        start = 0 if limit is None else _start(units, limit)
        return [
            (copied(entry), _metadata(items.get(id), entry))
            for entry, id in zip(entries[start:], ids[start:], strict=True)
        ]


def _start(units: Sequence[int], limit: int) -> int:
    """Where the newest entries begin: at most `limit`, and of each unit all or none."""
    first = {unit: at for at, unit in reversed([*enumerate(units)])}
    start = reach = len(units)
    for at in range(len(units) - 1, max(0, len(units) - limit) - 1, -1):
        reach = min(reach, first[units[at]])
        start = at if reach == at else start
    return start


def _metadata(item: Item | None, entry: Entry) -> dict[str, Any]:
    if item is None or (item.raw is not entry):
        return {"synthetic": True, "kind": "result"}
    if item.synthetic:
        stands_for = [id for span in item.stands_for for id in span]
        return {"synthetic": True, "kind": item.made, "stands_for": stands_for}
    edited = {"edited_by": item.edited} if item.edited else {}
    return {"synthetic": False, "position": item.id, "turn": item.turn, **edited}


def _tokens(session: Session, fresh: Sequence[Entry]) -> int:
    """Tokens of the next request with items that the session does not have yet."""
    history = session.preparation.history
    view = session.preparation.view(history.state)
    return view.tokens + sum(map(history.setting.meter.entry, fresh))


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
