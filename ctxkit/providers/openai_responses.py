"""OpenAI Responses: an `input` of items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctxkit.core.items import Call, Part, Result, Role, Shape, Weight
from ctxkit.core.provider import Entry, Repair, Violation
from ctxkit.errors import PlanError, ProviderFormatError
from ctxkit.providers.common import dump_model, text_of
from ctxkit.providers.openai_responses_items import (
    CALL_TYPES,
    FORMAT,
    made_answer,
    shape_of,
    type_of,
    without_id,
)
from ctxkit.providers.openai_responses_parts import parts_of, weigh_item, with_part
from ctxkit.providers.openai_responses_repair import mended
from ctxkit.providers.openai_responses_rules import problems

__all__ = ["OpenAIResponses"]

_NOT_SENT_BACK = frozenset({"created_by", "parsed", "parsed_arguments"})
"""Keys of the SDK's output classes that its input types do not have (R19)."""
_MAY_BE_NULL = frozenset({"code", "keys", "outputs", "result"})
"""Keys that an item has to have, without a value too; others without one are left out."""
_HELD = ("content", "output", "action", "results")
"""Keys of an item under which more of what the server made stands."""
_SYSTEM_ENVELOPE = 4


_SERVER_SIDE = ("previous_response_id", "conversation")
"""Keys of a request whose history is on the server (R18)."""


class OpenAIResponses:
    """The `input` items of Responses, with `instructions` as their system text; see `Provider`.

    It takes whole histories: with `previous_response_id` or `conversation` the server holds a part (R18).
    """

    name = FORMAT
    field = "input"
    joins_runs = True
    results_adjacent = False
    one_result_entry = False
    strips_open_turn = True
    unique_call_ids = True
    thinks_first = False
    certain = frozenset(["shape", "R5", "R6", "R7", "R11", "R15", "R16"])
    intrinsic = frozenset(["R11", "R15", "R16"])

    def dump(self, message: object) -> list[Entry]:
        """An item as it is; an SDK item as a dict of what was set; the output items of a whole response, the SDK's or its
        JSON.

        Keys that the SDK has on outputs only are left out of what it gives: they are refused as input.
        """
        given = message if isinstance(message, dict) else dump_model(message)
        match given:
            case {"object": "response", "output": list() as items}:
                return [_sent_back(item) for item in items]
            case dict() if given is message:
                _refuse_server_side(given)
                return [given]
            case {"type": str() as kind} if not kind.startswith("response."):
                return [_sent_back(given)]
            case {"role": str()}:
                return [_sent_back(given)]
        raise ProviderFormatError(
            f"{type(message).__name__} is no input item; pass a dict, an item that the SDK made or a Response",
            format=FORMAT,
        )

    def shape(self, entry: Entry, *, index: int = 0) -> Shape:
        """What grouping needs to know of `input[index]`; raises ProviderFormatError."""
        return shape_of(entry, index)

    def parts(self, entry: Entry) -> tuple[Part, ...]:
        """The parts of an item, see `parts_of`."""
        return parts_of(entry)

    def arguments(self, entry: Entry) -> list[str]:
        """See `Provider`."""
        call = CALL_TYPES.get(type_of(entry))
        if call is None or not shape_of(entry, 0).calls:
            return []
        return [text_of(entry.get(call.arguments, entry))]

    def with_part(self, entry: Entry, part: Part, content: Any) -> Entry:
        """A copy of `entry` with `content` for `part`; raises PlanError, see `with_part` of the parts."""
        return with_part(entry, part, content)

    def strip(self, entries: Sequence[Entry]) -> list[Entry | None]:
        """The items without their reasoning, and the item after it without its server id (R8).

        Where the type of that item needs an id (hosted calls, programs, references), both stay. How an
        assistant message is written without one, see `without_id`.
        """
        stripped: list[Entry | None] = list(entries)
        start = 0
        for index, entry in enumerate(entries):
            role = shape_of(entry, index).role
            if role is Role.REASONING:
                continue
            follows = index > start and role in (Role.MODEL, Role.COMPACTION)
            bare = without_id(entry) if follows else entry
            if bare is not None:
                stripped[start:index] = [None] * (index - start)
                stripped[index] = bare
            start = index + 1
        stripped[start:] = [None] * (len(entries) - start)
        return stripped

    def author(self, entry: Entry) -> str:
        """Nobody: this format has no place for it."""
        return ""

    def stand_in(self, text: str) -> Entry:
        """A user message of one text part."""
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}

    def arranged(self, entries: Sequence[Entry], marks: Sequence[bool]) -> list[tuple[int, Entry]]:
        """As they are: a stand-in may stand anywhere between steps."""
        return list(enumerate(entries))

    def answer(self, entries: Sequence[Entry], call: Call, text: str) -> list[Entry]:
        """The unit with an output for `call`, of the type that answers it, where `place` puts one.

        A shell call has run out of time, a patch has failed, an approval is refused with `text` as the
        reason. What a screenshot or a tool search gives has no place for `text`. Raises PlanError if no item
        makes this call.
        """
        caller = _caller(entries, (Result(call.id, call.name),))
        return self.place(entries, made_answer(entries[caller], call, text))

    def without_results(self, entry: Entry, calls: frozenset[str]) -> Entry | None:
        """None: an output is an item of its own."""
        return None

    def place(self, entries: Sequence[Entry], late: Entry) -> list[Entry]:
        """The unit with `late` behind the outputs that follow the step of its call: Responses takes it
        anywhere after the call (R3), its dialects want it there. Raises PlanError if no item makes the
        call."""
        others = [entry for entry in entries if entry is not late]
        at = _end_of_step(others, _caller(others, shape_of(late, 0).results))
        return [*others[:at], late, *others[at:]]

    def weigh(self, entry: Entry) -> Weight:
        """What to count of an item, see `weigh_item`."""
        return weigh_item(entry)

    def weigh_system(self, system: Any) -> Weight:
        """What to count of `instructions`: a string, or a list of items."""
        match system:
            case None | "" | []:
                return Weight(())
            case str():
                return Weight((system,), _SYSTEM_ENVELOPE)
            case list() | tuple():
                weights = [weigh_item(entry) for entry in system if isinstance(entry, dict)]
                texts = tuple(text for weight in weights for text in weight.texts)
                return Weight(texts, sum(weight.fixed for weight in weights))
        raise ProviderFormatError(
            f"instructions are a string, not {type(system).__name__}", format=FORMAT, path="instructions"
        )

    def violations(self, entries: Sequence[Entry], *, system: Any = None) -> list[Violation]:
        """The wire rules R1 to R21 that a request with this input would break, as far as they can be seen;
        "shape" for what is no item. Calls that wait at the end are R2, unless they are `async`."""
        return problems(entries)

    def repair(self, entries: Sequence[Entry]) -> tuple[list[Entry], list[Repair]]:
        """A history without the violations that can be mended, see `mended`."""
        return mended(entries)


def _sent_back(item: Any) -> Any:
    if isinstance(item, list):
        return [_sent_back(block) for block in item]
    if not isinstance(item, dict):
        return item
    kept = {
        key: value
        for key, value in item.items()
        if key not in _NOT_SENT_BACK and (value is not None or key in _MAY_BE_NULL)
    }
    return {key: _sent_back(value) if key in _HELD else value for key, value in kept.items()}


def _caller(entries: Sequence[Entry], results: Sequence[Result]) -> int:
    """Index of the last item with a call that one of `results` answers, by id or, without one, by name."""
    for index in range(len(entries) - 1, -1, -1):
        for call in shape_of(entries[index], index).calls:
            if any(
                call.name == result.name if result.id is None else call.id == result.id for result in results
            ):
                return index
    named = " or ".join(repr(result.id or result.name) for result in results)
    raise PlanError(f"no item of the unit makes a call {named or 'at all'}")


def _end_of_step(entries: Sequence[Entry], caller: int) -> int:
    """Where the outputs end that follow the calls made in one go with that of `caller`."""
    shapes = [shape_of(entry, index) for index, entry in enumerate(entries)]
    end = at = caller + 1
    while at < len(entries) and shapes[at].role in (Role.MODEL, Role.REASONING):
        at += 1
        if shapes[at - 1].calls:
            end = at
    while end < len(entries) and shapes[end].role is Role.TOOL:
        end += 1
    return end


def _refuse_server_side(message: Entry) -> None:
    for key in _SERVER_SIDE:
        if message.get(key) is not None and "type" not in message and "role" not in message:
            raise ProviderFormatError(
                f"the history of a request with {key} is on the server and cannot be made smaller here; "
                "send the whole `input` without it",
                format=FORMAT,
                path=key,
                rule="R18",
            )
