"""Labels: who said a line of a summary, written before it, and read again."""

from __future__ import annotations

import re
from typing import Literal

from ctxkit.core.items import NOBODY, Writer
from ctxkit.summaries.language import Language

__all__ = ["LABELS", "Speaker", "author_of", "called", "label", "unlabelled", "who"]

Speaker = Literal["user", "assistant", "tool", "system"]

LABELS: dict[Language, dict[Speaker, str]] = {
    "en": {"user": "user", "assistant": "assistant", "tool": "tool", "system": "system"},
    "zh": {"user": "用户", "assistant": "助手", "tool": "工具", "system": "系统"},
}
_SPEAKERS: dict[str, Speaker] = {
    name: speaker for names in LABELS.values() for speaker, name in names.items()
}
_CALLED = r'(?:"[^"\n:：]{1,80}"|[^\s:：]{1,80})'
_MOMENT = r"\d{4}-\d\d-\d\d \d\d:\d\d"
_LABEL = re.compile(
    rf"({'|'.join(_SPEAKERS)})(?: ({_CALLED})(?: (?:in|在) {_CALLED})?| (?:in|在) {_CALLED})?(?: (?:at|于) {_MOMENT})?[:：] ?"
)
_NAME = re.compile(r"[^\w.-]+")
_NO_NAME = re.compile(r"[\s\"“”:：]+")


def label(by: Speaker, language: Language, tool: str = "", writer: Writer = NOBODY) -> str:
    """What stands before a line to tell who said it: `user: `, `user Ann in #ops at 2026-11-30 09:12: `,
    `tool get_order: `."""
    name = _NAME.sub("_", tool)[:80] if by == "tool" else who(language, writer)
    return f"{LABELS[language][by]} {name}: " if name else f"{LABELS[language][by]}: "


def who(language: Language, writer: Writer) -> str:
    """One of several people or agents, with place and time, in words that no label can be mistaken for: `Ann in #ops at
    2026-11-30 09:12`."""
    place = called(writer.place)
    where = f"{'在' if language == 'zh' else 'in'} {place}" if place else ""
    when = f"{'于' if language == 'zh' else 'at'} {writer.said_at}" if writer.said_at else ""
    return " ".join(each for each in (called(writer.author), where, when) if each)


def called(name: str) -> str:
    """The name of a person or a place as a label has it: in quotation marks when it is of several words."""
    name = " ".join(_NO_NAME.sub(" ", name).split())[:80].strip()
    return f'"{name}"' if " " in name else name


def unlabelled(line: str) -> tuple[Speaker | Literal[""], str]:
    """Who said a line, "" where no label tells, and the line without its label."""
    found = _LABEL.match(line)
    return (_SPEAKERS[found.group(1)], line[found.end() :]) if found else ("", line)


def author_of(line: str) -> str:
    """Whom a line is labelled with, as `called` has the name; "" for a tool, and where no label tells."""
    found = _LABEL.match(line)
    return found.group(2) or "" if found and _SPEAKERS[found.group(1)] != "tool" else ""
