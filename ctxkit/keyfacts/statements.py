"""Statements: what a user says that something of his is, in one key and its value, so that a newer one supersedes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ctxkit.literals import Rank, rank, word_set

__all__ = ["Statement", "statements_in"]

LONGEST_VALUE = 100
"""Characters of a value; what is longer is no answer to "what is it"."""


@dataclass(frozen=True, slots=True)
class Statement:
    """`key` of `subject` is `value`.

    Attributes:
        subject: "user", or whom of the user's it is about ("brother"); "" for what is nobody's ("the deadline").
        key, value: in the words that were used; the key in lower case.
        changed: it says of itself that it is a change.
    """

    subject: str
    key: str
    value: str
    changed: bool

    @property
    def single(self) -> bool:
        """Whether there can be one only. Of identifiers there may be several, unless one is said to be changed."""
        several = rank(self.key, _PLAIN) is Rank.ID and any(map(str.isdigit, self.value))
        return self.changed or not several


_PLAIN = "a value"
"""A value that looks like nothing: with it, the name of a key alone decides its rank."""

_WORD = r"[A-Za-z][\w'’-]{0,24}"
_TO_BE = (
    r"(?:(?:is|are|was|were|will be)(?: (?:now|currently|actually))?(?: (?:changed|updated|switched|moved) to)?"
    r"|(?:(?:has|have) )?(?:changed|moved|switched) to|=|:)"
)
_MINE = re.compile(
    rf"(?<![\w'’])(?:my|our)(?: (?:new|current|updated|latest|correct))?(?: (?P<who>{_WORD})['’]s?(?= ))?(?: (?:new|current))?"
    rf" (?P<key>{_WORD}(?: {_WORD}){{0,3}}?) {_TO_BE} (?=(?P<value>[^\n]{{1,200}}))",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    rf"(?<!\w)(?:change|update|set|switch)(?:d)? (?:my|our) (?P<key>{_WORD}(?: {_WORD}){{0,3}}?) to (?=(?P<value>[^\n]{{1,200}}))",
    re.IGNORECASE,
)
_THE = re.compile(
    rf"(?<!\w)the(?: (?:new|current|updated))? (?P<key>{_WORD}(?: {_WORD}){{0,2}}?) {_TO_BE} (?=(?P<value>[^\n]{{1,200}}))",
    re.IGNORECASE,
)
_LIVES = re.compile(
    r"(?<!\w)I(?:['’]m| am| have| just)? (?:now )?(?:live|living|moved)(?: now)? (?:in|at|to|on) (?P<value>[^\n]{1,200})"
)
_NAME = r"[A-Z](?:[\w'’-]|\.(?=\w)){0,24}"
_CALLED = re.compile(
    r"(?<!\w)(?<!not )(?<!n['’]t )(?<!never )(?i:call me|I go by) (?!(?i:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|tomorrow|today"
    r"|tonight|noon|midnight|asap|now|soon|later|again|right|please|back|if|when|whenever|once|before|after|anytime|maybe|at|on|in|by|for"
    r"|about|i|the|an?|mr|mrs|ms|dr|prof)(?![A-Za-z]))"
    rf"(?P<value>{_NAME}(?: {_NAME}){{0,3}})"
)
_CHINESE = re.compile(
    r"(?:我们?|咱们?)(?P<who>[一-鿿]{0,4}?)的(?:新)?(?P<key>[^\s,，。；;:：是为改换变叫的]{1,8}?)"
    r"(?P<now>现在|已经|目前|刚刚?|已)?(?:是|为|叫|改成了?|改为了?|换成了?|变成了?|变更为|更新为|：|:)(?P<value>[^,，。；;！!？?\n]{1,100})"
)
_CHINESE_PLACE = re.compile(
    r"我(?:现在|已经|刚)?(?:住在|搬到了?|搬去了?)(?P<value>[^,，。；;！!？?\n]{1,60})"
)
_PAIR = re.compile(
    r"\s{0,8}(?:[-*•] )?(?P<key>[A-Za-z一-鿿][^:：\n]{0,30}?)\s?[:：](?!//)\s?(?P<value>\S[^\n]{0,120})"
)

_NAMES = word_set(
    "budget deadline goal team colour color size seat meal room flight reservation booking 预算 截止 期限"
)
"""Words of keys beside those that `ctxkit.literals` knows."""

_NO_KEY = re.compile(
    r"(?:question|problem|issue|thing|point|idea|concern|guess|understanding|plan|goal|aim|hope|wish|worry|bad|fault|pleasure"
    r"|request|turn|experience|opinion|suggestion|answer|reason|only|first|next|last|second|other)s?|问题|意思|想法|目的|要求|建议|目标",
    re.IGNORECASE,
)
_END = re.compile(
    r"[.!?](?=\s|\Z)|[。！？；;]|, (?:and|but|so|not|which|because|please|my|I|could|can|if)\b|,? (?:and|but) (?:my|I|the|it)\b|, (?=[a-z]+ (?:is|are) )"
)
_TAIL = re.compile(
    r"[ ,]+(?:now|instead|please|thanks?|thank you|right now|at the moment|actually|though|too)\W*\Z|[了吧呢啊]\Z",
    re.IGNORECASE,
)
_NOT_A_VALUE = re.compile(
    r"(?:not|no|very|so|too|really|going|being|been|getting|gone|wrong|missing|broken|late|delayed|lost|the same|fine|ok(?:ay)?|good|bad|great|correct"
    r"|still|also|just|only|that|whether|what|how|why|if|because|to)\b|\w{1,20}(?:ing|ed)(?= )|什么|多少|哪|谁|不|没",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"(?<!\w)(?:now|new|changed?|updated?|switch(?:ed)?|moved|instead|actually|correction|latest)(?!\w)|现在|新|改|换|变|搬|更新|已经",
    re.IGNORECASE,
)


def statements_in(sentence: str) -> Iterator[Statement]:
    """What one sentence of a user states, "my address is now 5 Oak Street" or 我的地址改成了…; nothing for a question."""
    if sentence.rstrip().endswith(("?", "？", "吗")):
        return
    changed = _CHANGED.search(sentence) is not None
    for pattern in (_MINE, _CHANGE, _THE, _CHINESE, _LIVES, _CHINESE_PLACE, _CALLED):
        for match in pattern.finditer(sentence):
            made = _made(pattern, match, changed=changed)
            if made is not None:
                yield made
    pair = _PAIR.match(sentence)
    if pair is not None and _names(pair["key"]):
        yield Statement("", pair["key"].strip().lower(), _value(pair["value"]), changed)


def _made(pattern: re.Pattern[str], match: re.Match[str], *, changed: bool) -> Statement | None:
    """A statement from a match, None where what it found is no key or no value."""
    fields = match.groupdict()
    fixed = {_LIVES: "lives in", _CHINESE_PLACE: "住址", _CALLED: "is called"}
    key = fixed.get(pattern) or " ".join(fields["key"].lower().split())
    value = _value(fields["value"])
    if (
        not value
        or len(value) > LONGEST_VALUE
        or _NOT_A_VALUE.match(value)
        or _NO_KEY.fullmatch(key.split()[-1])
    ):
        return None
    if pattern is _THE and not _names(key):
        return None
    who = (fields.get("who") or "").lower()
    return Statement(who or ("" if pattern is _THE else "user"), key, value, changed or pattern is _CHANGE)


def _names(key: str) -> bool:
    """Whether a key is the name of something that has a value, by its words."""
    return rank(key, True) >= Rank.FACT or key.split()[-1].lower() in _NAMES


def _value(text: str) -> str:
    """The value at the head of a text: up to the end of its clause, without "now" or "please" behind it."""
    end = _END.search(text)
    value = (text[: end.start()] if end else text).strip(' \t.,。，!！"“”')
    return _TAIL.sub("", value).strip(" \t.,。，!！")
