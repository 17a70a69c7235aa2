"""Constraints: what users said must, or must never, be done."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ctxkit.core.items import PartKind
from ctxkit.evaluation.recording import Recording
from ctxkit.evaluation.values import one_spaced

__all__ = ["Constraint", "constraints", "sentences"]

LONGEST = 400
"""Characters of the longest sentence that counts; what is longer is no sentence but something pasted."""

SHORTEST = 4
"""Characters of the shortest: `我过敏。` says enough."""

_BINDING = re.compile(
    r"\b(?:must|never|always|make sure|under no circumstances|no (?:more|less|later|earlier) than|at (?:most|least)"
    r"|allerg\w+|intoleran\w+|forbid\w*|forbidden|prohibit\w*|not allowed)\b"
    r"|(?:^|[,;:(\u2013\u2014-]\s*|\b(?:please|and|but|so|just)\s+)(?:do not|don['\u2019]t)\b"
    r"|必须|务必|一定要|禁止|不准|不许|不得|不要|不能|绝不|千万|切勿|过敏|忌口|最多|至少|只能",
    re.IGNORECASE,
)
_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f\uff1b])|\n+")
_STOPS = ".!?;\u3002\uff01\uff1f\uff1b "


@dataclass(frozen=True, slots=True)
class Constraint:
    """A sentence that binds what comes after it.

    Attributes:
        at: position of the user message that it was said in.
        sentence: word for word, white space as single spaces, without the stop at its end.
    """

    at: int
    sentence: str


def constraints(recording: Recording) -> list[Constraint]:
    """The different constraints that users said, each where it was said first, in order."""
    first: dict[str, int] = {}
    for at, read in enumerate(recording.reads):
        if read.shape.words:
            for part in read.parts:
                if part.reads_as is PartKind.TEXT:
                    for sentence in sentences(part.text):
                        first.setdefault(sentence, at)
    return [Constraint(at, sentence) for sentence, at in first.items()]


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text that bind: with `must`, `never`, `allergic`, an order that begins with `don't`, 必须,
    禁止, 过敏 or another word of the kind."""
    for each in _END.split(text):
        sentence = one_spaced(each).rstrip(_STOPS)
        if SHORTEST <= len(sentence) <= LONGEST and _BINDING.search(sentence):
            yield sentence
