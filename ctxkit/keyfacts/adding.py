"""Adding: what sentences add to the one before them, "Also kiwi.", "2. Shrimp.", 还有虾。"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ctxkit.literals import HAN, HAN_CHARACTER
from ctxkit.summaries.cues import asks, is_small_talk, requests, words
from ctxkit.summaries.prose import content, legible

__all__ = ["adds", "is_bare", "is_numbered", "is_part", "labels", "may_add", "openings"]

LONGEST_PART, LONGEST_PART_HAN = 8, 16
"""Words and Chinese characters of the longest part of a list in one line that has no number, and of what only adds."""

LONGEST_BARE, LONGEST_BARE_HAN = 3, 6
"""Words and Chinese characters of the longest sentence that says nothing but a name."""

LONGEST_TOO = 5
"""Words of the longest that only says that something is so too."""

_OPENS = re.compile(
    r"(?<!\d)[:：](?!//|[)DP|])|[:：](?![\d/)DP|])|(?:as follows|the following)\W{0,3}\Z|(?:如下|以下|下列)\W{0,3}\Z"
    rf"|(?:\A|[\s:：,，])(?:[（(]?[1一aA][)）、]|1\.(?=[\s{HAN}])|①)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    rf"[（(]?\d{{1,2}}[)）、]|\d{{1,2}}\.(?=[\s{HAN}])|[（(]?[一二三四五六七八九十]{{1,3}}[)）、]|[①-⑳]|[（(]?[A-Za-z][)）]|[-–—*+•·]\s"
    r"|(?:second|third|fourth|fifth|last|final)(?:ly)?[,:]|第?[二三四五六七八九十][,，、：:]|其[次二三四]|再[次者]|最[后後]",
    re.IGNORECASE,
)
_LABEL = re.compile(r"[:：](?![\d/)DP|])")
_SPEAKS = re.compile(
    words(
        r"i|you|we|he|she|they|there|please|thanks?|lets?|sorry|hello|hi",
        r"[我你您他她咱]|[请請谢謝帮幫]|麻[烦煩]|\A\W{0,3}(?:(?:it|that|this|these|those)(?![A-Za-z])|[它这這那])",
    ),
    re.IGNORECASE,
)
"""Who says or does something, and what points back: sentences of their own."""

_JOINS = re.compile(
    r"\W{0,3}(?:(?:also|and|or|plus|as well as|along with|together with|especially|particularly|but|only|not|no)(?:,|(?=\s))"
    r"|[还還]有|以及|[和与與或及且]|[并並而]且|另外|此外|尤其|特[别別]是|不[吃喝碰含放加能可])",
    re.IGNORECASE,
)
"""How a sentence begins that adds to the one before, when nobody says or does anything in it."""

_DEPENDS = re.compile(
    r"\W{0,3}(?:nor|neither (?:can|do|does|is|are|am|should|must|my|his|her)|so (?:is|are|am|do|does|can|must)|unless|except|including"
    r"|(?:the )?same (?:for|with|goes|applies|is true)|ditto|likewise)(?![A-Za-z])"
    r"|\W{0,3}(?:除非|除了|包括|同[样樣]|.{1,12}(?:也|都)(?:是|一[样樣]|不行|不可以|不能|[过過]敏)\W{0,2}\Z)",
    re.IGNORECASE,
)
_TOO = re.compile(r"[A-Za-z].{1,60}[^A-Za-z](?:too|as well|either)\W{0,2}\Z", re.IGNORECASE)
"""How a sentence begins or ends that says nothing without the one before."""

_ALSO = re.compile(words("also|too|as well|either", "也|[还還][对對会會]"), re.IGNORECASE)
_WORD = re.compile(rf"[^\W_{HAN}]{{1,40}}(?:['’-][A-Za-z]{{1,20}})?")
_SAYS = re.compile(rf"[A-Za-z]{{3}}|[{HAN}]")


def openings(sentence: str) -> Iterator[int]:
    """The characters at which a list may begin in a sentence of which the next ones are parts: behind a colon or "as
    follows", at a number one."""
    return (found.end() for found in _OPENS.finditer(sentence))


def is_numbered(sentence: str) -> bool:
    """Whether it has the number of a list before it, of which it is not the first."""
    return _NUMBERED.match(sentence) is not None


def labels(sentence: str) -> int:
    """How many of its parts have a colon behind what they are about."""
    return len(_LABEL.findall(sentence))


def is_part(sentence: str) -> bool:
    """Whether a sentence behind a colon may be a part of what is listed there: short, and nobody speaks in it."""
    said = _SAYS.search(sentence) is not None
    return said and _is_short(sentence, LONGEST_PART, LONGEST_PART_HAN) and _stands_open(sentence)


def is_bare(sentence: str) -> bool:
    """Whether it says little more than a name, "Shrimp."."""
    if not (_is_short(sentence, LONGEST_BARE, LONGEST_BARE_HAN) and _stands_open(sentence)):
        return False
    return bool(content(sentence)) and not requests(sentence)


def adds(sentence: str) -> bool:
    """Whether it only adds to the sentence before, or excepts from it, "Also kiwi.", "Unless it rains.", 芒果也是。"""
    if asks(sentence) or not _is_short(sentence, LONGEST_PART, LONGEST_PART_HAN):
        return False
    read = legible(sentence)
    if _DEPENDS.match(read):
        return True
    if _TOO.match(read):
        return is_part(sentence) and _is_short(sentence, LONGEST_TOO, 0)
    found = _JOINS.match(read)
    added = read[found.end() :] if found else ""
    return _SAYS.search(added) is not None and _SPEAKS.search(added) is None and not _orders(read)


def may_add(sentence: str) -> bool:
    """Whether it says something of its own that may be of the same kind, "I also break out from latex."."""
    read = legible(sentence)
    return _ALSO.search(read) is not None and not (asks(sentence) or _orders(read))


def _orders(read: str) -> bool:
    """Whether it asks for something to be done, "and also book a table"."""
    found = _JOINS.match(read)
    return requests(read) or (found is not None and requests(read[found.end() :].strip()))


def _stands_open(sentence: str) -> bool:
    """Whether it is neither a question, nor what people say to be polite, nor somebody's sentence about something else."""
    return not (asks(sentence) or is_small_talk(sentence) or _SPEAKS.search(legible(sentence)))


def _is_short(sentence: str, most: int, most_han: int) -> bool:
    return len(_WORD.findall(sentence)) <= most and len(HAN_CHARACTER.findall(sentence)) <= most_han
