"""Answering: what a user says when the assistant asks for what is vital, "Any allergies?", "Yes, peanuts."."""

from __future__ import annotations

import re
from functools import lru_cache

from ctxkit.keyfacts.passages import LONGEST_WHOLE, passages
from ctxkit.keyfacts.words import Duty, duty, has_duty, leans
from ctxkit.summaries.cues import asks, wonders, words
from ctxkit.summaries.prose import legible, sentences

__all__ = ["answers", "asks_for_vital"]

_VITAL = re.compile(
    words(
        r"medicat\w{1,6}|medicines?|meds|diet(?:s|ary)?|pregnan\w{1,4}|blood thinners?",
        "用[药藥]|[药藥]物|[吃服]什[么麼][药藥]|[饮飲]食(?:禁忌|限制|要求)|[怀懷]孕|素食",
    ),
    re.IGNORECASE,
)
"""What is asked for beside allergies; in a user's own sentence it binds nothing by itself."""

_REQUESTS = re.compile(
    words(
        r"(?:please|kindly) (?:tell|list|let|share|provide|give|name|describe|specify|state|enter)|(?:tell|let) (?:me|us)"
        r"|(?:list|share|provide|specify|state) (?:your|any|all)",
        "[请請][您你]?(?:先)?(?:告[诉訴知]|列[出举]|提供|[说說]明|填[写寫]|描述)|告[诉訴]我",
    ),
    re.IGNORECASE,
)


@lru_cache(maxsize=1024)
def asks_for_vital(text: str, own: tuple[str, ...] = ()) -> bool:
    """Whether the assistant asks for allergies, medication, diet, or what a user's own words name.

    Args:
        own: more words that make a sentence vital; beginnings of words.
    """
    if not (has_duty(text, own) or _VITAL.search(legible(text))):
        return False
    return any(_is_vital(found.whole, own) for found in passages(text, _is_asked))


def answers(text: str, own: tuple[str, ...] = ()) -> bool:
    """Whether a user's text is an answer, and says nothing without the question: short, no question itself, and without
    a sentence that must be kept for what is vital in it."""
    if len(text) > LONGEST_WHOLE:
        return False
    said = [sentence for sentence in sentences(text) if not asks(sentence)]
    return bool(said) and not any(duty(each, own) is Duty.VITAL and not leans(each) for each in said)


def _is_asked(sentence: str) -> bool:
    return wonders(sentence) or _REQUESTS.search(legible(sentence)) is not None


def _is_vital(text: str, own: tuple[str, ...]) -> bool:
    return duty(text, own) is Duty.VITAL or _VITAL.search(legible(text)) is not None
