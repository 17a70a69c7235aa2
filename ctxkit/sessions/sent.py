"""Sent: a request as it went out, read back from the log, with where each entry of it is from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ctxkit.core.items import Item
from ctxkit.core.marks import marked
from ctxkit.core.provider import Entry
from ctxkit.errors import ConversationError, SessionError
from ctxkit.jsons import copied
from ctxkit.sessions.changes import Json, span_from
from ctxkit.sessions.erasing import ERASED
from ctxkit.sessions.log import Log
from ctxkit.sessions.paging import record, records
from ctxkit.sessions.records import MALFORMED, legible
from ctxkit.sessions.shown import Ref, flat
from ctxkit.sessions.snapshots import seal

__all__ = ["Origin", "RequestInfo", "Sent", "request_at", "requests_of"]


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """One request on record.

    Attributes:
        position: of its record.
        at: when it was made, in seconds since 1970.
        tokens: its size, 0 where it is not known.
        trigger: why there was a compaction, or none.
        recorded: whether the log says what it held.
    """

    position: int
    at: float
    tokens: int
    trigger: str
    recorded: bool


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an entry of a request is from.

    Attributes:
        id: of its item: the position in the input for what arrived (and for what a compaction shortened), below 0 for
            what ctxkit wrote.
        kind: "message" (as it arrived), "edited", "moved" (a late result, in its call's step), "summary", "gap" (a
            stand-in for what was left out), "profile", "ledger", "note" (facts), "pending" (the result of a call that
            none had come for).
        record: position of the record that holds it: with which it arrived, or the first request that held it so.
        region: the budget region that it counts in.
        tokens: its size.
        by, why: the kind of the strategy that made it so, and its reason.
        handle: the name of the originals, "" where it is one.
        stands_for: the items that it stands for, as ranges.
        facts: the facts that it tells, each with who remembered it and the items it is from.
        erased: it was taken out of the log since, and a stand-in is in its place.
    """

    id: int
    kind: str
    record: int
    region: str = ""
    tokens: int = 0
    by: str = ""
    why: str = ""
    handle: str = ""
    stands_for: tuple[range, ...] = ()
    facts: tuple[tuple[str, str, str, tuple[int, ...]], ...] = ()
    erased: bool = False


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it went out.

    Attributes:
        position: of its record.
        at: when it was made, in seconds since 1970.
        messages, system, tools: what was sent, byte for byte as JSON; a stand-in for each entry that was erased since.
        entries: where each of the messages is from.
        tokens: its size by region.
        trigger: why there was a compaction, or none.
        failures: what failed in making it: by whom, and why.
        sealed: whether it was checked against its seal; False when the seal was taken off, because entries that it may have
            held were erased since.
    """

    position: int
    at: float
    messages: list[Entry]
    system: Any
    tools: Any
    entries: tuple[Origin, ...]
    tokens: Mapping[str, int]
    trigger: str
    failures: tuple[tuple[str, str], ...]
    sealed: bool

    @property
    def erased(self) -> tuple[int, ...]:
        """Places in `messages` of entries that were erased since."""
        return tuple(place for place, each in enumerate(self.entries) if each.erased)


async def requests_of(log: Log) -> list[RequestInfo]:
    """All requests on record, oldest first."""
    found = []
    async for position, told in records(log.store, log.id, upto=log.position):
        if told["kind"] == "request" and not _taken_out(log, position):
            data = told.get("data", {})
            with legible(log.id, position):
                size = sum(data.get("tokens", {}).values())
            found.append(RequestInfo(position, told["at"], size, data.get("trigger", ""), "entries" in data))
    return found


async def request_at(log: Log, position: int) -> Sent:
    """The request whose record is at a position.

    Raises:
        ConversationError: there is none, or the log does not say what it held.
        SessionError: it does not match its seal, or its record cannot be read.
    """
    known, told = _Records(log), {"kind": ""}
    if isinstance(position, int) and not isinstance(position, bool) and 0 < position <= log.position:
        told = await known.told(position)
    if told["kind"] == "request" and _taken_out(log, position):
        told = {"kind": "erased"}
    if told["kind"] != "request" or "entries" not in told.get("data", {}):
        raise ConversationError(_no_request(log.id, position, told))
    try:
        return await _Reading(log, known, position, told).sent()
    except MALFORMED as error:
        raise SessionError(
            f"the request at position {position} of session {log.id!r} cannot be read ({type(error).__name__}); "
            "`ctxkit session verify` tells what else is wrong",
            session=log.id,
        ) from error


def _taken_out(log: Log, position: int) -> bool:
    """Whether a request was made before everything was taken out, whatever is still in its record."""
    first = log.book.index[0][1] if log.book.index else log.position
    return log.history.archive.erased_to > 0 and position < first


def _no_request(session: str, position: int, told: Json) -> str:
    match told["kind"]:
        case "request":
            return f"what the request at position {position} of session {session!r} held was not recorded"
        case "erased":
            return f"what is at position {position} of session {session!r} was erased"
        case _:
            return (
                f"session {session!r} has no request at position {position!r:.40}; `requests()` lists them, and "
                f"`ctxkit session show {session} --all`"
            )


class _Records:
    """Records of one log, each read once."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._told: dict[int, Json] = {}

    async def told(self, position: int) -> Json:
        if position not in self._told:
            self._told[position] = await record(self._log.store, self._log.id, position)
        return self._told[position]

    async def content(self, ref: tuple[int, int]) -> Json:
        position, place = ref
        content: Json = (await self.told(position))["data"]["new"][place]
        return content


class _Reading:
    """One request put together again."""

    def __init__(self, log: Log, records: _Records, position: int, told: Json) -> None:
        self._log = log
        self._records = records
        self._position = position
        self._at: float = told["at"]
        self._data: Json = told["data"]
        gone = log.history.setting.meter.provider.stand_in(marked(ERASED))
        self._gone: Entry = gone

    async def sent(self) -> Sent:
        """Put together and checked."""
        data = self._data
        refs = await self._refs()
        items = await self._originals([ref for ref in refs if isinstance(ref, int)])
        pairs = [await self._entry(ref, items) for ref in refs]
        messages, entries = [copied(raw) for raw, _ in pairs], tuple(origin for _, origin in pairs)
        system, tools = await self._beside("system"), await self._beside("tools")
        sealed = "seal" in data and not any(origin.erased for origin in entries)
        if sealed and data["seal"] != seal(messages, system=system, tools=tools):
            raise SessionError(
                f"the request at position {self._position} of session {self._log.id!r} does not match its seal: the "
                "log was altered",
                session=self._log.id,
            )
        failures = tuple((by, why) for by, why in data.get("failures", ()))
        return Sent(
            self._position,
            self._at,
            messages,
            system,
            tools,
            entries,
            data.get("tokens", {}),
            data.get("trigger", ""),
            failures,
            sealed,
        )

    async def _refs(self) -> list[Ref]:
        """The entries as they are referred to, those of an earlier request in front."""
        own = flat(self._data["entries"], self._position)
        if "base" not in self._data:
            return own
        base = self._data["base"]
        before = flat((await self._records.told(base))["data"]["entries"], base)
        return [*before[: self._data["same"]], *own]

    async def _originals(self, ids: Sequence[int]) -> dict[int, Item]:
        """The items as they arrived, without those that were erased."""
        archive = self._log.history.archive
        items = await self._log.paged(lambda: archive.items(ids))
        return {item.id: item for item in items}

    async def _entry(self, ref: Ref, items: Mapping[int, Item]) -> tuple[Entry, Origin]:
        if not isinstance(ref, int):
            content = await self._records.content(ref)
            gone = content.get("erased") or self._log.history.archive.gone(_ids(content))
            return (self._gone if gone else content["raw"]), _origin(content, ref[0], erased=bool(gone))
        record = self._log.book.position_of(ref)
        if ref not in items:
            return self._gone, Origin(ref, "message", record, erased=True)
        item = items[ref]
        return item.raw, Origin(ref, "message", record, item.region, item.tokens)

    async def _beside(self, part: str) -> Any:
        """What goes along with the messages."""
        if part not in self._data:
            return None
        (ref,) = flat([self._data[part]], self._position)
        return copied((await self._records.content(ref))["raw"]) if isinstance(ref, tuple) else None


def _ids(content: Json) -> Iterable[int]:
    """The items that a content is, and that it stands for."""
    return chain((content["id"],), *map(span_from, content.get("stands_for", ())))


def _origin(content: Json, record: int, *, erased: bool) -> Origin:
    made = content.get("made", "")
    changed = "edited" if content.get("edited") else "moved"
    return Origin(
        content["id"],
        made or changed,
        record,
        content.get("region", ""),
        content.get("tokens", 0),
        content.get("by", ""),
        content.get("why", ""),
        content.get("handle", ""),
        tuple(map(span_from, content.get("stands_for", ()))),
        tuple(_facts(content.get("facts", ()))),
        erased,
    )


def _facts(told: Iterable[Any]) -> Iterable[tuple[str, str, str, tuple[int, ...]]]:
    for subject, key, by, source in told:
        yield subject, key, by, tuple(source)
