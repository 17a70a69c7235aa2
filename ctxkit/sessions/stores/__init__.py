"""The stores that come with ctxkit, one module each."""

from __future__ import annotations

from ctxkit.errors import ConfigError
from ctxkit.sessions.store import Store

__all__ = ["open_store"]


def open_store(address: str) -> Store:
    """A store by its address.

    Args:
        address: `sqlite:PATH` or a path that ends in `.db` or `.sqlite`; `redis://...` or `rediss://...`;
            `postgresql://...`; `memory:`.

    Raises:
        ConfigError: an address of none of these, or of a store whose driver is not installed.
    """
    scheme = address.split(":", 1)[0]
    if scheme == "memory":
        from ctxkit.sessions.stores.memory import MemoryStore

        return MemoryStore()
    if scheme in ("redis", "rediss"):
        from ctxkit.sessions.stores.redis import RedisStore

        return RedisStore(address)
    if scheme in ("postgresql", "postgres"):
        from ctxkit.sessions.stores.postgres import PostgresStore

        return PostgresStore(address)
    path = address.removeprefix("sqlite:")
    if path and (scheme == "sqlite" or path.endswith((".db", ".sqlite"))):
        from ctxkit.sessions.stores.sqlite import SQLiteStore

        return SQLiteStore(path)
    raise ConfigError(
        "the address of a store is sqlite:PATH, redis://HOST, postgresql://HOST/DATABASE or memory:, "
        f"not {scheme!r:.40}...",
        path="store",
    )
