"""Items, the entries of a conversation, and what a strategy may look at inside them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple

__all__ = ["NOBODY", "Call", "Item", "Part", "PartKind", "Result", "Role", "Shape", "Weight", "Writer"]


class Role(StrEnum):
    """Who an item is from, whatever its format calls it."""

    SYSTEM = "system"
    """System or developer text, and entries that change the state of all that follows."""
    USER = "user"
    """What a person (or the calling program) said: it opens a turn, unless ctxkit wrote it."""
    MODEL = "model"
    """What the model made: text, calls, hosted tools with their results."""
    TOOL = "tool"
    """Results of tool calls, perhaps with user words beside them (`Shape.words`)."""
    REASONING = "reasoning"
    """Reasoning that is an entry of its own (Responses)."""
    COMPACTION = "compaction"
    """A provider's own opaque summary of all that stands before it."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that the client has to answer.

    `id` is None where the format has none (Gemini, the old `function_call`); `kind` is the entry type where a
    format has several ("function_call", "shell_call"; "" otherwise). `deferred` calls may stay open over turns.
    """

    id: str | None
    name: str
    kind: str = ""
    deferred: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to a call, matched by `id` if both have one, else by `name` and position."""

    id: str | None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """What grouping needs to know of one entry; a provider reads it off the raw entry.

    Attributes:
        role: see `Role`. A message that holds tool results is TOOL, whatever role it has on the wire.
        calls: client-side calls that it makes, in order.
        results: answers that it holds, in order.
        words: it carries a user's own words (always for USER; for TOOL when text stands beside the results).
        binds: "next" when it may not be parted from the entry after it (reasoning), "previous" when it may
            not be parted from the one before, "" otherwise.
        keep: it must stay for good (a change of configuration in mid-history).
    """

    role: Role
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()
    words: bool = False
    binds: str = ""
    keep: bool = False


class PartKind(StrEnum):
    """What a part of an item is."""

    TEXT = "text"
    RESULT = "result"
    """The whole payload of one tool result."""
    ARGUMENTS = "arguments"
    """The whole arguments of one tool call."""
    MEDIA = "media"
    """An image, audio, video or file; also one inside a tool result."""
    REASONING = "reasoning"
    """Reasoning or thinking; never edited, only stripped whole."""
    OPAQUE = "opaque"
    """Anything that must come back as it is: signatures and what is signed, encrypted content, hosted tools' results."""


SHOWN = (PartKind.TEXT, PartKind.RESULT, PartKind.ARGUMENTS)
"""Parts whose text a reader sees, by `Part.reads_as`."""


@dataclass(frozen=True, slots=True)
class Part:
    """One addressable part of an item.

    Attributes:
        path: keys and indexes from the entry to the value, as in `("content", 0, "text")`.
        kind: see `PartKind`; REASONING and OPAQUE parts cannot be shortened.
        value: the JSON value at `path`, not a copy: never change it.
        text: what a reader sees of it: the text, the result's text (JSON results as JSON text), the arguments
            as JSON text, a media type; "" for OPAQUE, unless it is sealed.
        name: the tool's name for RESULT and ARGUMENTS where the entry itself tells it, else "".
        call: the call's id for RESULT and ARGUMENTS, None where there is none.
        sealed: for OPAQUE, what it is under a signature or citations that no change would outlive: a reader sees
            it as that. None for what nobody reads.
    """

    path: tuple[str | int, ...]
    kind: PartKind
    value: Any
    text: str = ""
    name: str = ""
    call: str | None = None
    sealed: PartKind | None = None

    @property
    def reads_as(self) -> PartKind:
        """What a reader takes it for; `kind` tells what may be done to it."""
        return self.sealed or self.kind


@dataclass(frozen=True, slots=True)
class Weight:
    """What of an entry is counted: `texts` by the token counter, `fixed` tokens for envelopes and media."""

    texts: tuple[str, ...]
    fixed: int = 0


DOCUMENTS = ("retrieved", "tool_results", "summary")
"""Regions of what was read or made, not said."""


class Writer(NamedTuple):
    """Who of several people or agents wrote something, and where and when; "" for what nobody said.

    Attributes:
        author: a name.
        place: a channel, a thread.
        said_at: date and time to the minute, "2026-11-30 09:12".
    """

    author: str = ""
    place: str = ""
    said_at: str = ""


NOBODY = Writer()
"""The writer where nobody said who it was."""


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a conversation: a message, a content, or one item of a Responses input.

    Attributes:
        id: position in the conversation's log: 0, 1, 2, ...; negative for what ctxkit wrote (a summary, a
            stand-in, a profile, a note). It never changes.
        raw: the entry in the provider's own JSON, as received or as edited. Never change it in place.
        shape: see `Shape`; its `results` say only that there are some.
        unit: id of the unit it belongs to (the id of that unit's first item).
        turn: number of the turn it belongs to; 0 is what stands before the first user message.
        tokens: its size, counted once.
        region: the budget region it is accounted to.
        edited: kind of the strategy that last changed `raw`, "" for an original.
        made: what ctxkit wrote it as: "gap" (a stand-in), "summary", "profile", "ledger" (facts that tools told),
            "note"; "" for what arrived.
        stands_for: ids of the originals that a summary or stand-in stands for, as ranges.
        writer: who wrote it, where and when, as far as somebody said.
    """

    id: int
    raw: dict[str, Any]
    shape: Shape
    unit: int
    turn: int
    tokens: int
    region: str
    edited: str = ""
    made: Literal["", "gap", "summary", "profile", "ledger", "note"] = ""
    stands_for: tuple[range, ...] = ()
    writer: Writer = NOBODY

    @property
    def synthetic(self) -> bool:
        """Whether ctxkit wrote it."""
        return self.id < 0

    @property
    def document(self) -> bool:
        """Whether it was put into a region of documents: then it is nobody's own words, whatever its role. Entries
        with results are in one of these regions anyway."""
        anyway = bool(self.shape.results) and self.region == "tool_results"
        return self.region in DOCUMENTS and not anyway and not self.synthetic and not self.returned

    @property
    def returned(self) -> bool:
        """Whether it is a text of ctxkit's own that came back as a message: what it says is told by its lines, and nobody
        is trusted by it more than the assistant is."""
        wordless = self.shape.role is Role.USER and not self.shape.words and not self.shape.results
        return wordless and self.region == "summary" and not self.synthetic

    @property
    def marks_gap(self) -> bool:
        """Whether it is a stand-in or a summary: it stands for what was left out there."""
        return self.made in ("gap", "summary")

    @property
    def in_front(self) -> bool:
        """Whether it belongs to what stands before all turns and never shrinks: system text and facts."""
        return self.region in ("system", "profile") or self.made == "ledger"
