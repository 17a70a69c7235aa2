"""`ctxkit session export`, `import`, `move`, `rm`, `gc` and `verify`: moving, tidying and checking."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import copyfileobj
from typing import BinaryIO, cast

from ctxkit.cli.inputs import opened
from ctxkit.cli.outputs import say, warn, written
from ctxkit.cli.render import Style, plain
from ctxkit.cli.session_ask import Actions, add_id
from ctxkit.cli.session_store import ARCHIVE, ARCHIVED_PART, TOLD, absent_archive, part_of, tell_part
from ctxkit.errors import ConfigError, ConversationError, SessionError, StoreError
from ctxkit.sessions.families import family_of
from ctxkit.sessions.halves import check_whole
from ctxkit.sessions.retention import Retention, delete, idle, sweep
from ctxkit.sessions.store import Store
from ctxkit.sessions.stored import stored
from ctxkit.sessions.stores.tiered import TieredStore
from ctxkit.sessions.transfer import Transferred, export_log, import_log
from ctxkit.sessions.verifying import Verified, verify

__all__ = ["ACTIONS"]

NAMED = 5
"""Sessions that a question names, of many."""

IN_MEMORY = 32_000_000
"""Bytes from stdin that are held in memory; more go to a file that has no name."""


def _export_options(parser: argparse.ArgumentParser) -> None:
    add_id(parser)
    parser.add_argument(
        "-o", "--output", metavar="OUT", default="-", help="the file; .gz packs it; - is stdout (the default)"
    )


def _import_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="IN", help="a file that `export` wrote, .gz too; - is stdin")
    parser.add_argument("--as", dest="new_id", metavar="ID", default="", help="another id for the session")


def _rm_options(parser: argparse.ArgumentParser) -> None:
    add_id(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _ids_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "ids", metavar="ID", nargs="*", help="the sessions; all of the store when none is named"
    )


def _gc_options(parser: argparse.ArgumentParser) -> None:
    _ids_options(parser)
    parser.add_argument(
        "--days",
        type=float,
        metavar="N",
        help="leave only the facts of sessions that nobody wrote to for N days, with those under them",
    )
    parser.add_argument("--yes", action="store_true", help="do not ask, with --days")


def _move_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--minutes",
        type=float,
        metavar="N",
        help="those that nobody wrote to for N minutes (30); 0 is all of them",
    )


async def _export(store: Store, args: argparse.Namespace) -> int:
    await tell_part(store, args.id)
    with written(args.output) as file:
        done = await export_log(store, args.id, file)
    if args.output != "-":
        say(_transferred(done, f"written to {plain(args.output)}"))
    return 0


async def _import(store: Store, args: argparse.Namespace) -> int:
    with _seekable(args.input) as file:
        done = await import_log(store, file, session=args.new_id)
    say(_transferred(done, "read"))
    return 0


async def _move(store: Store, args: argparse.Namespace) -> int:
    if not isinstance(store, TieredStore):
        raise ConfigError(f"--archive is missing; it may be in ${ARCHIVE}")
    if not args.minutes >= 0:
        raise ConfigError(f"--minutes takes a number, 0 or more, not {args.minutes}")
    absent = absent_archive(args)
    try:
        moved = await store.move_idle()
    finally:
        if absent is not None and absent.exists():
            warn(f"there was no file {plain(absent, 2_000)}: the archive was begun there")
    for id in moved:
        say(f"{plain(id)}: moved to the archive")
    if not moved:
        say(f"nothing was moved: {_nothing(args.minutes)} is in the archive, or another process is moving it")
        if absent is not None and not absent.exists():
            warn(f"there is no file {plain(absent, 2_000)}; what is moved first makes it")
    return 0


def _nothing(minutes: float) -> str:
    """What was to be moved."""
    return f"all that nobody wrote to for {minutes:g} minutes" if minutes else "all there is"


def _transferred(done: Transferred, what: str) -> str:
    return f"{plain(done.session)}: {done.records:,} records {what}, the last hash is {done.chain}"


@contextmanager
def _seekable(source: str) -> Iterator[BinaryIO]:
    """A file that can be read twice; stdin is put aside for that."""
    with opened(source) as stream:
        if stream.seekable():
            yield stream
            return
        with tempfile.SpooledTemporaryFile(IN_MEMORY) as aside:
            copyfileobj(stream, aside)
            aside.seek(0)
            yield cast(BinaryIO, aside)


async def _rm(store: Store, args: argparse.Namespace) -> int:
    records = await _records(store, args.id)
    await check_whole(store, args.id)
    family = await family_of(store, args.id)
    under = len(family.ids) - 1
    what = f"{plain(args.id)}, {records}" + (f", and {under} under it" if under else "")
    for id, why in family.unread.items():
        warn(f"{plain(id)}: what is under it is not known, and stays: {plain(why, 2_000)}")
    if not args.yes and not _agreed(f"delete {what}, for good? [y/N] ", "deletes"):
        say("nothing was deleted")
        return 0
    await delete(store, args.id)
    say(f"deleted: {what}")
    return 0


async def _records(store: Store, id: str) -> str:
    """How many there are of a session, as far as its store can tell."""
    try:
        info = await store.info(id)
    except StoreError:
        raise
    except SessionError:
        return "records that cannot be read"
    if info is None:
        raise ConversationError(f"there is no session {id!r}")
    return f"{info.position:,} records"


def _agreed(question: str, does: str) -> bool:
    if not sys.stdin.isatty():
        raise ConfigError(f"nobody is there to ask; --yes {does} without asking")
    return input(question).strip().lower() in ("y", "yes")


async def _gc(store: Store, args: argparse.Namespace) -> int:
    if args.days is not None and args.ids:
        raise ConfigError("--days goes over all sessions of the store; name none")
    retention = None if args.days is None else Retention(days=args.days)
    if retention is not None and not args.yes and not await _may_sweep(store, retention):
        say("nothing was taken out")
        return 0
    failed: dict[str, str] = {}
    for id in await _ids(store, args):
        try:
            await _finished(store, id)
        except StoreError:
            raise
        except SessionError as error:
            failed[id] = str(error)
    if retention is not None:
        done = await sweep(store, retention)
        failed |= done.failed
        for id in done.retained:
            say(f"{plain(id)}: only its facts in force are left")
    for id, why in failed.items():
        warn(f"{plain(id)}: {plain(why, 2_000)}")
    return 3 if failed else 0


async def _may_sweep(store: Store, retention: Retention) -> bool:
    """Whether everything but facts may go, where there is something that would."""
    old = await idle(store, retention)
    named = ", ".join(map(plain, old[:NAMED])) + (", ..." if len(old) > NAMED else "")
    what = f"{len(old):,} sessions ({named})" if len(old) > 1 else f"session {named}"
    return not old or _agreed(f"take all but the facts out of {what}, for good? [y/N] ", "takes it out")


async def _finished(store: Store, id: str) -> None:
    left = await (await stored(store, id)).finish_erasures()
    if left.before:
        say(f"{plain(id)}: what was before position {left.before} is erased now")
    for item in sorted(left.ids):
        say(f"{plain(id)}: messages[{item}] is erased now")
    if left.checkpoint:
        say(f"{plain(id)}: a checkpoint of before is dropped now")


async def _verify(store: Store, args: argparse.Namespace) -> int:
    found = 0
    style = Style.of(sys.stdout)
    for id in await _ids(store, args):
        done = await verify(store, id)
        found += bool(done.findings)
        part = f"; {TOLD[ARCHIVED_PART]}" if await part_of(store, id) == ARCHIVED_PART else ""
        say(f"{style.bold(plain(id))}  {_verdict(done, style)}{part}")
        for each in done.findings:
            at = f"position {each.position}: " if each.position else ""
            warn(f"{plain(id)}: {at}{plain(each.message, 2_000)}")
    return 1 if found else 0


def _verdict(done: Verified, style: Style) -> str:
    checkpoint = f", the checkpoint at {done.checkpoint}" if done.checkpoint else ""
    looked = (
        f"{done.records:,} records, {done.sealed:,} of {done.requests:,} requests by their seals{checkpoint}"
    )
    return (
        f"{style.bad(f'{len(done.findings)} wrong') if done.findings else style.good('all right')}: {looked}"
    )


async def _ids(store: Store, args: argparse.Namespace) -> list[str]:
    return args.ids or [each.id for each in await store.sessions()]


ACTIONS: Actions = {
    "export": (_export, _export_options, "write the log of a session to a file, byte for byte"),
    "import": (_import, _import_options, "read such a file into a store"),
    "move": (_move, _move_options, "move sessions that nobody writes to from the store to its archive"),
    "rm": (_rm, _rm_options, "delete a session, and those under it"),
    "gc": (_gc, _gc_options, "finish erasures that were interrupted, and drop what is too old"),
    "verify": (_verify, _ids_options, "read every record, check every seal, compare with the checkpoint"),
}
