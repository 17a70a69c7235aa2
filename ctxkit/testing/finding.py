"""Finding: what came of one promise that was tried on a strategy, in plain words."""

from __future__ import annotations

from dataclasses import dataclass

from ctxkit.core.edits import Edit
from ctxkit.testing.conversations import Payload

__all__ = ["Example", "Finding", "Planned"]


@dataclass(frozen=True)
class Planned:
    """A plan that was made on the way: how many messages had come, its edits, and why it was rolled back."""

    messages: int
    edits: tuple[Edit, ...]
    rejected: str = ""


@dataclass(frozen=True)
class Example:
    """The smallest conversation that was found to break a promise.

    Attributes:
        payload: the conversation, in the JSON of its format.
        window: tokens of the budget.
        plans: the plans with edits that were made when it was lived through message by message.
    """

    payload: Payload
    window: int
    plans: tuple[Planned, ...]


@dataclass(frozen=True)
class Finding:
    """What came of one promise.

    Attributes:
        name: the law or check.
        promises: "P1, P2", "" for what is no promise but a plugin's form.
        claim: what should hold.
        happened: what broke it, "" when it was kept.
        hint: how to mend it.
        note: what else there is to know, also when it was kept.
        example: a smallest conversation that shows it.
    """

    name: str
    promises: str
    claim: str
    happened: str = ""
    hint: str = ""
    note: str = ""
    example: Example | None = None

    @property
    def kept(self) -> bool:
        """Whether nothing broke it."""
        return not self.happened
