"""Views: results of tools that show a source file, told by numbered lines, by the call, or by their looks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxkit_code.languages import guessed, language_of

__all__ = ["Call", "FileView", "call_of", "view_in"]

FEWEST_LINES = 12
"""Lines of a view; what is shorter is cheap enough to keep."""

LONGEST_COMMAND = 500
"""Characters of a command that is looked at."""

MOST_AROUND = 12
"""Lines before a source, and after it, that may be the tool's own."""

_PATH_FIELDS = (
    "path",
    "file_path",
    "filepath",
    "filePath",
    "file",
    "filename",
    "file_name",
    "absolute_path",
    "target_file",
    "relative_path",
)
_COMMAND_FIELDS = ("command", "cmd", "script", "bash_command", "input")
_START_FIELDS = ("offset", "start_line", "line_start", "startLine", "start")

_NUMBERED = re.compile(r"[ \t]{0,12}(\d{1,7})(?:\t|→|:| ?[|│] ?)(.*)", re.DOTALL)
_NAMED = re.compile(r"\[File: (\S{1,300})[ \]]|`cat -n` on (?:a snippet of )?(\S{1,300}?):?(?:\s|$)")
_SHOWS = re.compile(
    r"(?:^|&&|;|\n)\s{0,9}(?P<tool>cat|head|tail|sed|nl|less|more|bat)"
    r"(?P<options>(?:\s{1,4}(?:-{1,2}[\w-]+(?:=\w+)?|[-+]?\d+|'\d+,\d+p'|\"\d+,\d+p\"|\d+,\d+p)){0,6})"
    r"\s{1,4}[\"']?(?P<path>[\w./@+~-]+\.\w+)[\"']?"
    r"(?P<pipe>\s{0,4}\|\s{0,4}(?:cat|head|sed|nl)\b[^|&;]{0,60})?\s*$"
)
_TOOLS_OWN = re.compile(
    r"<(?:returncode|output)>.*|</(?:output|file|content)>|\[Python Interpreter: .*|\[Command finished .*|root@\S+ # ?"
    r"|\(Open file: .*|\(Current directory: .*|bash-\$ ?|\[?\.{0,3} ?\(?\d+ more lines.*|<(?:file|content)\b[^>]{0,200}>|```\w*|\s*"
)


@dataclass(frozen=True, slots=True)
class Call:
    """What a tool was asked.

    Attributes:
        path: the file it was asked for, "" where none is named.
        first: number of the first line that it was asked for.
        command: the command that it was given, "" for none.
    """

    path: str = ""
    first: int = 1
    command: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class FileView:
    """A piece of a source file, as one result shows it; equal to no other.

    Attributes:
        path: of the file, "" where nothing says.
        language: see `ctxkit_code.languages`.
        first: number of its first line.
        lines: the source.
        before, after: what stands around it.
    """

    path: str
    language: str
    first: int
    lines: tuple[str, ...]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @property
    def last(self) -> int:
        """Number of its last line."""
        return self.first + len(self.lines) - 1


def call_of(arguments: str) -> Call:
    """What the arguments of a call, as JSON text, say about a file."""
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        return Call()
    if not isinstance(given, dict):
        return Call()
    command = _text_of(given, _COMMAND_FIELDS)
    path = _text_of(given, _PATH_FIELDS)
    span = given.get("view_range")
    starts = [span[0]] if isinstance(span, list) and span else [given.get(name) for name in _START_FIELDS]
    first = next((each for each in starts if isinstance(each, int) and each > 0), 1)
    if path:
        return Call(path, first, command)
    shows = _SHOWS.search(command[-LONGEST_COMMAND:])
    return Call(*_shown(shows), command) if shows else Call(command=command)


def _text_of(given: Mapping[str, Any], names: Sequence[str]) -> str:
    values = (given.get(name) for name in names)
    return next((each for each in values if isinstance(each, str)), "")


def _shown(shows: re.Match[str]) -> tuple[str, int]:
    """The file that a command shows, and from which line; no file where only the command's output could tell."""
    options = shows["options"] + (shows["pipe"] or "")
    span = re.search(r"(\d+),\d+p", options)
    if shows["tool"] == "sed" or span:
        return (shows["path"], int(span[1])) if span else ("", 1)
    if shows["tool"] == "tail":
        begins = re.search(r"\+(\d+)", options)
        return (shows["path"], int(begins[1])) if begins else ("", 1)
    return shows["path"], 1


def view_in(text: str, call: Call) -> FileView | None:
    """The file view in a text; None where it shows no source in a language that there is a parser for."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    start, first, sources = _longest_run(lines)
    if len(sources) >= FEWEST_LINES:
        before, after = lines[:start], lines[start + len(sources) :]
        path = _named(before) or call.path
    else:
        start, end = _within(lines, call.command)
        before, sources, after = lines[:start], lines[start:end], lines[end:]
        path, first = call.path, call.first
    language = language_of(path) if path else guessed(sources)
    if not language or len(sources) < FEWEST_LINES:
        return None
    return FileView(path, language, first, tuple(sources), tuple(before), tuple(after))


def _longest_run(lines: Sequence[str]) -> tuple[int, int, list[str]]:
    """Where the longest run of lines with numbers that count up by one begins, its first number, and its lines."""
    best: tuple[int, int, list[str]] = (0, 1, [])
    for run in _runs(lines):
        if len(run[2]) > len(best[2]):
            best = run
    return best


def _runs(lines: Sequence[str]) -> Iterator[tuple[int, int, list[str]]]:
    start, first, run = 0, 0, list[str]()
    for at, line in enumerate(lines):
        found = _NUMBERED.match(line)
        number = int(found[1]) if found else -1
        if found and run and number == first + len(run):
            run.append(found[2])
            continue
        if run:
            yield start, first, run
        start, first, run = at, number, [found[2]] if found else []
    if run:
        yield start, first, run


def _named(before: Sequence[str]) -> str:
    """The path that the lines above a source name."""
    for line in before[:MOST_AROUND]:
        found = _NAMED.search(line[:1_000])
        if found:
            return found[1] or found[2]
    return ""


def _within(lines: Sequence[str], command: str) -> tuple[int, int]:
    """From where to where a text without numbers is source: without the tool's own lines around it."""
    start, end = 0, len(lines)
    while start < min(end, MOST_AROUND) and (lines[start] == command or _is_tools_own(lines[start])):
        start += 1
    while end > max(start, len(lines) - MOST_AROUND) and _is_tools_own(lines[end - 1]):
        end -= 1
    return start, end


def _is_tools_own(line: str) -> bool:
    return len(line) <= LONGEST_COMMAND and _TOOLS_OWN.fullmatch(line) is not None
