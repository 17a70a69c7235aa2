"""Facts of coding sessions: tests and how they went, errors and where, exit codes, files changed, signatures, versions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ctxkit import Fact, Speaker

__all__ = ["facts_in"]

MOST_FACTS = 24
"""Facts of one text: the last ones, which tell how things stand."""

LONGEST_TEXT = 100_000
"""Characters that are read of a text: half from its beginning, half from its end, where the sums stand."""

LONGEST_LINE = 400
"""Characters of a line that is read, and of a value."""

LONGEST_COMMAND = 200
"""Characters of a command that names a fact."""

OUTCOME, CHANGED, TOLD, READ = 3, 2, 1, 0
"""Priorities: how tests went; what was changed; all else, but for commands that just worked."""

_TESTS = (
    re.compile(r"(?:FAILED|ERROR|PASSED|XPASS|XFAIL) (?P<test>\S{1,200}::\S.{0,200}?)(?: - .*)?"),
    re.compile(r"(?P<test>\S{1,200}::\S.{0,200}?) (?:PASSED|FAILED|ERROR|XPASS|XFAIL)(?: +\[ *\d+%\])?"),
    re.compile(r"\s{0,12}--- (?:FAIL|PASS): (?P<test>\S{1,200})(?: \([\d.]+s\))?"),
    re.compile(r"test (?P<test>\S{1,200}) \.\.\. (?:ok|FAILED|ignored)"),
    re.compile(r"(?P<test>test\w{0,100} \([\w.]{1,200}\))(?:.{0,100}) \.\.\. (?:ok|FAIL|ERROR)"),
    re.compile(r"(?:FAIL|ERROR): (?P<test>test\w{0,100} \([\w.]{1,200}\))"),
    re.compile(r"\s{0,12}[✓✔✕✗×] (?P<test>\S.{0,200}?) \(\d+(?:\.\d+)? ?m?s\)"),
)
_FRAME = re.compile(r"\s{0,8}File \"(?P<path>[^\"]{1,250})\", line (?P<line>\d+)")
_RAISED = re.compile(r"(?:[A-Za-z_][\w.]{0,100})?(?:Error|Exception|Interrupt|Exit|Warning)(?:: .*)?")
_COMPILED = re.compile(
    r"(?P<path>[\w./@+~-]{1,200}\.\w{1,5})(?::(?P<line>\d+)(?::\d+)?|\((?P<row>\d+),\d+\)): (?P<said>(?:fatal )?error\b.*|undefined: .*)"
)
_GLUED = "[Python Interpreter: "
"""What OpenHands puts behind the last line of an output, without a break."""

_FINISHED = re.compile(r"\[?(?:Command finished|Process exited) with (?P<code>(?:exit )?code -?\d+)[\].]*")
_SUMMED = re.compile(
    r"=+ (?P<sum>.*\b\d+ (?:passed|failed|error).*) =+|(?P<suite>Tests: .*\b\d+ total.*|test result: .*)"
)
_CHANGED = (
    re.compile(r"The file (?P<path>\S{1,250}) has been (?:edited|created|updated).*"),
    re.compile(r"File created successfully at: (?P<path>\S{1,250})"),
    re.compile(r"Successfully (?:replaced text in|wrote \d+ bytes to) (?P<path>\S{1,250}?)\.?(?:\s|$)"),
)
_VERSION = re.compile(
    r"\s{0,8}(?P<name>Python|pip|Node(?:\.js)?|npm|rustc|cargo|go version|gcc|java|openjdk version|pytest|django|Django|numpy)"
    r"[ =v\"-]{1,4}(?P<version>(?:go)?\d+\.\d[\w.]{0,30}).*"
)
_INSTALLED = re.compile(r"([A-Za-z][\w.]{0,80}(?:-[A-Za-z]\w{0,80}){0,4})-(\d+(?:\.\w+){1,5})")
_REQUIRED = re.compile(r"\b([A-Za-z][\w.-]{0,80})==(\d+(?:\.\w{1,20}){1,5})")
_SIGNATURE = re.compile(
    r"\b(?:def|func|fn|function) (?P<name>\w{1,80})\([^()\n]{0,200}\)(?:\s?(?:->|:)\s?[\w.\[\], |<>]{0,60}[\w\]>])?"
)
_EDITS = ("new_str", "old_str", "new_string", "file_text", "content", "newText", "patch", "edits")
_PATHS = ("path", "file_path", "filePath", "filename", "target_file")
_RUNS = re.compile(
    r"(?:^|&& ?|; ?)(?P<command>(?:[A-Z_]{1,30}=\S{1,60} )?(?:python3? -m (?:pytest|unittest|tox)|pytest|tox|make|npm (?:run |test)|npx|yarn|pnpm|go (?:test|build|vet)"
    r"|cargo (?:test|build|check|clippy)|pip install|\./manage\.py test|python3? \S{0,60}(?:runtests|manage)\.py)\b[^|;&\n>]{0,160}?)(?=\s*(?:\d?>|[|;&\n]|$))"
)


def facts_in(text: str, said_by: Speaker) -> list[Fact]:
    """The facts of a text, each once: of one test or error, what is said last of it."""
    found: dict[tuple[str, str, str], Fact] = {}
    for fact in _found(text, said_by):
        name = (*fact.name, "" if fact.subject else fact.value)
        if fact.value in text:
            found.pop(name, None)
            found[name] = fact
    return list(found.values())[-MOST_FACTS:]


def _found(text: str, said_by: Speaker) -> Iterator[Fact]:
    if said_by == "assistant" and text.lstrip()[:1] == "{":
        yield from _asked(text)
        return
    lines = [line for line in _ends(text).splitlines() if 3 < len(line) <= LONGEST_LINE]
    if said_by == "tool":
        yield from _told(lines)
    else:
        yield from (
            Fact("signature", each.group(), subject=each["name"], said_by=said_by, priority=TOLD)
            for line in lines
            for each in _SIGNATURE.finditer(line)
        )
    yield from _versions(lines, said_by)


def _ends(text: str) -> str:
    half = LONGEST_TEXT // 2
    return text if len(text) <= LONGEST_TEXT else f"{text[:half]}\n{text[-half:]}"


def _told(lines: list[str]) -> Iterator[Fact]:
    """What tools told: tests, errors, exit codes, files changed."""
    frame = ""
    for line in (each.partition(_GLUED)[0].rstrip() for each in lines):
        tested = next((each for pattern in _TESTS if (each := pattern.fullmatch(line))), None)
        changed = next((each for pattern in _CHANGED if (each := pattern.match(line))), None)
        if tested:
            yield _fact("test", line.strip(), tested["test"], OUTCOME)
        elif changed:
            yield _fact("file changed", changed["path"], "", CHANGED)
        elif found := _FRAME.match(line):
            frame = f"{found['path']}:{found['line']}"
        elif frame and _RAISED.fullmatch(line):
            yield _fact("error", line, frame, TOLD)
            frame = ""
        elif found := _COMPILED.match(line):
            yield _fact("error", found["said"], f"{found['path']}:{found['line'] or found['row']}", TOLD)
        elif found := _SUMMED.fullmatch(line):
            yield _fact("tests", (found["sum"] or found["suite"]).strip(), "last run", OUTCOME)
        elif found := _FINISHED.match(line):
            yield _finished(found["code"], lines[0].partition(_GLUED)[0].strip()[:LONGEST_COMMAND])


def _versions(lines: list[str], said_by: Speaker) -> Iterator[Fact]:
    for line in lines:
        pairs = _REQUIRED.findall(line) if "==" in line else []
        if line.startswith("Successfully installed"):
            pairs += _INSTALLED.findall(line)
        if found := _VERSION.match(line):
            pairs.append((found["name"].removesuffix(" version"), found["version"]))
        for name, version in pairs:
            yield Fact("version", version, subject=name, said_by=said_by, priority=TOLD)


def _asked(text: str) -> Iterator[Fact]:
    """What calls were given: files to change, tests and builds to run."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(given, dict):
        return
    path = next((given[name] for name in _PATHS if isinstance(given.get(name), str)), "")
    if path and any(name in given for name in _EDITS):
        yield Fact("file changed", path, said_by="assistant", priority=CHANGED)
    for value in given.values():
        ran = _RUNS.search(value[:LONGEST_LINE]) if isinstance(value, str) else None
        if ran:
            yield Fact("command", ran["command"].strip(), said_by="assistant", priority=TOLD)


def _finished(code: str, command: str) -> Fact:
    """How a command ended, by its own words; tools that say so repeat the command above its output."""
    return _fact("exit", code, command, READ if code.endswith(" 0") else TOLD)


def _fact(key: str, value: str, subject: str, priority: int) -> Fact:
    return Fact(key, value, subject=subject, said_by="tool", priority=priority)
