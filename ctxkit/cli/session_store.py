"""The store that a `ctxkit session` command works on: its address, its key, and both kept out of what is printed."""

from __future__ import annotations

import argparse
import base64
import os
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from ctxkit.errors import ConfigError
from ctxkit.secrets import masked, secrets_in
from ctxkit.sessions.store import Store
from ctxkit.sessions.stores import open_store

__all__ = ["add_store", "hidden", "opened", "said"]

STORE, KEY = "CTXKIT_STORE", "CTXKIT_KEY"
"""Environment variables for what is not given as an option."""


def add_store(parser: argparse.ArgumentParser) -> None:
    """Where the sessions are, and the key to them."""
    parser.add_argument(
        "--store",
        metavar="ADDRESS",
        help=f"sqlite:PATH, redis://HOST, postgresql://HOST/DATABASE; ${STORE} when it is not given",
    )
    parser.add_argument(
        "--key-file",
        metavar="FILE",
        help=f"keys of an encrypted store, in base64, one a line, today's first; ${KEY} holds one instead",
    )


def opened(args: argparse.Namespace) -> Store:
    """The store that is meant; opened when it is first used.

    Raises:
        ConfigError: none is named, there is no such file, or a key is none.
    """
    address = _address(args)
    if not address:
        raise ConfigError(f"--store is missing; it may be in ${STORE}")
    store, path = open_store(address), address.removeprefix("sqlite:")
    if "://" not in address and not args.makes and not os.path.exists(path):
        raise ConfigError(f"there is no file {path}", path="store")
    keys = _keys(args.key_file)
    if not keys:
        return store
    from ctxkit.sessions.stores.encrypted import EncryptedStore

    return EncryptedStore(store, keys)


def _address(args: argparse.Namespace) -> str:
    return args.store or os.environ.get(STORE, "")


def _keys(file: str | None) -> list[bytes]:
    try:
        text = Path(file).read_text(encoding="utf-8") if file is not None else os.environ.get(KEY, "")
        return [base64.b64decode(line, validate=True) for line in text.split()]
    except ValueError as error:  # binascii.Error and UnicodeError are such
        where = file if file is not None else f"${KEY}"
        raise ConfigError(f"{where} holds no keys in base64, one a line") from error


def hidden(text: str, args: argparse.Namespace) -> str:
    """A text without the passwords that are in the address of the store."""
    try:
        parts = urlsplit(_address(args))
        given = [parts.password or "", *(value for name, value in parse_qsl(parts.query) if "pass" in name)]
    except ValueError:  # no address at all, or none with a password that anything could read
        return text
    return masked(text, {each for value in given if value for each in (value, unquote(value))})


def said(text: str) -> str:
    """What others wrote, for the terminal: keys and passwords in it masked."""
    return masked(text, secrets_in(text))
