"""Lost: what requests should have held and did not, the commonest first, and where it was first missed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

__all__ = ["MOST_LOST", "Loss", "Lost"]

MOST_LOST = 5
"""Losses that are told."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A literal or a constraint that requests of one conversation lacked.

    Attributes:
        text: as it was said.
        count: how many requests lacked it.
        first: position of the recorded entry that answers the first of them.
        where: the conversation, "" where nobody said.
    """

    text: str
    count: int
    first: int
    where: str = ""


@dataclass(frozen=True, slots=True)
class Lost:
    """The commonest losses of some conversations; `a + b` has those of both.

    What two conversations lack is never the same loss, so the commonest of all are among the commonest of each.
    """

    losses: tuple[Loss, ...] = ()

    @classmethod
    def of(cls, missed: Iterable[tuple[str, int]]) -> Lost:
        """Those of one conversation: each text that a request lacked, with the position of its answer, in order."""
        found: dict[str, Loss] = {}
        for text, at in missed:
            known = found.get(text, Loss(text, 0, at))
            found[text] = replace(known, count=known.count + 1)
        return _commonest(list(found.values()))

    def within(self, where: str) -> Lost:
        """The same, of the conversation at a place."""
        return Lost(tuple(replace(each, where=where) for each in self.losses))

    def __add__(self, other: Lost) -> Lost:
        return _commonest((*self.losses, *other.losses)) if self.losses and other.losses else self or other

    def __bool__(self) -> bool:
        return bool(self.losses)


def _commonest(losses: Sequence[Loss]) -> Lost:
    ranked = sorted(losses, key=lambda each: (-each.count, each.where, each.first, each.text))
    return Lost(tuple(ranked[:MOST_LOST]))
