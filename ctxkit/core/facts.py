"""Facts: what is remembered outside the conversation and written as the profile."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import count
from typing import Literal, get_args

from ctxkit.core.marks import digest, fence

__all__ = [
    "REPEATS",
    "RULE",
    "SHORTEST",
    "TRUST",
    "USER",
    "Fact",
    "Facts",
    "Speaker",
    "active_facts",
    "displaced",
    "facts_of",
    "facts_text",
    "frames_of",
    "is_rule",
    "made_once",
    "taken_back",
    "unfit_field",
    "unnumbered",
    "unused_number",
    "withdraws",
]

Speaker = Literal["user", "assistant", "tool"]
"""Who said something."""

TRUST: tuple[Speaker, ...] = ("user", "assistant", "tool")
"""Speakers, in falling order of trust."""

SHORTEST = 4
"""Characters of a value from which on it is looked for within others: "no" says nothing by itself."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement kept verbatim.

    Attributes:
        key: what it is about; a new value for the same key and subject supersedes the old one, which stays on
            record.
        value: the statement, verbatim.
        confidence: 0 to 1; a lower one never supersedes a higher one.
        turn: the turn in which it was remembered.
        by: who remembered it: "user", or a strategy's kind.
        source: ids of the items that it was taken from.
        retracted: this record takes the key back.
        subject: whom or what it is about, where that is not the conversation itself ("brother").
        said_by: "user", "assistant" or "tool": the least trusted of those that it was taken from. What a tool said
            is never written as profile.
        must_keep: it has to be in every request.
        priority: what is evicted last when there is no room for all; higher is kept longer.
        place, said_at: where and when it was said, in a conversation of several; "" where nobody told.
        denied: it says that something is not so ("no known allergies").
    """

    key: str
    value: str
    confidence: float = 1.0
    turn: int = 0
    by: str = "user"
    source: tuple[int, ...] = ()
    retracted: bool = False
    subject: str = ""
    said_by: Speaker = "user"
    must_keep: bool = False
    priority: int = 0
    denied: bool = False
    place: str = ""
    said_at: str = ""

    @property
    def name(self) -> tuple[str, str]:
        """What two facts have in common of which the later one supersedes the earlier."""
        return self.subject, self.key

    @property
    def line(self) -> str:
        """The fact as it stands in a request: `key: value`, behind its subject if it has one, and where and when it was
        said: `Ann in #ops at 2026-11-30 09:12 / rule: no peanuts`. Of one that was taken back: that it was, and which."""
        called_so = self.must_keep or self.by == USER or not is_rule(self)
        key = self.key if called_so else f"{self.key} of {self.said_by}"
        return _line(self.subject, self.place, self.said_at, key, self.value, self.retracted)

    def stands_in(self, text: str) -> bool:
        """Whether a text says it: its whole line, or its value where that is long enough to say it by itself."""
        return self.line in text or (len(self.value) >= LEAST_TELLING and self.value in text)


LEAST_WHOLE, MOST_WHOLE = -(2**63), 2**63 - 1
"""What stores and readers of JSON can hold of a whole number: 64 bits."""


def _is_text(value: object) -> bool:
    return type(value) is str


def _has_words(value: object) -> bool:
    return type(value) is str and bool(value.strip())


def _is_whole(value: object) -> bool:
    return type(value) is int and LEAST_WHOLE <= value <= MOST_WHOLE


def _is_flag(value: object) -> bool:
    return type(value) is bool


_FITS: dict[str, Callable[[object], bool]] = {
    "key": _has_words,
    "value": _is_text,
    "confidence": lambda value: (type(value) is int or type(value) is float) and 0 <= value <= 1,
    "turn": _is_whole,
    "by": _is_text,
    "source": lambda value: type(value) is tuple and all(map(_is_whole, value)),
    "retracted": _is_flag,
    "subject": _is_text,
    "said_by": lambda value: type(value) is str and value in get_args(Speaker),
    "must_keep": _is_flag,
    "priority": _is_whole,
    "denied": _is_flag,
    "place": _is_text,
    "said_at": _is_text,
}
"""What each field of a fact may be: exactly these types, for a class of a plugin's own may do anything when it is used."""


def unfit_field(fact: Fact) -> str:
    """The name of a field with a value that it may not have, "" when there is none."""
    return next((name for name, fits in _FITS.items() if not fits(getattr(fact, name))), "")


LEAST_TELLING = 24
"""Characters from which on a value says what it is about: "2" or "nuts" may stand anywhere."""


@dataclass(frozen=True, slots=True)
class _Settled:
    """What came of facts: those in force by name, and the values that users took back with the turn of it; and texts
    that were made of those in force."""

    active: dict[tuple[str, str], Fact]
    taken_back: dict[str, int]
    texts: dict[str, str] = field(default_factory=dict)

    def after(self, more: Iterable[Fact], older: Sequence[Fact]) -> _Settled:
        """What comes of them when more are remembered; `older` are those that led here."""
        active, taken = dict(self.active), dict(self.taken_back)
        said: dict[tuple[str, str], list[str]] = {}
        for fact in more:
            name = fact.name
            if not fact.retracted:
                said.setdefault(name, []).append(fact.value)
            elif fact.by == USER:
                values = [*_values(older, name), *said.get(name, ())]
                taken.update((value, fact.turn) for value in values if value)
            held = active.get(name)
            if held is not None and (fact.confidence < held.confidence or (held.by == USER != fact.by)):
                continue
            if fact.retracted:
                active.pop(name, None)
            else:
                active[name] = fact
        return _Settled(active, taken)


class Facts(tuple[Fact, ...]):
    """Facts in the order in which they were remembered, and beside them those in force.

    `facts + more` looks at `more` alone, however many facts there are; made of anything else it looks at each once,
    when somebody asks.
    """

    _known: _Settled | None = None

    def __add__(self, more: tuple[Fact, ...], /) -> Facts:  # type: ignore[override]
        if not more:
            return self
        joined = Facts(super().__add__(more))
        if self._known is not None or not self:
            joined._known = self.settled.after(more, self)
        return joined

    @property
    def settled(self) -> _Settled:
        """What came of them; not to be changed."""
        if self._known is None:
            self._known = _Settled({}, {}).after(self, ())
        return self._known


def active_facts(facts: Sequence[Fact]) -> dict[tuple[str, str], Fact]:
    """The facts in force by name, in the order in which they were first remembered.

    A fact loses to an earlier one of higher confidence, and what a user said loses to nobody else; it wins over
    all others with its name. Of the `facts` of a state this takes no longer for those that are not in force any more.
    """
    return dict(_settled(facts).active)


def unused_number(name: tuple[str, str], taken: Container[tuple[str, str]], first: int = 2) -> int:
    """The lowest number from `first` on with which the key of a name, as in "2. rule", is not taken."""
    subject, key = name
    return next(number for number in count(first) if (subject, f"{number}. {key}") not in taken)


def is_rule(fact: Fact) -> bool:
    """Whether it is one of what users said must be kept, which alone are written with this key."""
    return unnumbered(fact.key) == RULE


def unnumbered(key: str) -> str:
    """A key, or a line that begins with one, without the number that tells it from others."""
    return _NUMBERED.sub("", key)


def displaced(active: Mapping[tuple[str, str], Fact], fact: Fact) -> Fact | None:
    """What must be kept for somebody else under the name of a fact that a user remembers, under a name of its own; None
    when there is no such thing."""
    held = active.get(fact.name)
    if held is None or held.by == fact.by or fact.by != USER or fact.retracted or not held.must_keep:
        return None
    return replace(held, key=f"{unused_number(fact.name, active)}. {held.key}", turn=fact.turn)


def made_once(facts: Sequence[Fact], name: str, make: Callable[[Iterable[Fact]], str]) -> str:
    """The text that `make` makes of the facts in force; made once of the `facts` of a state, under its name."""
    settled = _settled(facts)
    if name not in settled.texts:
        settled.texts[name] = make(settled.active.values())
    return settled.texts[name]


def taken_back(facts: Sequence[Fact]) -> dict[str, int]:
    """The values that users took back, and the turn in which each was taken back last."""
    return dict(_settled(facts).taken_back)


def _settled(facts: Sequence[Fact]) -> _Settled:
    return (facts if isinstance(facts, Facts) else Facts(facts)).settled


def _values(facts: Sequence[Fact], name: tuple[str, str]) -> Iterator[str]:
    """The values that were ever remembered under a name, whatever became of them."""
    return (fact.value for fact in facts if fact.name == name and not fact.retracted)


RULE = "rule"
"""The key of what users said must be kept."""

USER = "user"
"""`by` of what users themselves pin and remember; no strategy may sign with it."""


def facts_text(facts: Sequence[Fact]) -> str:
    """The facts as one fenced block, "" for none: a line a fact, and of those that say the same of several things, and
    do not have to be kept, one line and the names of the other things."""
    return fence("facts", "\n".join(_lines(facts))) if facts else ""


REPEATS = 3
"""Facts that say the same of several things, from which on they are written as one."""

MOST_NAMES = 8
"""Names in a fact, of which one may be what it says the same of; a fact with more stands by itself."""

_HOLE = "\0"
_NAME = re.compile(r"([\w#-]{0,40}\d[\w-]{0,40})")
_NUMBERED = re.compile(r"(?:\A|(?<= / ))\d{1,4}\. ")


def frames_of(fact: Fact) -> dict[str, str]:
    """What is left of a fact without one of the names with digits in it, and that name, for each of them: what has a
    frame in common says the same of another thing."""
    if fact.must_keep or fact.retracted:
        return {}
    key = unnumbered(fact.key)
    return _frames((fact if key == fact.key else replace(fact, key=key)).line)


@lru_cache(maxsize=2048)
def _frames(line: str) -> dict[str, str]:
    names = dict.fromkeys(_NAME.split(line)[1::2])  # between names, at odd places
    if len(names) > MOST_NAMES or _HOLE in line:
        return {}
    return {_with_name(line, name, _HOLE): name for name in names}


def _with_name(line: str, name: str, other: str) -> str:
    """A line with another name wherever it has a name."""
    return "".join(other if piece == name else piece for piece in _NAME.split(line))


def _lines(facts: Sequence[Fact]) -> list[str]:
    frames = [frames_of(fact) for fact in facts]
    shared = Counter(frame for each in frames for frame in each)
    chosen = [max(each, key=shared.__getitem__, default="") for each in frames]
    groups: dict[str, dict[str, None]] = {}
    for frame, each in zip(chosen, frames, strict=True):
        if frame:
            groups.setdefault(frame, {})[each[frame]] = None
    lines: dict[str, None] = {}
    for frame, fact in zip(chosen, facts, strict=True):
        first, *others = groups.get(frame, ("",))
        if len(others) < REPEATS - 1:
            lines[fact.line] = None
        elif frames_of(fact)[frame] == first:
            others_too = _THE_SAME.format(", ".join(others), first)
            lines |= {fact.line: None, others_too: None}
    return list(lines)


_SAME_AS = "The same, word for word, with "
_THE_SAME = _SAME_AS + "{} in place of {}."
_SAME_AGAIN = re.compile(rf"{_SAME_AS}(?P<others>.+) in place of (?P<first>.+)\.\Z")


def facts_of(lines: Iterable[str]) -> Iterator[Fact]:
    """The facts that `facts_text` wrote as these lines, as far as lines tell: keys with their numbers, subjects with
    place and time. Of one that was taken back, `withdraws` tells which it was."""
    before = ""
    for line in lines:
        again = _SAME_AGAIN.match(line)
        others = again["others"].split(", ") if again else ()
        for each in [_with_name(before, again["first"], other) for other in others] if again else [line]:
            found = _LINE.match(each)
            if found is None:
                continue
            back = _TAKEN_BACK.match(found["value"])
            value = back["seal"] or "" if back else _as_it_was(found["value"], _told)
            subject, key = (_as_it_was(found[name] or "", _named) for name in ("subject", "key"))
            fact = Fact(key, value, subject=subject, retracted=back is not None)
            if again is None:
                before = "" if back or is_rule(fact) else _joined(subject, unnumbered(key), found["value"])
            yield fact


def withdraws(back: Fact, told: Fact) -> bool:
    """Whether what was read of a fact that was taken back is of a fact that was read before it. Lines of before they
    said so by name alone; a rule is taken back by what it says only."""
    if not back.value:
        return back.name == told.name and not is_rule(told)
    names = [(fact.subject, unnumbered(fact.key)) for fact in (back, told)]
    return names[0] == names[1] and back.value == _seal(told.value)


# A line says one thing only: a name ends where the first mark stands, and what could be read otherwise is a JSON string.

_WITHDRAWN = "(withdrawn {})"
_TAKEN_BACK = re.compile(r"\(withdrawn(?: (?P<seal>[0-9]{9}))?\)\Z")
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_LINE = re.compile(
    rf"(?:(?P<subject>(?>{_QUOTED}(?= / |: )|(?:(?! / |: ).)+)) / )?"
    rf"(?P<key>(?>{_QUOTED}(?=: )|(?:(?!: ).)+)): (?P<value>.*)\Z"
)
_MARK = re.compile(" / |: ")
_BREAK = re.compile(r"[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_NO_NAMES = ('"', _SAME_AS, "<facts ", "</facts ")
"""What no name begins with where a line begins."""
_ESCAPED = {ord(each): f"\\u{ord(each):04x}" for each in "\x85\u2028\u2029"}


@lru_cache(maxsize=1024)
def _line(subject: str, place: str, said_at: str, key: str, value: str, retracted: bool) -> str:
    """The line of a fact; each is asked for many times in a compaction."""
    where = (f"in {place}" if place else "", f"at {said_at}" if said_at else "")
    about = " ".join(each for each in (subject, *where) if each)
    return _joined(about, key, _WITHDRAWN.format(_seal(value)) if retracted else _told(value))


def _joined(about: str, key: str, told: str) -> str:
    return f"{_named(about)} / {_named(key)}: {told}" if about else f"{_named(key)}: {told}"


def _named(name: str) -> str:
    """A subject or a key as it is written."""
    plain = not (name.startswith(_NO_NAMES) or _MARK.search(f"{name} ") or _BREAK.search(name))
    return name if plain else _quoted(name)


def _told(value: str) -> str:
    """A value as it is written; of several lines one could pass for a fact."""
    plain = not (_BREAK.search(value) or _TAKEN_BACK.match(value)) and value == _as_it_was(value, _told)
    return value if plain else _quoted(value)


def _as_it_was(text: str, written: Callable[[str], str]) -> str:
    """What is written as a text."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            was = json.loads(text)
        except ValueError:
            return text
        if type(was) is str and written(was) == text:
            return was
    return text


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).translate(_ESCAPED)


def _seal(value: str) -> str:
    """A value as a number that says which it is, and not what."""
    return digest("withdrawn", value)[:9]
