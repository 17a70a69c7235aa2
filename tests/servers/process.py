"""A server program as a child process: started, asked whether it is ready, stopped or killed, started again."""

from __future__ import annotations

import contextlib
import ctypes
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["Program", "free_port"]

PR_SET_PDEATHSIG = 1  # prctl(2)


class Program:
    """One program, running or not. On Linux it ends with the thread that started it, however that ends: start it from
    the main one.

    Args:
        command: how it is started.
        ready: whether it answers.
        stop: the signal on which it ends in good order.
        log: file that takes what it prints.
        who: the user it runs as, as keywords of `subprocess.Popen`.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        ready: Callable[[], bool],
        stop: signal.Signals,
        log: Path,
        who: Mapping[str, Any] | None = None,
    ) -> None:
        self.command = list(command)
        self.ready = ready
        self.stop_with = stop
        self.log = log
        self.who = dict(who or {})
        self.running: subprocess.Popen[bytes] | None = None

    def start(self, seconds: float = 30) -> None:
        """Start it and wait until it answers.

        Raises:
            RuntimeError: it ended, or did not answer in time; with the end of its log.
        """
        with self.log.open("ab") as log:
            self.running = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.log.parent,
                preexec_fn=_end_with_parent(self.stop_with),
                **self.who,
            )
        until = time.monotonic() + seconds
        while not self.ready():
            if self.running.poll() is not None or time.monotonic() > until:
                self.kill()
                raise RuntimeError(f"{self.command[0]} did not start:\n{self.log.read_text()[-2_000:]}")
            time.sleep(0.02)

    def stop(self) -> None:
        """End it in good order; nothing happens when it does not run."""
        self._end(self.stop_with)

    def kill(self) -> None:
        """End it as a crash would: it may not finish anything."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        if self.running is None:
            return
        self.running.send_signal(how)
        try:
            self.running.wait(15)
        except subprocess.TimeoutExpired:
            self.running.kill()
            self.running.wait(15)
        self.running = None


def free_port() -> int:
    """A port on the loopback interface that nobody listens on now."""
    with contextlib.closing(socket.socket()) as trial:
        trial.bind(("127.0.0.1", 0))
        port: int = trial.getsockname()[1]
    return port


def _end_with_parent(how: signal.Signals) -> Callable[[], None] | None:
    """What the child does first: ask Linux for `how` when its parent ends. Loaded here: a fork must not load."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(PR_SET_PDEATHSIG, int(how))
