"""A strategy examined in a process of its own: whatever it does there ends neither the check nor the terminal."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import EntryPoint
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxkit.cli.plugin_view import lines_of
from ctxkit.cli.render import Style
from ctxkit.isolation import end_with_parent
from ctxkit.registry import STRATEGIES
from ctxkit.scaffold import importable

if TYPE_CHECKING:
    from ctxkit.testing.finding import Finding

__all__ = ["Examination", "Told", "examined"]

COMPLETE = "the examination came to its end"
FORM = "it is made from its name alone, and read back from a config file"


@dataclass(frozen=True)
class Examination:
    """What is to be examined, and how.

    Attributes:
        kind, value: the entry point's name and what it leads to.
        folder: the package that it has to come from, None for wherever it is installed.
        examples: conversations that each promise is tried on.
        laws: the names of the laws to try.
        style: how findings are written.
    """

    kind: str
    value: str
    folder: Path | None
    examples: int
    laws: tuple[str, ...]
    style: Style


@dataclass(frozen=True)
class Told:
    """One finding as it is printed, and whether all was well."""

    kept: bool
    lines: tuple[str, ...]


def examined(what: Examination, *, timeout_s: float, begins: Callable[[str], None]) -> Iterator[Told]:
    """Each finding as soon as it is known. Unless the examination came to its end, the last one says why not.

    Args:
        what: what is to be examined.
        timeout_s: seconds that one check may take; the process is killed then.
        begins: is told what is tried, as soon as it is.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(theirs, what))
    process.start()
    theirs.close()
    count, trying = 0, ""
    try:
        while (said := _received(ours, process, timeout_s)) is not None:
            if "trying" in said:
                trying = said["trying"]
                begins(trying)
            else:
                count += 1
                yield Told(said["kept"], tuple(said["lines"]))
    except _Incomplete as error:
        where = f", while trying this: {trying}" if trying else ""
        yield _told(_not_at_its_end(f"{error}, after {count} of its findings{where}"), what.style)
    finally:
        _end(process)
        ours.close()


class _Incomplete(Exception):
    """The process ended, or said nothing for too long, before its examination was done."""


def _received(pipe: Connection, process: BaseProcess, timeout_s: float) -> Any:
    """What the process says next, None when the examination is done."""
    if not wait((pipe, process.sentinel), timeout_s):
        raise _Incomplete(f"it took longer than {timeout_s:g} s, and its process was killed")
    if pipe.poll():
        with suppress(EOFError, OSError):
            return json.loads(pipe.recv_bytes())
    process.join(timeout_s)
    raise _Incomplete(f"its process ended by itself with exit code {process.exitcode}")


def _end(process: BaseProcess) -> None:
    """Kill the process, and whatever it started."""
    if process.pid is not None and hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):  # it is gone, or has not become a group yet
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()


def _work(pipe: Connection, what: Examination) -> None:
    """In the process: send what is tried and each finding as JSON, and `null` at the end."""
    if hasattr(os, "setsid"):
        os.setsid()  # Ctrl-C goes to the parent, which ends this process and all that it started
        end_with_parent(lambda: os.killpg(0, signal.SIGKILL))
    try:
        for finding in _findings(what, lambda claim: _send(pipe, {"trying": claim})):
            _send(pipe, asdict(_told(finding, what.style)))
    except BaseException as error:  # noqa: BLE001 - the boundary to plugins, which may raise anything
        _send(pipe, asdict(_told(_not_at_its_end(f"it raised {type(error).__name__}: {error}"), what.style)))
    _send(pipe, None)


def _send(pipe: Connection, value: Any) -> None:
    pipe.send_bytes(json.dumps(value).encode())


def _told(finding: Finding, style: Style) -> Told:
    return Told(finding.kept, tuple(lines_of(finding, style)))


def _not_at_its_end(why: str) -> Finding:
    from ctxkit.testing.finding import Finding

    hint = "Leave the process alone: no os._exit, no endless loop, neither at import nor in plan(). --timeout gives it more time."
    return Finding("complete", "P12", COMPLETE, why, hint)


def _findings(what: Examination, begins: Callable[[str], None]) -> Iterator[Finding]:
    from ctxkit.testing.examination import tried
    from ctxkit.testing.form import IMPORTED, checked_class, loaded

    begins(IMPORTED)
    with importable(what.folder) if what.folder else nullcontext():
        found, findings = loaded(EntryPoint(what.kind, what.value, STRATEGIES), what.folder)
        yield from findings
        if found is None:
            return
        begins(FORM)
        form = list(checked_class(found))
        yield from form
        if all(finding.kept for finding in form if finding.name == "defaults"):
            yield from tried(found.model_validate({}), examples=what.examples, laws=what.laws, begins=begins)
