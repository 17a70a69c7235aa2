"""Ahead: where requests held entries before they came into their session, so that they can be taken out with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxkit.core.provider import Entry
from ctxkit.providers.openai_responses_keys import key_of
from ctxkit.sessions.changes import Json
from ctxkit.sessions.outgoing import FRESH

__all__ = ["Ahead", "ahead_in", "named"]

AHEAD = "ahead"
"""Where the record of what arrived says which requests held it before."""

MOST = 1_000
"""Entries that have not come in and are remembered; those of runs that ended before never come."""


MOST_PLACES = 100
"""Requests that are remembered of an entry: the newest."""


class Ahead(dict[str, list[list[int]]]):
    """Where requests held what has not come into the session yet, by what it is recognised by: the position of the
    record of the request, the place in it, and behind which item it may be made of what the session held, 0 for none.
    """

    def sent(self, data: Json, position: int) -> None:
        """Take in the record of a request."""
        for place, each in enumerate(data.get("new", ())):
            if each.get("made") == FRESH and "key" in each:
                behind = max((stop for _, stop in each.get("stands_for", ())), default=0)
                places = self.setdefault(each["key"], [])
                places.append([position, place, behind])
                del places[:-MOST_PLACES]
        while len(self) > MOST:
            del self[next(iter(self))]

    def told(self, entries: Sequence[Entry]) -> Json:
        """What the record of entries that arrive has to say of requests that held them before."""
        keys = dict.fromkeys(map(named, entries)) if self else ()
        places = [each[:2] for key in keys for each in self.get(key, ())]
        return {AHEAD: places} if places else {}

    def came(self, data: Json) -> None:
        """Take in the record of what arrived."""
        if arrived := {(position, place) for position, place in data.get(AHEAD, ())}:
            self._keep(lambda place: (place[0], place[1]) not in arrived)

    def erased(self, id: int) -> None:
        """Take in that an item was erased, and with it what may be made of it."""
        self._keep(lambda place: place[2] <= id)

    def _keep(self, is_kept: Callable[[list[int]], bool]) -> None:
        left = {key: list(filter(is_kept, places)) for key, places in self.items()}
        self.clear()
        self.update({key: places for key, places in left.items() if places})


def named(entry: Entry) -> str:
    """What an entry is recognised by when it comes in. Only requests of the Agents SDK hold any before."""
    return " ".join(key_of(entry))


def ahead_in(told: Json) -> dict[int, list[int]]:
    """The places that `Ahead.told` said, by the position of the request."""
    places: dict[int, list[int]] = {}
    for position, place in told.get(AHEAD, ()):
        places.setdefault(position, []).append(place)
    return places
