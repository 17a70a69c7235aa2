"""Words, English and Chinese, that say what a sentence binds, prefers or denies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache

from ctxkit.summaries.cues import RULE, VITAL, words

__all__ = ["Duty", "denies", "duties", "duty", "prefers"]


class Duty(IntEnum):
    """How much a sentence of a user has to be kept."""

    NONE = 0
    RULE = 1
    """A must or a prohibition."""
    VITAL = 2
    """An allergy, or a word of the user's own list."""


_VITAL, _RULE = words(*VITAL), words(*RULE)
_ONLY_ASKS = re.compile(
    r"\W{0,3}(?:must|do|does|did|is|are|was|were|why|what|when|how|where|who|which)(?![A-Za-z]).{0,280}[?？]\W{0,3}\Z"
    r"|.{0,280}(?:为什么|是不是|是否|吗[？?。]?\Z)",
    re.IGNORECASE | re.DOTALL,
)
_PREFERS = re.compile(
    words(
        r"prefer\w{0,6}|(?:would|\w{1,9}['’]d) rather|favou?rite|vegetarian|vegan|halal|kosher|gluten[- ]free"
        r"|(?:i|we) (?:really )?(?:like|love|hate|dislike)(?! to (?:know|ask|see|speak|talk))|(?:i|we) (?:do not|don['’]?t) (?:like|want)",
        "喜欢|偏好|更想|宁可|宁愿|讨厌|不想|不爱|爱吃|优先|最好|素食|吃素|清真",
    ),
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"(?<![A-Za-z0-9_])(?:no|not|never|none|neither|nor|without|cannot|nothing|nobody|nowhere|\w{1,9}n['’]t|(?:don|can|won|isn|doesn|didn|mustn|shouldn)t)"
    r"(?![A-Za-z0-9_])|不(?![错过仅但同断久少])|没|无(?![论意])|未(?!来)|别(?![人的])|勿|非(?!常)",
    re.IGNORECASE,
)


def duty(sentence: str, own: tuple[str, ...] = ()) -> Duty:
    """How much a sentence that a user said has to be kept.

    Args:
        own: words that make it vital too, whatever their case; beginnings of words, as in "budget" or "预算".
    """
    found = _pattern(own).search(sentence)
    if found is None:
        return Duty.NONE
    if found.lastgroup == "vital" or re.search(_vital(own), sentence, re.IGNORECASE):
        return Duty.VITAL
    return Duty.NONE if _ONLY_ASKS.match(sentence) else Duty.RULE


def duties(text: str, own: tuple[str, ...] = ()) -> Iterator[re.Match[str]]:
    """Where in a text the words of a duty stand, as matches."""
    return _pattern(own).finditer(text)


def prefers(sentence: str) -> bool:
    """Whether it says what somebody likes better."""
    return _PREFERS.search(sentence) is not None


def denies(sentence: str) -> bool:
    """Whether it says that something is not so, or not to be."""
    return _DENIES.search(sentence) is not None


@lru_cache(maxsize=64)
def _pattern(own: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?P<vital>{_vital(own)})|(?P<rule>{_RULE})", re.IGNORECASE)


def _vital(own: tuple[str, ...]) -> str:
    """Words of the Latin script are looked for at the beginnings of words only."""
    latin = [re.escape(word) for word in own if re.match(r"\w", word, re.ASCII)]
    others = [re.escape(word) for word in own if not re.match(r"\w", word, re.ASCII)]
    return "|".join([_VITAL, *(rf"(?<![0-9A-Za-z_]){word}" for word in latin), *others])
