"""Snapshots: each request put on record as it goes out, by what it refers to, not as a copy of the conversation."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ctxkit.core.edits import Failure
from ctxkit.core.facts import Fact, active_facts
from ctxkit.core.items import Item
from ctxkit.core.profile import TELLING
from ctxkit.core.provider import Entry
from ctxkit.core.state import State, wire
from ctxkit.explain import fates_of
from ctxkit.preparation import Done
from ctxkit.sessions.changes import Json
from ctxkit.sessions.log import Log
from ctxkit.sessions.outgoing import ASIDE, FRESH, Beside, Going, Outgoing, Ready
from ctxkit.sessions.records import Record, to_bytes
from ctxkit.sessions.shown import Ref, Shown, key_of, runs

__all__ = ["Snapshots", "digest_of", "seal", "seal_of"]

LEAST_GAIN = 2
"""A request is written as a difference when that has at most this fraction (1/n) of the runs that it has in full."""


PENDING = "pending"
"""What an entry is made as that ctxkit writes for one request alone: the result of a call that none has come for."""


def digest_of(value: Any) -> bytes:
    """SHA-256 of a value's JSON: compact, keys in their order, UTF-8."""
    return hashlib.sha256(to_bytes(value)).digest()


def seal_of(digests: Iterable[bytes], system: Any, tools: Any) -> str:
    """The seal of a request whose messages have these digests."""
    whole = hashlib.sha256()
    for each in (*digests, digest_of(system), digest_of(tools)):
        whole.update(each)
    return whole.hexdigest()


def seal(messages: Iterable[Entry], *, system: Any = None, tools: Any = None) -> str:
    """What a request is sealed with: SHA-256, in hex, of the SHA-256 of each message, of the system text and of the tools.

    A digest of digests, so that what stays from request to request is not read again.
    """
    return seal_of(map(digest_of, messages), system, tools)


@dataclass(frozen=True, slots=True)
class _Known:
    """What was worked out of an entry: its digest, and what names it.

    Attributes:
        original: the id of the item that it is the original of, None for anything else.
        key, content: what tells anything else from others, and how it is put on record.
    """

    raw: Any
    digest: bytes
    original: int | None = None
    key: str = ""
    content: Json = field(default_factory=dict)


class _Named:
    """Names what is no original: by where an earlier request has it, else by its place among what is new."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown.contents
        self._places: dict[str, int] = {}
        self.new: dict[str, Json] = {}

    def ref(self, key: str, content: Json) -> Ref:
        if key in self._shown:
            position, place = self._shown[key]
            return position, place
        if key not in self.new:
            self.new[key] = dict(content)
        return 0, self._places.setdefault(key, len(self._places))


class Snapshots:
    """Makes the records of one worker's requests.

    Args:
        log: the log of the session.
        wanted: whether they say what a request held, or only that there was one.
    """

    def __init__(self, log: Log, *, wanted: bool) -> None:
        self._log = log
        self._history = log.history
        self.wanted = wanted
        self._known: dict[int, _Known] = {}

    def record(self, ready: Ready, at: float, outgoing: Outgoing | None = None) -> Record:
        """The record of a request that is made from a conversation.

        When something was erased while it was made, it is not said what the request held: that might bring it back.

        Args:
            outgoing: what it holds, where that is not what the conversation does.

        Raises:
            NotLoaded: originals have to be read first.
        """
        state = ready.done.view.state
        step, data = self._history.sending(state), _told(ready.done, ready.wrong, outgoing)
        is_whole = ready.erased_at == self._log.book.erased_at
        if self.wanted and is_whole:
            data |= self._held(state, outgoing)
        if outgoing is not None and is_whole:
            step = replace(step, kept=outgoing.kept)
        return Record("request", at, step, data if self.wanted else {})

    def _held(self, state: State, outgoing: Outgoing | None) -> Json:
        """What a request holds: its entries, what goes along with them, its seal."""
        known, named = self._look_at(self._going(state, outgoing)), _Named(self._log.book.shown)
        system, tools = (state.system, state.tools) if outgoing is None else (outgoing.system, outgoing.tools)
        refs = [
            named.ref(each.key, each.content) if each.original is None else each.original for each in known
        ]
        data = _against(refs, self._log.book.shown)
        for part, value in (("system", system), ("tools", tools)):
            if value is not None:
                content = {"part": part, "raw": value}
                (data[part],) = runs([named.ref(key_of(content), content)])
        if named.new:
            data["new"] = self._explained(list(named.new.values()), state)
        return {**data, "seal": seal_of((each.digest for each in known), system, tools)}

    def _going(self, state: State, outgoing: Outgoing | None) -> Iterable[Going]:
        """Each entry that goes out, in wire order."""
        if outgoing is not None:
            return outgoing.entries
        entries, ids = wire(state, self._history.setting.meter.provider)
        items = {item.id: item for item in state.items}
        return zip(entries, ids, map(items.get, ids), strict=True)

    def _look_at(self, going: Iterable[Going]) -> list[_Known]:
        """What is known of each entry in wire order; what is not in this request is forgotten."""
        before, known = self._known, []
        for raw, number, item in going:
            seen = before.get(id(raw))
            known.append(seen if seen is not None and seen.raw is raw else self._looked(raw, number, item))
        self._known = {id(each.raw): each for each in known}
        return known

    def _looked(self, raw: Entry, number: int, item: Item | Beside | None) -> _Known:
        """An entry that goes out as `item`, or that ctxkit wrote for this request alone in the place of it."""
        if isinstance(item, Item) and item.marks_gap:
            item = replace(item, raw=raw)
        if isinstance(item, Beside):
            # no later request refers to it: what it holds may have to be erased alone
            return _Known(raw, digest_of(raw), None, f"{item.made} {id(raw)}", _content(item))
        if item is None or item.raw is not raw:
            content = {"id": number, "made": PENDING, "raw": raw}
        elif self._is_original(item):
            return _Known(raw, digest_of(raw), number)
        else:
            content = _content(item)
        return _Known(raw, digest_of(raw), None, key_of(content), content)

    def _is_original(self, item: Item) -> bool:
        if item.synthetic or item.edited:
            return False
        original = self._history.archive.original(item.id)
        return original is item.raw or to_bytes(original) == to_bytes(item.raw)

    def _explained(self, contents: list[Json], state: State) -> list[Json]:
        """Contents that no request held before, with why they are as they are, and which facts they tell."""
        named = [[each.get("id", -1), *(span[0] for span in each.get("stands_for", ()))] for each in contents]
        last = fates_of(self._history.archive, (id for ids in named for id in ids if id >= 0))
        for each, ids in zip(contents, named, strict=True):
            made = each.get("made", "")
            found = next((last[id] for id in ids if id in last), None)
            if found is not None and made not in (PENDING, FRESH, ASIDE):
                handle, kept = found
                each |= {"handle": handle, "by": kept.by, "why": kept.why}
            if made in TELLING:
                told = self._told_in(each["raw"], made, state)
                each["facts"] = [[fact.subject, fact.key, fact.by, list(fact.source)] for fact in told]
        return contents

    def _told_in(self, raw: Entry, made: str, state: State) -> list[Fact]:
        """The facts in force that an entry tells: a note word for word, what stands in front all that no note tells."""
        facts = active_facts(state.facts).values()
        if made == "note":
            text = self._text(raw)
            return [fact for fact in facts if fact.line in text]
        noted = "\n".join(self._text(item.raw) for item in state.items if item.made == "note")
        read = made == "ledger"
        return [fact for fact in facts if (fact.said_by == "tool") == read and fact.line not in noted]

    def _text(self, raw: Entry) -> str:
        return "\n".join(part.text for part in self._history.setting.meter.read(raw)[1])


def _content(item: Item | Beside) -> Json:
    told = {name: getattr(item, name) for name in ("id", "made", "edited", "raw", "region", "tokens")}
    told["key"] = item.key if isinstance(item, Beside) else ""
    told["stands_for"] = [[span.start, span.stop] for span in item.stands_for]
    return {name: value for name, value in told.items() if value not in ("", [])}


def _against(refs: list[Ref], shown: Shown) -> Json:
    """References as they are written: how they differ from the last request that was written in full, or in full."""
    full = runs(refs)
    if not shown.base:
        return {"entries": full}
    before = shown.refs()
    shortest = min(len(refs), len(before))
    same = next((at for at in range(shortest) if refs[at] != before[at]), shortest)
    rest = runs(refs[same:])
    if len(rest) * LEAST_GAIN > len(full):
        return {"entries": full}
    return {"base": shown.base, "same": same, "entries": rest}


def _told(done: Done, wrong: Iterable[Failure], outgoing: Outgoing | None) -> Json:
    """Why the request is as it is, and how large."""
    failures = (*done.failures, *wrong)
    sizes = done.view.regions if outgoing is None else outgoing.tokens
    told: Json = {
        "tokens": {region: tokens for region, tokens in sizes.items() if tokens},
        "trigger": done.trigger,
    }
    if failures:
        told["failures"] = [[each.by, each.why] for each in failures]
    return told
