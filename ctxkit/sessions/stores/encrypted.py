"""Sessions encrypted at rest, in any store."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from math import ceil
from typing import TYPE_CHECKING

from ctxkit.errors import ConfigError, SessionError
from ctxkit.sessions.closing import Closing
from ctxkit.sessions.halves import MOVED, moved_from
from ctxkit.sessions.store import SessionInfo, Store, checked_id
from ctxkit.sessions.stores import store_of
from ctxkit.sessions.stores.base import not_installed

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

__all__ = ["EncryptedStore"]

FORM = b"\x01"
"""First byte of what this version writes: form, name of the key, nonce, ciphertext with its tag."""

NAME, NONCE = 8, 12
"""Bytes of the name of a key, and of a nonce (NIST SP 800-38D, 96 bits)."""

OVERHEAD = len(FORM) + NAME + NONCE + 16
"""Bytes that a record grows by, the 16 of the tag of AES-GCM among them."""


class EncryptedStore(Closing):
    """What it is given to keep it encrypts, with AES-GCM; ids, sizes, times, and the keys of calls stay readable.

    A record is bound to its session and its position, so none can be changed, exchanged or moved unseen. Not seen is
    that the end of a log was cut off, or that a record is what stood at its place before it was rewritten.

    Args:
        store: where it is kept, or the address of it (see `open_store`).
        keys: of 16, 24 or 32 random bytes, as `os.urandom(32)` gives them; the first one encrypts, all of them
            decrypt, so that keys can be changed. A key is good for 2**32 records (NIST SP 800-38D, 8.3).

    Raises:
        ConfigError: a key has another size, there is none, `cryptography` is not installed, or the store is none.
    """

    def __init__(self, store: Store | str, keys: Sequence[bytes] | bytes) -> None:
        given = [keys] if isinstance(keys, bytes) else list(keys)
        if not given:
            raise ConfigError("there is no key", path="keys")
        if not all(isinstance(key, bytes) and len(key) in (16, 24, 32) for key in given):
            raise ConfigError("a key is 16, 24 or 32 random bytes, as os.urandom(32) gives them", path="keys")
        self._store = store_of(store)
        self._ciphers = {_name(key): _cipher(key) for key in given}
        self._first = _name(given[0])

    def __repr__(self) -> str:
        return f"EncryptedStore({self._store!r})"

    async def append(
        self, session: str, bodies: Sequence[bytes], *, after: int, key: str = "", limited: bool = True
    ) -> int:
        checked_id(session)
        sealed = [self._sealed(body, session, f"{at}") for at, body in enumerate(bodies, after + 1)]
        return await self._store.append(session, sealed, after=after, key=key, limited=limited)

    async def read(self, session: str, *, after: int = 0, upto: int | None = None) -> list[bytes]:
        sealed = await self._store.read(session, after=after, upto=upto)
        return [self._opened(body, session, f"{at}") for at, body in enumerate(sealed, max(after, 0) + 1)]

    async def info(self, session: str) -> SessionInfo | None:
        info = await self._store.info(session)
        return info and _plain(info)

    async def sessions(self) -> list[SessionInfo]:
        return list(map(_plain, await self._store.sessions()))

    async def rewrite(self, session: str, bodies: Mapping[int, bytes]) -> None:
        checked_id(session)
        await self._store.rewrite(
            session, {at: self._sealed(body, session, f"{at}") for at, body in bodies.items()}
        )

    async def delete(self, session: str) -> None:
        await self._store.delete(session)

    async def save_checkpoint(self, session: str, position: int, body: bytes) -> None:
        checked_id(session)
        await self._store.save_checkpoint(
            session, position, self._sealed(body, session, f"checkpoint {position}")
        )

    async def checkpoint(self, session: str, *, upto: int | None = None) -> tuple[int, bytes] | None:
        held = await self._store.checkpoint(session, upto=upto)
        return held and (held[0], self._opened(held[1], session, f"checkpoint {held[0]}"))

    async def lease(self, session: str, name: str, holder: str, seconds: float) -> bool:
        return await self._store.lease(session, name, holder, seconds)

    async def release(self, session: str, name: str, holder: str) -> None:
        await self._store.release(session, name, holder)

    async def close(self) -> None:
        await self._store.close()

    def _sealed(self, body: bytes, session: str, place: str) -> bytes:
        nonce = os.urandom(NONCE)
        sealed = self._ciphers[self._first].encrypt(nonce, body, _bound(session, place))
        return FORM + self._first + nonce + sealed

    def _opened(self, sealed: bytes, session: str, place: str) -> bytes:
        from cryptography.exceptions import InvalidTag

        if sealed == MOVED:
            raise moved_from(session, place)
        name, rest = sealed[1 : 1 + NAME], sealed[1 + NAME :]
        if sealed[:1] != FORM or name not in self._ciphers:
            raise SessionError(
                f"record {place} of session {session!r} was not encrypted with any of these keys",
                session=session,
            )
        try:
            return self._ciphers[name].decrypt(rest[:NONCE], rest[NONCE:], _bound(session, place))
        except (InvalidTag, ValueError) as error:
            raise SessionError(
                f"record {place} of session {session!r} was changed or moved since it was written",
                session=session,
            ) from error


def _plain(info: SessionInfo) -> SessionInfo:
    """With the size of what was given to be kept; of a hot half perhaps less.

    That has marks among its records, of which nobody knows how many there are: as many as there have to be at least,
    so that all of them are of what was moved as a whole.
    """
    lacking = info.position * OVERHEAD - info.size
    marks = min(max(ceil(lacking / (OVERHEAD - len(MOVED))), 0), info.position)
    return replace(info, size=max(info.size - (info.position - marks) * OVERHEAD, 0))


def _bound(session: str, place: str) -> bytes:
    return f"{session}\n{place}".encode()


def _name(key: bytes) -> bytes:
    """A name that tells keys apart and nothing about them."""
    return sha256(b"ctxkit key name" + key).digest()[:NAME]


def _cipher(key: bytes) -> AESGCM:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise not_installed("encryption needs its library", "encryption") from error
    return AESGCM(key)
