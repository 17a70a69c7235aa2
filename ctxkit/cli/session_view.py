"""Sessions for people: bars, lists, and reasons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby

from ctxkit.cli.render import Style, bars, plain, ranges
from ctxkit.cli.session_store import said
from ctxkit.sessions.children import Child
from ctxkit.sessions.comparing import Difference
from ctxkit.sessions.sent import Origin, RequestInfo, Sent
from ctxkit.sessions.session import Session
from ctxkit.sessions.store import SessionInfo
from ctxkit.sessions.whereabouts import Whereabouts, said_in

__all__ = ["FEW", "difference_lines", "found_lines", "ls_lines", "request_lines", "session_lines"]

FEW = 8
"""Facts and requests that are listed when not all are asked for."""

SAID = 100
"""Characters of what a message or a fact says."""

WORDS = {
    "edited": "shortened",
    "moved": "late result",
    "gap": "stand-in",
    "ledger": "facts of tools",
    "note": "new facts",
    "pending": "no result yet",
}
"""What kinds of entries are called."""


def ls_lines(sessions: Sequence[SessionInfo], parts: Mapping[str, str]) -> Iterator[str]:
    """One line a session; of those in `parts` it is that part."""
    width = max((len(each.id) for each in sessions), default=0)
    for each in sessions:
        part = f"  {parts[each.id]}" if each.id in parts else ""
        yield f"{plain(each.id):{width}}  {each.position:>9,} records  {_size(each.size):>9}  {_time(each.touched)}{part}"


def session_lines(
    session: Session,
    info: SessionInfo | None,
    requests: Sequence[RequestInfo],
    everything: bool,
    style: Style,
) -> Iterator[str]:
    """What a session holds now."""
    size = f", {_size(info.size)}, last written {_time(info.touched)}" if info is not None else ""
    yield f"{style.bold(plain(session.id))}  {session.preparation.provider.name}, {session.position:,} records{size}"
    regions = {name: tokens for name, tokens in session.regions.items() if tokens}
    yield f"  next   {sum(regions.values()):,} tokens in {len(session.messages):,} messages, before any compaction"
    yield from bars(regions, style)
    facts = [f"{said(fact.line)} {style.dim(f'({fact.by})')}" for fact in session.facts]
    yield from _listed("facts", facts, everything)
    yield from _listed("names", [f"{plain(name)} at {at}" for name, at in session.names.items()], everything)
    drafts = [f"{plain(each.id)}, {len(each.entries)} messages" for each in session.undelivered()]
    yield from _listed("drafts", drafts, everything)
    calls = [plain(f"{each.call.name} {each.call.id or ''}") for each in session.open_calls()]
    yield from _listed("open calls", calls, everything)
    yield from _listed("children", map(_child, session.children), everything)
    yield from _listed("requests", [_request(each) for each in requests], everything)


def _listed(name: str, given: Iterable[str], everything: bool) -> Iterator[str]:
    """A list with its count, the newest of them when there are many."""
    lines = [*given]
    if not lines:
        return
    shown = lines if everything else lines[-FEW:]
    more = f", the last {FEW} of them (--all)" if len(shown) < len(lines) else ""
    yield f"  {name}  {len(lines):,}{more}"
    yield from (f"    {plain(line, SAID * 2)}" for line in shown)


def _child(child: Child) -> str:
    purpose = f", {said(child.purpose)}" if child.purpose else ""
    return f"{child.id}{purpose}, {'returned' if child.returned else 'not returned yet'}"


def _request(info: RequestInfo) -> str:
    held = f"{info.tokens:,} tokens; {info.trigger}" if info.recorded else "not recorded"
    return f"{info.position:>7}  {_time(info.at)}  {held}"


def request_lines(session: Session, sent: Sent, everything: bool, style: Style) -> Iterator[str]:
    """One request as it went out, with the beginning of what each entry says."""
    tokens = sum(sent.tokens.values())
    yield f"{style.bold(f'request at position {sent.position}')}  {_time(sent.at)}, {tokens:,} tokens in {len(sent.messages):,} messages"
    yield f"  why    {plain(sent.trigger)}"
    yield from bars(sent.tokens, style)
    yield f"  seal   {_seal(sent, style)}"
    yield from (style.bad(f"  failed {plain(by)}: {plain(why)}") for by, why in sent.failures)
    runs = list(_runs(sent.entries))
    rows = [_row(place, run) for place, run in runs]
    widths = [max((len(row[at]) for row in rows), default=0) for at in range(4)]
    for row, (place, run) in zip(rows, runs, strict=True):
        cells = "  ".join(f"{cell:{width}}" for cell, width in zip(row[:4], widths, strict=True))
        yield f"  {cells}  {style.dim(row[4])}".rstrip()
        yield from _texts(session, sent, range(place, place + len(run)), everything)


def _texts(session: Session, sent: Sent, places: range, everything: bool) -> Iterator[str]:
    """What the entries at these places say; of many the newest."""
    meter = session.preparation.history.setting.meter
    shown = places if everything else places[-FEW:]
    if len(shown) < len(places):
        yield f"      the last {FEW} of {len(places):,} (--all)"
    for place in shown:
        entry = sent.messages[place]
        role = meter.read(entry)[0].role.value
        yield f"      {place}  {role}: {plain(said(said_in(entry, meter)), SAID)}"


def _seal(sent: Sent, style: Style) -> str:
    if sent.sealed:
        return style.good("it is as it was sent, byte for byte")
    gone = f", {len(sent.erased)} messages of it" if sent.erased else ""
    return f"taken off when something was erased{gone}"


def _runs(entries: Iterable[Origin]) -> Iterator[tuple[int, list[Origin]]]:
    """Entries with their places; messages that follow each other as they arrived, and alike stand-ins, together."""
    place = 0
    for _, run in groupby(entries, key=lambda each: (each.kind, each.by, each.why, each.erased)):
        held = list(run)
        yield place, held
        place += len(held)


def _row(place: int, run: Sequence[Origin]) -> tuple[str, str, str, str, str]:
    first = run[0]
    places = f"{place}..{place + len(run) - 1}" if len(run) > 1 else str(place)
    what = "erased" if first.erased else WORDS.get(first.kind, first.kind)
    ids = [
        id
        for each in run
        for id in ([each.id] if each.id >= 0 else (i for span in each.stands_for for i in span))
    ]
    of = f"messages[{ranges(sorted(ids))}]" if ids else f"{sum(len(each.facts) for each in run)} facts"
    return places, what, of, f"{sum(each.tokens for each in run):,}", _why(run)


def _why(run: Sequence[Origin]) -> str:
    first = run[0]
    by = f"{first.by}: {first.why}" if first.by else first.why
    handles = " ".join(dict.fromkeys(each.handle for each in run[:3] if each.handle))
    records = sorted(each.record for each in run)
    one = records[0] == records[-1]
    at = f"record {records[0]}" if one else f"records {records[0]} to {records[-1]}"
    return plain("  ".join(each for each in (by, handles, at) if each))


def difference_lines(earlier: Sent, later: Sent, found: Sequence[Difference], style: Style) -> Iterator[str]:
    """What changed, told together where the same is to be said."""
    one, two = sum(earlier.tokens.values()), sum(later.tokens.values())
    head = f"request {earlier.position} to {later.position}"
    yield f"{style.bold(head)}  {one:,} -> {two:,} tokens, {len(earlier.messages):,} -> {len(later.messages):,} messages"
    groups: dict[tuple[str, str, str, str], list[Difference]] = {}
    for each in (each for each in found if each.kind != "fact"):
        groups.setdefault((each.what, each.kind, each.by, each.why), []).append(each)
    for (what, kind, by, why), group in groups.items():
        reason = ": ".join(each for each in (by, why) if each)
        yield f"  {what:9}  {_what(kind, group)}  {_change(group)}  {style.dim(plain(reason))}".rstrip()
    for each in (each for each in found if each.kind == "fact"):
        reason = ": ".join(part for part in (each.by, said(each.why)) if part)
        yield f"  {each.what:9}  fact {plain(said(each.says), SAID)}  {style.dim(plain(reason))}"
    if not found:
        yield "  nothing changed"


def _what(kind: str, group: Sequence[Difference]) -> str:
    ids = sorted({each.id for each in group if each.id >= 0})
    name = WORDS.get(kind, kind)
    if not ids:
        return name if len(group) == 1 else f"{name} ×{len(group)}"
    return f"{'' if kind == 'message' else f'{name} '}messages[{ranges(ids)}]"


def _change(group: Sequence[Difference]) -> str:
    before, after = sum(each.tokens_before for each in group), sum(each.tokens_after for each in group)
    return f"{before:,} -> {after:,} tokens" if before and after else f"{before or after:,} tokens"


def found_lines(found: Sequence[Whereabouts], everything: bool, style: Style) -> Iterator[str]:
    """Where each of them is, and why; of many messages the newest, and of many facts."""
    for what in ("message", "fact"):
        alike = [each for each in found if each.what == what]
        shown = alike if everything else alike[-FEW:]
        if len(shown) < len(alike):
            yield f"the last {FEW} of {len(alike):,} {what}s that say it (--all)"
        yield from _found(shown, style)


def _found(found: Sequence[Whereabouts], style: Style) -> Iterator[str]:
    for each in found:
        name = f"messages[{each.name}]" if each.what == "message" else f"fact {said(each.name)}"
        at = f", record {each.record}" if each.record else ""
        yield f"{style.bold(plain(name))}  {each.fate}{at}"
        if each.says:
            yield style.dim(f"  says   {plain(said(each.says), SAID)}")
        reason = ": ".join(part for part in (each.by, said(each.why)) if part)
        yield f"  why    {plain(reason)}"
        if each.into:
            yield f"  now    a {WORDS.get(each.into, each.into)} stands for it in the next request"
        if each.handle:
            yield f"  whole  {plain(each.handle)}"


def _time(at: float) -> str:
    """A time in UTC, as the number that it is when no calendar has it."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return f"{at!r}"


def _size(size: int) -> str:
    return f"{size / 1_000:,.1f} kB"
