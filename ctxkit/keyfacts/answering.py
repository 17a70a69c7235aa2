"""Answering: what a user says when the assistant asks for what is vital, "Any allergies?", "Yes, peanuts."."""

from __future__ import annotations

import re
from functools import lru_cache

from ctxkit.keyfacts.passages import LONGEST_WHOLE, passages
from ctxkit.keyfacts.words import Duty, duty, has_duty, leans
from ctxkit.literals import HAN_CHARACTER, word_set
from ctxkit.summaries.cues import asks, is_small_talk, requests, wonders, words
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

_ASKS_BACK = re.compile(
    words(
        r"why|(?:what|how)(?! (?:about|if))|when|where|who|which",
        "[为為](?:什[么麼]|何|啥)|什[么麼]|怎[么麼样樣]|如何|干[嘛吗]|哪|啥|[谁誰]",
    ),
    re.IGNORECASE,
)
"""How a question asks for something else in return."""

_OF_QUESTIONS = word_set(
    "a about again all also an and any are ask asking be bad better but can could detail details did do does easy essential fine for "
    "get give good had has have help here how i if important in information is it just know later list matter may maybe me mean might "
    "mind more must my necessary need needed now of ok okay on or please point possible problem question ready really relevant repeat "
    "required right say should so sorry still tell that the them then there these they thing things think this those to too true us "
    "wait was we were what will with would yes you your first"
)
_OF_QUESTIONS_HAN = re.compile(
    "[这這那个個您你我他她它们們的了吗嗎呢吧啊是不要能可以有没沒再说說一定必须須需得还還都也先等会會后後好行吗问問题題事会會重关關系係影响響告诉訴提供填写寫下]"
)
_WORD = re.compile(r"(?<![A-Za-z])[A-Za-z]{3,40}(?![A-Za-z'])")

FEWEST_HAN = 2
"""Chinese characters of a question that name something."""


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
    """Whether a user's text is an answer, and says nothing without the question: short, and not all of it is kept for
    what is vital in it, a question in return, or, beside what is kept, thanks and requests."""
    if len(text) > LONGEST_WHOLE:
        return False
    kept = [
        found.whole
        for found in passages(text, lambda each: duty(each, own) is Duty.VITAL and not leans(each))
    ]
    said = [each for each in sentences(text) if not any(each in whole for whole in kept)]
    if kept:
        said = [each for each in said if asks(each) or not (is_small_talk(each) or requests(each))]
    return any(not asks(each) or _names_something(each) for each in said)


def _names_something(question: str) -> bool:
    """Whether a question names what may answer another one, "Peanuts, is that a problem?"; "Why do you ask?" does not."""
    read = legible(question)
    if _ASKS_BACK.search(read):
        return False
    named = any(word.lower() not in _OF_QUESTIONS for word in _WORD.findall(read))
    return named or len(HAN_CHARACTER.findall(_OF_QUESTIONS_HAN.sub("", read))) >= FEWEST_HAN


def _is_asked(sentence: str) -> bool:
    return wonders(sentence) or _REQUESTS.search(legible(sentence)) is not None


def _is_vital(text: str, own: tuple[str, ...]) -> bool:
    return duty(text, own) is Duty.VITAL or _VITAL.search(legible(text)) is not None
