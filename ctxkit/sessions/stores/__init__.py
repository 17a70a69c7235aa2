"""The stores that come with ctxkit, one module each."""

from __future__ import annotations

import difflib
import re

from ctxkit.errors import ConfigError
from ctxkit.sessions.store import Store, checked_store

__all__ = ["open_store", "store_of"]

SCHEMES = ("sqlite", "redis", "rediss", "postgresql", "postgres", "memory")

SCHEME = re.compile(r"([A-Za-z][\w+.-]+):")
"""What stands in front of an address; one letter is a drive of Windows."""


def open_store(address: str) -> Store:
    """A store by its address.

    Args:
        address: `sqlite:PATH` or a path that ends in `.db` or `.sqlite`; `redis://...` or `rediss://...`;
            `postgresql://...`; `memory:`. Behind `sqlite:` stands the path as it is, without `//`.

    Raises:
        ConfigError: an address of none of these, or of a store whose driver is not installed.
    """
    if not isinstance(address, str):
        raise ConfigError(f"the address of a store is a text, not {address!r:.40}", path="store")
    named = SCHEME.match(address)
    match named[1] if named else "":
        case "memory":
            from ctxkit.sessions.stores.memory import MemoryStore

            return MemoryStore()
        case "redis" | "rediss":
            from ctxkit.sessions.stores.redis import RedisStore

            return RedisStore(address)
        case "postgresql" | "postgres":
            from ctxkit.sessions.stores.postgres import PostgresStore

            return PostgresStore(address)
        case scheme:
            from ctxkit.sessions.stores.sqlite import SQLiteStore

            return SQLiteStore(_path(address, scheme))


def store_of(store: Store | str) -> Store:
    """A store as it is, or the one that an address names.

    Raises:
        ConfigError: it is neither; and what `open_store` raises.
    """
    return open_store(store) if isinstance(store, str) else checked_store(store)


def _path(address: str, scheme: str) -> str:
    """The path of a SQLite file in an address."""
    if address.startswith("sqlite://"):
        raise ConfigError(
            "libraries differ in which file sqlite:// names: write the path as it is, sqlite:chats.db for one from "
            "here, sqlite:/data/chats.db for one from the root",
            path="store",
        )
    path = address.removeprefix("sqlite:")
    if path and (scheme == "sqlite" or (not scheme and path.endswith((".db", ".sqlite")))):
        return path
    if scheme == "sqlite":
        raise ConfigError("which file? sqlite:chats.db, for instance", path="store")
    near = difflib.get_close_matches(scheme.lower(), SCHEMES, n=1)
    hint = f"; did you mean {near[0]}:?" if near else ""
    raise ConfigError(
        "the address of a store is sqlite:PATH, redis://HOST, postgresql://HOST/DATABASE or memory:, "
        f"not {scheme or address.split(':', 1)[0]!r:.40}...{hint}",
        path="store",
    )
