"""What Gemini refuses as `contents`, rules G1 to G14 of `docs/wire-rules.md`, and mending what can be mended.

Not flagged: two contents of one role in a row (G9, which the API accepts), how a signature was made (G7), and
media beside a response (G15, which only some models refuse).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ctxkit.core.items import Call, Result
from ctxkit.core.pairing import OpenCalls
from ctxkit.core.provider import Entry, Repair, Violation
from ctxkit.core.state import OpenCall
from ctxkit.providers.common import path_text
from ctxkit.providers.gemini_wire import (
    as_object,
    call_of,
    calls_of,
    data_of,
    field,
    hosted_gaps,
    insert_responses,
    is_model,
    key_of,
    parts_of,
    result_of,
    results_of,
    role_of,
    signature_of,
    waiting_of,
)

__all__ = ["repair", "violations"]

_BESIDE = frozenset(
    spelling
    for pair in (
        ("thought",),
        ("thoughtSignature", "thought_signature"),
        ("videoMetadata", "video_metadata"),
        ("mediaResolution", "media_resolution"),
        ("partMetadata", "part_metadata"),
    )
    for spelling in pair
)
"""Keys that may stand beside the data of a part but are none."""


def violations(entries: Sequence[Any]) -> list[Violation]:
    """Every rule that the contents break, in their order.

    A step is a run of model contents. G5 is only looked for where the payload as a whole clearly comes from a
    model that signs its calls: of the steps with calls, more than half have a signature on their first
    `functionCall` part. Then each step of the current turn must have it; that turn begins after the last user
    content that is not only responses.
    """
    if not entries:
        return [Violation("G10", -1, "contents", "there is no content to send")]
    found = [broken for index, entry in enumerate(entries) for broken in _content(index, entry)]
    steps = list(_steps(entries))
    for step in steps:
        found += _hosted(step)
    found += _pairing(steps, entries)
    found += _signatures(steps, entries)
    return sorted(found, key=lambda broken: broken.index)


def repair(entries: Sequence[Any]) -> tuple[list[Entry], list[Repair]]:
    """The contents as far as they can be mended without inventing anything, and what was done.

    Responses that answer no call go, late ones move to their call, those of one step come into one content (what
    stood between follows it), outputs that are no object become one, parts without data and contents without
    parts go. Calls without response stay, as does whatever cannot be read.
    """
    mender = _Mender()
    for index, entry in enumerate(entries):
        mender.add(index, entry)
    return mender.entries(), mender.repairs


@dataclass(frozen=True, slots=True)
class _Step:
    """A run of model contents with calls or hosted tools, as (index of the content, index of the part, part)."""

    parts: tuple[tuple[int, int, Any], ...]
    end: int
    """Index of the content after it, whether there is one or not."""

    def calls(self) -> list[tuple[int, int, Call]]:
        return [(i, at, call) for i, at, part in self.parts if (call := call_of(part)) is not None]


def _steps(entries: Sequence[Any]) -> Iterator[_Step]:
    parts: list[tuple[int, int, Any]] = []
    for index, entry in enumerate([*entries, None]):
        if index < len(entries) and is_model(entry):
            parts += ((index, at, part) for at, part in enumerate(parts_of(entry)))
        elif parts:
            yield _Step(tuple(parts), index)
            parts = []


def _broken(rule: str, message: str, index: int, *path: str | int) -> Violation:
    return Violation(rule, index, path_text("contents", index, *path), message)


def _content(index: int, entry: Any) -> Iterator[Violation]:
    """What is wrong with one content, whatever stands around it."""
    if not isinstance(entry, dict):
        yield _broken("G10", "a content is an object with role and parts", index)
        return
    role = role_of(entry)
    if role is None:
        yield _broken("G8", "the role is neither user nor model", index, "role")
    if index == 0 and role == "model":
        yield _broken("G8", "the first content is not from the user", index)
    parts = entry.get("parts")
    if not isinstance(parts, list) or not parts:
        yield _broken("G10", "parts are missing, empty or no list", index, "parts")
    for at, part in enumerate(parts_of(entry)):
        for rule, message in _part(part, model=role == "model"):
            yield _broken(rule, message, index, "parts", at)


def _part(part: Any, *, model: bool) -> Iterator[tuple[str, str]]:
    if not isinstance(part, dict):
        yield "G10", "a part is an object"
        return
    held = data_of(part)
    if len(held) > 1:
        yield "G10", f"a part holds one thing, not {' and '.join(held)}"
    if _dataless(part):
        yield "G10", "the part holds no data"
    for name in held:
        value = field(part, name)
        match name:
            case "text" if not isinstance(value, str):
                yield "G10", "text is no string"
            case "functionCall":
                yield from _call(value, model=model)
            case "functionResponse":
                yield from _response(value, model=model)
            case _ if name != "text" and not isinstance(value, dict):
                yield "G10", f"{name} is no object"


def _dataless(part: dict[str, Any]) -> bool:
    """Whether a part holds nothing, not even something that is unknown here."""
    return not data_of(part) and all(value is None or key in _BESIDE for key, value in part.items())


def _call(call: Any, *, model: bool) -> Iterator[tuple[str, str]]:
    if not model:
        yield "G1", "a functionCall stands in a content that is not the model's"
    if not isinstance(call, dict):
        yield "G10", "functionCall is no object"
        return
    if not isinstance(call.get("name"), str) or not call["name"]:
        yield "G4", "the functionCall has no name"
    if not isinstance(call.get("args"), dict | None):
        yield "G11", "the args of a functionCall are no object"
    if signature_of(call):
        yield "G6", "the thoughtSignature stands inside functionCall, not beside it"


def _response(response: Any, *, model: bool) -> Iterator[tuple[str, str]]:
    if model:
        yield "G2", "a functionResponse stands in a content of the model"
    if not isinstance(response, dict):
        yield "G10", "functionResponse is no object"
        return
    if not isinstance(response.get("name"), str) or not response["name"]:
        yield "G4", "the functionResponse has no name"
    if not isinstance(response.get("response"), dict):
        yield "G11", "the response is no object"


def _hosted(step: _Step) -> Iterator[Violation]:
    """Hosted calls and results that are not echoed back together."""
    unanswered, orphans = hosted_gaps([part for _, _, part in step.parts])
    for at in unanswered:
        index, place, _ = step.parts[at]
        yield _broken("G14", "a hosted call without its result", index, "parts", place)
    for at in orphans:
        index, place, _ = step.parts[at]
        yield _broken("G14", "a hosted result without its call", index, "parts", place)


def _pairing(steps: Sequence[_Step], entries: Sequence[Any]) -> Iterator[Violation]:
    """Calls without response, responses without call, and a last content that is the model's."""
    step_before = {step.end: step for step in steps}
    answered = False
    for index, entry in enumerate(entries):
        if is_model(entry):
            answered = False
            continue
        responses = [(at, result) for at, part in enumerate(parts_of(entry)) if (result := result_of(part))]
        calls = step_before[index].calls() if index in step_before else []
        if calls:
            pending = bool(responses) and index == len(entries) - 1
            yield from _unpaired(calls, index, responses, pending=pending)
        else:
            rule = "G3" if answered else "G2"
            where = "in a second content" if answered else "without a functionCall right before it"
            for at, _ in responses:
                yield _broken(rule, f"a functionResponse {where}", index, "parts", at)
        answered = bool(responses) and (bool(calls) or answered)
    yield from _ends(steps, entries)


def _ends(steps: Sequence[_Step], entries: Sequence[Any]) -> Iterator[Violation]:
    """What the first and the last content may not be; an answer at the end is held, not sent, so G12 is silent."""
    first_calls = steps[0].calls() if steps and is_model(entries[0]) else []
    for index, at, call in first_calls[:1]:
        yield _broken("G1", f"the functionCall {call.name!r} has no user turn before it", index, "parts", at)
    if not is_model(entries[-1]):
        return
    open_calls = steps[-1].calls() if steps and steps[-1].end == len(entries) else []
    for index, at, call in open_calls:
        yield _broken("G13", _waits(call), index, "parts", at)


def _unpaired(
    calls: Sequence[tuple[int, int, Call]],
    index: int,
    responses: Sequence[tuple[int, Result]],
    *,
    pending: bool,
) -> Iterator[Violation]:
    """What does not pair in one step. A response beside a call that it does not fit breaks G4, else G3 is
    broken; a call of a batch that was answered in part breaks G13 while its response is still `pending`."""
    waiting = waiting_of(call for _, _, call in calls)
    taken = waiting.take_all([result for _, result in responses])
    stray = [response for response, position in zip(responses, taken, strict=True) if position is None]
    for (at, result), position in zip(responses, taken, strict=True):
        name = result.name if position is None else calls[position][2].name
        if result.name and result.name != name:
            message = f"the functionResponse to {name!r} is named {result.name!r}"
            yield _broken("G4", message, index, "parts", at)
    left = waiting.left()
    for number, (at, result) in enumerate(stray):
        wrong = number < len(left)
        rule, message = (
            ("G4", "fits no call that it follows") if wrong else ("G3", "is one more than the calls")
        )
        yield _broken(rule, f"the functionResponse {result.name!r} {message}", index, "parts", at)
    for position, _ in left[len(stray) :]:
        content, at, call = calls[position]
        if pending:
            yield _broken("G13", _waits(call), content, "parts", at)
            continue
        message = f"the functionCall {call.name!r} has no response in the next content"
        yield _broken("G3", message, content, "parts", at)


def _waits(call: Call) -> str:
    return f"the functionCall {call.name!r} waits for its response"


def _signatures(steps: Sequence[_Step], entries: Sequence[Any]) -> Iterator[Violation]:
    """Steps of the current turn whose first call has no signature; see `violations` for when that counts."""
    firsts = [first for step in steps for first in _first_call(step)]
    signed = sum(bool(signature_of(part)) for _, _, part in firsts)
    if signed * 2 <= len(firsts):
        return
    said = [index for index, entry in enumerate(entries) if _says_something(entry)]
    start = said[-1] if said else -1
    for index, at, part in firsts:
        if index > start and not signature_of(part):
            yield _broken(
                "G5", "the first functionCall of the step has no thoughtSignature", index, "parts", at
            )


def _first_call(step: _Step) -> list[tuple[int, int, Any]]:
    return [place for place in step.parts if call_of(place[2]) is not None][:1]


def _says_something(entry: Any) -> bool:
    """Whether a user content holds anything but responses."""
    return not is_model(entry) and any(result_of(part) is None for part in parts_of(entry))


class _Block:
    """A run of model contents with its response content, or another content, on the way to the mended history.

    Responses stand in the order of their calls: each is known by the key of its call.
    """

    def __init__(self, entry: Entry, *, model: bool) -> None:
        self.model = model
        self.contents = [entry]
        self.response: Entry | None = None
        self.keys: Sequence[int | None] = ()
        self.late: list[tuple[int, Any]] = []

    def entries(self) -> list[Entry]:
        response = self.response
        if self.late:
            into = response or {"role": "user", "parts": []}
            response = {**into, "parts": insert_responses(into["parts"], self.keys, self.late)}
        return [*self.contents, response] if response else self.contents


class _Mender:
    """Mends contents one after the other; of the calls that wait those of the newest step come first."""

    def __init__(self) -> None:
        self.repairs: list[Repair] = []
        self._blocks: list[_Block] = []
        self._step: _Block | None = None
        self._waiting = OpenCalls(())
        self._callers: list[_Block] = []
        """The step of each call, by its key."""

    def entries(self) -> list[Entry]:
        """What has been mended so far."""
        return [entry for block in self._blocks for entry in block.entries()]

    def add(self, index: int, entry: Any) -> None:
        """The next content."""
        if isinstance(entry, dict) and isinstance(entry.get("parts"), list | None):
            entry = self._with_data(index, entry)
            if entry is None:
                return
        if is_model(entry):
            self._add_model(entry)
        elif results_of(entry):
            self._add_responses(index, entry)
        else:
            self._blocks.append(_Block(entry, model=False))

    def _note(self, rule: str, index: int, message: str) -> None:
        self.repairs.append(Repair(rule, index, message))

    def _with_data(self, index: int, entry: Entry) -> Entry | None:
        """The content with mended parts; None if nothing is in it."""
        mended = [_mended(part) for part in parts_of(entry)]
        left = [part for part, _ in mended if part is not None]
        if not left:
            self._note("G10", index, "a content without parts was removed")
            return None
        messages = {rule: message for _, (rule, message) in mended if rule}
        for rule, message in messages.items():
            self._note(rule, index, message)
        return {**entry, "parts": left} if messages else entry

    def _add_model(self, entry: Entry) -> None:
        last = self._blocks[-1] if self._blocks else None
        if last is not None and last.model and last.response is None:
            last.contents.append(entry)
        else:
            self._step = last = _Block(entry, model=True)
            self._blocks.append(last)
        for call in calls_of(entry):
            self._waiting.add(OpenCall(call, unit=len(self._blocks), turn=0))
            self._callers.append(last)

    def _add_responses(self, index: int, entry: Entry) -> None:
        """Give each response to its call; what is left of the content stays where it is."""
        keys = self._waiting.take_all(results_of(entry))
        owners = [None if key is None else self._callers[key] for key in keys]
        step = self._step if self._step and self._step.response is None else None
        direct = step is not None and step is self._blocks[-1]
        whole = all(block is step for block in owners) and (direct or len(owners) == len(parts_of(entry)))
        if step and whole:
            if not direct:
                self._note("G2", index, "a late response was moved to its call")
            step.response, step.keys = entry, keys
            return
        owned = zip(keys, owners, strict=True)
        kept, its_keys = [], []
        for part in parts_of(entry):
            if result_of(part) is None:
                kept.append(part)
                continue
            key, block = next(owned)
            if direct and block is step:
                kept.append(part)
                its_keys.append(key)
            else:
                self._move(index, part, block, key)
        if its_keys and step:
            step.response, step.keys = {**entry, "parts": kept}, its_keys
        elif kept:
            self._blocks.append(_Block({**entry, "parts": kept}, model=False))

    def _move(self, index: int, part: Any, block: _Block | None, key: int | None) -> None:
        """Take a response out of its content: to the step of its call, or away."""
        if block is None or key is None:
            self._note("G2", index, "a response that answers no open call was removed")
            return
        block.late.append((key, part))
        self._note("G3", index, "a response was moved to those of its step")


_FINE = ("", "")
_NO_DATA = ("G10", "parts without data were removed")
_SIGNATURE_ONLY = ("G10", "an empty text was written beside a signature that stood alone")
_NO_OBJECT = ("G11", "outputs or args that were no JSON object were written as one")


def _mended(part: Any) -> tuple[Any, tuple[str, str]]:
    """A part with data of the right JSON type, None if it has none; rule and message of what was done."""
    if not isinstance(part, dict):
        return part, _FINE
    if _dataless(part):
        return ({**part, "text": ""}, _SIGNATURE_ONLY) if signature_of(part) else (None, _NO_DATA)
    for name, inner in (("functionResponse", "response"), ("functionCall", "args")):
        key = key_of(part, name)
        if key is None or not isinstance(part[key], dict):
            continue
        value = part[key].get(inner)
        if inner == "response" and not isinstance(value, dict):
            output = {} if value is None else as_object(value)
            return {**part, key: {**part[key], inner: output}}, _NO_OBJECT
        if inner == "args" and isinstance(value, str) and (args := as_object(value)) != {"output": value}:
            return {**part, key: {**part[key], inner: args}}, _NO_OBJECT
    return part, _FINE
