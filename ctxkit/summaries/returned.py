"""Returned: what a text that ctxkit wrote says when it comes back as a message, as it does where a program goes on from a
request of before instead of the conversation itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ctxkit.core.facts import Fact, Speaker, is_rule
from ctxkit.core.gaps import SUMMARY, inside
from ctxkit.core.marks import is_marked, unmarked
from ctxkit.core.profile import told_again
from ctxkit.literals import word_set
from ctxkit.summaries.labels import unlabelled
from ctxkit.summaries.support import is_unverified

__all__ = ["digest_in", "returned"]

_SPEAKERS = word_set("user: assistant:")
_ITEM = "- "


def returned(text: str) -> list[tuple[Speaker, str]] | None:
    """Who said what, line by line, as a marked text tells it; None for any other text.

    Anybody can write a mark. It gains them nothing: what the lines say is who is named before them in a summary, and
    what is unverified, or that tools said, is a tool's.
    """
    if not is_marked(text):
        return None
    lines = unmarked(text).split("\n")
    if lines[0].startswith(SUMMARY):
        digest = digest_in(text)
        return list(_of_digest(digest.split("\n")) if digest else _of_sections(lines))
    return list(_of_facts(told_again(text)))


def digest_in(text: str) -> str:
    """The lines of a marked digest, "" for any other text."""
    if not is_marked(text) or not unmarked(text).startswith(SUMMARY):
        return ""
    lines = inside(text)
    return "" if any(line.startswith(_ITEM) for line in lines.split("\n")) else lines


def _of_sections(lines: Iterable[str]) -> Iterator[tuple[Speaker, str]]:
    for line in lines:
        if line.startswith(_ITEM):
            by, said = unlabelled(line.removeprefix(_ITEM))
            sure = by in ("user", "assistant", "") and not is_unverified(said)
            yield ("user" if by == "user" else "assistant") if sure else "tool", said


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


def _of_facts(facts: Iterable[Fact]) -> Iterator[tuple[Speaker, str]]:
    """A rule is a user's, unless a tool told it; of anything else in front nobody knows whether a user or the assistant
    said it."""
    for fact in facts:
        if is_rule(fact) and fact.said_by != "tool" and not fact.retracted:
            yield "user", fact.value
        elif not fact.retracted:
            yield fact.said_by, fact.line
