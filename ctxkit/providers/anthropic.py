"""Anthropic Messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctxkit.core.items import Call, Part, Shape, Weight
from ctxkit.core.provider import Entry, Repair, Violation
from ctxkit.errors import PlanError
from ctxkit.providers.anthropic_blocks import calls_of
from ctxkit.providers.anthropic_dump import dumped
from ctxkit.providers.anthropic_marks import arranged
from ctxkit.providers.anthropic_parts import parts_of, with_content
from ctxkit.providers.anthropic_repair import repaired
from ctxkit.providers.anthropic_rules import violations
from ctxkit.providers.anthropic_shape import FORMAT, shape_of
from ctxkit.providers.anthropic_steps import with_late, with_results, without_thinking
from ctxkit.providers.anthropic_weight import weigh_content
from ctxkit.providers.common import kind_of, text_of_json

__all__ = ["Anthropic"]


class Anthropic:
    """The `messages` of Anthropic Messages, the beta API included; see `Provider`.

    Calls that the provider answers itself (`server_tool_use`, `mcp_tool_use`) are no calls here: they and their
    results are opaque. An assistant message with such a result of an earlier message's call is bound to it.
    """

    name = FORMAT
    field = "messages"
    joins_runs = True
    results_adjacent = True
    one_result_entry = False
    strips_open_turn = False
    unique_call_ids = True
    thinks_first = True
    certain = frozenset(["A5", "A6", "A7", "A8", "A10", "A11", "A15", "A21", "A22", "A24", "A25"])
    intrinsic = frozenset(["A7", "A10", "A11", "A15", "A25"])

    def dump(self, message: object) -> list[Entry]:
        """A message as it is, but for SDK blocks in its content; a response, the SDK's Message or its JSON, as an
        assistant message of what the API takes back: no id, model or usage."""
        return [dumped(message)]

    def shape(self, entry: Entry, *, index: int = 0) -> Shape:
        """What grouping needs to know of `messages[index]`; raises ProviderFormatError."""
        return shape_of(entry, index)

    def parts(self, entry: Entry) -> tuple[Part, ...]:
        """The parts of a message; text with citations is OPAQUE."""
        return parts_of(entry)

    def arguments(self, entry: Entry) -> list[str]:
        """See `Provider`."""
        return [text_of_json(block.get("input", {})) for block in calls_of(entry)]

    def with_part(self, entry: Entry, part: Part, content: Any) -> Entry:
        """A copy of `entry` with `content` for `part`. A result becomes text, and loses its `content` when that
        is blank; blocks keep their `cache_control`. Raises PlanError."""
        return with_content(entry, part, content)

    def strip(self, entries: Sequence[Entry]) -> list[Entry | None]:
        """The messages without thinking, None for one that had nothing else. Not for the open tool loop (A16)."""
        return [without_thinking(entry) for entry in entries]

    def author(self, entry: Entry) -> str:
        """Nobody: this format has no place for it."""
        return ""

    def stand_in(self, text: str) -> Entry:
        """A user message of `text` alone."""
        return {"role": "user", "content": text}

    def arranged(self, entries: Sequence[Entry], marks: Sequence[bool]) -> list[tuple[int, Entry]]:
        """See `Provider`; where a stand-in would begin a turn inside a tool loop that thinks, or part system text from the
        assistant message behind it."""
        return arranged(entries, marks)

    def answer(self, entries: Sequence[Entry], call: Call, text: str) -> list[Entry]:
        """The unit with a result `text` for `call`: in the message with the results of its batch, or in one of
        its own right behind the caller's turn. Raises PlanError if no message makes this call."""
        if call.id is None:
            raise PlanError(
                f"the call of {call.name!r:.80} has no id; calls of this format are answered by id"
            )
        result = {
            "type": "tool_result",
            "tool_use_id": call.id,
            **({"content": text} if text.strip() else {}),
        }
        return with_results(entries, [result])

    def without_results(self, entry: Entry, calls: frozenset[str]) -> Entry | None:
        """The message without these `tool_result` blocks; None when it has no other block."""
        left = [
            block
            for block in entry["content"]
            if kind_of(block) != "tool_result" or block["tool_use_id"] not in calls
        ]
        return {**entry, "content": left} if left else None

    def place(self, entries: Sequence[Entry], late: Entry) -> list[Entry]:
        """The unit with the results of `late` among those of their batch, the words of `late` behind them."""
        return with_late(entries, late)

    def weigh(self, entry: Entry) -> Weight:
        """What to count of a message; see `weigh_content`."""
        return weigh_content(entry.get("content") if isinstance(entry, dict) else None)

    def weigh_system(self, system: Any) -> Weight:
        """What to count of system text, a str or text blocks."""
        return Weight(()) if system is None else weigh_content(system)

    def violations(self, entries: Sequence[Entry], *, system: Any = None) -> list[Violation]:
        """The wire rules that a request with this history would break; "shape" for what is no message."""
        return violations(entries, system=system)

    def repair(self, entries: Sequence[Entry]) -> tuple[list[Entry], list[Repair]]:
        """A history without the violations that can be mended; `repaired` names those that stay."""
        return repaired(entries)
