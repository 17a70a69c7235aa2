"""What later calls need: the literals in their arguments that were said before, and how long ago."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ctxkit.core.items import PartKind
from ctxkit.evaluation.recording import Recording
from ctxkit.evaluation.values import literals, names_in, one_spaced, parsed, stands_in, text_names

__all__ = ["Mentions", "Need"]


@dataclass(frozen=True, slots=True)
class Need:
    """A literal that a call needs.

    Attributes:
        literal: as it stands in the arguments.
        newest: position of the entry that said it last.
        age: tokens that came after that entry.
        held: whether the request still showed it.
    """

    literal: str
    newest: int
    age: int
    held: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """One part that a literal stood in.

    Attributes:
        at: position of its entry.
        names: the field names beside the literal.
        source: the text, as `one_spaced` gives it; "" where the part is JSON.
    """

    at: int
    names: frozenset[str]
    source: str = ""


class Mentions:
    """Where the literals of a recording stand; each is looked up once, whatever asks for it."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._positions: dict[str, list[int]] = {}
        self._origins: dict[str, list[Origin]] = {}
        self._texts: dict[str, frozenset[str]] = {}
        self._values: dict[str, Any] = {}

    def needs(self, at: int) -> list[Need]:
        """The different literals in the arguments of the calls made at `at` that stand in an earlier entry outside
        system text."""
        found = dict.fromkeys(
            literal
            for read in self._recording.answer(at)
            for part in read.parts
            if part.reads_as is PartKind.ARGUMENTS
            for literal in literals(parsed(part.text))
        )
        upto = self._recording.upto
        newest = ((literal, self._newest(literal, at)) for literal in found)
        return [Need(literal, k, upto[at] - upto[k + 1]) for literal, k in newest if k >= 0]

    def _newest(self, literal: str, at: int) -> int:
        if literal not in self._positions:
            texts = self._recording.texts
            self._positions[literal] = [k for k, text in enumerate(texts) if stands_in(literal, text)]
        return max((k for k in self._positions[literal] if k < at), default=-1)

    def texts(self, literal: str) -> frozenset[str]:
        """The texts of parts, as received, that a literal stands in."""
        if literal not in self._texts:
            arrived = self._recording.arrived
            self._texts[literal] = frozenset(text for text in arrived if stands_in(literal, text))
        return self._texts[literal]

    def origins(self, literal: str, at: int) -> list[Origin]:
        """Every part before `at` that a literal stands in."""
        if literal not in self._origins:
            self._origins[literal] = list(self._looked_up(literal))
        return [origin for origin in self._origins[literal] if origin.at < at]

    def _looked_up(self, literal: str) -> Iterator[Origin]:
        for at, read in enumerate(self._recording.reads):
            for part in read.parts:
                if part.text not in self.texts(literal):
                    continue
                value = self.value(part.text)
                if isinstance(value, dict | list):
                    yield Origin(at, frozenset(names_in(literal, value, part.name)))
                else:
                    names = frozenset(text_names(literal, part.text))
                    yield Origin(at, names, one_spaced(part.text))

    def value(self, text: str) -> Any:
        """The JSON value of a received text, or the text; parsed once."""
        if text not in self._values:
            self._values[text] = parsed(text)
        return self._values[text]
