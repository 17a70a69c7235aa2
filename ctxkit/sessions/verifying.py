"""Verifying: does a log say what it said when it was written, from its start as from its checkpoint?"""

from __future__ import annotations

from dataclasses import dataclass

from ctxkit.errors import SessionError, SplitSessionError, StoreError
from ctxkit.sessions.erasing import unfinished_erasures
from ctxkit.sessions.log import Log
from ctxkit.sessions.paging import bodies
from ctxkit.sessions.records import told_in
from ctxkit.sessions.sent import request_at, requests_of
from ctxkit.sessions.store import Store
from ctxkit.sessions.stored import log_of

__all__ = ["Finding", "Verified", "verify"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong: at which position (0 for the session as a whole), and what."""

    position: int
    message: str


@dataclass(frozen=True, slots=True)
class Verified:
    """What was looked at, and what is wrong.

    Attributes:
        records, requests: how many were read.
        sealed: requests that match their seals; those without a seal had something erased, or are not recorded.
        checkpoint: position of the checkpoint that was compared, 0 for none.
    """

    records: int
    requests: int
    sealed: int
    checkpoint: int
    findings: tuple[Finding, ...]


async def verify(store: Store, session: str) -> Verified:
    """Read every record, fold them from the start and from the newest checkpoint, check every seal.

    A checkpoint that is wrong is dropped: the log has it all, and the next one is made from it.

    Raises:
        ConversationError: there is no such session.
        StoreError: the store cannot be reached.
    """
    try:
        records, findings = await _read(store, session)
    except SplitSessionError as error:
        return Verified(0, 0, 0, 0, (Finding(0, str(error)),))
    requests = sealed = checkpoint = 0
    try:
        if not findings:
            log = await log_of(store, session)
            findings += await _folded(log)
        if not findings:
            checkpoint, findings = await _checkpoint(log)
            findings += await _erasures(log)
            requests, sealed, broken = await _seals(log)
            findings += broken
    except StoreError:
        raise
    except SessionError as error:
        findings.append(Finding(0, str(error)))
    return Verified(records, requests, sealed, checkpoint, tuple(findings))


async def _read(store: Store, session: str) -> tuple[int, list[Finding]]:
    """Every record by itself, and what the store says of all."""
    count = size = 0
    findings = []
    try:
        async for position, body in bodies(store, session):
            count, size = position, size + len(body)
            findings += _legible(session, position, body)
        info = await store.info(session)
    except (StoreError, SplitSessionError):
        raise
    except SessionError:  # one that the store does not give out: it was damaged there, or has another key
        return await _one_by_one(store, session)
    if count > 1 and len(findings) == count:
        return count, [_none_legible(findings)]
    if info is not None and (info.position != count or info.size < size):
        told = f"the store says {info.position} records of {info.size} bytes, and has {count} of {size}"
        findings.append(Finding(0, told))
    return count, findings


async def _one_by_one(store: Store, session: str) -> tuple[int, list[Finding]]:
    """Every record by itself, in a log that cannot be read as a whole."""
    findings: list[Finding] = []
    try:
        info = await store.info(session)
    except StoreError:
        raise
    except SessionError as error:
        return 0, [Finding(0, str(error))]
    last = info.position if info else 0
    for position in range(1, last + 1):
        try:
            held = await store.read(session, after=position - 1, upto=position)
        except StoreError:
            raise
        except SessionError as error:
            findings.append(Finding(position, str(error)))
        else:
            findings += _legible(session, position, held[0])
    return last, [_none_legible(findings)] if last > 1 and len(findings) == last else findings


def _none_legible(findings: list[Finding]) -> Finding:
    """What is said once when the same is wrong with every record: the key, most often."""
    return Finding(0, f"none of its {len(findings):,} records can be read; {findings[0].message}")


def _legible(session: str, position: int, body: bytes) -> list[Finding]:
    try:
        told_in(body, session=session, position=position)
    except SplitSessionError:
        raise
    except SessionError as error:
        return [Finding(position, str(error))]
    return []


async def _folded(log: Log) -> list[Finding]:
    """The log from its start."""
    try:
        await log.refresh()
    except StoreError:
        raise
    except SessionError as error:
        return [Finding(log.position + 1, str(error))]
    return []


async def _checkpoint(log: Log) -> tuple[int, list[Finding]]:
    """The log from its newest checkpoint, compared with the log from its start."""
    position, other = 0, await log_of(log.store, log.id)
    try:
        kept = await log.store.checkpoint(log.id)
        if kept is None:
            return 0, []
        position, _ = kept
        await other.open(upto=log.position, strict=True)
        wrong = _difference(log, other)
    except StoreError:
        raise
    except SessionError as error:
        wrong = str(error)
    if not wrong:
        return position, []
    await log.store.rewrite(log.id, {})
    return position, [Finding(position, f"the checkpoint was wrong, and is dropped: {wrong}")]


def _difference(log: Log, other: Log) -> str:
    """In what two readings of a log differ, "" when they do not."""
    one, two = _facets(log), _facets(other)
    names = [name for name, value in one.items() if value != two[name]]
    return f"{', '.join(names)} read from it differ from the log" if names else ""


def _facets(log: Log) -> dict[str, object]:
    history = log.history
    archive = history.archive
    return {
        "the conversation": history.state,
        "what can be undone": (list(history.undoable), list(history.redoable)),
        "names, drafts and calls": log.book,
        "handles": archive.kept,
        "past compactions": list(archive.past),
        "erasures": (archive.erased, archive.erased_to),
        "what was sent": history.first_unsent,
    }


async def _seals(log: Log) -> tuple[int, int, list[Finding]]:
    """How many requests there are, how many of them match their seals, and what is wrong with others."""
    known = await requests_of(log)
    sealed, findings = 0, []
    for each in known:
        try:
            sealed += each.recorded and (await request_at(log, each.position)).sealed
        except StoreError:
            raise
        except SessionError as error:
            findings.append(Finding(each.position, str(error)))
    return len(known), sealed, findings


async def _erasures(log: Log) -> list[Finding]:
    left = await unfinished_erasures(log)
    findings = []
    if left.before:
        told = "what is before it was to be erased and is still there; `ctxkit session gc` finishes that"
        findings.append(Finding(left.before, told))
    if left.checkpoint:
        told = "a checkpoint is older than what was taken out since; `ctxkit session gc` drops it"
        findings.append(Finding(left.checkpoint, told))
    for id in sorted(left.ids):
        told = f"messages[{id}] was taken back and is still there; `ctxkit session gc` finishes that"
        findings.append(Finding(log.book.position_of(id), told))
    return findings
