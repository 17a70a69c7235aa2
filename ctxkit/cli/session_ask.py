"""`ctxkit session ls`, `show`, `diff` and `why`: nothing is changed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from ctxkit.cli.outputs import json_line, say, warn
from ctxkit.cli.render import Style
from ctxkit.cli.session_store import TOLD, WHOLE, part_of, tell_part
from ctxkit.cli.session_view import (
    FEW,
    difference_lines,
    found_lines,
    ls_lines,
    request_lines,
    session_lines,
)
from ctxkit.errors import ConfigError, ConversationError, UnknownHandleError
from ctxkit.sessions.session import Session
from ctxkit.sessions.store import Store
from ctxkit.sessions.stored import stored

__all__ = ["ACTIONS", "Actions", "add_id"]

PREFIX = "ctx:"
"""What every handle begins with."""

Options = Callable[[argparse.ArgumentParser], None]
Actions = dict[str, tuple[Callable[[Store, argparse.Namespace], Awaitable[int]], Options, str]]


def add_id(parser: argparse.ArgumentParser) -> None:
    """Which session."""
    parser.add_argument("id", metavar="ID", help="the session")


def _no_options(parser: argparse.ArgumentParser) -> None:
    """`ls` has none of its own."""


def _show_options(parser: argparse.ArgumentParser) -> None:
    add_id(parser)
    parser.add_argument(
        "--request", type=int, metavar="P", help="the request whose record is at position P, as it went out"
    )
    parser.add_argument(
        "--json", action="store_true", help="what that request sent, as JSON; the last one without --request"
    )
    parser.add_argument(
        "--handle",
        metavar="H",
        help="the original messages behind a handle, one JSON object a line; its beginning is enough",
    )
    parser.add_argument(
        "--all", action="store_true", help="all facts, requests and messages, not only the newest"
    )


def _diff_options(parser: argparse.ArgumentParser) -> None:
    add_id(parser)
    for name, told in (("earlier", "position of a request"), ("later", "position of another")):
        parser.add_argument(name, type=int, metavar=f"{name.upper()}", help=told)


def _why_options(parser: argparse.ArgumentParser) -> None:
    add_id(parser)
    parser.add_argument(
        "wanted",
        metavar="POSITION-or-TEXT",
        help="where a message stands in the input, or what it or a fact says",
    )
    parser.add_argument("--all", action="store_true", help="all that say it, not only the newest")


async def _ls(store: Store, args: argparse.Namespace) -> int:
    sessions = await store.sessions()
    parts = {each.id: part for each in sessions if (part := await part_of(store, each.id))}
    for line in ls_lines(sessions, parts):
        say(line)
    for part in sorted({*parts.values()}):
        warn(f"where it says {part}, {TOLD[part]}; {WHOLE}")
    return 0


async def _show(store: Store, args: argparse.Namespace) -> int:
    if args.handle is not None and args.request is not None:
        raise ConfigError("--handle and --request exclude each other")
    session, style = await stored(store, args.id), Style.of(sys.stdout)
    await tell_part(store, args.id)
    if args.handle is not None:
        _json(*await _originals(session, args.handle))
        return 0
    position = args.request
    if args.json and position is None:
        recorded = [each.position for each in await session.requests() if each.recorded]
        if not recorded:
            raise ConversationError(f"session {args.id!r} has no request on record")
        position = recorded[-1]
    if position is None:
        lines = session_lines(session, await store.info(args.id), await session.requests(), args.all, style)
    else:
        sent = await session.request(position)
        if args.json:
            beside = {"system": sent.system, "tools": sent.tools}
            there = {name: each for name, each in beside.items() if each is not None}
            _json({"messages": sent.messages, **there})
            return 0
        lines = request_lines(session, sent, args.all, style)
    for line in lines:
        say(line)
    return 0


async def _originals(session: Session, given: str) -> list[Any]:
    """The messages behind a handle, or behind the one that begins so.

    Raises:
        ConversationError: there is none, or several begin so.
    """
    wanted = PREFIX + given.removeprefix(PREFIX)
    known = session.preparation.history.archive.kept
    alike = sorted(each for each in known if each.startswith(wanted) and wanted != PREFIX)
    if wanted not in known and len(alike) > 1:
        raise ConversationError(f"{wanted!r} may be any of {', '.join(alike[:FEW])}")
    try:
        return list(await session.original(alike[0] if alike and wanted not in known else wanted))
    except UnknownHandleError as error:
        raise ConversationError(
            f"session {session.id!r} keeps no original under the handle {wanted!r:.80}; `ctxkit session why` names them"
        ) from error


def _json(*records: Any) -> None:
    sys.stdout.flush()
    for record in records:
        sys.stdout.buffer.write(json_line(record))
    sys.stdout.buffer.flush()


async def _diff(store: Store, args: argparse.Namespace) -> int:
    session = await stored(store, args.id)
    await tell_part(store, args.id)
    found = await session.diff(args.earlier, args.later)
    earlier, later = await session.request(args.earlier), await session.request(args.later)
    for line in difference_lines(earlier, later, found, Style.of(sys.stdout)):
        say(line)
    return 0


async def _why(store: Store, args: argparse.Namespace) -> int:
    if not args.wanted.strip():
        raise ConfigError("POSITION-or-TEXT is empty")
    session = await stored(store, args.id)
    await tell_part(store, args.id)
    wanted = int(args.wanted) if args.wanted.isdecimal() else args.wanted
    found = await session.why(wanted)
    if not found and isinstance(wanted, int):
        found = await session.why(args.wanted)
    if not found:
        raise ConversationError(f"session {args.id!r} has no message or fact {args.wanted!r:.80}")
    for line in found_lines(found, args.all, Style.of(sys.stdout)):
        say(line)
    return 0


ACTIONS: Actions = {
    "ls": (_ls, _no_options, "list the sessions of a store"),
    "show": (
        _show,
        _show_options,
        "what the next request of a session would hold, what an earlier one held, or an original",
    ),
    "diff": (_diff, _diff_options, "what changed from one request to another, and why"),
    "why": (_why, _why_options, "why a message or a fact is not there, and where it went"),
}
