"""The plot of a generated conversation, the same for every format; each format's module writes it down its own way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from hypothesis import strategies as st

from ctxkit.testing.texts import arguments, rare_texts, results, texts

__all__ = ["TOOLS", "Answer", "Draw", "End", "Script", "Step", "Turn", "Use", "scripts", "turns"]

Draw = Any
"""The `draw` function of a Hypothesis composite."""

End = Literal["answered", "user", "results", "open", "partial"]
"""How a conversation ends: on an answer, on a user message, on tool results, on calls none of which is answered,
or on calls of which only the first is. Without tool steps in the last turn the last three end on its user message."""

TOOLS = ("lookup_order", "read_file", "run_command")


@dataclass(frozen=True, slots=True)
class Use:
    """A call of `TOOLS[tool]` with its result; `form` is how the result is carried."""

    tool: int
    arguments: str
    result: str
    form: int


@dataclass(frozen=True, slots=True)
class Step:
    """Calls made at once, their results, and perhaps words of the model (`words`) and the user (`beside`)."""

    uses: tuple[Use, ...]
    words: str | None
    beside: str | None
    form: int


@dataclass(frozen=True, slots=True)
class Answer:
    """Words of the model that call nothing."""

    words: str
    form: int


@dataclass(frozen=True, slots=True)
class Turn:
    """A user message with all that follows it; `note` is system text mid-way, `thinks` asks for reasoning."""

    words: str
    form: int
    thinks: bool
    note: str | None
    steps: tuple[Step, ...]
    answers: tuple[Answer, ...]

    def ending(self, end: End) -> Turn:
        """The turn cut so that it ends as asked; whose results stay away is the writer's affair."""
        if end == "answered":
            return self if self.answers else replace(self, answers=(Answer("ok", 0),))
        if end == "user":
            return replace(self, note=None, steps=(), answers=())
        note = self.note if self.steps else None
        if end == "results" and self.steps:
            last = replace(self.steps[-1], beside=None)
            return replace(self, note=note, steps=(*self.steps[:-1], last), answers=())
        return replace(self, note=note, answers=())


@dataclass(frozen=True, slots=True)
class Script:
    """A whole conversation; `reuses` has call ids start again in each turn, `form` picks habits of the client."""

    system: tuple[str, ...]
    opening: str | None
    turns: tuple[Turn, ...]
    end: End
    reuses: bool
    form: int


_USES = st.builds(Use, st.integers(0, len(TOOLS) - 1), arguments(), results(), st.integers(0, 9))
_STEPS = st.builds(
    Step, st.lists(_USES, min_size=1, max_size=3).map(tuple), rare_texts(), rare_texts(), st.integers(0, 23)
)
_ANSWERS = st.builds(Answer, texts(), st.integers(0, 9))


def turns(*, min_steps: int = 0, max_steps: int = 3) -> st.SearchStrategy[Turn]:
    """One turn with that many tool steps."""
    return st.builds(
        Turn,
        texts(),
        st.integers(0, 11),
        st.booleans(),
        rare_texts(),
        st.lists(_STEPS, min_size=min_steps, max_size=max_steps).map(tuple),
        st.lists(_ANSWERS, max_size=2).map(tuple),
    )


_TURNS = turns()
_LONG_TURNS = turns(min_steps=8, max_steps=30)
_SYSTEM = st.lists(texts(), max_size=2).map(tuple)
_ENDS: tuple[End, ...] = ("answered", "user", "results", "open", "partial")


@st.composite
def scripts(draw: Draw, min_turns: int, max_turns: int, ends: str) -> Script:
    """A script with that many user messages; one in ten that may have one only is a long single turn."""
    long = min_turns <= 1 and draw(st.integers(0, 9)) == 9
    drawn = [draw(_LONG_TURNS)] if long else draw(st.lists(_TURNS, min_size=min_turns, max_size=max_turns))
    end: End = "user" if ends == "user" else draw(st.sampled_from(_ENDS))
    if long and ends == "user" and max_turns > 1:
        drawn.append(draw(_TURNS))
    system, opening = draw(_SYSTEM), draw(rare_texts())
    reuses, form = draw(st.booleans()), draw(st.integers(0, 15))
    last = drawn[-1].ending(end)
    return Script(system, opening, (*drawn[:-1], last), end, reuses, form)
