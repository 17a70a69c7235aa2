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

from ctxkit.core.marks import fence

__all__ = [
    "REPEATS",
    "RULE",
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
    "taken_back",
    "text_of",
    "unfit_field",
    "unnumbered",
    "unused_number",
]

Speaker = Literal["user", "assistant", "tool"]
"""Who said something, in falling order of trust."""


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
        said: `Ann in #ops at 2026-11-30 09:12 / rule: no peanuts`."""
        where = (f"in {self.place}" if self.place else "", f"at {self.said_at}" if self.said_at else "")
        about = " ".join(each for each in (self.subject, *where) if each)
        key = f"{about} / {self.key}" if about else self.key
        return f"{_one_line(key)}: {_one_line(self.value)}"

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
    """Whether it is one of what users said must be kept, which alone have this key."""
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


def text_of(facts: Sequence[Fact], name: str, make: Callable[[Iterable[Fact]], str]) -> str:
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

_NAME = re.compile(r"([\w#-]{0,40}\d[\w-]{0,40})")
_NUMBERED = re.compile(r"(?:\A|(?<= / ))\d{1,4}\. ")


def frames_of(fact: Fact) -> dict[str, str]:
    """What is left of a fact without one of the names with digits in it, and that name, for each of them: what has a
    frame in common says the same of another thing."""
    return {} if fact.must_keep else _frames(fact.line)


@lru_cache(maxsize=2048)
def _frames(line: str) -> dict[str, str]:
    pieces = _NAME.split(unnumbered(line))  # between names, at odd places
    names = dict.fromkeys(pieces[1::2])
    if len(names) > MOST_NAMES:
        return {}
    return {"".join("\0" if piece == name else piece for piece in pieces): name for name in names}


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


_THE_SAME = "The same, word for word, with {} in place of {}."
_SAME_AGAIN = re.compile(r"The same, word for word, with (?P<others>.+) in place of (?P<first>.+)\.\Z")
_LINE = re.compile(r"(?:(?P<subject>.+?) / )?(?P<key>[^:]+): (?P<value>.*)\Z")


def facts_of(lines: Iterable[str]) -> Iterator[Fact]:
    """The facts that `facts_text` wrote as these lines, as far as lines tell: keys with their numbers, subjects with
    place and time."""
    before = ""
    for line in lines:
        again = _SAME_AGAIN.match(line)
        if again is None:
            before = unnumbered(line)
            told = [line]
        else:
            told = [before.replace(again["first"], other) for other in again["others"].split(", ")]
        for each in told:
            found = _LINE.match(each)
            if found is not None:
                yield Fact(found["key"], _several_lines(found["value"]), subject=found["subject"] or "")


def _several_lines(text: str) -> str:
    """A value as `_one_line` had it."""
    if text.startswith('"') and text.endswith('"') and "\\n" in text:
        try:
            return str(json.loads(text))
        except ValueError:
            return text
    return text


def _one_line(text: str) -> str:
    """A text as it is, unless it has several lines, of which one could pass for a fact: then as a JSON string."""
    return text if len(text.splitlines()) < 2 else json.dumps(text, ensure_ascii=False)
