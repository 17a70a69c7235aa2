"""What an author says about a story: how it is to be written, who is in it, how its world works.

English and Chinese. Only whole sentences are taken, word for word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from ctxkit import Fact, hook

__all__ = ["PRIORITIES", "ctxkit_extract_facts", "story_facts"]

PRIORITIES = {"style": 3, "character": 2, "world": 1}
"""What is kept longest when there is no room for all."""

SHORTEST, LONGEST = 5, 400
"""Characters of the shortest and the longest sentence that is a direction; what is longer is the story itself."""

_SENTENCE = re.compile(r"[^\n.!?。！？]+(?:\.(?=\S)[^\n.!?。！？]*)*[.!?。！？]*[”\"'』」]*")
_STYLE = {
    "person": r"\b(?:first|second|third)[- ]person\b|point of view|\bPOV\b|第[一二三]人称|视角",
    "tense": r"\b(?:past|present) tense\b|过去时|现在时",
    "tone": r"\b(?:tone|mood|voice(?! control))\b|基调|语气|文风|笔调",
    "length": r"\b\d[\d,]* (?:words|pages|paragraphs)\b|每章.{0,6}字|\d+ ?字",
    "language": r"\bwrite (?:it |this |all )?in (?:English|Chinese|Mandarin|French|German|Spanish|Japanese)\b|用(?:中文|英文|文言|白话)",
    "always": r"\b(?:always|from now on|(?<!to )make sure|keep (?:it|the))\b|务必|始终|从现在起|一定要",
    "never": r"\b(?:never|avoid|(?:do not|don['’]t)(?! (?:know|remember|recall|think|understand|mind|care|have|need|see how|miss))"
    r"|no (?:swearing|gore|romance|clich[eé]s?|modern))\b|(?<!要)不要|禁止|避免|不许|别写",
}
_STYLE_WORDS = {subject: re.compile(words, re.IGNORECASE) for subject, words in _STYLE.items()}
_STYLE_HINTS = {
    subject: tuple(hints.split("|"))
    for subject, hints in {
        "person": "person|point of view|pov|人称|视角",
        "tense": "tense|过去时|现在时",
        "tone": "tone|mood|voice|基调|语气|文风|笔调",
        "length": "words|pages|paragraphs|字",
        "language": "write |用",
        "always": "always|from now on|make sure|keep |务必|始终|从现在起|一定要",
        "never": "never|avoid|do not|don|no |不要|禁止|避免|不许|别写",
    }.items()
}
"""Small letters, one of which stands in whatever has the words: letters are found much faster, and most texts have none."""
_WORLD_HINTS = ("in this", "world", "magic", "世界", "设定", "魔法", "修仙")

_SUPERSEDED = ("person", "tense", "tone", "length", "language")
"""Subjects of which the newest direction alone holds; of the others each direction holds beside the rest."""

_NAME = r"([A-Z][\w'’-]{1,20}(?: [A-Z][\w'’-]{1,20})?)"
_CHARACTER = re.compile(
    rf"(?:named|called|character is|hero(?:ine)? is|villain is) {_NAME}"
    rf"|^\W*{_NAME} (?:is|was) (?:a|an|the|her|his|\d)\b|^\W*{_NAME}, (?:a|an|the|aged|\d)\b"
    r"|(?:主角|女主|男主|主人公|反派|配角|妹妹|哥哥|师父)(?:的名字)?(?:叫做?|名叫|是)([\u4e00-\u9fff·]{2,4}?)(?=[，,。\s]|$)"
    r"|^\W*([\u4e00-\u9fff·]{2,4}?)是(?:一个|一名|一位|个|位)"
)
_NO_NAME = frozenset(
    ("It", "This", "That", "There", "Here", "He", "She", "They", "We", "You", "What", "The", "Everyone")
)
_WORLD = re.compile(
    r"\bin this (?:world|story|universe|kingdom)\b|\bworld ?building\b|\brule of (?:the world|magic)\b"
    r"|\bmagic (?:costs|needs|only|never|always|works)\b|在这个世界|世界观|设定[是：:]|魔法|修仙",
    re.IGNORECASE,
)


@hook
def ctxkit_extract_facts(text: str, said_by: str) -> list[Fact]:
    """What `keep-key-facts` learns from this plugin: see `story_facts`."""
    return list(story_facts(text)) if said_by == "user" else []


def story_facts(text: str) -> Iterator[Fact]:
    """The directions, characters and rules in what an author said, each a sentence as it stands."""
    for match in _SENTENCE.finditer(text):
        sentence = match.group().strip()
        if SHORTEST <= len(sentence) <= LONGEST:
            yield from _of_sentence(sentence)


def _of_sentence(sentence: str) -> Iterator[Fact]:
    name = _named(sentence)
    if name:
        yield _fact("character", name, sentence)
        return
    lower = sentence.lower()
    if any(hint in lower for hint in _WORLD_HINTS) and _WORLD.search(sentence):
        yield _fact("world", "", sentence)
        return
    subject = next(
        (
            each
            for each, hints in _STYLE_HINTS.items()
            if any(hint in lower for hint in hints) and _STYLE_WORDS[each].search(sentence)
        ),
        None,
    )
    if subject in _SUPERSEDED:
        yield Fact(f"style, {subject}", sentence, priority=PRIORITIES["style"], must_keep=True)
    elif subject:
        yield _fact("style", subject, sentence)


def _named(sentence: str) -> str:
    """The name of the character that a sentence introduces or describes, "" without one."""
    found = _CHARACTER.search(sentence)
    name = next((each for each in found.groups() if each), "") if found else ""
    return "" if name.split(" ")[0] in _NO_NAME else name


def _fact(what: Literal["style", "character", "world"], name: str, sentence: str) -> Fact:
    """A fact that stands beside others on the same thing; its key ends in its first words."""
    opening = sentence[:24].strip()
    key = f"{what}, {name}, {opening}" if name else f"{what}, {opening}"
    return Fact(key, sentence, priority=PRIORITIES[what], must_keep=what == "style")
