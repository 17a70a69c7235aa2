"""Words, English and Chinese, that say what a sentence binds, prefers or denies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache

__all__ = ["Duty", "denies", "duties", "duty", "prefers", "word_set"]


class Duty(IntEnum):
    """How much a sentence of a user has to be kept."""

    NONE = 0
    RULE = 1
    """A must or a prohibition."""
    VITAL = 2
    """An allergy, or a word of the user's own list."""


def _cue(english: str, chinese: str) -> str:
    return rf"(?<![A-Za-z0-9_])(?:{english})(?![A-Za-z0-9_])|{chinese}"


_VITAL = _cue(
    r"allerg\w{0,8}|anaphyla\w{1,7}|intoleran\w{1,5}|coeliac|celiac|epi-?pens?"
    r"|(?:cannot|can['’]?t|can not|unable to) (?:eat|drink|tolerate|digest)"
    r"|(?:do not|don['’]?t|does not|doesn['’]?t|never) eat",
    "[过過]敏|不耐受|忌口|不能(?:吃|喝|碰)|(?:从|從|都|也|我|他|她|们|們)不(?:吃|喝)",
)
_RULE = _cue(
    r"must(?:n['’]?t)?(?! have(?! (?:a|an|the|at|no|some|to)(?![A-Za-z]))| be (?:kidding|joking|mistaken|right|nice|a mistake|something|some mistake))|never(?! mind)|forbid\w{0,6}|forbade|prohibit\w{0,6}"
    r"|banned|can(?:not|['’]t| not) have|no (?:\w+ ){1,3}ever|not (?:allowed|permitted)|under no circumstances?|on no account|no exceptions?|at all costs|shall not|contraindicat\w{1,6}"
    r"|(?:do not|do n['’]?t|don['’]?t)(?! (?:really |actually |even )?(?:know|think|understand|remember|see|mind|care|believe|recall|worry|hesitate"
    r"|have|need|feel|like|want|get it|mean)(?![A-Za-z]))",
    r"禁止|[严嚴]禁|禁忌|必[须須]|[务務]必|(?<!要)不要(?![紧緊钱錢])|不[许許]|不[准準]|(?<![舍捨巴记記恨怪])不得(?![不已了])|[请請]勿|切勿"
    r"|[绝絕決决]不|[绝絕][对對]不|不能(?:超[过過]|多于|少于|高于|低于|早于|晚于)"
    r"|千万(?:别|不)|一定不|永远不|永不|从不|不可以|(?<![特区分级类个离差告性识辨判鉴派])别(?=[放加给用打买发让再把吃动删改忘碰去来取告泄提安订退])",
)
_ONLY_ASKS = re.compile(
    r"\W{0,3}(?:must|do|does|did|is|are|was|were|why|what|when|how|where|who|which)(?![A-Za-z]).{0,280}[?？]\W{0,3}\Z"
    r"|.{0,280}(?:为什么|是不是|是否|吗[？?。]?\Z)",
    re.IGNORECASE | re.DOTALL,
)
_PREFERS = re.compile(
    _cue(
        r"prefer\w{0,6}|(?:would|['’]d) rather|favou?rite|vegetarian|vegan|halal|kosher|gluten[- ]free"
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


def word_set(text: str) -> frozenset[str]:
    """The words of a list that is written with blanks between them."""
    return frozenset(text.split())


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
