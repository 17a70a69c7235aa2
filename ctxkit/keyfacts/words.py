"""Words, English and Chinese, that say what a sentence binds, prefers or denies, and on what it leans."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache
from unicodedata import normalize

from ctxkit.keyfacts.idle import orders, without_idle
from ctxkit.literals import HAN_CHARACTER, word_set
from ctxkit.summaries.cues import RULE, VITAL, words
from ctxkit.summaries.prose import legible, places_of

__all__ = ["Duty", "denies", "duties", "duty", "has_duty", "is_legible", "leans", "lists_nothing", "prefers"]

NEAREST, NEAREST_HAN = 2, 3
"""Words and Chinese characters that stand before "it" when that is something in another sentence: of more, it may be
one of these."""


class Duty(IntEnum):
    """How much a sentence of a user has to be kept."""

    NONE = 0
    RULE = 1
    """A must or a prohibition."""
    VITAL = 2
    """An allergy, or a word of the user's own list."""


_VITAL = re.compile(words(*VITAL), re.IGNORECASE)
_RULE = re.compile(words(*RULE), re.IGNORECASE)
_DUTY = re.compile(f"{words(*VITAL)}|{words(*RULE)}", re.IGNORECASE)
_EMPHASIS = re.compile(
    r"(?<![A-Za-z0-9])[_*~]{1,3}|[_*~]{1,3}(?![A-Za-z0-9])|</?(?:b|i|u|em|strong|mark)>", re.IGNORECASE
)
_LINE_END = re.compile(r"\n[ \t>]{0,16}")
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

_WHO = re.compile(words("he|his|she|her|hers|they|their|theirs|its", "[他她其]"), re.IGNORECASE)
"""Who has a name in another sentence, where no other name stands before it."""

_WHAT = re.compile(
    words(
        r"them|him|it|these|those|this|the (?:latter|former|same|above|rest|others?)"
        r"|that(?=\W{0,3}(?:\Z|[,.;:!?)]|(?:to|in|on|at|for|with|by|from|of|before|after|until|unless|if|when|while|and|or|but|again|ever"
        r"|anymore|please|now|then|here|there|without|as|too|either|today|tomorrow|is|must|can|cannot|should|shall|will|may)(?![A-Za-z])))",
        "[它牠这這那此该該]",
    ),
    re.IGNORECASE,
)
"""What has a name in another sentence, unless several stand before it."""

_SAYS_NOTHING = word_set(
    "i we you he she it they one me us him her them this that these those my our your his its their mine hers theirs the a an there "
    "am is are was were be been being i'm we're you're he's she's it's they're i've we've i'd i'll have has had having do does did done "
    "don't doesn't didn't dont n't not no never ever must mustn't can can't cannot could couldn't should shouldn't would won't will shall "
    "shan't may might to of in on at by for with from about as too also just even still only very really quite so and but or nor because "
    "if when then than yes okay ok oh well please thanks again always all any both either neither some such each every what which who how "
    "why severely extremely highly deathly deadly badly terribly seriously actually absolutely definitely certainly simply known severe "
    "serious bad several many few two three multiple various certain following other food foods drug drugs kind kinds lot lots "
    "allergic allergy allergies anaphylactic intolerant intolerance intolerances forbidden prohibited banned allowed permitted "
    "circumstances circumstance account exception exceptions under cost costs"
)
_SAYS_NOTHING_HAN = re.compile(
    "我们|我們|你们|你們|咱们|[我你您它他她这這那此该該其们們些个個种種的了呢吧啊呀是对對会會有都也还還很又再就和与與给給让讓把被在]|非常|特别|特別|真的"
    "|严重|嚴重|但是?|可是|不过|不過|所以|因为|因為|而且|如果|如下|以下|下列|[请請]|麻烦|麻煩|千万|千萬|[绝絕][对對]?|一定|永远|永遠|必[须須]|[务務]必"
    "|不[要能得许許准準行]|不?可以|[禁严嚴]止?|[勿别別]|[过過]敏[史源原症者]?|体质|體質|忌口|不耐受|食物|药物|藥物|东西|東西|食品"
)
_HAS_NONE = re.compile(
    words(
        r"(?:no|not|n't|without|nor|zero|any) (?:\w{1,20} ){0,3}(?:allerg|intoleran)\w{0,8}",
        "[没沒][有]?.{0,8}(?:[过過]敏|忌口|不耐受)|[无無].{0,8}(?:[过過]敏|忌口|不耐受)|不[过過]敏",
    ),
    re.IGNORECASE,
)
_LIST = re.compile("allerg(?:y|ies)|intolerances?|[过過]敏[史源原]|忌口", re.IGNORECASE)
_LATIN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{1,40}(?:'[A-Za-z]{1,4})?")


def leans(sentence: str) -> bool:
    """Whether what a sentence is about has its name in another one, "never do that" or 这些我都过敏."""
    read = legible(sentence)
    who, what = _WHO.search(read), _WHAT.search(read)
    if who is not None and _names_little(read[: who.start()], 0, 0):
        return True
    if what is not None and _names_little(read[: what.start()], NEAREST, NEAREST_HAN):
        return True
    return _names_little(read, 0, 0) and _HAS_NONE.search(read) is None


def lists_nothing(sentence: str) -> bool:
    """Whether a sentence speaks of allergies and not of what they are to, "these are my allergies"."""
    read = _plain(sentence)
    if _VITAL.search(read) is None or _HAS_NONE.search(read):
        return False
    points = _WHAT.search(read) is not None and _LIST.search(read) is None
    return not points and _names_little(read, 0, 0)


def _names_little(read: str, most: int, most_han: int) -> bool:
    """Whether no more words, and no more Chinese characters, than these say what a text is about."""
    said = sum(1 for word in _LATIN.findall(read) if word.lower() not in _SAYS_NOTHING)
    return said <= most and len(HAN_CHARACTER.findall(_SAYS_NOTHING_HAN.sub("", read))) <= most_han


def duty(sentence: str, own: tuple[str, ...] = ()) -> Duty:
    """How much a sentence that a user said has to be kept.

    Args:
        own: words that make it vital too, whatever their case; beginnings of words, as in "budget" or "预算".
    """
    if _names(sentence, own):
        return Duty.VITAL
    read = _plain(sentence)
    if _DUTY.search(read) is None:
        return Duty.NONE
    said = without_idle(read)
    if _VITAL.search(said):
        return Duty.VITAL
    return Duty.RULE if _RULE.search(said) and orders(said, _RULE) else Duty.NONE


@lru_cache(maxsize=1024)
def has_duty(text: str, own: tuple[str, ...] = ()) -> bool:
    """Whether the words of a duty stand anywhere in a text, idle ones too."""
    return _DUTY.search(_plain(text)) is not None or _names(text, own)


def duties(text: str, own: tuple[str, ...] = ()) -> Iterator[tuple[int, int]]:
    """Where in a text the words of a duty begin and end."""
    places, read = places_of(text), legible(text)
    found = [*_DUTY.finditer(without_idle(read)), *(_pattern(own).finditer(read) if own else ())]
    for start, end in sorted(each.span() for each in found):
        yield places[start], places[end - 1] + 1


def is_legible(word: str) -> bool:
    """Whether there is anything in a word that can be read."""
    return legible(word).strip() != ""


def _names(text: str, own: tuple[str, ...]) -> bool:
    """Whether one of a user's own words is in a text, with the marks of emphasis in it or without."""
    if not own:
        return False
    said = _LINE_END.sub(" ", text)
    return any(_pattern(own).search(legible(each)) for each in (said, _EMPHASIS.sub(" ", said)))


def _plain(text: str) -> str:
    """The legible form of a text whose words are found though they are emphasized, or go over the end of a quoted line."""
    return legible(_LINE_END.sub(" ", _EMPHASIS.sub(" ", text)))


def prefers(sentence: str) -> bool:
    """Whether it says what somebody likes better."""
    return _PREFERS.search(legible(sentence)) is not None


def denies(sentence: str) -> bool:
    """Whether it says that something is not so, or not to be."""
    return _DENIES.search(legible(sentence)) is not None


@lru_cache(maxsize=64)
def _pattern(own: tuple[str, ...]) -> re.Pattern[str]:
    """What finds words in a legible text, whether their accents are letters of their own or not; words of the Latin
    script at the beginnings of words only."""
    forms = {normalize(form, legible(word).strip()) for word in own for form in ("NFC", "NFD")}
    latin = (rf"(?<![0-9A-Za-z_]){re.escape(form)}" for form in forms if re.match(r"\w", form, re.ASCII))
    others = (re.escape(form) for form in forms if not re.match(r"\w", form, re.ASCII))
    return re.compile("|".join(sorted([*latin, *others])), re.IGNORECASE)
