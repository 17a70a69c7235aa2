"""Origins: where the lines of a summary come from, and what is done with those that come from nowhere or from tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ctxkit.summaries.language import Language
from ctxkit.summaries.prose import sentences
from ctxkit.summaries.salience import Said, label, unlabelled
from ctxkit.summaries.sections import Sections
from ctxkit.summaries.specifics import Kind, foreign, missing, specifics

__all__ = ["NOT_IN_SOURCE", "Origins", "directs"]

NOT_IN_SOURCE: dict[Language, str] = {"en": "[not in the source]", "zh": "[原文没有]"}
"""What stands in a summary for a value that is in none of its sources."""

MOSTLY = 0.6
"""Of the runs of three words of a line: as many that a speaker said make it a line of that speaker's."""

_PEOPLES = ("goal", "decisions")
"""Sections that hold what people want and agreed on."""

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
    return _SEIZES.search(text) is not None or _DIRECTS.search(text) is not None


class Origins:
    """What a summary was made from, for looking up where its lines come from.

    Args:
        sources: what was said, in order.
        earlier: the summary that it goes on from; the lines in it that name no tool are as good as said.
        language: of the labels that are put before lines.
    """

    def __init__(self, sources: Sequence[Said], earlier: Sections, language: Language) -> None:
        kept = [line for _, line in earlier.lines()]
        self._language = language
        self._texts = [
            *(text for each in sources for text in (each.text, each.call, each.tool) if text),
            *kept,
        ]
        own = [text for each in sources for text in _own(each)]
        self._own = "\n".join([*own, *(line for line in kept if unlabelled(line)[0] != "tool")])
        self._tools = [each for each in (*sources, *map(_retold, kept)) if each.by == "tool"]
        self._own_runs = set(_runs(self._own)) if self._tools else set()
        self._runs_of = [frozenset(_runs(each.text)) for each in self._tools]

    def cleaned(self, sections: Sections) -> tuple[Sections, tuple[str, ...]]:
        """The sections without what they should not have, and one sentence on each thing that went.

        A value in no source is marked as such. A line that has a tool's words, or a value that only tools said, gets the
        tool's name before it, and is no goal and no decision. An instruction that only a tool's text has goes.
        """
        invented = foreign("\n".join(line for _, line in sections.lines()), self._texts)
        told = [f"{value!r:.120} is in no source and was taken out" for value in invented]
        lines: list[tuple[str, str]] = []
        for section, line in sections.lines():
            line = self._marked(line, invented)
            if line and self._tools:
                section, line = self._in_its_place(section, line, told)
            if line:
                lines.append((section, line))
        return Sections.gathered(lines), tuple(told)

    def _marked(self, line: str, invented: Iterable[str]) -> str:
        """A line with a mark for each value that is in no source; "" when there is nothing else in it."""
        for value in sorted((each for each in invented if each in line), key=len, reverse=True):
            line = _standing(value).sub(lambda _: NOT_IN_SOURCE[self._language], line)
        rest = line.replace(NOT_IN_SOURCE[self._language], "")
        return line if any(character.isalnum() for character in rest) else ""

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
        return self._attributed(section, line)

    def _orders(self, sentence: str, *, told_as: str) -> bool:
        """Whether a sentence gives an order that is a tool's; told as what a tool said, only one that wants to be obeyed
        by whoever reads it."""
        gives = _SEIZES.search(sentence) is not None if told_as == "tool" else directs(sentence)
        return gives and self._is_tools(sentence)

    def _attributed(self, section: str, line: str) -> tuple[str, str]:
        """The line under its section; with the name of the tool before it, and a fact, when only that tool said it."""
        by, said = unlabelled(line)
        if by != "tool":
            if not self._is_tools(said):
                return section, line
            line = label("tool", self._language, self._tool_of(said)) + said
        return "facts" if section in _PEOPLES else section, line

    def _is_tools(self, sentence: str) -> bool:
        return self._copied(sentence) or self._only_tools_have(sentence)

    def _copied(self, text: str) -> bool:
        """Whether most of a text stands in what one tool said, and not in what people said."""
        runs = set(_runs(text))
        of_tools = max(len(tool.intersection(runs)) for tool in self._runs_of)
        return of_tools >= MOSTLY * len(runs) > len(self._own_runs.intersection(runs))

    def _only_tools_have(self, text: str) -> bool:
        """Whether a text has a value that only tools said."""
        values = [each for each in specifics(text) if each.kind is not Kind.CONSTRAINT]
        unsaid = missing(self._own, values)
        return len(missing("\n".join(each.text for each in self._tools), unsaid)) < len(unsaid)

    def _tool_of(self, text: str) -> str:
        """The name of the tool whose text has most of a text."""
        runs = frozenset(_runs(text))
        values = [each for each in specifics(text) if each.kind is not Kind.CONSTRAINT]
        best = max(
            range(len(self._tools)),
            key=lambda at: len(runs & self._runs_of[at]) - len(missing(self._tools[at].text, values)),
        )
        return self._tools[best].tool


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


def _standing(value: str) -> re.Pattern[str]:
    """A value where it is not a piece of a longer one."""
    before = r"(?<![A-Za-z0-9])" if value[0].isascii() and value[0].isalnum() else ""
    after = r"(?![A-Za-z0-9])" if value[-1].isascii() and value[-1].isalnum() else ""
    return re.compile(before + re.escape(value) + after)
