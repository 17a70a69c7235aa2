"""The plot of a generated conversation, the same for every format; each format's module writes it down its own way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from hypothesis import strategies as st

from ctxkit.testing.texts import ARGUMENTS, results, texts

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


# What is simplest is drawn with few choices: Hypothesis deletes only short runs of choices when it shrinks.

_SMALL = st.integers(0, 9)
_STEP_KINDS = st.sampled_from((0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 0, 1, 5, 7))
_TURN_KINDS = st.sampled_from((0, 1, 2, 3, 4, 5, 6, 7, 5, 6, 7, 7, 7))
_USE_CODES = st.integers(0, len(ARGUMENTS) * len(TOOLS) * 10 - 1)


@st.composite
def _uses(draw: Draw) -> Use:
    code, form = divmod(draw(_USE_CODES), 10)
    words, tool = divmod(code, len(TOOLS))
    return Use(tool, ARGUMENTS[words], draw(results()), form)


@st.composite
def _steps(draw: Draw) -> Step:
    kind, form = draw(_STEP_KINDS), draw(st.integers(0, 23))
    uses = draw(st.lists(_USE, min_size=2, max_size=4)) if kind & 1 else [draw(_USE)]
    words = draw(texts()) if kind & 2 else None
    beside = draw(texts()) if kind & 4 else None
    return Step(tuple(uses), words, beside, form)


@st.composite
def turns(draw: Draw, *, min_steps: int = 0) -> Turn:
    """One turn, with that many tool steps or more, to 3."""
    words, kind = draw(texts()), draw(_TURN_KINDS)
    form, thinks, note = 0, False, None
    steps: list[Step] = []
    if kind & 1:
        form, thinks = draw(st.integers(0, 11)), draw(st.booleans())
        note = draw(texts()) if draw(_SMALL) > 7 else None
    if kind & 4 or min_steps:
        steps = draw(st.lists(_STEP, min_size=1, max_size=3))
    answers = draw(st.lists(_ANSWER, min_size=1, max_size=2)) if kind & 2 else []
    return Turn(words, form, thinks, note, tuple(steps), tuple(answers))


_USE = _uses()
_STEP = _steps()
_ANSWER = st.builds(Answer, texts(), _SMALL)
_TURN = turns()
_SYSTEM = st.lists(texts(), max_size=2).map(tuple)
_ENDS: tuple[End, ...] = ("answered", "user", "results", "open", "partial")


@st.composite
def scripts(draw: Draw, min_turns: int, max_turns: int, ends: str) -> Script:
    """A script with that many user messages; one in ten that may have one only has up to 30 steps in it."""
    end: End = "user" if ends == "user" else draw(st.sampled_from(_ENDS))
    system = draw(_SYSTEM)
    opening = draw(texts()) if draw(_SMALL) > 7 else None
    reuses, form = draw(st.booleans()), draw(st.integers(0, 15))
    drawn = draw(st.lists(_TURN, min_size=min_turns, max_size=max_turns))
    if min_turns == 1 and draw(_SMALL) == 9:
        more = draw(st.lists(_STEP, min_size=8, max_size=27))
        busy = replace(drawn[0], steps=(*more, *drawn[0].steps))
        drawn = [busy] if end != "user" or len(drawn) == 1 else [busy, drawn[-1]]
    last = drawn[-1].ending(end)
    return Script(system, opening, (*drawn[:-1], last), end, reuses, form)
