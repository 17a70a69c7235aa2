"""What the core asks of a wire format. One adapter a format, in `ctxkit/providers`, fills this protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ctxkit.core.items import Call, Part, Shape, Weight

__all__ = ["Entry", "Provider", "Repair", "Violation"]

Entry = dict[str, Any]
"""One entry of a history in provider JSON."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A wire rule that a payload breaks.

    Attributes:
        rule: its name in `docs/wire-rules.md`, as in "C2".
        index: index of the entry it is about; -1 for the whole payload.
        path: where in the payload, as in `messages[3].tool_calls[0]`.
        message: what is wrong, one sentence.
    """

    rule: str
    index: int
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.rule}: {self.message}"


@dataclass(frozen=True, slots=True)
class Repair:
    """What `Provider.repair` did about one violation; `index` counts in the payload before the repair."""

    rule: str
    index: int
    message: str


class Provider(Protocol):
    """A wire format. Every method is pure: arguments are never changed, results share unchanged values with them.

    Attributes:
        name: "openai-chat", "openai-responses", "anthropic" or "gemini".
        field: what a request calls the list of its entries, where paths in errors begin: "messages", "input" or
            "contents".
        joins_runs: neighbouring model-made entries are one step (all but Chat).
        results_adjacent: results must follow their call directly (all but Responses).
        one_result_entry: all results of a step are in one entry (Gemini, G3).
        strips_open_turn: reasoning may be stripped from the current turn too (Responses alone).
        unique_call_ids: a call id may occur once in the whole request (Responses, Anthropic).
        thinks_first: a tool loop that began with thinking has to begin with it, also when its first steps are gone
            (Anthropic, A16).
        certain: rules that no server of this format is known to overlook; a conversation that breaks one from the
            start is refused.
        intrinsic: those of them that one entry breaks whatever stands around it; such an entry is never taken in.
    """

    name: str
    field: str
    joins_runs: bool
    results_adjacent: bool
    one_result_entry: bool
    strips_open_turn: bool
    unique_call_ids: bool
    thinks_first: bool
    certain: frozenset[str]
    intrinsic: frozenset[str]

    def dump(self, message: object) -> list[Entry]:
        """Entries of one thing that a user may pass: an entry, an SDK message object, a whole response as the SDK's
        object or as its JSON.

        An entry comes back as it is (not a copy). Raises ProviderFormatError for what is none of these.
        """
        ...

    def shape(self, entry: Entry, *, index: int = 0) -> Shape:
        """What grouping needs to know. Raises ProviderFormatError (with `index` in its path) when malformed:
        not a dict, no or unknown role or type, content of a wrong JSON type, calls or results without the keys
        that pair them. Unknown keys and unknown block or item types beside those are carried, not refused."""
        ...

    def author(self, entry: Entry) -> str:
        """Who of several people or agents wrote an entry, where the entry says so itself; "" where it does not."""
        ...

    def parts(self, entry: Entry) -> tuple[Part, ...]:
        """The parts of an entry in wire order. The media inside a result are parts after that result."""
        ...

    def arguments(self, entry: Entry) -> list[str]:
        """What each of the calls of `shape(entry)` was given, in their order, as text: JSON as a rule. Of a call that
        has no such field it is the JSON of the whole call."""
        ...

    def with_part(self, entry: Entry, part: Part, content: Any) -> Entry:
        """A copy of `entry` with `content` for `part`, in the JSON type that its provider wants there.

        TEXT takes a str. RESULT takes a str or a JSON value (a dict for Gemini; else written as JSON text);
        other keys of the result (its id, `is_error`) stay. ARGUMENTS takes a dict (written as JSON text where
        the format has text). MEDIA takes a str, a description, and becomes a text block.
        Raises PlanError for REASONING and OPAQUE parts, and for a text that would be empty where not allowed.
        """
        ...

    def strip(self, entries: Sequence[Entry]) -> list[Entry | None]:
        """The entries of one unit without their reasoning, position for position: the same object where nothing
        changes, a changed copy, or None for an entry that goes. What the format does not permit stays."""
        ...

    def stand_in(self, text: str) -> Entry:
        """`text` as a user-side message of its own, without id, name or other extras."""
        ...

    def arranged(self, entries: Sequence[Entry], marks: Sequence[bool]) -> list[tuple[int, Entry]]:
        """The entries of a request as they go out, each with its index in `entries`.

        Where `marks` says so, the entry is a stand-in for what was left out before the entry behind it: it moves, or is said
        by the model, where the format takes it no other way. All others are the same objects in the same order.
        """
        ...

    def answer(self, entries: Sequence[Entry], call: Call, text: str) -> list[Entry]:
        """The entries of one unit with a made-up result `text` for its unanswered `call`, where the format wants
        it: one entry more, or one entry changed. Other entries are the same objects."""
        ...

    def without_results(self, entry: Entry, calls: frozenset[str]) -> Entry | None:
        """An entry without its results for these calls, by their ids; None when nothing else is in it."""
        ...

    def place(self, entries: Sequence[Entry], late: Entry) -> list[Entry]:
        """The entries of one unit with `late`, an entry whose results all answer calls of it, moved in where the
        format wants it (next to the results already there, merged into them where the format asks for that)."""
        ...

    def weigh(self, entry: Entry) -> Weight:
        """What to count of an entry: every text the model sees, envelope and media as fixed tokens. Base64 is
        never a text; opaque strings count as `len // 4` in `fixed`."""
        ...

    def weigh_system(self, system: Any) -> Weight:
        """The same for system text that stands beside the list (str, blocks, Content; None weighs nothing)."""
        ...

    def violations(self, entries: Sequence[Entry], *, system: Any = None) -> list[Violation]:
        """Every wire rule that a request with this history would break, in the order of the entries. Linear time;
        never raises for any JSON."""
        ...

    def repair(self, entries: Sequence[Entry]) -> tuple[list[Entry], list[Repair]]:
        """A history without the violations that can be mended without inventing content, and what was done.

        Orphan or doubled results go, strays inside a step move behind it, late results move to their call, ids
        that collide are renamed on both halves, empty messages go. A call without result stays: it is open.
        """
        ...
