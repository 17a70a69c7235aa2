"""Support: whether what a summary says was said at all, and by whom, told from the words that it shares with its sources.

A model says things in its own words. Exact values and runs of words tell a copy (`origins`); the stems of words tell
whose a paraphrase is. They are a coarse measure: what is doubtful is marked and kept, not refused.

What tells somebody what to do is measured more strictly (`Voices`): a wish that is taken for a person's is obeyed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import chain, pairwise
from typing import TypeVar

from ctxkit.literals import HAN, HAN_CHARACTER
from ctxkit.summaries.attribution import PERSONS
from ctxkit.summaries.cues import asks, assents, binds
from ctxkit.summaries.language import Language
from ctxkit.summaries.prose import STEM, sentences, stems

__all__ = ["NOTED", "UNVERIFIED", "Quotes", "Support", "Supported", "Voices", "by_each", "is_unverified"]

Key = TypeVar("Key")
Place = TypeVar("Place")

UNVERIFIED: dict[Language, str] = {"en": "[unverified]", "zh": "[未核实]"}
"""What stands behind a line of a summary that nothing that was said supports."""

LEAST_WORDS = 2
"""Stems of a sentence from which on it can be told whose it is."""

LEAST_SHARE = 0.2
"""Of the stems of a sentence: as many its sources have to have, or nothing supports it."""

_TELLING = frozenset(
    stems(
        "user users asked asks wants wanted request requested assistant agent customer client tool conversation stated "
        "mentioned confirmed decided decision goal unverified 用户 助手 工具 客户 表示 要求 希望 决定 目标 确认"
    )
)
"""Words with which summaries tell that somebody said something; they support nothing."""

ASKED_SHARE = 0.5
"""Of the stems of a sentence that orders somebody: as many have to be said by those who may order it."""

ASKED_SHARE_CHINESE = 0.35
"""The same in Chinese, where the pairs of characters across words are nobody's."""

LIKE_SHARE = 0.6
"""Of the words of a clause: as many one of the sources has to have that it is to be compared with."""

APART = 3
"""Words of a message from one to the next of a quotation from it: as many as one are left out, and one more."""

_WORD = re.compile(rf"[{HAN}¬]|[^\W_{HAN}]+")
_SMALL = frozenset(
    word
    for words in (
        "a an the to of in on at for with and or is are was were be been it its this that these those ever",
        "my your our his her their i me you we us he him she they them am m re s ve ll d do does did has have had",
        "can must should shall will would please user assistant wants asks",
        "的 了 吗 呢 吧 啊 把 将 请 我 你 您 他 她 它 们 是 在 和 与 也 就 都",
    )
    for word in words.split()
)
"""Words that a quotation may have more than the message: they add nothing to what is asked for."""

_SMALL_CHINESE = re.compile(r"用户|助手|要求|希望|需要|必须|务必|应该|应当|一定要")
_NOT = re.compile(
    r"n['’]t\b|(?<=can)not\b|\b(?:not|never|nor?)\b|不(?:要|得|许|准|能|可以?)?|别|勿|禁止", re.IGNORECASE
)
_NEGATED = "¬"

_FORBIDS = re.compile(
    r"\b(?:(?:must|should|shall|may|need)(?:n['’]t| not)|(?:is|are|was|were)(?:n['’]t| not)|(?:am|['’](?:m|re|s)) not|not to|no(?= [a-z])(?! (?:longer|more|need|problem|idea|one)\b)|avoid(?:ing)?|refrain from"
    r"|(?<!\bi )(?<!\bwe )(?<!\byou )(?<!\bthey )(?:do(?:n['’]t| not)|never))\b"
    r"|不要|不得|不[许許]|不[准準]|不是|[不没](?=[过過]敏)|勿|禁止|(?<![特区分级类个离差告性识辨判鉴派])别",
    re.IGNORECASE,
)
"""What denies or forbids the word behind it. Inability and what did not happen ("I cannot cancel it", "you never shipped
it") forbid nothing."""

_WEIGHS = re.compile(
    r"\b(?:whether|if|unless|instead of|rather than|other than|except\w{0,3}|without|avoid\w{0,3}|exclud\w{0,3}|declin\w{0,3}|refus\w{0,3}|reject\w{0,3}"
    r"|remov\w{0,3}|cancel\w{0,4}|forbid\w{0,5}|prohibit\w{0,3}|banned|skip\w{0,4}|omit\w{0,4}|left out|none|nothing|zero|0|free)\b"
    r"|是否|如果|要不要|除|免|拒|取消|去掉|无|無|没|沒",
    re.IGNORECASE,
)
"""What a clause may have that names something and neither wants nor does it."""

_TAKES_BACK = re.compile(
    r"\b(?:no longer|any ?more|any longer|used to (?:be|have)|out(?:grown?|grew)|former(?:ly)?|in the past|cured|healed|not (?:true|valid|meant)|untrue"
    r"|not apply|tak(?:es?|en|ing) (?:it |that |this )?back|took (?:it |that |this )?back|withdr[ae]w\w{0,4}|retract\w{0,4}|revok\w{0,3}|rescind\w{0,3}"
    r"|(?:by|a) mistake|mistaken(?:ly)?|in error|ignore (?:it|this|that|them)|lifted|waived|obsolete|outdated|a joke|joking"
    r"|changed (?:his|her|their|my|its) minds?)\b"
    r"|(?<!再也)不再|已经?不|[曾过過][经經去](?:[对對是有])|曾(?=[对對])|以前(?=[对對是有])|收回|撤回|撤[销銷]|作[废廢]|失效|[说說][错錯]|口误|误说|不算[数數]"
    r"|改(?:了|变)?主意|改變主意|不用再|[无無]需再|痊愈|治好|不成立|不属实",
    re.IGNORECASE,
)
"""What says that something holds no more, or never did."""

_WHEN = frozenset({"befo", "afte", "unti", "前", "后", "後"})
"""Words of which another turns a clause about: "call after nine" is no opposite of "do not call before nine"."""

_PART = re.compile(r"[,;:](?=\s)|[，；：]|\s[-–—](?=\s)|\bbut\b|但", re.IGNORECASE)

NOTED = "noted"
"""Whose the facts of an earlier summary are that name nobody."""

_AGREED = "agreed"
"""Whose the questions of the assistant are to which a user said yes."""


class Supported(StrEnum):
    """Whose a sentence is, as far as its words tell."""

    OWN = "own"
    """People's or the assistant's, or it cannot be told."""
    TOOLS = "tools"
    """More of its words come from tools alone than from anybody else."""
    NOBODY = "nobody"
    """Next to none of its words were said."""


class Support:
    """The words that were said, by people and the assistant, and by tools.

    Args:
        own: what people and the assistant said.
        tools: what each tool said.
    """

    def __init__(self, own: str, tools: Sequence[str]) -> None:
        self._own = stems(own)
        self._by_tool = [stems(text) for text in tools]
        self._tools = frozenset().union(*self._by_tool) - self._own
        self._foreign = {
            bool(HAN_CHARACTER.search(text)) for text in tools if len(text.split()) >= LEAST_WORDS
        }

    def of(self, sentence: str, *, translated: bool = True) -> Supported:
        """Whose a sentence is. What has a digit tells nothing here: values are looked up exactly.

        Args:
            sentence: of a summary, without a label.
            translated: it may be the translation of what a tool said, and is not called unsupported then.
        """
        words = _telling(sentence)
        if len(words) < LEAST_WORDS:
            return Supported.OWN
        own, tools = len(words & self._own), len(words & self._tools)
        if tools > own:
            return Supported.TOOLS
        unsaid = own + tools < LEAST_SHARE * len(words)
        comparable = not translated or self._comparable(sentence)
        return Supported.NOBODY if unsaid and comparable else Supported.OWN

    def shared(self, sentence: str) -> list[int]:
        """How many words of a sentence each tool said."""
        words = stems(sentence)
        return [len(words & tool) for tool in self._by_tool]

    def _comparable(self, sentence: str) -> bool:
        """Whether no tool said something in the other script, of which a sentence might be the translation."""
        return not self._foreign - {bool(HAN_CHARACTER.search(sentence))}


class Quotes:
    """Messages, in which it is looked up what stands there nearly word for word.

    Words may be left out of a quotation, but no "not", and none may be added: in one message each of its words stands near
    the one before or behind it, in their order.
    """

    def __init__(self, messages: Iterable[str]) -> None:
        self._places: dict[tuple[str, ...], list[int]] = {}
        for at, message in enumerate(messages):
            words = _words(message)
            for start, word in enumerate(words):
                for run in ((word,), *((word, other) for other in words[start + 1 : start + 1 + APART])):
                    places = self._places.setdefault(run, [])
                    if places[-1:] != [at]:
                        places.append(at)

    def has(self, text: str) -> bool:
        """Whether a text stands there; False for one that says nothing."""
        words = _words(text)
        if len(words) == 1:
            return bool(self._at(*words))
        beside = [self._at(*pair) for pair in pairwise(words)]
        each = [before | behind for before, behind in zip([set(), *beside], [*beside, set()], strict=True)]
        return bool(beside) and bool(set[int].intersection(*each))

    def _at(self, *run: str) -> set[int]:
        return set(self._places.get(run, ()))


@dataclass(frozen=True, slots=True)
class _Stance:
    """The words of a clause, and those that it affirms and denies as far as that is plain."""

    words: frozenset[str]
    affirmed: frozenset[str]
    denied: frozenset[str]
    weighs: bool
    """It names something that it may neither want nor do."""

    @classmethod
    def each_of(cls, sentence: str) -> Iterator[_Stance]:
        """The stances of the clauses of a sentence; a question has none."""
        for clause in () if asks(sentence) else _PART.split(sentence):
            words = frozenset(_plain(clause))
            forbids = [found.end() for found in _FORBIDS.finditer(clause)]
            denied = chain.from_iterable(_plain(clause[end:])[:1] for end in forbids)
            affirmed = frozenset() if forbids or _NOT.search(clause) else words
            yield cls(words, affirmed, frozenset(denied), _WEIGHS.search(clause) is not None)

    def contradicts(self, other: _Stance) -> bool:
        """Whether one of the two denies what the other affirms."""
        if not _WHEN.isdisjoint(self.words ^ other.words):
            return False
        return not (self.affirmed.isdisjoint(other.denied) and self.denied.isdisjoint(other.affirmed))


class _Heard:
    """What some of those who spoke said."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = tuple(texts)

    @cached_property
    def quotes(self) -> Quotes:
        return Quotes(self._texts)

    @cached_property
    def stems(self) -> frozenset[str]:
        return stems("\n".join(self._texts))

    @cached_property
    def _sentences(self) -> tuple[str, ...]:
        return tuple(each for text in self._texts for each in sentences(text))

    @cached_property
    def _stances(self) -> tuple[_Stance, ...]:
        return tuple(stance for each in self._sentences for stance in _Stance.each_of(each))

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """The places of the clauses that have a word."""
        return by_each((at, stance.words) for at, stance in enumerate(self._stances))

    @cached_property
    def _rules(self) -> dict[str, list[frozenset[str]]]:
        """The words of the sentences that bind and take nothing back, by each of them."""
        rules = {
            frozenset(_plain(each))
            for each in self._sentences
            if binds(each) and not (asks(each) or _TAKES_BACK.search(each))
        }
        return by_each((rule, rule) for rule in rules)

    @cached_property
    def _taken_back(self) -> frozenset[str]:
        """The words of the sentences that take something back."""
        return frozenset().union(
            *(_without_cue(each) for each in self._sentences if _TAKES_BACK.search(each))
        )

    def contradicts(self, sentence: str) -> bool:
        """Whether a clause of a sentence says the opposite of the clause that it is most like, of each, if several are; or
        has all the words of one that forbids it."""
        return any(self._is_opposed_to(each) or self._forbids(each) for each in _Stance.each_of(sentence))

    def rules_like(self, sentence: str) -> set[frozenset[str]]:
        """Where a sentence says that something holds no more: the words that its clauses have of the rules that they are
        most like."""
        found = set[frozenset[str]]()
        cue = _TAKES_BACK.search(sentence) and not asks(sentence)
        for words in map(_without_cue, _PART.split(sentence) if cue else ()):
            like = Counter(rule for word in words for rule in self._rules.get(word, ()))
            most = max(like.values(), default=0)
            if most >= max(1, LIKE_SHARE * len(words)):
                found.update(words & rule for rule, shared in like.items() if shared == most)
        return found

    def takes_back(self, rule: frozenset[str]) -> bool:
        """Whether somebody said that something with one of these words holds no more; or both forbade and affirmed what
        has them all."""
        if not self._taken_back.isdisjoint(rule):
            return True
        alike = set[int].intersection(*(set(self._places.get(word, ())) for word in rule))
        by_time: dict[frozenset[str], tuple[set[str], set[str]]] = {}
        for stance in (self._stances[at] for at in alike):
            affirmed, denied = by_time.setdefault(stance.words & _WHEN, (set(), set()))
            affirmed.update(stance.affirmed)
            denied.update(stance.denied)
        return any(not affirmed.isdisjoint(denied) for affirmed, denied in by_time.values())

    def _forbids(self, told: _Stance) -> bool:
        """Whether a clause does what another one with these words forbids, and no third one affirms it."""
        if told.weighs or not told.affirmed:
            return False
        against = {self._stances[at] for word in told.words for at in self._denials.get(word, ())}
        return any(self._is_against(rule, told) for rule in against)

    def _is_against(self, rule: _Stance, told: _Stance) -> bool:
        if len(rule.words) < LEAST_WORDS or not rule.words <= told.words or not told.contradicts(rule):
            return False
        places = (self._stances[at] for word in rule.denied for at in self._places[word])
        return not any(rule.words <= each.affirmed for each in places)

    @cached_property
    def _denials(self) -> dict[str, list[int]]:
        """The places of the clauses that deny a word."""
        return by_each((at, stance.denied) for at, stance in enumerate(self._stances))

    def _is_opposed_to(self, told: _Stance) -> bool:
        like = Counter(at for word in told.words for at in self._places.get(word, ()))
        most = max(like.values(), default=0)
        if most < max(1, LIKE_SHARE * len(told.words)):
            return False
        return all(told.contradicts(self._stances[at]) for at, words in like.items() if words == most)


class Voices:
    """What people and the assistant said, by speaker; and whether an order is one that they gave.

    Args:
        spoken: who said something, in order, "" where nobody is named, and what; tools left aside. A user with a name is
            "user Ann", and "user" is all of them. `NOTED` is nobody: what it says supports nothing.
    """

    def __init__(self, spoken: Sequence[tuple[str, str]]) -> None:
        self._spoken = (*spoken, *((_AGREED, each) for each in _agreed(spoken)))
        self._heard: dict[tuple[str, ...], _Heard] = {}

    def quoted(self, by: str, text: str) -> bool:
        """Whether a speaker said it nearly word for word; any of them when `by` is ""."""
        return self._of(by).quotes.has(text)

    def told(self, by: str, sentence: str) -> bool:
        """Whether a sentence is, in other words, what a speaker said, or any of them when `by` is ""; too few words are
        not enough."""
        words = _telling(_SMALL_CHINESE.sub(" ", sentence))
        heard = self._of(by)
        enough = len(words) >= LEAST_WORDS and _have(heard.stems, words, sentence)
        return enough and not heard.contradicts(sentence)

    def contradicted(self, sentence: str) -> bool:
        """Whether a sentence says the opposite of what people said, or an earlier summary."""
        return self._of(*_NOT_THE_ASSISTANT, NOTED, _AGREED).contradicts(sentence)

    def takes_back(self, sentence: str, *, people_alone: bool) -> bool:
        """Whether a sentence says that a rule which people gave holds no more, and neither they nor an earlier summary did;
        or the assistant, unless people alone count."""
        heard = self._of(*_NOT_THE_ASSISTANT, NOTED)
        others = heard if people_alone else self._of(*_NOT_THE_ASSISTANT, NOTED, "assistant")
        return not all(map(others.takes_back, heard.rules_like(sentence)))

    def gave(self, order: str, *, people_alone: bool) -> bool:
        """Whether a sentence that orders somebody is what they asked for, and not the opposite of it; what people did, or
        the assistant too."""
        words = _telling(_SMALL_CHINESE.sub(" ", order))
        if len(words) < LEAST_WORDS:
            return any(self.quoted(by, order) for by in (PERSONS if people_alone else ("",)))
        heard = self._of(*_NOT_THE_ASSISTANT) if people_alone else self._of("")
        return _have(heard.stems, words, order) and not self.contradicted(order)

    def _of(self, *speakers: str) -> _Heard:
        """What these speakers said; all that was said when the one is ""."""
        if speakers not in self._heard:
            anybody = speakers == ("",)
            of_these = tuple(f"{each} " for each in speakers if each)
            self._heard[speakers] = _Heard(
                text
                for by, text in self._spoken
                if by in speakers or by.startswith(of_these) or (anybody and by not in (NOTED, _AGREED))
            )
        return self._heard[speakers]


_NOT_THE_ASSISTANT = (*PERSONS, "")


def _agreed(spoken: Iterable[tuple[str, str]]) -> Iterator[str]:
    """What the assistant asked and a user said yes to, as if the user had said it."""
    asked = ""
    for by, text in spoken:
        if by == "user" or by.startswith("user "):
            if asked and assents(text):
                yield asked
            asked = ""
        elif by == "assistant" or by.startswith("assistant "):
            told = [each for each in sentences(text) if asks(each)]
            asked = re.sub("[?？]", ".", told[-1]) if told else ""


def by_each(found: Iterable[tuple[Place, Iterable[Key]]]) -> dict[Key, list[Place]]:
    """What has each of the keys, in order."""
    places: dict[Key, list[Place]] = {}
    for place, keys in found:
        for key in keys:
            places.setdefault(key, []).append(place)
    return places


def _without_cue(text: str) -> frozenset[str]:
    """The words of a text but for those that take something back."""
    return frozenset(_plain(_TAKES_BACK.sub(" ", text)))


def _have(said: frozenset[str], words: Collection[str], sentence: str) -> bool:
    """Whether enough of the words of a sentence were said."""
    share = ASKED_SHARE_CHINESE if HAN_CHARACTER.search(sentence) else ASKED_SHARE
    return len(said.intersection(words)) >= share * len(words)


def _telling(sentence: str) -> set[str]:
    """The stems of a sentence that tell whose it is."""
    return {word for word in stems(sentence) - _TELLING if not any(map(str.isdigit, word))}


def _words(text: str) -> list[str]:
    """The words of a text that a quotation has to keep, by their first letters, and each Chinese character. One behind a
    "not" is another word: that "not" cannot be left out."""
    found, negated = list[str](), ""
    for word in _WORD.findall(_NOT.sub(f" {_NEGATED} ", _SMALL_CHINESE.sub(" ", text)).casefold()):
        if word == _NEGATED:
            negated = word
        elif word not in _SMALL:
            found.append(negated + (word[:STEM] if word.isalpha() else word))
            negated = ""
    return [*found, negated] if negated else found


def _plain(text: str) -> list[str]:
    """The words of a text that a quotation has to keep, whether or not they stand behind a "not"."""
    return [word for each in _words(text) if (word := each.removeprefix(_NEGATED))]


def is_unverified(line: str) -> bool:
    """Whether a line of a summary is marked as one that nothing supports."""
    return line.endswith(tuple(UNVERIFIED.values()))
