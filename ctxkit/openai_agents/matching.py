"""Matching: which items of a run are in the log of its session."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxkit.core.items import Item
from ctxkit.core.provider import Entry
from ctxkit.core.state import State
from ctxkit.history import History
from ctxkit.openai_agents.carrying import Carried, Written
from ctxkit.openai_agents.rows import Row, is_ours
from ctxkit.providers.openai_responses_items import OUTPUT_TYPES
from ctxkit.providers.openai_responses_keys import Key, key_of

__all__ = ["Matching"]


class Matching:
    """What a session holds and held, by the keys of its items; each original is looked at once.

    Args:
        history: of the session.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._arrived: dict[int, Key] = {}

    def unsaved(self, run: Sequence[Entry]) -> list[Entry] | None:
        """The newest items of a run that have not come into its session yet; None when the run is another
        conversation: a limit, a handoff or a function of the user's has taken something out of it, or put something in.

        Args:
            run: the items that the model is to be given. What a compaction left out of the session may be in it still.

        Raises:
            NotLoaded: originals have to be read from the store first.
        """
        keys, state = [key_of(entry) for entry in run], self._history.state
        waiting = {call.unit for call in state.open}
        shown = [item for item in state.items if not item.synthetic and item.unit not in waiting]
        known = {item.id: self._keys(item) for item in shown}
        if not shown or any(known[item.id].isdisjoint(keys) for item in shown):
            return None
        newest = known[max(known)]
        at = [index for index, key in enumerate(keys) if key in newest]
        as_often = sum(not newest.isdisjoint(each) for each in known.values())
        end = at[min(as_often, len(at)) - 1] + 1
        everything = set[Key]().union(*known.values())
        others = [at for at in range(end) if keys[at] not in everything and not is_ours(run[at])]
        if others and any(self._is_strange(keys[at]) for at in others):
            return None
        return list(run[end:])

    def held(self) -> dict[Key, list[int]]:
        """The ids of all originals that were not erased by their keys, oldest first.

        Raises:
            NotLoaded: originals have to be read from the store first.
        """
        found: dict[Key, list[int]] = {}
        for id, key in sorted(self._all().items()):
            if not self._history.archive.is_erased(id):
                found.setdefault(key, []).append(id)
        return found

    def written(self, run: Sequence[Entry], rows: Callable[[State], list[Row]]) -> Written:
        """What of a run ctxkit wrote in the session, also before its newest compactions.

        Args:
            rows: how a state is given to a model.

        Raises:
            NotLoaded: originals have to be read from the store first.
        """
        history, keys = self._history, {key_of(entry) for entry in run}
        found: dict[tuple[Key, ...], Item] = {}
        for state in (*history.redoable, *history.undoable, history.state):
            given: dict[int, list[Key]] = {}
            for row in rows(state):
                if row.id < 0:
                    given.setdefault(row.id, []).append(key_of(row.raw))
            items = {item.id: item for item in state.items}
            found |= {tuple(each): items[id] for id, each in given.items() if keys.issuperset(each)}
        return Written(
            {each: Carried(item, self._originals(item)) for each, item in found.items()}, history.state.facts
        )

    def _originals(self, item: Item) -> list[Item]:
        return self._history.archive.items(id for span in item.stands_for for id in span)

    def _all(self) -> dict[int, Key]:
        """The keys of all that ever came into the session, by id."""
        archive = self._history.archive
        for item in archive.items(id for id in range(self._history.state.next_id) if id not in self._arrived):
            self._arrived[item.id] = key_of(item.raw)
        return self._arrived

    def _keys(self, item: Item) -> set[Key]:
        """How an item may stand in a run: as it arrived, and as a compaction left it."""
        keys = {self._original(item.id)}
        return keys | {key_of(item.raw)} if item.edited else keys

    def _original(self, id: int) -> Key:
        if id not in self._arrived:
            self._arrived[id] = key_of(self._history.archive.original(id))
        return self._arrived[id]

    def _is_strange(self, key: Key) -> bool:
        """Whether an item never came into the session; a result that stands in for one is told by its call."""
        arrived = set(self._all().values())
        stands_in = key[0] in OUTPUT_TYPES and (OUTPUT_TYPES[key[0]], key[1], "") in arrived
        return key not in arrived and not stands_in
