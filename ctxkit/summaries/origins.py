"""Origins: where the lines of a summary come from, and what is done with those that come from nowhere or from tools."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from ctxkit.literals import HAN
from ctxkit.summaries.answers import without_tags
from ctxkit.summaries.attribution import PERSONS, Quoted, directs, quoted, seizes, spoken_of, voice_of
from ctxkit.summaries.cues import binds
from ctxkit.summaries.known import Known, replaced
from ctxkit.summaries.labels import author_of
from ctxkit.summaries.language import Language
from ctxkit.summaries.prose import sentences
from ctxkit.summaries.salience import Said, called, label, unlabelled
from ctxkit.summaries.sections import Sections
from ctxkit.summaries.specifics import Kind, Specific, specifics
from ctxkit.summaries.support import NOTED, UNVERIFIED, Support, Supported, Voices, by_each, is_unverified

__all__ = ["NOT_IN_SOURCE", "Origins"]

NOT_IN_SOURCE: dict[Language, str] = {"en": "[not in the source]", "zh": "[原文没有]"}
"""What stands in a summary for a value that is in none of its sources."""

MOSTLY = 0.6
"""Of the runs of three words of a line: as many that a speaker said make it a line of that speaker's."""

LONGEST_NAME = 40
"""Characters before the colon of `name: value`."""

_PEOPLES = ("goal", "decisions")
"""Sections that hold what people want and agreed on."""

_COUNTED = frozenset({Kind.AMOUNT, Kind.DATE, Kind.TIME})
"""Kinds that tell one value from another by a digit alone: "one day" and "Friday" stand anywhere."""

_CLAUSE = re.compile(r"[,;](?=\s)|[，；]")
_RUN = re.compile(r"[A-Za-z0-9]+")
_WORD = re.compile(f"[{HAN}]|[A-Za-z0-9]+")


class Origins:
    """What a summary was made from, for looking up where its lines come from.

    Args:
        sources: what was said, in order; none for notes that are only told in fewer words, whose orders are looked up
            by `condensing`.
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
        self._run_by = by_each((at, set(_runs(text))) for at, text in enumerate(said_by_tools))
        self._support = Support(own, said_by_tools)
        self._people = frozenset(_people(sources, kept))
        self._voices = Voices(tuple(_voiced(sources, earlier))) if sources else None

    def cleaned(self, sections: Sections) -> tuple[Sections, tuple[str, ...]]:
        """The sections without what they should not have, and one sentence on each thing that went or moved.

        A value in no source is marked as such. A line that has a tool's words, or a value that only tools said, gets the
        tool's name before it, and is no goal and no decision. An instruction that only a tool's text has goes. A
        goal or decision that only paraphrases what tools said becomes a fact that is marked as unverified; so does one
        that nobody said, and any other line that nobody said is marked where it stands.

        A goal, a decision and what a person is quoted with orders nobody unless people did: otherwise it becomes such a
        fact, or goes when it wants to be obeyed by whoever reads it. What is told as a person's is what that person said
        nearly word for word, in the system's name everywhere, in the user's where it decides or orders anything; a goal or
        an open item in other words loses the name. An exact value has one in it that was said, or is what its speaker said
        nearly word for word; another is a fact, or goes when it orders somebody or nothing supports it.
        """
        text = "\n".join(line for _, line in sections.lines())
        invented = self._all.foreign_in(text)
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
        """Where a line belongs, without the instructions in it that only tools gave or nobody; "" when nothing else is
        there."""
        quote = self._quoted(line)
        said = quote.said
        whole = tuple(sentences(said)) or (said,)
        kept = []
        for sentence in whole:
            why = self._why_left_out(section, quote, sentence)
            if why:
                told.append(f"left out, {why}: {sentence!r:.120}")
            else:
                kept.append(sentence)
        if not kept:
            return section, ""
        if len(kept) < len(whole):
            line = line[: len(line) - len(said)] + " ".join(kept)
        if section == "exact" and not self._is_exact(line):
            section, line = self._inexact(line, told)
        return self._attributed(section, line, told) if line else (section, "")

    def _quoted(self, line: str) -> Quoted:
        return quoted(line, self._people)

    def _why_left_out(self, section: str, quote: Quoted, sentence: str) -> str:
        """Why a sentence goes, "" for one that may stay."""
        if self._orders(sentence, told_as=quote.by):
            return "an instruction that only a tool's text has"
        wants_obedience = section == "exact" or quote.by == "system" or seizes(sentence)
        if wants_obedience and directs(sentence) and self._why_doubted(section, quote, sentence):
            return "an instruction that no person gave"
        return ""

    def _why_doubted(self, section: str, quote: Quoted, sentence: str) -> str:
        """Why a sentence, told in somebody's name, is not to be relied on, "" where it is."""
        if self._voices is None or quote.by == "tool":
            return ""
        if self._is_anothers(quote, sentence):
            return "somebody else said it"
        if self._takes_back(quote, sentence):
            return "nobody took that back"
        return "no person asked for it" if self._is_unasked(section, quote, sentence) else ""

    def _is_anothers(self, quote: Quoted, sentence: str) -> bool:
        """Whether a person said it nearly word for word, and not the one that is named with it. What the assistant says
        again in the user's words is its own, but for rules."""
        assert self._voices is not None
        told = quote if quote.by else spoken_of(sentence, self._people)
        checks = told.author or (told.by == "assistant" and binds(sentence))
        words = sentence if quote.by else told.said
        if not checks or self._voices.quoted(told.voice, words):
            return False
        return any(self._voices.quoted(person, words) for person in PERSONS)

    def _takes_back(self, quote: Quoted, sentence: str) -> bool:
        """Whether a sentence says that a rule of people's holds no more, and nobody said so; of what is told as theirs, no
        person."""
        assert self._voices is not None
        return self._voices.takes_back(sentence, people_alone=quote.by in PERSONS)

    def _is_unasked(self, section: str, quote: Quoted, sentence: str) -> bool:
        """Whether a sentence tells what somebody wants or agreed on, and is not what they said; or the opposite of it."""
        assert self._voices is not None
        orders = directs(sentence)
        if quote.by in PERSONS:
            return self._is_put_in_the_mouth_of(quote, section, sentence, orders=orders)
        if quote.by and section == "exact":
            return orders and not self._voices.quoted(quote.voice, sentence)
        if section not in (*_PEOPLES, "exact"):
            return False
        if not orders:
            return section != "exact" and self._voices.contradicted(sentence)
        seizing = [clause for clause in _CLAUSE.split(sentence) if seizes(clause)]
        return not all(self._voices.gave(each, people_alone=bool(seizing)) for each in seizing or [sentence])

    def _is_put_in_the_mouth_of(self, quote: Quoted, section: str, sentence: str, *, orders: bool) -> bool:
        """Whether a person who is named with a sentence did not say it, as far as it matters in its section."""
        assert self._voices is not None
        if self._voices.quoted(quote.voice, sentence):
            return False
        if orders or (quote.by == "user" and section == "decisions"):
            return True
        if quote.by == "system":
            elsewhere = section != "decisions" and self._voices.quoted("", sentence)
            return not (elsewhere or self._voices.told(quote.voice, sentence))
        if section in ("goal", "open"):
            return not self._voices.told(quote.voice, sentence)
        return self._voices.contradicted(sentence)

    def _is_exact(self, line: str) -> bool:
        """Whether a line has a value that was said, or is what its speaker said; an order, and what is told as a person's,
        has to be that."""
        quote = self._quoted(line)
        said, voice = quote.said, quote.voice
        if self._voices is None:
            return True
        if quote.by != "tool" and directs(said):
            return self._voices.quoted(voice, said)
        of_others = quote.by not in PERSONS or (bool(self._tools) and self._is_tools(said))
        if of_others and any(self._tells(each) for each in _values(said)):
            return True
        if quote.by == "tool":
            runs = set(_runs(said))
            return max(self._runs_of_tools(runs).values(), default=0) >= MOSTLY * len(runs)
        name, _, value = said.replace("：", ":").partition(":")
        named = len(name) <= LONGEST_NAME and (quote.by not in PERSONS or self._voices.quoted("", name))
        return any(self._voices.quoted(voice, each) for each in ((said, value) if named else (said,)))

    def _tells(self, value: Specific) -> bool:
        """Whether a value was said, and is one that tells anything by itself."""
        counts = value.kind not in _COUNTED or any(map(str.isdigit, value.text))
        return counts and self._all.has(value)

    def _inexact(self, line: str, told: list[str]) -> tuple[str, str]:
        """What is no exact value, as a fact; "" when nothing supports it."""
        quote = self._quoted(line)
        own = self._support.of(quote.said, translated=False) is Supported.OWN
        if quote.by == "tool" or own or (self._tools and self._is_tools(quote.said)):
            told.append(
                f"moved from exact values to facts, since nobody said it in these words: {line!r:.120}"
            )
            of_a_speaker = quote.by in (*PERSONS, "assistant")
            return "facts", self._unverified(quote.said) if of_a_speaker else line
        told.append(f"left out, no exact value and nothing that was said supports it: {line!r:.120}")
        return "exact", ""

    def _orders(self, sentence: str, *, told_as: str) -> bool:
        """Whether a sentence gives an order that is a tool's; told as what a tool said, only one that wants to be obeyed
        by whoever reads it."""
        if not self._tools:
            return False
        gives = seizes(sentence) if told_as == "tool" else directs(sentence)
        return gives and (self._is_tools(sentence) or self._support.of(sentence) is Supported.TOOLS)

    def _attributed(self, section: str, line: str, told: list[str]) -> tuple[str, str]:
        """The line under its section; with the name of the tool before it, and a fact, when only that tool said it."""
        quote = self._quoted(line)
        by, said = quote.by, quote.said
        fact = "facts" if section in _PEOPLES else section
        if by == "tool":
            return fact, line
        if self._tools and self._is_tools(said):
            return fact, label("tool", self._language, self._tool_of(said)) + said
        doubts = (self._why_doubted(section, quote, each) for each in tuple(sentences(said)) or (said,))
        why = next(filter(None, doubts), "")
        if why:
            told.append(f"marked as unverified, since {why}: {line!r:.120}")
            return "facts", self._unverified(said)
        line = self._named(section, quote, line)
        support = Supported.OWN if section == "exact" else self._supported(section, by, said)
        if support is Supported.TOOLS and section in _PEOPLES:
            told.append(f"moved from {section} to facts, since only tools speak of it: {line!r:.120}")
            return fact, self._unverified(said if by in PERSONS else line)
        if support is Supported.TOOLS:
            return fact, label("tool", self._language, self._tool_of(said)) + said
        if support is Supported.NOBODY:
            told.append(f"marked as unverified, since nothing that was said supports it: {line!r:.120}")
            return fact, self._unverified(said if by in PERSONS else line)
        return section, line

    def _named(self, section: str, quote: Quoted, line: str) -> str:
        """A line without the name of a person who said it in other words, where the name would make it binding."""
        binding = quote.by == "system" or (quote.by == "user" and section in ("goal", "open"))
        if self._voices is None or not binding or self._voices.quoted(quote.voice, quote.said):
            return line
        return quote.said

    def _supported(self, section: str, by: str, said: str) -> Supported:
        """Whose a line is. What people want, what a user is quoted with and what somebody is to do translates no tool."""
        orders = seizes(said) or (section == "open" and directs(said))
        return self._support.of(said, translated=not (orders or section in _PEOPLES or by == "user"))

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


def _people(sources: Sequence[Said], kept: Sequence[str]) -> Iterator[str]:
    """The names of the users who speak."""
    for each in sources:
        if each.by == "user" and each.writer.author:
            yield called(each.writer.author)
    for line in kept:
        if unlabelled(line)[0] == "user" and author_of(line):
            yield author_of(line)


def _voiced(sources: Sequence[Said], earlier: Sections) -> Iterator[tuple[str, str]]:
    """Who said what, tools left aside, "" for a goal, a decision or an exact value of an earlier summary that names
    nobody. A fact of it that names nobody counts less: it may be what a tool said, in another script."""
    for each in sources:
        if each.by == "tool":
            yield "assistant", each.call
        else:
            yield voice_of(each.by, called(each.writer.author)), each.text
    for section, line in earlier.lines():
        quote = quoted(line)
        if quote.by != "tool" and not is_unverified(line):
            yield quote.voice or ("" if section in (*_PEOPLES, "exact") else NOTED), quote.said


def _own(said: Said) -> tuple[str, ...]:
    """What of a message is no tool's: calls are made by the assistant."""
    return (said.call,) if said.by == "tool" else (said.text,)


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    """Three words or Chinese characters in a row, each run of them; all of a shorter text."""
    words = [word.casefold() for word in _WORD.findall(text)]
    if 0 < len(words) < 3:
        yield tuple(words)
    yield from zip(words, words[1:], words[2:], strict=False)
