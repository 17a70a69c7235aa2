"""Where commands write: JSON lines, the output file, the terminal."""

from __future__ import annotations

import gzip
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from ctxkit.errors import ConfigError

__all__ = ["Progress", "json_line", "say", "warn", "written"]

CLEAR = "\r\x1b[K"
"""Goes to the start of a terminal's line and empties it."""


def json_line(record: Any) -> bytes:
    """A record as one line of valid UTF-8 JSON; escaped where a lone surrogate allows nothing else.

    Raises:
        ValueError: it holds a number that JSON cannot (1e999 is read as infinity).
    """
    text = json.dumps(record, ensure_ascii=False, allow_nan=False)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(record).encode() + b"\n"


def say(text: str, stream: TextIO | None = None) -> None:
    """Print text, to stdout by default; what the stream's encoding lacks is replaced."""
    stream = stream or sys.stdout
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "replace").decode(encoding) + "\n")


def warn(text: str) -> None:
    """Print a line to stderr, on a terminal over the progress."""
    start = CLEAR if sys.stderr.isatty() else ""
    say(f"{start}ctxkit: {text}", sys.stderr)


@contextmanager
def written(target: str) -> Iterator[BinaryIO]:
    """Bytes to write to: stdout for "-", else a file that is in its place only when all went well.

    Raises:
        ConfigError: the folder that it should be in is missing.
        OSError: it cannot be written.
    """
    if target == "-" or (os.path.exists(target) and not os.path.isfile(target)):
        with _straight(target) as stream:
            yield stream
        return
    path = Path(os.path.realpath(target))
    if not path.parent.is_dir():
        raise ConfigError(f"OUT cannot be {target}: there is no folder {path.parent}")
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("xb") as raw:
            if path.name.endswith(".gz"):
                with gzip.GzipFile(path.name, "wb", fileobj=raw, mtime=0) as packed:
                    yield cast(BinaryIO, packed)
            else:
                yield raw
        if path.exists():
            beside.chmod(path.stat().st_mode & 0o7777)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def _straight(target: str) -> Iterator[BinaryIO]:
    """Stdout, or a device or pipe, which cannot be put in place afterwards."""
    if target == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with Path(target).open("wb") as stream:
        yield stream


@dataclass
class Progress:
    """A line on stderr that says how far long work is; nothing unless stderr is a terminal."""

    started: float = field(default_factory=time.monotonic)
    shown: float = 0.0

    WAIT_S = 1.0
    EVERY_S = 0.2

    def at(self, count: int) -> None:
        """So many conversations are done."""
        now = time.monotonic()
        if now - self.started < self.WAIT_S or now - self.shown < self.EVERY_S or not sys.stderr.isatty():
            return
        self.shown = now
        rate = count / (now - self.started)
        sys.stderr.write(f"\r{count:,} conversations, {rate:,.0f} a second\x1b[K")
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away, so that something else can be printed."""
        if self.shown:
            sys.stderr.write(CLEAR)
            self.shown = 0.0
