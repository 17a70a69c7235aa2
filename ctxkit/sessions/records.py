"""Records: what happened to a session, as bytes for its log, in a format with a version."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from ctxkit.archive import Handles, Kept
from ctxkit.core.edits import Failure
from ctxkit.core.items import Item
from ctxkit.core.state import State
from ctxkit.core.view import Past
from ctxkit.errors import SessionError
from ctxkit.history import ERASES, Step, StepKind
from ctxkit.sessions.changes import Json, change, changed, item_from, item_json, span_from
from ctxkit.sessions.halves import MOVED, moved_from

__all__ = [
    "DOES_NOT_FIT",
    "MALFORMED",
    "TAKES_OUT",
    "VERSION",
    "Record",
    "arrived_in",
    "arrived_json",
    "from_bytes",
    "kept_from",
    "kept_json",
    "legible",
    "past_from",
    "past_json",
    "record_bytes",
    "record_from",
    "to_bytes",
    "told_in",
]

VERSION = 1
"""Version of the format that is written. A log holds records of every version that its writers had."""

TAKES_OUT = ("pop", *ERASES)
"""Kinds of records that take something out for good."""

MALFORMED = (KeyError, ValueError, TypeError, IndexError, AttributeError, OverflowError, RecursionError)
"""What reading JSON raises that is not as it should be."""


@dataclass(frozen=True, slots=True)
class Record:
    """One entry of the log.

    Attributes:
        kind: what happened: the kind of its step; or "session" (it began), "draft", "discarded", "name", "fork" (with a step
            where something was erased), "child", "begun" (by a parent), "handoff"; "erased" for what was taken out.
        at: when, in seconds since 1970, by the clock of the writer.
        step: what it did to the conversation, None for nothing.
        data: what else is to be known of it, as JSON.
        gone: ids of items that it brought, and that were taken out of the log since.
    """

    kind: str
    at: float
    step: Step | None = None
    data: Json = field(default_factory=dict)
    gone: tuple[int, ...] = ()


def to_bytes(told: Any) -> bytes:
    """JSON as bytes from which the same JSON is read: key order, number types and lone surrogates stay."""
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


def from_bytes(body: bytes) -> Any:
    """The JSON that `to_bytes` wrote.

    Raises:
        ValueError: it is none.
        RecursionError: it has too many brackets in each other.
    """
    return _DECODER.decode(body.decode("utf-8", "surrogatepass"))


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number in JSON")


def _number(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


_DECODER = json.JSONDecoder(parse_float=_number, parse_constant=_no_number)
"""Reads what `to_bytes` can write: no number that is infinite, and none that is none."""


@contextmanager
def legible(session: str, position: int = 0, *, fault: str = "cannot be read") -> Iterator[None]:
    """What a log says is read in such a block: whatever is not as it should be there is a SessionError that says where.

    Args:
        position: of the record, 0 where that is not known.
        fault: what is wrong with it, then.
    """
    try:
        yield
    except MALFORMED as error:
        which = f"record {position}" if position else "a record"
        raise SessionError(
            f"{which} of session {session!r} {fault} ({_brief(error)}): it was damaged or altered; a backup or an "
            "export may have it whole",
            session=session,
        ) from error


ENCRYPTED = b"\x01"
"""What a record begins with that `EncryptedStore` wrote, and no JSON does."""


def told_in(body: bytes, *, session: str, position: int = 0) -> Json:
    """A record as the JSON of today's version: its kind and time are there, its step and data are objects.

    Args:
        position: of the record, 0 where that is not known.

    Raises:
        SessionError: it is no record, or was written by a newer version of ctxkit.
        SplitSessionError: it stands for one in another store.
    """
    if body == MOVED:
        raise moved_from(session, position)
    if body[:1] == ENCRYPTED:
        which = f"record {position}" if position else "a record"
        raise SessionError(
            f"{which} of session {session!r} cannot be read here: perhaps it is encrypted: open it through "
            "EncryptedStore with its keys (`ctxkit session --key-file`)",
            session=session,
        )
    with legible(session, position):
        told = from_bytes(body)
        version = told["v"]
        for number in range(version, VERSION):
            told = MIGRATIONS[number](told)
        if version <= VERSION:
            _check_frame(told)
    if version > VERSION:
        raise SessionError(
            f"session {session!r} was written by a newer version of ctxkit (records of version {version}, this one "
            f"reads up to {VERSION}): upgrade ctxkit-core",
            session=session,
        )
    return dict(told)


def _check_frame(told: Json) -> None:
    """Raises what reading JSON raises that is not as it should be."""
    if not isinstance(told["kind"], str) or isinstance(told["at"], bool) or not math.isfinite(told["at"]):
        raise TypeError
    if not all(isinstance(told.get(part, {}), dict) for part in ("data", "step")):
        raise TypeError


MIGRATIONS: dict[int, Callable[[Json], Json]] = {}
"""For each version before today's, what makes a record of the next version of one of its own."""

DOES_NOT_FIT = "does not fit what is before it"
"""What is wrong with a record that can be read, and not be followed."""


def record_bytes(record: Record, before: State) -> bytes:
    """A record as bytes; `before` is the conversation as its step found it."""
    told: Json = {"v": VERSION, "kind": record.kind, "at": record.at}
    if record.data:
        told["data"] = record.data
    if record.step is not None:
        told["step"] = _step_json(record.step, before)
    return to_bytes(told)


def record_from(body: bytes, before: State, *, session: str, position: int = 0) -> Record:
    """The record that `record_bytes` wrote.

    Args:
        position: of the record, 0 where that is not known.

    Raises:
        SessionError: it is no record of today's or an earlier version, or none that can follow `before`.
    """
    told = told_in(body, session=session, position=position)
    with legible(session, position, fault=DOES_NOT_FIT):
        steps = "step" in told or told["kind"] in TAKES_OUT
        step = _step_from(told["kind"], told["step"], before) if steps else None
        gone = tuple(each["id"] for each in arrived_json(told) if each.get("erased"))
        return Record(told["kind"], told["at"], step, told.get("data", {}), gone)


def _step_json(step: Step, before: State) -> Json:
    told: Json = {"change": change(_found(step.kind, before), step.state)}
    if step.arrived:
        there = {id(item) for item in step.state.items[-len(step.arrived) :]}
        told["arrived"] = [item.id if id(item) in there else item_json(item) for item in step.arrived]
    if step.kept:
        told["kept"] = kept_json(step.kept)
    if step.past is not None:
        told["past"] = past_json(step.past)
    told |= {name: value for name in ("popped", "sent") if (value := getattr(step, name)) is not None}
    if step.announced:
        told["announced"] = list(step.announced)
    return told


def _step_from(kind: str, told: Mapping[str, Any], before: State) -> Step:
    if kind not in get_args(StepKind):
        raise ValueError
    state = changed(_found(kind, before), told["change"])
    arrived = told.get("arrived", ())
    if kind not in ERASES and state.next_id != before.next_id + len(arrived):
        raise ValueError
    new = {item.id: item for item in state.items[-len(arrived) :]} if arrived else {}
    return Step(
        cast(StepKind, kind),
        state,
        arrived=tuple(new[each] if isinstance(each, int) else item_from(each) for each in arrived),
        kept=kept_from(told.get("kept", ())),
        past=past_from(told["past"]) if "past" in told else None,
        popped=told.get("popped"),
        sent=told.get("sent"),
        announced=tuple(told.get("announced", ())),
    )


def _found(kind: str, before: State) -> State:
    """What a step is told against: one that erases what was before must be read without it."""
    return State() if kind in ERASES else before


def arrived_in(told: Mapping[str, Any]) -> list[Item]:
    """The items that a record says to have arrived, read without what is before it."""
    return [item_from(each) for each in arrived_json(told)]


def arrived_json(told: Mapping[str, Any]) -> Iterator[Json]:
    """The same as JSON."""
    step = told.get("step", {})
    written = {each["id"]: each for each in step.get("change", {}).get("items", ()) if isinstance(each, dict)}
    for each in step.get("arrived", ()):
        yield written[each] if isinstance(each, int) else each


def kept_json(kept: Handles) -> list[Any]:
    """What handles stand for, as JSON."""
    return [[handle, [[span.start, span.stop] for span in each.ids], *_told(each)] for handle, each in kept]


def _told(kept: Kept) -> tuple[str | int, ...]:
    return (kept.fate, kept.by, kept.why, kept.turn) if kept.fate else ()


def kept_from(told: Any) -> Handles:
    """The handles that `kept_json` wrote."""
    return tuple((handle, Kept(tuple(map(span_from, spans)), *texts)) for handle, spans, *texts in told)


def past_json(past: Past) -> Json:
    """A compaction in figures, as JSON."""
    failures = [[each.by, each.why, each.request, each.note] for each in past.failures]
    return {**{name: getattr(past, name) for name in _PAST}, "failures": failures}


def past_from(told: Mapping[str, Any]) -> Past:
    """The figures that `past_json` wrote."""
    failures = tuple(Failure(*each) for each in told["failures"])
    return Past(**{**told, "failures": failures})


_PAST = ("number", "tokens_before", "tokens_after", "turn")


def _brief(error: Exception) -> str:
    """What was wrong, without what the record says."""
    return type(error).__name__
