"""Attribution: in whose name a line of a summary stands, and whether it tells somebody what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from ctxkit.literals import HAN
from ctxkit.summaries.labels import author_of, unlabelled

__all__ = ["PERSONS", "Quoted", "directs", "quoted", "seizes", "spoken_of", "voice_of"]

PERSONS = ("user", "system")
"""Who may order somebody."""

MOST_OF_A_VALUE = 2
"""Words behind "Customer:" that are a value of that name, and quote nobody."""

_A_USER = "user|customer|client|human|用户|客户|顾客"
_SAYS = (
    r"(?: ?(?:prompt|message|says?|said|wants?|wanted|asks?|asked|states?|stated|requests?|requested|agrees|agreed"
    r"|confirms?|confirmed|decided)|提示|消息|说|要求|表示|希望|同意|确认)?(?:\W{0,3}[:：]|[\])】）]\W{0,3}[:：]?)\W{0,3}(?=\w)"
)
_NAMED = re.compile(
    rf"\W{{0,3}}(?:the )?(?:(?P<user>{_A_USER})|(?P<system>system|developer|系统|开发者)){_SAYS}",
    re.IGNORECASE,
)
"""What stands before a line that a person is quoted with, when it is not the label that ctxkit writes."""

_PIECE = re.compile(rf"[{HAN}]|[^\s{HAN}]+")

_SEIZES = re.compile(
    r"\b(?:from now on|(?:ignore|disregard|override|forget) (?:all|any|every|your|the|previous|prior|earlier)|you are now"
    r"|(?:system|developer) ?(?:prompt|message)? ?:|(?:new|previous|prior) (?:instruction|rule)s?\b)"
    r"|\A\W*(?:system|developer)\b ?[:：]"
    r"|从现在(?:开始|起)|(?:忽略|无视|忘记|不要理会)(?:之前|以上|所有|上述|先前|前面)|系统(?:提示|消息)?[:：]|新(?:的)?(?:指令|规则)",
    re.IGNORECASE,
)
"""What only somebody says who wants to be obeyed by whoever reads it."""

_DIRECTS = re.compile(
    r"\b(?:you (?:must|should|shall|will|have to)|must|never|always|do not|don['’]t|these (?:instruction|rule)s?)\b"
    r"|\A\W*(?:important|attention|assistant)\b ?[:：]"
    r"|\A\W*(?:please |kindly |then |now |and |also )*(?:send|forward|reply|respond|answer|delete|remove|run|execute|call|use"
    r"|transfer|pay|visit|click|open|reveal|print|output|email|post|upload|download|install|share|tell|say|act|pretend|add|set"
    r"|change|write|grant|approve)\b"
    r"|今后|必须|务必|一定要|不要|不得|不许|禁止|切勿|千万|请(?:将|把|勿|立即|立刻|务必|发|转)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Quoted:
    """A line of a summary, and in whose name it stands.

    Attributes:
        by: "user", "system", "assistant" or "tool", "" for nobody.
        author: who of several, as `called` has the name; "" where no name is told.
        said: the line without its label.
    """

    by: str
    author: str
    said: str

    @property
    def voice(self) -> str:
        """Whose words these are to be, as `Voices` knows them."""
        return voice_of(self.by, self.author)


def voice_of(by: str, author: str) -> str:
    """A speaker, of several of them the one with a name."""
    return f"{by} {author}" if author else by


def quoted(line: str, people: Iterable[str] = ()) -> Quoted:
    """Whose a line is told as.

    Args:
        line: of a summary.
        people: names of users, who may stand before a line without the word "user".
    """
    by, said = unlabelled(line)
    if by:
        return Quoted(by, "" if by == "tool" else author_of(line), said)
    names = frozenset(people)
    found = _NAMED.match(line) or (_by_name(names).match(line) if names else None)
    if found is None:
        return Quoted("", "", line)
    rest = line[found.end() :]
    if len(_PIECE.findall(rest)) <= MOST_OF_A_VALUE and not directs(rest):
        return Quoted("", "", line)
    if "name" not in found.groupdict():
        return Quoted(found.lastgroup or "", "", rest)
    name = found["name"].casefold()
    return Quoted("user", next(each for each in names if _bare(each).casefold() == name), rest)


def spoken_of(sentence: str, people: Iterable[str]) -> Quoted:
    """What a sentence tells of the user with whose name it begins, "Ann is allergic to nuts"; nobody's where it does not."""
    for name in people:
        rest = sentence.removeprefix(_bare(name))
        if rest != sentence and not (rest[:1].isascii() and rest[:1].isalnum()):
            return Quoted("user", name, rest)
    return Quoted("", "", sentence)


@lru_cache(maxsize=64)
def _by_name(people: frozenset[str]) -> re.Pattern[str]:
    """One of these people, named before a line with or without the word for a user."""
    names = "|".join(re.escape(_bare(each)) for each in sorted(people, key=lambda each: (-len(each), each)))
    return re.compile(
        rf"\W{{0,3}}(?:(?:the )?(?:{_A_USER}) ?)?\W?(?P<name>{names})\W{{0,2}}{_SAYS}", re.IGNORECASE
    )


def _bare(name: str) -> str:
    return name.strip('"')


def directs(text: str) -> bool:
    """Whether a sentence tells somebody what to do."""
    return seizes(text) or _DIRECTS.search(text) is not None


def seizes(text: str) -> bool:
    """Whether a sentence wants to be obeyed by whoever reads it."""
    return _SEIZES.search(text) is not None
