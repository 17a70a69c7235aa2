"""Ahead: what a request held of entries before they came into their session, and how it is taken out again."""

from __future__ import annotations

from collections.abc import Iterable

from ctxkit.core.marks import marked
from ctxkit.sessions.changes import Json
from ctxkit.sessions.log import Log
from ctxkit.sessions.outgoing import FRESH
from ctxkit.sessions.paging import record
from ctxkit.sessions.records import Record, legible, to_bytes
from ctxkit.sessions.sent import ERASED

__all__ = ["AHEAD", "Place", "ahead_of", "erase_ahead", "fresh_of"]

AHEAD = "ahead"
"""Where the record of what arrived says which requests held it before."""

Place = tuple[int, int]
"""The position of a request's record, and the place in it of what it held."""


def fresh_of(request: Record, position: int) -> list[Place]:
    """Where the record of a request at a position holds what comes into the session only later, in wire order."""
    new = enumerate(request.data.get("new", ()))
    return [(position, place) for place, each in new if each.get("made") == FRESH]


def ahead_of(places: Iterable[Place]) -> Json:
    """What the record of what arrived has to say of requests that held it before."""
    told = [list(place) for place in places]
    return {AHEAD: told} if told else {}


async def erase_ahead(log: Log, id: int) -> None:
    """Take out of the log, for good, what requests held of an item, and of what came with it, before it arrived.

    It is done before the item itself is taken back, so that a crash between the two leaves nothing.
    """
    arrived = await record(log.store, log.id, log.book.position_of(id))
    places: dict[int, list[int]] = {}
    with legible(log.id):
        for position, place in arrived.get("data", {}).get(AHEAD, ()):
            places.setdefault(position, []).append(place)
    gone = log.history.setting.meter.provider.stand_in(marked(ERASED))
    changed = {}
    for position, held in places.items():
        request = await record(log.store, log.id, position)
        if request["kind"] == "request":
            with legible(log.id, position):
                for place in held:
                    request["data"]["new"][place] |= {"raw": gone, "erased": True}
                request["data"].pop("seal", None)
            changed[position] = to_bytes(request)
    if changed:
        await log._rewrite(changed)
