"""Returned: what a text that ctxkit wrote says when it comes back as a message, as it does where a program goes on from a
request of before instead of the conversation itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from ctxkit.core.facts import Speaker
from ctxkit.core.gaps import SUMMARY, inside
from ctxkit.core.marks import is_marked
from ctxkit.core.profile import TITLES
from ctxkit.literals import word_set
from ctxkit.summaries.labels import unlabelled

__all__ = ["digest_in", "returned"]

_SPEAKERS = word_set("user: assistant:")
_ITEM = "- "
_FENCES = ("<facts ", "</facts ")


def returned(text: str) -> list[tuple[Speaker, str]] | None:
    """Who said what, line by line, as a marked text tells it; None for any other text.

    Anybody can write a mark. It gains them nothing: what stands in a marked text has no more trust than the message
    itself, and what it says that tools said is a tool's.
    """
    if not is_marked(text):
        return None
    lines = text.partition("] ")[2].split("\n")
    if lines[0].startswith(SUMMARY):
        digest = digest_in(text)
        return list(_of_digest(digest.split("\n")) if digest else _of_sections(lines))
    return list(_of_facts(lines)) if lines[0] in TITLES.values() else []


def digest_in(text: str) -> str:
    """The lines of a marked digest, "" for any other text."""
    if not is_marked(text) or not text.partition("] ")[2].startswith(SUMMARY):
        return ""
    lines = inside(text)
    return "" if any(line.startswith(_ITEM) for line in lines.split("\n")) else lines


def _of_sections(lines: Iterable[str]) -> Iterator[tuple[Speaker, str]]:
    for line in lines:
        if line.startswith(_ITEM):
            by, said = unlabelled(line.removeprefix(_ITEM))
            yield by if by in ("user", "tool") else "assistant", said


def _of_digest(lines: Iterable[str]) -> Iterator[tuple[Speaker, str]]:
    """What was said is indented under who said it; all else is of calls and their results."""
    speaker: Speaker = "tool"
    for line in lines:
        if line in _SPEAKERS:
            speaker = "user" if line == "user:" else "assistant"
        elif line.startswith(" "):
            yield speaker, line.strip()
        elif line:
            speaker = "tool"
            yield speaker, line


def _of_facts(lines: Iterable[str]) -> Iterator[tuple[Speaker, str]]:
    speaker: Speaker = "user"
    for line in lines:
        if line in TITLES.values():
            speaker = "tool" if line == TITLES["ledger"] else "user"
        elif line and not line.startswith(_FENCES):
            yield speaker, _value(line)


def _value(line: str) -> str:
    """The sentence that a fact keeps, without its key; the whole line where the value says nothing by itself."""
    value = line.partition(": ")[2]
    if value.startswith('"') and value.endswith('"') and "\\n" in value:
        try:
            value = json.loads(value)
        except ValueError:
            return line
    return value if " " in value or not value.isascii() else line
