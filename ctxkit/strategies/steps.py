"""Steps: what entries say, as facts that can be told apart, and as lines of a digest that can be read again."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from ctxkit.core.items import PartKind
from ctxkit.core.marks import is_marked
from ctxkit.core.pairing import Awaited
from ctxkit.core.provider import Entry
from ctxkit.core.state import Meter
from ctxkit.literals import Rank, as_json, gist, has_literal, looks_like_id, rank, telling, words_of
from ctxkit.strategies.digesting import MARK, MAX_DEPTH, NAMELESS, records_of, text_of
from ctxkit.summaries.returned import digest_in, returned

__all__ = [
    "ASSISTANT",
    "USER",
    "Fact",
    "Place",
    "Step",
    "keep_written",
    "lines_of",
    "ln",
    "name_size",
    "read_again",
    "size_of",
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

LONGEST_VALUE = 200
"""Characters of a string in JSON; of a longer one its telling sentences are facts."""

STEPS = 96
"""Steps that are kept for the next compaction."""

DIGESTS = 16
"""Digests that are kept for the next compaction."""

_PIECE = re.compile(r"[A-Za-z]{1,7}|\d{1,3}|[^\sA-Za-z\d]")
_QUOTED = re.compile(r'[\x00-\x1f\x7f;|{}"]|\) ->|^\s|\s$|^$')
_NAME_QUOTED = re.compile(r'[\x00-\x1f\x7f;|{}="()]|^\s|\s$|^$')
_STRING = r'"(?:[^"\\]|\\.)*"'
_ASKED = re.compile(rf'\(((?:[^"]|{_STRING})*?)\)(?= ->|$)')
_HEAD = re.compile(rf"{_STRING}|(?:(?!\(| ?-> ).)*")
_WORD = re.compile(
    rf"(?P<group>{_STRING}|[^=;|{{}}\"]+)\{{|(?P<end>\}})(?:; )?"
    rf"|(?:(?P<field>{_STRING}|[^=;|{{}}\"]+)=)?(?P<value>{_STRING}|[^;|{{}}]*?)(?P<more>; | \| |(?=\}})|$)"
)


class Fact(NamedTuple):
    """A value beside its field name, or a sentence.

    Attributes:
        field: the nearest key, "" for a sentence.
        text: the value as it is written.
        level: its rank by itself.
        size: tokens of it without its field name, about.
        asked: whether it is an argument of the call.
        group: the key of the object around, where it takes one to tell fields of one name apart.
    """

    field: str
    text: str
    level: Rank
    size: int
    asked: bool = False
    group: str = ""


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
        for number, (field, text, level, size, asked, _) in enumerate(self.facts):
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
            self._parts[numbers] = Step(self.name, self.said, tuple(self.facts[number] for number in numbers))
        return self._parts[numbers]

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
            return "\n ".join([f"{self.name}:", *self.texts])
        asked = [fact for fact in facts if fact.asked]
        answers = [fact for fact in facts if not fact.asked and fact.field]
        told = [fact.text for fact in facts if not fact.asked and not fact.field]
        head = "" if goes_on else _name(self.name)
        head += f"({_pairs(asked)})" if asked or not (head or answers) else ""
        head += f" -> {_pairs(answers)}" if answers else ""
        return "\n ".join([head.lstrip(), *told])


def lines_of(steps: Iterable[Step]) -> list[str]:
    """Steps as the lines of a digest."""
    lines, before = [], ""
    for step in steps:
        lines.append(step.line(before))
        before = "" if step.said else step.name
    return lines


def size_of(text: str) -> int:
    """Tokens of a text, about: pieces of words, digits by threes, marks."""
    return len(_PIECE.findall(text))


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


def _fact(field: str, text: str, asked: bool, group: str) -> Fact:
    return Fact(field, text, *_rated(field, text.translate(_ALIKE)), asked, group)


_ALIKE = str.maketrans("12345678", "99999999")


@lru_cache(maxsize=4096)
def _rated(field: str, text: str) -> tuple[Rank, int]:
    """Rank and size of a value; which digits there are makes no difference."""
    return rank(field, text), size_of(text) + 1


def _sentence(text: str) -> Fact:
    return Fact("", text, Rank.KEY if has_literal(text) else Rank.DETAIL, size_of(text) + 1)


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
        step_of("", said) if by == "tool" else Step(by, True, (_sentence(said),))
        for by, said in returned(text) or ()
    )


@lru_cache(maxsize=STEPS)
def _said(who: str, text: str) -> Step:
    whole = who == USER and len(text) <= SHORT_WORDS
    sentences = [" ".join(text.split())] if whole else dict.fromkeys(telling(text))
    return Step(who, True, tuple(map(_sentence, sentences)))


def step_of(name: str, result: str) -> Step:
    """A result alone as a step."""
    return _called(name, "", result)


@lru_cache(maxsize=STEPS)
def _called(name: str, arguments: str, *results: str) -> Step:
    facts = _facts(as_json(arguments), asked=True)
    told: list[Fact] = []
    for result in results:
        value = as_json(result)
        if value is None:
            told += map(_sentence, gist(result))
        else:
            facts += _facts(value, asked=False)
    return Step(name, False, (*facts, *told))


def _facts(value: Any, *, asked: bool) -> list[Fact]:
    """The leaves of a JSON value as facts. The key of the object around is told where it takes one to tell fields of
    one name apart, and where it looks like a value itself."""
    found: list[tuple[str, str, str]] = []
    _leaves(value, "", NAMELESS, found, 0)
    groups: dict[str, set[str]] = {}
    if any(group for group, _, _ in found):
        for group, field, _ in found:
            groups.setdefault(field, set()).add(group)
    return [
        _fact(field, text, asked, group if group and (len(groups[field]) > 1 or looks_like_id(group)) else "")
        for group, field, text in dict.fromkeys(found)
    ]


def _leaves(value: Any, group: str, field: str, found: list[tuple[str, str, str]], depth: int) -> None:
    """Add the group, field and text of each leaf, in order. JSON inside strings is read, of long strings the telling
    sentences, and of a table of records that name their own key the records."""
    kind = type(value)
    if kind is str:
        if len(value) <= LONGEST_VALUE and value[:1] not in _OPENING:
            found.append((group, field, value))
        else:
            _texts(value, group, field, found, depth)
    elif kind is dict and depth <= MAX_DEPTH:
        records = records_of(value)
        if records is not None:
            _leaves(records, group, field, found, depth + 1)
            return
        for key, each in value.items():
            if key != MARK:
                _leaves(each, key if type(each) is dict else group, key, found, depth + 1)
    elif kind is list and depth <= MAX_DEPTH:
        for each in value:
            _leaves(each, group, field, found, depth + 1)
    elif kind is int or kind is float or kind is bool:
        found.append((group, field, text_of(value)))


_OPENING = frozenset(("", "[", "{", " ", "\n", "\t", "\r"))
"""How a string begins that is empty, or may be JSON."""


def _texts(value: str, group: str, field: str, found: list[tuple[str, str, str]], depth: int) -> None:
    """Add what a string says that is not simply a value."""
    inner = as_json(value)
    if inner is not None:
        _leaves(inner, group, field, found, depth + 1)
    elif len(value) > LONGEST_VALUE:
        found.extend((group, field, sentence) for sentence in dict.fromkeys(telling(value)))
    elif value:
        found.append((group, field, value))


# Facts as lines


def _pairs(facts: Sequence[Fact]) -> str:
    """Values beside their field names; the name is said once for values that follow each other."""
    written: list[str] = []
    group = field = before = ""
    for at, fact in enumerate(facts):
        opens = fact.group != group
        if opens and group:
            written.append("}")
        if opens or not at or fact.field != field or ":" in before or "=" in before + fact.text:
            written += ["; "] if at else []
            written += [_name(fact.group), "{"] if opens and fact.group else []
            written += [_name(fact.field), "="] if fact.field else []
        else:
            written.append(" | ")
        written.append(_value(fact))
        group, field, before = fact.group, fact.field, fact.text
    return "".join([*written, "}"]) if group else "".join(written)


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
        if line.startswith(" ") and blocks:
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
    sentences = map(_sentence, told)
    if head in (f"{USER}:", f"{ASSISTANT}:"):
        return Step(head[:-1], True, tuple(sentences))
    name, asked, answers = _cut(head, before)
    return Step(
        name, False, (*_read_pairs(asked, asked=True), *_read_pairs(answers, asked=False), *sentences)
    )


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
    at, carry = 0, False
    while at < len(text):
        found = _WORD.match(text, at)
        if found is None or found.end() == at:
            return
        at = found.end()
        if found["group"] is not None:
            group, carry = _plain(found["group"]), False
        elif found["end"]:
            group, carry = "", False
        else:
            field = _plain(found["field"]) if found["field"] is not None else field if carry else ""
            yield _fact(field, _plain(found["value"]), asked, group)
            carry = found["more"] == " | "


def _plain(text: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text))
    except ValueError:
        return text
