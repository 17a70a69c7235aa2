"""Hypothesis strategies for valid conversations in every format, and for conversations as they arrive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle, pairwise
from typing import Any, Literal

from hypothesis import strategies as st

from ctxkit.core.provider import Entry
from ctxkit.testing.anthropic import AnthropicWriter
from ctxkit.testing.chat import ChatWriter
from ctxkit.testing.gemini import GeminiWriter
from ctxkit.testing.responses import ResponsesWriter
from ctxkit.testing.script import Answer, Draw, End, Script, Turn, scripts, turns
from ctxkit.testing.texts import texts
from ctxkit.testing.writer import Writer

__all__ = ["FORMATS", "Payload", "arrivals", "conversations"]

_WRITERS: dict[str, type[Writer]] = {
    "openai-chat": ChatWriter,
    "openai-responses": ResponsesWriter,
    "anthropic": AnthropicWriter,
    "gemini": GeminiWriter,
}
FORMATS = tuple(_WRITERS)
"""The names of the formats."""

OFTEN = 30
"""How often a word is said in one message at most, where nothing else is: what keeps all of it has no room in the end."""


@dataclass(frozen=True, slots=True)
class Payload:
    """A conversation as its provider takes it.

    Attributes:
        format: name of the format.
        messages: the messages, input items or contents, in provider JSON.
        system: the system text beside the list (Anthropic, Gemini, `instructions` of Responses), or None.
        tools: tool definitions, or None.
    """

    format: str
    messages: list[Entry]
    system: Any | None
    tools: list[dict[str, Any]] | None


def conversations(
    format: str | None = None,
    *,
    min_turns: int = 1,
    max_turns: int = 8,
    ends: Literal["user", "any"] = "any",
    words: Sequence[str] = (),
) -> st.SearchStrategy[Payload]:
    """Conversations that their provider accepts, but for calls that wait for their results at the end.

    Args:
        format: one of `FORMATS`; None draws it.
        min_turns: fewest user messages.
        max_turns: most user messages; words of the user beside tool results are not counted.
        ends: "user" for a user message at the end, ready to be sent; "any" for that, an answer, tool results, or
            open calls.
        words: words that users say now and then, beside what they say anyway; in a third of the conversations they
            say nothing else, and nothing else happens.
    """
    formats = st.sampled_from(FORMATS) if format is None else st.just(format)
    plots = scripts(min_turns, max_turns, ends)
    if words:
        plots = st.builds(_saying, plots, st.lists(st.sampled_from(("", *words)), min_size=1, max_size=4))
        said = st.lists(st.sampled_from(words), min_size=min_turns, max_size=max_turns)
        plots = st.one_of(plots, plots, st.builds(_talk, said, st.integers(1, OFTEN)))
    return st.builds(_written, formats, plots, st.booleans())


def arrivals(format: str) -> st.SearchStrategy[list[list[Entry]]]:
    """Batches of one conversation, to be added one after the other.

    Each has calls left open, or answered in part, when a user message comes. Their results arrive after it, or
    after the model's reply to it, or never. Taken as one list the batches break the rules of most formats.
    """
    return _arrivals(format)


def _saying(script: Script, words: Sequence[str]) -> Script:
    """The script with these words behind what is said in its turns, over and over."""
    said = [
        replace(turn, words=f"{turn.words} {word}") if word else turn
        for turn, word in zip(script.turns, cycle(words), strict=False)
    ]
    return replace(script, turns=tuple(said))


def _talk(words: Sequence[str], times: int) -> Script:
    """A user who says one of these words in each message, so many times, and is answered in a word."""
    said = [Turn(" ".join([word] * times), 0, False, None, (), (Answer("ok", 0),)) for word in words]
    return Script((), None, (*said[:-1], said[-1].ending("user")), "user", False, 0)


def _written(format: str, script: Script, with_tools: bool) -> Payload:
    writer = _WRITERS[format](script)
    writer.write()
    return Payload(format, writer.entries, writer.system(), writer.tools() if with_tools else None)


_CALLING_TURNS = turns(min_steps=1)
_Fate = Literal["late", "later", "never"]


@st.composite
def _arrivals(draw: Draw, format: str) -> list[list[Entry]]:
    before = replace(draw(scripts(1, 2, "any")), end="answered", reuses=False)
    writer = _WRITERS[format](before)
    writer.open()
    for turn in before.turns:
        writer.turn(turn.ending("answered"))
    cuts = [len(writer.entries)]
    for _ in range(draw(st.integers(1, 2))):
        end: End = draw(st.sampled_from(("open", "partial")))
        fate: _Fate = draw(st.sampled_from(("late", "later", "never")))
        writer.turn(draw(_CALLING_TURNS).ending(end), end)
        cuts.append(len(writer.entries))
        _interrupt(writer, draw(texts()), fate, cuts)
    writer.user("Thank you.", 0)
    bounds = [0, *cuts, len(writer.entries)]
    return [writer.entries[a:b] for a, b in pairwise(bounds) if a < b]


def _interrupt(writer: Writer, words: str, fate: _Fate, cuts: list[int]) -> None:
    writer.user(words, 0)
    cuts.append(len(writer.entries))
    late, writer.withheld = writer.withheld, []
    if fate == "late":
        writer.entries += late
        cuts.append(len(writer.entries))
    writer.answer(Answer("I shall look into it.", 0), thinks=False)
    cuts.append(len(writer.entries))
    if fate == "later":
        writer.entries += late
        cuts.append(len(writer.entries))
