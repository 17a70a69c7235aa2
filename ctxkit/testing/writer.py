"""What the writers of the four formats have in common: the order of a turn, and ids."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from typing import Any

from ctxkit.core.provider import Entry
from ctxkit.testing.script import TOOLS, Answer, End, Script, Step, Turn

__all__ = ["Writer", "opaque", "schema", "tool_id"]


def schema() -> dict[str, Any]:
    """The parameters of a tool."""
    return {"type": "object", "properties": {"path": {"type": "string"}}}


def opaque(serial: int, size: int = 120) -> str:
    """A string that stands for encrypted bytes; different for each serial number."""
    return (hashlib.sha256(str(serial).encode()).hexdigest() * (size // 64 + 1))[:size] + "=="


def tool_id(prefix: str, serial: int) -> str:
    """An id as providers make them."""
    return f"{prefix}_{hashlib.sha256(str(serial).encode()).hexdigest()[:16]}{serial:03d}"


class Writer(ABC):
    """Writes a script down in one format.

    Attributes:
        script: what is written.
        entries: the entries written so far.
        withheld: the answers that were left away at an open or partly answered end.
    """

    id_prefix = "call"
    ids_may_return = True

    def __init__(self, script: Script) -> None:
        self.script = script
        self.entries: list[Entry] = []
        self.withheld: list[Entry] = []
        self._serial = 0
        self._call = 0

    def write(self) -> None:
        """Write the whole script."""
        self.open()
        last = len(self.script.turns) - 1
        for number, turn in enumerate(self.script.turns):
            self.turn(turn, self.script.end if number == last else "answered")
        self.close()

    def turn(self, turn: Turn, end: End = "answered") -> None:
        """Write one turn, and keep results back if it is to end with open calls."""
        if self.script.reuses and self.ids_may_return:
            self._call = 0
        self.user(turn.words, turn.form)
        if turn.note is not None and (turn.steps or turn.answers):
            self.note(turn.note)
        last = len(turn.steps) - 1
        for number, step in enumerate(turn.steps):
            answered = len(step.uses)
            if number == last and end in ("open", "partial"):
                answered = 1 if end == "partial" and answered > 1 else 0
            self.step(step, thinks=turn.thinks, answered=answered)
        for number, answer in enumerate(turn.answers):
            self.answer(answer, thinks=turn.thinks and number == 0)

    def open(self) -> None:  # noqa: B027
        """Write what stands before the first user message."""

    def close(self) -> None:  # noqa: B027
        """Finish the payload."""

    @abstractmethod
    def user(self, words: str, form: int) -> None:
        """Write a user message."""

    def note(self, words: str) -> None:  # noqa: B027
        """Write system text mid-way, where the format has that."""

    @abstractmethod
    def step(self, step: Step, *, thinks: bool, answered: int) -> None:
        """Write calls and the first `answered` results; the other results are withheld."""

    @abstractmethod
    def answer(self, answer: Answer, *, thinks: bool) -> None:
        """Write words of the model."""

    @abstractmethod
    def system(self) -> Any:
        """The system text that stands beside the list, None if there is none."""

    @abstractmethod
    def tools(self) -> list[dict[str, Any]]:
        """Tool definitions."""

    def tool_name(self, tool: int) -> str:
        """The name of a tool."""
        return TOOLS[tool]

    def next_id(self, prefix: str) -> str:
        """An id that occurs once."""
        self._serial += 1
        return tool_id(prefix, self._serial)

    def next_opaque(self, size: int = 120) -> str:
        """An opaque string that occurs once."""
        self._serial += 1
        return opaque(self._serial, size)

    def next_call(self) -> str:
        """A call id; it occurs once in a turn, and once at all unless the script reuses ids."""
        self._call += 1
        return tool_id(self.id_prefix, self._call)
