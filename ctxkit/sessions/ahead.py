"""Ahead: what requests held of entries before they came into their session, so that it can be taken out with them."""

from __future__ import annotations

from collections.abc import Iterable

from ctxkit.sessions.changes import Json
from ctxkit.sessions.outgoing import FRESH
from ctxkit.sessions.records import Record

__all__ = ["AHEAD", "Place", "ahead_in", "ahead_of", "fresh_of"]

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


def ahead_in(told: Json) -> dict[int, list[int]]:
    """The places that `ahead_of` told, by the position of the request."""
    places: dict[int, list[int]] = {}
    for position, place in told.get(AHEAD, ()):
        places.setdefault(position, []).append(place)
    return places
