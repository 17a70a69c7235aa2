"""Sessions in the memory of one process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ctxkit.sessions.closing import Closing
from ctxkit.sessions.store import CHECKPOINTS, UNLIMITED, Limits, SessionInfo, checked_id, checked_key
from ctxkit.sessions.stores.base import conflict, no_such_position

__all__ = ["MemoryStore"]


@dataclass(slots=True)
class _Log:
    """A session with its keys and checkpoints, both by what they are found by."""

    bodies: list[bytes] = field(default_factory=list)
    size: int = 0
    touched: float = 0.0
    keys: dict[str, int] = field(default_factory=dict)
    checkpoints: dict[int, bytes] = field(default_factory=dict)

    @property
    def position(self) -> int:
        return len(self.bodies)


class MemoryStore(Closing):
    """Sessions for as long as the object lives: for tests, and for what need not outlast its process.

    Tasks, event loops and threads of one process may share it. No method waits, so none is cancelled half-way. `close`
    keeps everything, so it can be used again.

    Args:
        limits: what it takes.
        clock: seconds since 1970, for `touched` and leases.
    """

    def __init__(self, *, limits: Limits | None = None, clock: Callable[[], float] = time.time) -> None:
        self._limits = limits or Limits()
        self._clock = clock
        self._lock = threading.Lock()
        self._logs: dict[str, _Log] = {}
        self._leases: dict[str, dict[str, tuple[str, float]]] = {}

    async def append(
        self, session: str, bodies: Sequence[bytes], *, after: int, key: str = "", limited: bool = True
    ) -> int:
        with self._lock:
            log = self._logs.get(checked_id(session)) or _Log()
            if checked_key(key) in log.keys:
                return log.keys[key]
            if after != log.position:
                raise conflict(session, after=after, position=log.position)
            (self._limits if limited else UNLIMITED).check(bodies, session=session, held=log.size)
            if bodies:
                self._logs[session] = log
                self._write(log, bodies, key)
            return log.position

    def _write(self, log: _Log, bodies: Sequence[bytes], key: str) -> None:
        log.bodies.extend(bodies)
        log.size += sum(map(len, bodies))
        log.touched = self._clock()
        if key:
            log.keys[key] = log.position

    async def read(self, session: str, *, after: int = 0, upto: int | None = None) -> list[bytes]:
        with self._lock:
            log = self._logs.get(checked_id(session))
            end = None if upto is None else max(upto, 0)
            return log.bodies[max(after, 0) : end] if log else []

    async def info(self, session: str) -> SessionInfo | None:
        with self._lock:
            log = self._logs.get(checked_id(session))
            return _info(session, log) if log else None

    async def sessions(self) -> list[SessionInfo]:
        with self._lock:
            return [_info(*each) for each in sorted(self._logs.items(), key=lambda item: item[0])]

    async def rewrite(self, session: str, bodies: Mapping[int, bytes]) -> None:
        with self._lock:
            log = self._logs.get(checked_id(session)) or _Log()
            for position in bodies:
                if not 1 <= position <= log.position:
                    raise no_such_position(session, wrong=position, position=log.position)
            for position, body in bodies.items():
                log.size += len(body) - len(log.bodies[position - 1])
                log.bodies[position - 1] = body
            log.checkpoints.clear()

    async def delete(self, session: str) -> None:
        with self._lock:
            self._logs.pop(checked_id(session), None)
            self._leases.pop(session, None)

    async def save_checkpoint(self, session: str, position: int, body: bytes) -> None:
        with self._lock:
            log = self._logs.get(checked_id(session))
            if log and position <= log.position:
                log.checkpoints[position] = body
                for old in sorted(log.checkpoints)[:-CHECKPOINTS]:
                    del log.checkpoints[old]

    async def checkpoint(self, session: str, *, upto: int | None = None) -> tuple[int, bytes] | None:
        with self._lock:
            log = self._logs.get(checked_id(session)) or _Log()
            found = [position for position in log.checkpoints if upto is None or position <= upto]
            return (max(found), log.checkpoints[max(found)]) if found else None

    async def lease(self, session: str, name: str, holder: str, seconds: float) -> bool:
        with self._lock:
            now = self._clock()
            leases = self._leases.setdefault(checked_id(session), {})
            held_by, until = leases.get(name, (holder, now))
            if held_by != holder and until > now:
                return False
            leases[name] = (holder, now + seconds)
            return True

    async def release(self, session: str, name: str, holder: str) -> None:
        with self._lock:
            leases = self._leases.get(checked_id(session), {})
            if leases.get(name, ("", 0.0))[0] == holder:
                del leases[name]

    async def close(self) -> None:
        """Nothing is open."""


def _info(session: str, log: _Log) -> SessionInfo:
    return SessionInfo(id=session, position=log.position, size=log.size, touched=log.touched)
