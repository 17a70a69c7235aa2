"""Findings for people: a line a promise; for a broken one what happened, how to mend it, and a conversation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ctxkit.cli.render import Style, plain

if TYPE_CHECKING:
    from ctxkit.testing.finding import Example, Finding, Planned

__all__ = ["lines_of", "summary_of"]

MOST_SAID = 1_000
"""Characters of what happened."""

MOST_SHOWN = 4_000
"""Characters of one message of a conversation."""

MOST_TEXT = 160
"""Characters of a text in it, what is told of the rest aside."""

RUN = re.compile(r"(.)\1{39,}", re.DOTALL)
"""So many of one character that their number says more."""

MOST_PLANS = 5
"""Plans that are shown of those made on the way."""

PAGE = "docs/promises.md"
"""Where the promises are told in full."""


def lines_of(finding: Finding, style: Style) -> Iterator[str]:
    """What there is to say of one finding."""
    mark = style.good("kept  ") if finding.kept else style.bad("broken")
    yield f"  {mark}  {finding.promises:7} {plain(finding.claim)}"
    if not finding.kept:
        yield f"            what happened: {plain(finding.happened, MOST_SAID)}"
        yield f"            to mend it: {plain(finding.hint, MOST_SAID)}"
    if finding.note:
        yield style.dim(f"            {plain(finding.note, MOST_SAID)}")
    if finding.example:
        yield from _example(finding.example)
    if finding.promises and not finding.kept:
        yield style.dim(f"            the promise in full: {PAGE}, {finding.promises}")


def _example(example: Example) -> Iterator[str]:
    payload = example.payload
    yield f"            the smallest conversation: {payload.format}, window {example.window} tokens, a request after each message"
    if payload.system is not None:
        yield f"              system: {_json(payload.system)}"
    yield "              ["
    last = len(payload.messages) - 1
    for at, message in enumerate(payload.messages):
        yield f"                {_json(message)}{',' if at < last else ''}"
    yield "              ]"
    for planned in example.plans[:MOST_PLANS]:
        yield from _plan(planned)
    if len(example.plans) > MOST_PLANS:
        yield f"            and {len(example.plans) - MOST_PLANS} more plans"


def _plan(planned: Planned) -> Iterator[str]:
    fate = f", rolled back: {plain(planned.rejected, MOST_SAID)}" if planned.rejected else ""
    yield f"            its plan after {planned.messages} messages{fate}"
    for edit in planned.edits:
        told = repr(edit).replace(", by=''", "")
        yield f"              {plain(told, MOST_SAID)}"


def _json(value: Any) -> str:
    """A value as one line of JSON, readable where every character can be printed."""
    value = _short(value)
    text = json.dumps(value, ensure_ascii=False)
    text = text if text.isprintable() else json.dumps(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}… ({len(text):,} characters)"


def _short(value: Any) -> Any:
    """A value with its long texts cut: of a run of one character its length is told, of others the middle left out."""
    match value:
        case str():
            text = RUN.sub(lambda run: f"{run[1]}… ({len(run[0]):,} times {run[1]!r})", value)
            if len(text) <= MOST_TEXT:
                return text
            half = MOST_TEXT // 2
            return f"{text[:half]}… ({len(text):,} characters) …{text[-half:]}"
        case dict():
            return {key: _short(each) for key, each in value.items()}
        case list():
            return [_short(each) for each in value]
        case _:
            return value


def summary_of(kept: Sequence[bool], examples: int, style: Style) -> str:
    """How it went, in one line, from what came of each finding."""
    if not all(kept):
        return style.bad(f"{kept.count(False)} of {len(kept)} broken")
    return style.good(f"all {len(kept)} kept, each promise tried on up to {examples} conversations")
