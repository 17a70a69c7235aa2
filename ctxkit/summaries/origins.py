"""Origins: where the lines of a summary come from, and what is done with those that come from nowhere or from tools."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from ctxkit.summaries.answers import without_tags
from ctxkit.summaries.known import Known, is_checked, replaced
from ctxkit.summaries.language import Language
from ctxkit.summaries.prose import sentences
from ctxkit.summaries.salience import Said, label, unlabelled
from ctxkit.summaries.sections import Sections
from ctxkit.summaries.specifics import Kind, Specific, specifics
from ctxkit.summaries.support import UNVERIFIED, Support, Supported, is_unverified

__all__ = ["NOT_IN_SOURCE", "Origins", "directs", "seizes"]

NOT_IN_SOURCE: dict[Language, str] = {"en": "[not in the source]", "zh": "[原文没有]"}
"""What stands in a summary for a value that is in none of its sources."""

MOSTLY = 0.6
"""Of the runs of three words of a line: as many that a speaker said make it a line of that speaker's."""

_PEOPLES = ("goal", "decisions")
"""Sections that hold what people want and agreed on."""

_RUN = re.compile(r"[A-Za-z0-9]+")
_WORD = re.compile(r"[㐀-䶿一-鿿]|[A-Za-z0-9]+")

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


def directs(text: str) -> bool:
    """Whether a sentence tells somebody what to do."""
    return seizes(text) or _DIRECTS.search(text) is not None


def seizes(text: str) -> bool:
    """Whether a sentence wants to be obeyed by whoever reads it."""
    return _SEIZES.search(text) is not None


class Origins:
    """What a summary was made from, for looking up where its lines come from.

    Args:
        sources: what was said, in order.
        earlier: the summary that it goes on from; the lines in it that name no tool, and are not marked as unverified,
            are as good as said.
        language: of the labels that are put before lines.
    """

    def __init__(self, sources: Sequence[Said], earlier: Sections, language: Language) -> None:
        kept = [line for _, line in earlier.lines()]
        self._language = language
        self._all = Known(
            [*(text for each in sources for text in (each.text, each.call, each.tool) if text), *kept]
        )
        sure = [line for line in kept if unlabelled(line)[0] != "tool" and not is_unverified(line)]
        own = "\n".join([*(text for each in sources for text in _own(each)), *sure])
        self._tools = [each for each in (*sources, *map(_retold, kept)) if each.by == "tool"]
        said_by_tools = [each.text for each in self._tools]
        self._own, self._by_tool = Known([own]), Known(said_by_tools)
        self._own_runs = set(_runs(own)) if self._tools else set()
        self._run_by = _by_run(said_by_tools)
        self._support = Support(own, said_by_tools)

    def cleaned(self, sections: Sections) -> tuple[Sections, tuple[str, ...]]:
        """The sections without what they should not have, and one sentence on each thing that went or moved.

        A value in no source is marked as such. A line that has a tool's words, or a value that only tools said, gets the
        tool's name before it, and is no goal and no decision. An instruction that only a tool's text has goes. A
        goal or decision that only paraphrases what tools said becomes a fact that is marked as unverified; so does one
        that nobody said, and any other line that nobody said is marked where it stands.
        """
        text = "\n".join(line for _, line in sections.lines())
        invented = [each.text for each in specifics(text) if is_checked(each) and not self._all.has(each)]
        told = [f"{value!r:.120} is in no source and was taken out" for value in invented]
        marker = _Marker(invented, NOT_IN_SOURCE[self._language])
        lines: list[tuple[str, str]] = []
        for section, line in sections.lines():
            line = without_tags(marker.marked(line))
            section, line = self._in_its_place(section, line, told) if line else (section, line)
            if line:
                lines.append((section, line))
        return Sections.gathered(lines), tuple(told)

    def _in_its_place(self, section: str, line: str, told: list[str]) -> tuple[str, str]:
        """Where a line belongs, without the instructions in it that only tools gave; "" when nothing else is there."""
        by, said = unlabelled(line)
        whole = tuple(sentences(said)) or (said,)
        kept = tuple(each for each in whole if not self._orders(each, told_as=by))
        told.extend(
            f"left out, an instruction that only a tool's text has: {each!r:.120}"
            for each in whole
            if each not in kept
        )
        if not kept:
            return section, ""
        if kept != whole:
            line = line[: len(line) - len(said)] + " ".join(kept)
        return self._attributed(section, line, told)

    def _orders(self, sentence: str, *, told_as: str) -> bool:
        """Whether a sentence gives an order that is a tool's; told as what a tool said, only one that wants to be obeyed
        by whoever reads it."""
        if not self._tools:
            return False
        gives = seizes(sentence) if told_as == "tool" else directs(sentence)
        return gives and (self._is_tools(sentence) or self._support.of(sentence) is Supported.TOOLS)

    def _attributed(self, section: str, line: str, told: list[str]) -> tuple[str, str]:
        """The line under its section; with the name of the tool before it, and a fact, when only that tool said it."""
        by, said = unlabelled(line)
        fact = "facts" if section in _PEOPLES else section
        if by == "tool":
            return fact, line
        if self._tools and self._is_tools(said):
            return fact, label("tool", self._language, self._tool_of(said)) + said
        support = Supported.OWN if section == "exact" else self._support.of(said)
        if support is Supported.TOOLS and section in _PEOPLES:
            told.append(f"moved from {section} to facts, since only tools speak of it: {line!r:.120}")
            return fact, self._unverified(line)
        if support is Supported.TOOLS:
            return fact, label("tool", self._language, self._tool_of(said)) + said
        if support is Supported.NOBODY:
            told.append(f"marked as unverified, since nothing that was said supports it: {line!r:.120}")
            return fact, self._unverified(line)
        return section, line

    def _unverified(self, line: str) -> str:
        return line if is_unverified(line) else f"{line} {UNVERIFIED[self._language]}"

    def _is_tools(self, sentence: str) -> bool:
        return self._copied(sentence) or self._only_tools_have(sentence)

    def _copied(self, text: str) -> bool:
        """Whether most of a text stands in what one tool said, and not in what people said."""
        runs = set(_runs(text))
        of_tools = max(self._runs_of_tools(runs).values(), default=0)
        return of_tools >= MOSTLY * len(runs) > len(self._own_runs.intersection(runs))

    def _runs_of_tools(self, runs: Iterable[tuple[str, ...]]) -> Counter[int]:
        """How many of these runs each tool said."""
        return Counter(at for run in runs for at in self._run_by.get(run, ()))

    def _only_tools_have(self, text: str) -> bool:
        """Whether a text has a value that only tools said."""
        unsaid = self._own.missing(_values(text))
        return len(self._by_tool.missing(unsaid)) < len(unsaid)

    def _tool_of(self, text: str) -> str:
        """The name of the tool whose text has most of a text: of its runs and values, then of its words."""
        has = self._runs_of_tools(set(_runs(text)))
        has.update(at for value in _values(text) for at in self._by_tool.where(value))
        words = self._support.shared(text)
        return self._tools[max(range(len(self._tools)), key=lambda at: (has[at], words[at]))].tool


class _Marker:
    """Puts a mark in the place of values."""

    def __init__(self, values: Iterable[str], mark: str) -> None:
        self._mark = mark
        self._by_run: dict[str, list[str]] = {}
        for value in sorted(values, key=len, reverse=True):
            self._by_run.setdefault(max(_RUN.findall(value), key=len, default=""), []).append(value)

    def marked(self, line: str) -> str:
        """A line with the mark for each value that stands in it; "" when there is nothing else in it."""
        runs = ("", *dict.fromkeys(_RUN.findall(line)))
        values = [value for run in runs for value in self._by_run.get(run, ()) if value in line]
        for value in sorted(values, key=len, reverse=True):
            line = replaced(line, value, self._mark)
        rest = line.replace(self._mark, "") if values else line
        return line if any(character.isalnum() for character in rest) else ""


@lru_cache(maxsize=256)
def _values(text: str) -> tuple[Specific, ...]:
    return tuple(each for each in specifics(text) if each.kind is not Kind.CONSTRAINT)


def _retold(line: str) -> Said:
    """A line of an earlier summary as what it tells that somebody said."""
    by, said = unlabelled(line)
    name = line[: len(line) - len(said)].strip(" :：").partition(" ")[2]
    return Said(by or "assistant", said, name)


def _own(said: Said) -> tuple[str, ...]:
    """What of a message is no tool's: calls are made by the assistant."""
    return (said.call,) if said.by == "tool" else (said.text,)


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    """Three words or Chinese characters in a row, each run of them; all of a shorter text."""
    words = [word.casefold() for word in _WORD.findall(text)]
    if 0 < len(words) < 3:
        yield tuple(words)
    yield from zip(words, words[1:], words[2:], strict=False)


def _by_run(texts: Sequence[str]) -> dict[tuple[str, ...], list[int]]:
    """The places of the texts that have a run."""
    found: dict[tuple[str, ...], list[int]] = {}
    for at, text in enumerate(texts):
        for run in set(_runs(text)):
            found.setdefault(run, []).append(at)
    return found
