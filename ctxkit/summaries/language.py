"""The language of a text: English or Chinese, by what its prose is mostly."""

from __future__ import annotations

import re
from typing import Literal

from ctxkit.literals import HAN_CHARACTER

__all__ = ["Language", "language_of", "matches"]

Language = Literal["en", "zh"]

CHARACTERS_A_WORD = 1.6
"""Chinese characters that are taken for as much prose as one English word."""

LEAST_WORDS = 4
"""Words of prose below which a text tells no language."""

MIXED_SHARE = 0.35
"""Of the prose: what the lesser language has in a text that is in both."""

_BLOCK = re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE)
_INLINE = re.compile(r"`[^`\n]{1,400}`")
_TOKEN = re.compile(r"[!-~]+")
_WORD = re.compile(r"[(\"']*[A-Z]?[a-z]+(?:['-][a-z]+)*[,.;:!?]*[)\"']*")


def language_of(text: str) -> Language:
    """The language of the prose in a text; code, identifiers and addresses do not count. "en" where there is none."""
    english, chinese = _prose(text)
    return "zh" if chinese > english else "en"


def matches(summary: str, source: str) -> bool:
    """Whether a summary is in the language of its source.

    True as well when either holds too little prose to tell, or when the source is in both languages.
    """
    sizes = _prose(summary), _prose(source)
    if any(sum(each) < LEAST_WORDS for each in sizes):
        return True
    mixed = min(sizes[1]) >= MIXED_SHARE * sum(sizes[1])
    return mixed or language_of(summary) == language_of(source)


def _prose(text: str) -> tuple[float, float]:
    """How many words of English and of Chinese prose there are."""
    plain = _INLINE.sub(" ", _without_blocks(text))
    english = sum(1 for token in _TOKEN.findall(plain) if _WORD.fullmatch(token))
    return english, len(HAN_CHARACTER.findall(plain)) / CHARACTERS_A_WORD


def _without_blocks(text: str) -> str:
    """A text without its fenced code; a fence that nothing closes opens none."""
    pieces = _BLOCK.split(text)
    if len(pieces) % 2 == 0:
        return "\n".join([*pieces[:-1:2], pieces[-1]])
    return "\n".join(pieces[::2])
