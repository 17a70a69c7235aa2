"""Known: texts in which exact values are looked up, many of them in time that grows with the texts alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from operator import is_not

from ctxkit.summaries.prose import normal
from ctxkit.summaries.specifics import Kind, Specific, narrow, specifics

__all__ = ["Known", "replaced"]

_CHECKED = frozenset(Kind) - {Kind.CONSTRAINT, Kind.COMMAND, Kind.DATE, Kind.TIME}
_DIGITS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_RUN = re.compile(r"[A-Za-z0-9]+")


class Known:
    """Texts in which specifics are looked up. They are read once, however many are asked for."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts: Sequence[str] = tuple(texts)

    def has(self, specific: Specific) -> bool:
        """Whether a specific stands there, sums of money, commands and full-width letters in another way of writing too."""
        if self.verbatim(specific):
            return True
        match specific.kind:
            case Kind.COMMAND:
                return normal(specific.text) in self._normal
            case Kind.AMOUNT:
                return _numbers(specific.text) <= self._numbers
            case _:
                return any(True for _ in self._narrow._standing(narrow(specific.text)))

    def verbatim(self, specific: Specific) -> bool:
        """Whether a specific stands there as it is, and not merely as a piece of a longer one."""
        return any(True for _ in self._standing(specific.text))

    def foreign_in(self, summary: str) -> tuple[str, ...]:
        """Identifier-like specifics of a summary that do not stand there: invented, or with a character changed.

        Identifiers, addresses, paths, phone numbers, versions and codes; sums of money by their number, so that
        1,234.56 and 1234.56 are the same. Nobody can have worded them otherwise.
        """
        checked = (each for each in specifics(summary) if each.kind in _CHECKED)
        return tuple(each.text for each in self.missing(checked))

    def missing(self, specifics: Iterable[Specific]) -> tuple[Specific, ...]:
        """Those that do not stand there; see `has`."""
        return tuple(each for each in specifics if not self.has(each))

    def where(self, specific: Specific) -> set[int]:
        """The places of the texts in which a specific stands as it is."""
        return set(self._standing(specific.text))

    def _standing(self, piece: str) -> Iterator[int]:
        """The places of the texts that have a piece, once for each time that it stands there.

        It can only stand where the rarest of its runs of letters and digits does, since each ends where the piece
        has another character, or at an edge, beside which none may be.
        """
        runs = [(match.start(), self._runs.get(match.group(), ())) for match in _RUN.finditer(piece)]
        if not runs:
            yield from (at for at, text in enumerate(self._texts) for _ in _places(piece, text))
            return
        offset, places = min(runs, key=lambda run: len(run[1]))
        for at, start in places:
            if _stands_at(piece, self._texts[at], start - offset):
                yield at

    @cached_property
    def _narrow(self) -> Known:
        """The same texts in the usual width."""
        texts = [narrow(each) for each in self._texts]
        return Known(texts) if any(map(is_not, texts, self._texts)) else self

    @cached_property
    def _runs(self) -> dict[str, list[tuple[int, int]]]:
        """Where each run of letters and digits begins: the place of its text, and the character in it."""
        found: dict[str, list[tuple[int, int]]] = {}
        for at, text in enumerate(self._texts):
            for match in _RUN.finditer(text):
                found.setdefault(match.group(), []).append((at, match.start()))
        return found

    @cached_property
    def _numbers(self) -> frozenset[str]:
        return frozenset(each for text in self._texts for each in _numbers(text))

    @cached_property
    def _normal(self) -> str:
        return "\n".join(normal(text) for text in self._texts)


def replaced(text: str, piece: str, by: str) -> str:
    """A text with another in each place where a piece stands, and not merely as a piece of something longer."""
    kept, end = [], 0
    for at in _places(piece, text):
        kept += [text[end:at], by]
        end = at + len(piece)
    return "".join([*kept, text[end:]])


def _places(piece: str, text: str) -> Iterator[int]:
    """The places of a text at which a piece stands by itself."""
    at = text.find(piece)
    while at >= 0:
        if _stands_at(piece, text, at):
            yield at
        at = text.find(piece, at + len(piece))


def _stands_at(piece: str, text: str, at: int) -> bool:
    """Whether `piece` stands at a place of a text with no letter or digit of its own sort directly beside it."""
    end = at + len(piece)
    if at < 0 or not text.startswith(piece, at):
        return False
    return not (_joins(text[at - 1 : at] if at else "", piece[0]) or _joins(text[end : end + 1], piece[-1]))


def _joins(neighbour: str, edge: str) -> bool:
    neighbour, edge = narrow(neighbour), narrow(edge)
    return neighbour.isascii() and neighbour.isalnum() and edge.isascii() and edge.isalnum()


def _numbers(text: str) -> frozenset[str]:
    """The numbers of a text without thousands separators and without zeros behind the point."""
    plain = (match.group().replace(",", "") for match in _DIGITS.finditer(text))
    return frozenset(each.rstrip("0").rstrip(".") if "." in each else each for each in plain)
