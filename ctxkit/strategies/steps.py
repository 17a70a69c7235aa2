"""Steps: what entries say, as facts that can be told apart, and as lines of a digest that can be read again."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from ctxkit.core.items import PartKind
from ctxkit.core.marks import is_marked
from ctxkit.core.pairing import Awaited
from ctxkit.core.provider import Entry
from ctxkit.core.state import Meter
from ctxkit.literals import Rank, as_json, words_of
from ctxkit.strategies.values import Fact, fact_of, facts_of, sentence, sentences_of, size_of
from ctxkit.summaries.returned import digest_in, returned

__all__ = [
    "ASSISTANT",
    "USER",
    "Place",
    "Step",
    "keep_written",
    "lines_of",
    "ln",
    "name_size",
    "read_again",
    "step_of",
    "steps_of",
]

ASSISTANT, USER = "assistant", "user"
NAMELESS_CALL = "call"
RETURNED = "ctxkit"
"""Whose a text is that ctxkit wrote and that came back."""

LONGEST_DIGEST = 50_000
"""Characters of a digest that is read again though it came from outside."""

SHORT_WORDS = 300
"""Characters of a user's message up to which it is kept as a whole or not at all."""

STEPS = 96
"""Steps that are kept for the next compaction."""

DIGESTS = 16
"""Digests that are kept for the next compaction."""

_QUOTED = re.compile(r'[\x00-\x1f\x7f;|{}"]|\) ->|^\s|\s$|^$')
_NAME_QUOTED = re.compile(r'[\x00-\x1f\x7f;|{}="()]|^\s|\s$|^$')
_STRING = r'"(?:[^"\\]|\\.)*"'
_ASKED = re.compile(rf'\(((?:[^"]|{_STRING})*?)\)(?= ->|$)')
_HEAD = re.compile(rf"{_STRING}|(?:(?!\(| ?-> ).)*")
_WORD = re.compile(
    rf"(?P<group>{_STRING}|[^=;|{{}}\"]+)\{{|(?P<end>\}})(?P<then>; | \|{{2,}} )?"
    rf"|(?:(?P<field>{_STRING}|[^=;|{{}}\"]+)=)?(?P<value>{_STRING}|[^;|{{}}]*?)(?P<more>; | \|+ |(?=\}})|$)"
)


Row = tuple[int, str, str, Rank, float]
"""The number of a fact, its text, what it has in common with others that say the same, its rank, and the natural
logarithm of its size."""


class Place(NamedTuple):
    """A name under which facts of a step stand: whether it is one of the arguments, and the facts."""

    field: str
    asked: bool
    rows: list[Row]


@dataclass(frozen=True)
class Step:
    """What somebody said (the facts are its sentences), or a call with its results.

    Steps are made once for each text and shared: what is worked out for one stays with it.
    """

    name: str
    said: bool
    facts: tuple[Fact, ...]

    @cached_property
    def texts(self) -> list[str]:
        """The text of each fact."""
        return [fact.text for fact in self.facts]

    @cached_property
    def head(self) -> int:
        """Tokens of its line beside the facts, about."""
        return 3 if self.said else name_size(self.name) + 2

    @cached_property
    def places(self) -> list[Place]:
        """The names under which facts stand, without answers that repeat an argument. What a state or an amount has in
        common with others that say the same is what the call was given, too: "shipped" of one order says nothing of
        another."""
        found: dict[tuple[str, bool], list[Row]] = {}
        about = " ".join(self.given)
        echoes: set[str] = set()
        for number, (field, text, level, size, asked, _, _) in enumerate(self.facts):
            key = f"{_words(field)}={text}" if field else text
            if asked:
                echoes.add(key)
            elif key in echoes:
                continue
            elif field and level < Rank.KEY:
                key = f"{about} {key}"
            found.setdefault((field, asked), []).append((number, text, key, level, ln(size)))
        return [Place(field, asked, rows) for (field, asked), rows in found.items()]

    @cached_property
    def values(self) -> frozenset[str]:
        """The values that rank as keys."""
        return frozenset(fact.text for fact in self.facts if fact.level >= Rank.KEY)

    @cached_property
    def sets(self) -> frozenset[str]:
        """The names of the arguments that the call was given, as words."""
        return frozenset(_words(place.field) for place in self.places if place.asked)

    @cached_property
    def given(self) -> list[str]:
        """The values that the call was given."""
        return [fact.text for fact in self.facts if fact.asked]

    def only(self, numbers: tuple[int, ...]) -> Step:
        """The step with these of its facts alone."""
        if len(numbers) == len(self.facts):
            return self
        if numbers not in self._parts:
            facts = self._kept(numbers) if any(self._apart) else map(self.facts.__getitem__, numbers)
            self._parts[numbers] = Step(self.name, self.said, tuple(facts))
        return self._parts[numbers]

    def _kept(self, numbers: tuple[int, ...]) -> Iterator[Fact]:
        """These of its facts, each as far apart from the one before it as any between them was."""
        before, last = -1, None
        for number in numbers:
            fact = self.facts[number]
            follows = last is not None and last.asked == fact.asked and bool(last.field) == bool(fact.field)
            apart = max(self._apart[before + 1 : number + 1]) if follows else 0
            yield fact if apart == fact.apart else fact._replace(apart=apart)
            before, last = number, fact

    @cached_property
    def _apart(self) -> list[int]:
        return [fact.apart for fact in self.facts]

    @cached_property
    def _parts(self) -> dict[tuple[int, ...], Step]:
        return {}

    @cached_property
    def _lines(self) -> dict[bool, str]:
        return {}

    def line(self, before: str = "") -> str:
        """It as a line of a digest, and a line more for each sentence; without the name of its tool when that is the
        tool of the line `before` too."""
        goes_on = self.name == before
        if goes_on not in self._lines:
            self._lines[goes_on] = self._written(goes_on)
        return self._lines[goes_on]

    def _written(self, goes_on: bool) -> str:
        facts = self.facts
        if self.said:
            return "".join([f"{self.name}:", *_told(facts)])
        asked = [fact for fact in facts if fact.asked]
        answers = [fact for fact in facts if not fact.asked and fact.field]
        told = [fact for fact in facts if not fact.asked and not fact.field]
        head = "" if goes_on else _name(self.name)
        head += f"({_pairs(asked)})" if asked or not (head or answers) else ""
        head += f" -> {_pairs(answers)}" if answers else ""
        return "".join([head.lstrip(), *_told(told)])


def lines_of(steps: Iterable[Step]) -> list[str]:
    """Steps as the lines of a digest."""
    lines, before = [], ""
    for step in steps:
        lines.append(step.line(before))
        before = "" if step.said else step.name
    return lines


@lru_cache(maxsize=1024)
def ln(number: int) -> float:
    """The natural logarithm."""
    return math.log(number)


@lru_cache(maxsize=1024)
def _words(field: str) -> str:
    return " ".join(words_of(field))


@lru_cache(maxsize=1024)
def name_size(field: str) -> int:
    """Tokens of a field name, about, with what parts it from its value; 0 without one."""
    return size_of(field) + 1 if field else 0


# Entries as steps


def steps_of(entries: Iterable[Entry], meter: Meter) -> list[Step]:
    """Entries as steps, in order; a result belongs to the line of its call. A text of ctxkit's own that came back says
    what it said."""
    lines: list[tuple[str, bool, list[str]]] = []
    calls = Awaited[list[str]]()
    for entry in entries:
        shape, parts = meter.read(entry)
        for part in parts:
            match part.reads_as:
                case PartKind.TEXT if shape.words and is_marked(part.text):
                    lines.append((RETURNED, True, [part.text]))
                case PartKind.TEXT if part.text.strip():
                    who = USER if shape.words else ASSISTANT
                    lines.append((who, True, [part.text]))
                case PartKind.ARGUMENTS:
                    asked = [part.text]
                    calls.add(part, asked)
                    lines.append((part.name or NAMELESS_CALL, False, asked))
                case PartKind.RESULT:
                    answered = calls.take(part)
                    if answered is None:
                        answered = [""]
                        lines.append((part.name or NAMELESS_CALL, False, answered))
                    answered.append(part.text)
    steps: list[Step] = []
    for who, is_said, said in lines:
        if who == RETURNED:
            steps += _came_back(said[0])
        else:
            steps.append(_said(who, said[0]) if is_said else _called(who, *said))
    return steps


def _came_back(text: str) -> tuple[Step, ...]:
    """The steps of a text that ctxkit wrote: those of a digest, of anything else who said what."""
    lines = digest_in(text)
    if lines and len(lines) <= LONGEST_DIGEST:
        return read_again(lines)
    return tuple(
        step_of("", said) if by == "tool" else Step(by, True, (sentence(said),))
        for by, said in returned(text) or ()
    )


@lru_cache(maxsize=STEPS)
def _said(who: str, text: str) -> Step:
    whole = who == USER and len(text) <= SHORT_WORDS
    facts = [sentence(" ".join(text.split()))] if whole else sentences_of(text)
    return Step(who, True, tuple(facts))


def step_of(name: str, result: str) -> Step:
    """A result alone as a step."""
    return _called(name, "", result)


@lru_cache(maxsize=STEPS)
def _called(name: str, arguments: str, *results: str) -> Step:
    read = [as_json(result) for result in results]
    facts = facts_of([as_json(arguments)], asked=True)
    facts += facts_of([value for value in read if value is not None], asked=False)
    told = (result for result, value in zip(results, read, strict=True) if value is None)
    return Step(name, False, (*facts, *sentences_of(*told, short=True)))


# Facts as lines


def _pairs(facts: Sequence[Fact]) -> str:
    """Values beside their field names. The name is said once for values that follow each other: in one record, and in
    records with no other."""
    written: list[str] = []
    group = field = before = ""
    alone = True
    for at, fact in enumerate(facts):
        opens = fact.group != group
        if opens and group:
            written.append("}")
        same = bool(at) and not opens and fact.field == field
        named = not same or ":" in before or "=" in before + fact.text or (fact.apart > 0 and not alone)
        if fact.apart:
            written.append(f" {'|' * (fact.apart + 1)} ")
        elif at:
            written.append("; " if named else " | ")
        if named:
            written += [_name(fact.group), "{"] if opens and fact.group else []
            written += [_name(fact.field), "="] if fact.field else []
        written.append(_value(fact))
        alone = fact.apart > 0 or not at or (alone and same)
        group, field, before = fact.group, fact.field, fact.text
    return "".join([*written, "}"]) if group else "".join(written)


def _told(facts: Iterable[Fact]) -> Iterator[str]:
    """Sentences as lines, with an empty line between those of two records."""
    for fact in facts:
        yield f"\n\n {fact.text}" if fact.apart else f"\n {fact.text}"


def _value(fact: Fact) -> str:
    odd = _QUOTED.search(fact.text) or (not fact.field and "=" in fact.text)
    return json.dumps(fact.text, ensure_ascii=False) if odd else fact.text


def _name(name: str) -> str:
    return json.dumps(name, ensure_ascii=False) if _NAME_QUOTED.search(name) else name


# Lines read again


_WRITTEN: dict[str, tuple[Step, ...]] = {}
"""The newest digests that were written, and the steps in them: what `read_again` would make of them."""


def keep_written(text: str, steps: Sequence[Step]) -> None:
    """Remember what a digest was written from, so that it need not be read again."""
    while len(_WRITTEN) >= DIGESTS:
        _WRITTEN.pop(next(iter(_WRITTEN)), None)
    _WRITTEN[text] = tuple(steps)


def read_again(text: str) -> tuple[Step, ...]:
    """The steps of a digest that was written line by line."""
    known = _WRITTEN.get(text)
    if known is not None:
        return known
    blocks: list[list[str]] = []
    for line in text.split("\n"):
        if blocks and (not line or line.startswith(" ")):
            blocks[-1].append(line[1:])
        else:
            blocks.append([line])
    steps: list[Step] = []
    for head, *told in blocks:
        steps.append(_step(head, told, steps[-1].name if steps else ""))
    steps = [step for step in steps if step.facts]
    keep_written(text, steps)
    return tuple(steps)


def _step(head: str, told: Sequence[str], before: str) -> Step:
    sentences = _read_told(told)
    if head in (f"{USER}:", f"{ASSISTANT}:"):
        return Step(head[:-1], True, tuple(sentences))
    name, asked, answers = _cut(head, before)
    return Step(
        name, False, (*_read_pairs(asked, asked=True), *_read_pairs(answers, asked=False), *sentences)
    )


def _read_told(lines: Sequence[str]) -> Iterator[Fact]:
    apart = 0
    for at, line in enumerate(lines):
        if line:
            yield sentence(line, apart)
        apart = int(at > 0 and not line)


def _cut(head: str, before: str) -> tuple[str, str, str]:
    """The name, the arguments and the answers of a line."""
    name = _HEAD.match(head)
    assert name is not None
    rest, asked = head[name.end() :], ""
    closed = _ASKED.match(rest)
    if closed:
        asked, rest = closed.group(1), rest[closed.end() :]
    return _plain(name.group()) or before, asked, rest.removeprefix(" ").removeprefix("-> ")


def _read_pairs(text: str, *, asked: bool) -> Iterator[Fact]:
    group = field = ""
    at, carry, apart = 0, False, 0
    while at < len(text):
        found = _WORD.match(text, at)
        if found is None or found.end() == at:
            return
        at = found.end()
        if found["group"] is not None:
            group, carry = _plain(found["group"]), False
        elif found["end"]:
            group, carry, apart = "", False, _apart(found["then"])
        else:
            field = _plain(found["field"]) if found["field"] is not None else field if carry else ""
            yield fact_of(field, _plain(found["value"]), asked, group, apart)
            carry, apart = found["more"].startswith(" |"), _apart(found["more"])


def _apart(mark: str | None) -> int:
    """How far apart what stands on both sides of a mark is."""
    return max(0, mark.count("|") - 1) if mark else 0


def _plain(text: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text))
    except ValueError:
        return text
