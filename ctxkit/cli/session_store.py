"""The store that a `ctxkit session` command works on, or two as one: addresses, keys, what is kept out of what is printed,
and whether it has the whole of a session."""

from __future__ import annotations

import argparse
import base64
import os
from collections.abc import Awaitable
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from ctxkit.cli.outputs import warn
from ctxkit.cli.render import plain
from ctxkit.errors import ConfigError, SessionError
from ctxkit.secrets import masked, secrets_in
from ctxkit.sessions.halves import is_archived, is_hot_half
from ctxkit.sessions.store import Store
from ctxkit.sessions.stores import open_store
from ctxkit.sessions.stores.tiered import TieredStore

__all__ = [
    "ARCHIVE",
    "ARCHIVED_PART",
    "TOLD",
    "WHOLE",
    "absent_archive",
    "add_store",
    "hidden",
    "opened",
    "part_of",
    "said",
    "tell_part",
]

STORE, ARCHIVE, KEY = "CTXKIT_STORE", "CTXKIT_ARCHIVE", "CTXKIT_KEY"
"""Environment variables for what is not given as an option."""

MAKES = {"import": (STORE, ARCHIVE), "move": (ARCHIVE,)}
"""Actions, and which file each may make."""

IDLE_MINUTES = 30.0
"""Minutes without a write after which `move` moves a session."""

ARCHIVED_PART, HOT_PART = "archived part", "hot part"
"""What a store may have of a session that is in two."""

TOLD = {
    ARCHIVED_PART: "this is the archived part, which may be older than the session",
    HOT_PART: "the rest is in an archive",
}
"""What is said of each."""

WHOLE = "--archive beside --store opens both halves as one"


def add_store(parser: argparse.ArgumentParser, action: str) -> None:
    """Where the sessions are that an action is for, and the key to them."""
    parser.set_defaults(makes=MAKES.get(action, ()), moves=action == "move", minutes=IDLE_MINUTES)
    parser.add_argument(
        "--store",
        metavar="ADDRESS",
        help=f"sqlite:PATH, redis://HOST, postgresql://HOST/DATABASE; ${STORE} when it is not given",
    )
    parser.add_argument(
        "--archive",
        metavar="ADDRESS",
        help=f"the archive, where --store is the hot half of a TieredStore; ${ARCHIVE} is that of ${STORE}",
    )
    parser.add_argument(
        "--key-file",
        metavar="FILE",
        help=f"keys of an encrypted store, in base64, one a line, today's first; ${KEY} holds one instead",
    )


def opened(args: argparse.Namespace) -> Store:
    """The store that is meant, or the two as one; opened when it is first used.

    Raises:
        ConfigError: none is named, there is no such file, the two are the same, or a key is none.
    """
    address, archive = _address(args), _archive(args)
    if not address:
        raise ConfigError(f"--store is missing; it may be in ${STORE}")
    store = _half(address, STORE in args.makes)
    if archive:
        if os.path.realpath(_path(address)) == os.path.realpath(_path(archive)):
            raise ConfigError("--store and --archive are the same")
        store = TieredStore(store, _half(archive, ARCHIVE in args.makes), idle_s=args.minutes * 60)
    if args.moves or not (keys := _keys(args.key_file)):  # moving takes no key
        return store
    from ctxkit.sessions.stores.encrypted import EncryptedStore

    return EncryptedStore(store, keys)


def _half(address: str, makes: bool) -> Store:
    """The store with an address; if it is a file it has to be there, unless it may be made."""
    store, path = open_store(address), _path(address)
    if "://" not in address and not makes and not os.path.exists(path):
        raise ConfigError(f"there is no file {path}", path="store")
    return store


def absent_archive(args: argparse.Namespace) -> Path | None:
    """The file of the archive if it is not there; None if it is, and for an archive on a server."""
    archive = _archive(args)
    file = Path(_path(archive))
    return file if archive and "://" not in archive and not file.exists() else None


def _path(address: str) -> str:
    return address.removeprefix("sqlite:")


def _address(args: argparse.Namespace) -> str:
    return args.store or os.environ.get(STORE, "")


def _archive(args: argparse.Namespace) -> str:
    """What is in the environment is the archive of the store there, and of no other that is given."""
    if args.archive is not None:
        return str(args.archive)
    own = os.environ.get(STORE, "") in ("", _address(args))
    return os.environ.get(ARCHIVE, "") if own else ""


async def part_of(store: Store, id: str) -> str:
    """Which part of a session a store has, "" for all of it, as far as the store can be asked.

    One that may only be read cannot tell that it is an archive. When it is down, or the session is damaged, the action
    itself tells that.
    """
    if await _is_so(is_archived(store, id)):
        return ARCHIVED_PART
    return HOT_PART if await _is_so(is_hot_half(store, id)) else ""


async def _is_so(asked: Awaitable[bool]) -> bool:
    try:
        return await asked
    except SessionError:
        return False


async def tell_part(store: Store, id: str) -> None:
    """Say so when it is the archived part; of the hot one nothing can be read, which the action tells."""
    if await part_of(store, id) == ARCHIVED_PART:
        warn(f"{plain(id)}: {TOLD[ARCHIVED_PART]}; {WHOLE}")


def _keys(file: str | None) -> list[bytes]:
    try:
        text = Path(file).read_text(encoding="utf-8") if file is not None else os.environ.get(KEY, "")
        return [base64.b64decode(line, validate=True) for line in text.split()]
    except ValueError as error:  # binascii.Error and UnicodeError are such
        where = file if file is not None else f"${KEY}"
        raise ConfigError(f"{where} holds no keys in base64, one a line") from error


def hidden(text: str, args: argparse.Namespace) -> str:
    """A text without the passwords that are in the addresses of the stores."""
    given = [*_passwords(_address(args)), *_passwords(_archive(args))]
    return masked(text, {each for value in given if value for each in (value, unquote(value))})


def _passwords(address: str) -> list[str]:
    try:
        parts = urlsplit(address)
        return [parts.password or "", *(value for name, value in parse_qsl(parts.query) if "pass" in name)]
    except ValueError:  # no address at all, or none with a password that anything could read
        return []


def said(text: str) -> str:
    """What others wrote, for the terminal: keys and passwords in it masked."""
    return masked(text, secrets_in(text))
