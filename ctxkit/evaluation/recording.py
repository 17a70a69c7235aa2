"""A recorded conversation: its entries, their sizes, and where in it a request is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

from ctxkit.core.items import SHOWN, Part, Role, Shape
from ctxkit.core.provider import Entry
from ctxkit.core.state import Meter
from ctxkit.jsons import json_text
from ctxkit.providers import provider
from ctxkit.tokens import counter_for

__all__ = ["Read", "Recording", "Transcript"]

MODEL_MADE = (Role.MODEL, Role.REASONING)


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation as it was recorded.

    Attributes:
        messages: its history in provider JSON, the model's answers included.
        format: the wire format.
        system: system text beside the messages, None without one.
        tools: tool schemas that went along, None to leave them out of every count.
    """

    messages: Sequence[Any]
    format: str
    system: Any = None
    tools: Any = None


@dataclass(frozen=True, slots=True)
class Read:
    """An entry, what grouping and counting know of it, and the parts of it that a model reads."""

    entry: Entry
    shape: Shape
    parts: tuple[Part, ...]
    tokens: int

    @property
    def by_model(self) -> bool:
        """Whether the model made it."""
        return self.shape.role in MODEL_MADE


class Recording:
    """A transcript, read once for any number of replays.

    What can be mended in it is mended first, so that a replay measures what compaction does and not what was
    broken before.

    Args:
        model: picks the token counter.

    Raises:
        ProviderFormatError: an entry is not of the format.
        UnknownPluginError: there is no such format.
    """

    def __init__(self, transcript: Transcript, *, model: str | None = None) -> None:
        self.transcript = transcript
        self.provider = provider(transcript.format)
        self.meter = Meter(self.provider, counter_for(model).count)
        entries, _ = self.provider.repair(transcript.messages)
        self.reads = [self.read(entry, index=at) for at, entry in enumerate(entries)]
        self.upto = [0, *accumulate(read.tokens for read in self.reads)]
        """Tokens of the first so many entries."""
        self.beside = self._beside()
        """Tokens of what goes along beside the entries: system text, tool schemas."""

    def _beside(self) -> int:
        system, tools = self.transcript.system, self.transcript.tools
        schemas = 0 if tools is None else self.meter.count(json_text(tools))
        return self.meter.weight(self.provider.weigh_system(system)) + schemas

    def __len__(self) -> int:
        return len(self.reads)

    @property
    def tokens(self) -> int:
        """Tokens of the whole conversation, what goes along included."""
        return self.beside + self.upto[-1]

    def read(self, entry: Entry, *, index: int = 0) -> Read:
        """An entry of this conversation or of a request made from it, read and counted."""
        shape = self.provider.shape(entry, index=index)
        parts = tuple(part for part in self.provider.parts(entry) if part.reads_as in SHOWN)
        return Read(entry, shape, parts, self.meter.entry(entry))

    @cached_property
    def texts(self) -> list[str]:
        """What a reader sees of each entry; "" for system text, which stays whatever is compacted."""
        return [
            "" if read.shape.role is Role.SYSTEM else "\n".join(part.text for part in read.parts)
            for read in self.reads
        ]

    @cached_property
    def arrived(self) -> dict[str, int]:
        """Each text of a part, with the position of the first entry that it came in."""
        first: dict[str, int] = {}
        for at, read in enumerate(self.reads):
            for part in read.parts:
                first.setdefault(part.text, at)
        return first

    @cached_property
    def turns(self) -> list[int]:
        """The number of the turn that each entry is in; 0 before the first user message."""
        opens = (read.shape.role is Role.USER and read.shape.words for read in self.reads)
        return list(accumulate(map(int, opens)))

    @cached_property
    def requests(self) -> list[int]:
        """Positions of entries that answer a request: the first of what the model made in one go, after anything
        that is not system text."""
        begun = next((at for at, text in enumerate(self.texts) if text), len(self))
        return [at for at in range(begun + 1, len(self)) if self.reads[at].by_model and not self._goes_on(at)]

    def _goes_on(self, at: int) -> bool:
        return self.provider.joins_runs and at > 0 and self.reads[at - 1].by_model

    def answer(self, at: int) -> list[Read]:
        """What the model made in one go from `at` on."""
        end = at + 1
        while end < len(self) and self._goes_on(end) and self.reads[end].by_model:
            end += 1
        return self.reads[at:end]

    def least(self, at: int) -> int:
        """Tokens that no request before `at` can do without: leading system text and what goes along, the current
        user message, the newest unit."""
        reads = self.reads[:at]
        first = next((k for k, read in enumerate(reads) if read.shape.role is not Role.SYSTEM), at)
        user = next((k for k in range(at - 1, -1, -1) if reads[k].shape.role is Role.USER), at - 1)
        kept: set[int] = {*range(first), user, *range(self._newest_unit(at, first), at)}
        return self.beside + sum(reads[k].tokens for k in kept)

    def _newest_unit(self, at: int, first: int) -> int:
        """Where the unit begins that ends before `at`: a step with all its results, or the last entry."""
        begin = at - 1
        if self.reads[begin].shape.role is Role.TOOL:
            while begin > first and self.reads[begin].shape.role is Role.TOOL:
                begin -= 1
            while begin > first and self._goes_on(begin):
                begin -= 1
        return begin

    def broken(self, at: int) -> Counter[str]:
        """The wire rules that the conversation itself breaks before `at`, each with how often."""
        entries = [read.entry for read in self.reads[:at]]
        found = self.provider.violations(entries, system=self.transcript.system)
        return Counter(violation.rule for violation in found)
