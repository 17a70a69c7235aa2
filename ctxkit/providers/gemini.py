"""Google Gemini: a history is `contents`, each with a role and parts; system text is `systemInstruction`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from ctxkit.core.items import Call, Part, PartKind, Role, Shape, Weight
from ctxkit.core.provider import Entry, Repair, Violation
from ctxkit.errors import PlanError, ProviderFormatError
from ctxkit.providers import gemini_rules
from ctxkit.providers.common import (
    dump_model,
    opaque_tokens,
    path_text,
    replace_at,
    string_of,
    text_of,
    text_of_json,
)
from ctxkit.providers.foreign import refuse_foreign, response_format
from ctxkit.providers.gemini_wire import (
    MEDIA,
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
    spelled,
    waiting_of,
)
from ctxkit.tokens.media import gemini_media_tokens

__all__ = ["Gemini"]

_FORMAT = "gemini"
_CONTENT_TOKENS = 4
_CALL_TOKENS = 8
_HOSTED_TEXTS = {"executableCode": "code", "codeExecutionResult": "output"}
_HOSTED_JSON = {"toolCall": "args", "toolResponse": "response"}


class Gemini:
    """The `contents` of the Gemini API and of Vertex AI, in camelCase or snake_case JSON."""

    name = _FORMAT
    field = "contents"
    joins_runs = True
    results_adjacent = True
    one_result_entry = True
    strips_open_turn = False
    unique_call_ids = False
    thinks_first = False
    certain = frozenset(["G1", "G3", "G10", "G11"])
    intrinsic = frozenset(["G10", "G11"])

    def dump(self, message: object) -> list[Entry]:
        """See `Provider`. Takes dicts, and `Content`, `Candidate` and `GenerateContentResponse` of google-genai;
        of a response, or its JSON, the first candidate. Bytes become base64."""
        if isinstance(message, dict) and response_format(message) != _FORMAT:
            return [message]
        dumped = _candidate(message) if isinstance(message, dict) else dump_model(message, nulls=False) or {}
        if "candidates" in dumped:
            candidates = dumped["candidates"] or [{}]
            dumped = candidates[0]
        content = (
            {"role": "model", **dumped["content"]} if isinstance(dumped.get("content"), dict) else dumped
        )
        if not content or not content.keys() <= {"role", "parts"}:
            raise ProviderFormatError(
                f"{'the response' if isinstance(message, dict) else f'a {type(message).__name__}'} holds no content; "
                "pass a content, a dict, or a response that has a candidate with content",
                format=_FORMAT,
            )
        return [content]

    def shape(self, entry: Entry, *, index: int = 0) -> Shape:
        """See `Provider`."""
        model = _checked(entry, index)
        refuse_foreign(entry, _FORMAT, "contents", index)
        if "parts" not in entry and "content" in entry:
            raise _malformed("a content has `parts`; `content` belongs to other formats", index)
        parts = parts_of(entry)
        if model:
            _, orphans = hosted_gaps(parts)
            return Shape(Role.MODEL, calls=tuple(calls_of(entry)), binds="previous" if orphans else "")
        results = tuple(results_of(entry))
        if not results:
            return Shape(Role.USER, words=True)
        return Shape(Role.TOOL, results=results, words=any(field(part, "text") for part in parts))

    def parts(self, entry: Entry) -> tuple[Part, ...]:
        """See `Provider`. What carries a thought signature is OPAQUE, and read nevertheless."""
        return tuple(
            found for at, part in enumerate(parts_of(entry)) for found in _parts(("parts", at), part)
        )

    def arguments(self, entry: Entry) -> list[str]:
        """See `Provider`."""
        made = (field(part, "functionCall") for part in parts_of(entry) if call_of(part) is not None)
        return [text_of_json(field(call, "args") or {}) for call in made]

    def with_part(self, entry: Entry, part: Part, content: Any) -> Entry:
        """See `Provider`. A description of media inside a response is written into the response's object."""
        match part.kind:
            case PartKind.TEXT:
                return replace_at(entry, part.path, _words(content))
            case PartKind.RESULT:
                return replace_at(entry, part.path, as_object(content))
            case PartKind.ARGUMENTS if isinstance(content, dict):
                return replace_at(entry, part.path, content)
            case PartKind.ARGUMENTS:
                raise PlanError(f"arguments must be a dict, not {type(content).__name__}")
            case PartKind.MEDIA if len(part.path) == 2:
                return replace_at(entry, part.path, {"text": _words(content)})
            case PartKind.MEDIA:
                return _without_response_media(entry, part, _words(content))
            case _:
                raise PlanError(f"the {part.kind} part at {path_text(*part.path)} must stay as it is")

    def strip(self, entries: Sequence[Entry]) -> list[Entry | None]:
        """See `Provider`. Thoughts and signatures go; hosted tools keep their signatures (G14)."""
        return [_stripped(entry) if is_model(entry) else entry for entry in entries]

    def author(self, entry: Entry) -> str:
        """Nobody: this format has no place for it."""
        return ""

    def stand_in(self, text: str) -> Entry:
        """See `Provider`."""
        return {"role": "user", "parts": [{"text": text}]}

    def arranged(self, entries: Sequence[Entry], marks: Sequence[bool]) -> list[tuple[int, Entry]]:
        """As they are: a stand-in may stand anywhere between steps."""
        return list(enumerate(entries))

    def answer(self, entries: Sequence[Entry], call: Call, text: str) -> list[Entry]:
        """See `Provider`. Where responses do not tell calls from each other, the first that has none is answered. Raises
        PlanError if no call is open in `entries`."""
        left = [(step, at, each.call) for step in _steps(entries) for at, each in step.waiting.left()]
        if not left:
            raise PlanError(f"call {call.id or call.name!r} is not open here, so it cannot be answered")
        step, position, waits = next((each for each in left if _same(each[2], call)), left[0])
        response: dict[str, Any] = {"name": waits.name, "response": {"output": text}}
        response |= {"id": waits.id} if waits.id else {}
        return step.with_responses([(position, response)])

    def without_results(self, entry: Entry, calls: frozenset[str]) -> Entry | None:
        """The content without these responses; None when it has no other part."""
        results = [result_of(part) for part in entry["parts"]]
        left = [
            part
            for part, result in zip(entry["parts"], results, strict=True)
            if result is None or result.id not in calls
        ]
        return {**entry, "parts": left} if left else None

    def place(self, entries: Sequence[Entry], late: Entry) -> list[Entry]:
        """See `Provider`. All responses of a step are in one content (G3); what else `late` holds follows them."""
        steps = [step for step in _steps(entries) if step.waiting.left()]
        if not steps:
            return [*entries, late]
        results = results_of(late)
        for step in steps:
            positions = step.waiting.take_all(results)
            if any(position is not None for position in positions):
                return step.with_late(late, positions)
        return steps[-1].with_late(late, [None] * len(results))

    def weigh(self, entry: Entry) -> Weight:
        """See `Provider`. 4 tokens a content and 8 a call or response are an estimate for names of fields and
        ids; media as `gemini_media_tokens` says."""
        texts: list[str] = []
        fixed = _CONTENT_TOKENS
        for part in parts_of(entry):
            more, tokens = _part_weight(part)
            texts += more
            fixed += tokens + opaque_tokens(str(signature_of(part)))
        return Weight(tuple(texts), fixed)

    def weigh_system(self, system: Any) -> Weight:
        """See `Provider`. Takes a str, a content, a list of parts or strs, or a `Content` of google-genai."""
        match system:
            case None:
                return Weight(())
            case str():
                return Weight((system,), _CONTENT_TOKENS)
            case list():
                parts = [{"text": part} if isinstance(part, str) else part for part in system]
                return self.weigh({"parts": parts})
            case dict():
                return self.weigh(system if "parts" in system else {"parts": [system]})
            case _:
                return self.weigh(self.dump(system)[0])

    def violations(self, entries: Sequence[Entry], *, system: Any = None) -> list[Violation]:
        """See `Provider` and `ctxkit.providers.gemini_rules`. No rule is about the system text."""
        del system
        return gemini_rules.violations(entries)

    def repair(self, entries: Sequence[Entry]) -> tuple[list[Entry], list[Repair]]:
        """See `Provider` and `ctxkit.providers.gemini_rules`."""
        return gemini_rules.repair(entries)


class _Step:
    """A run of model contents in a unit, with the response content behind it if there is one."""

    def __init__(self, entries: Sequence[Entry], start: int, end: int) -> None:
        self._entries = entries
        self._end = end
        calls = [call for entry in entries[start:end] for call in calls_of(entry)]
        self._calls = len(calls)
        self.waiting = waiting_of(calls)
        follower = entries[end : end + 1]
        results = results_of(follower[0]) if follower and not is_model(follower[0]) else []
        self._positions = self.waiting.take_all(results)

    def with_responses(self, responses: Sequence[tuple[int, dict[str, Any]]]) -> list[Entry]:
        """The entries with responses, each with the position of its call, where they belong."""
        into = self._entries[self._end] if self._positions else {}
        key = spelled(into, "functionResponse")
        return self._with_parts([(at, {key: response}) for at, response in responses], ())

    def with_late(self, late: Entry, positions: Sequence[int | None]) -> list[Entry]:
        """The entries with a late content: merged into the response content, else right after the calls."""
        if not self._positions:
            return [*self._entries[: self._end], late, *self._entries[self._end :]]
        parts = parts_of(late)
        responses = [part for part in parts if result_of(part) is not None]
        known = [self._calls if position is None else position for position in positions]
        rest = [part for part in parts if result_of(part) is None]
        return self._with_parts(list(zip(known, responses, strict=True)), rest)

    def _with_parts(self, responses: Sequence[tuple[int, Any]], rest: Sequence[Any]) -> list[Entry]:
        before, after = list(self._entries[: self._end]), list(self._entries[self._end :])
        if not self._positions:
            return [*before, {"role": "user", "parts": [part for _, part in responses]}, *after]
        content = after[0]
        parts = [*insert_responses(content["parts"], self._positions, responses), *rest]
        return [*before, {**content, "parts": parts}, *after[1:]]


def _steps(entries: Sequence[Entry]) -> Iterator[_Step]:
    start = 0
    for end, entry in enumerate([*entries, {}]):
        if is_model(entry):
            continue
        if start < end:
            yield _Step(entries, start, end)
        start = end + 1


def _same(one: Call, other: Call) -> bool:
    return one.id == other.id and one.name == other.name


def _candidate(response: Entry) -> dict[str, Any]:
    """The first candidate of a response's JSON, as `dump_model` gives that of the SDK's: without nulls."""
    match response.get("candidates"):
        case [{"content": {"parts": list() as parts} as content}, *_]:
            return {"content": _valued({**content, "parts": [_part_sent_back(part) for part in parts]})}
        case [{"content": dict() as content}, *_]:
            return {"content": _valued(content)}
    return {}


def _part_sent_back(part: Any) -> Any:
    return (
        {key: _valued(value) for key, value in part.items() if value is not None}
        if isinstance(part, dict)
        else part
    )


def _valued(value: Any) -> Any:
    return (
        {key: each for key, each in value.items() if each is not None} if isinstance(value, dict) else value
    )


def _checked(entry: Any, index: int) -> bool:
    """Whether the model made the content. Raises ProviderFormatError if it is malformed."""
    if not isinstance(entry, dict):
        raise _malformed(f"a content is a dict, not {type(entry).__name__}", index)
    role = role_of(entry)
    if role is None:
        told = entry["role"] if isinstance(entry["role"], str) else type(entry["role"]).__name__
        beside = "; system text stands beside the contents, as `system`" if told == "system" else ""
        raise _malformed(f"role {told[:40]!r} is unknown; use 'user' or 'model'{beside}", index)
    parts = entry.get("parts")
    if not isinstance(parts, list | None):
        raise _malformed(f"parts are a list, not {type(parts).__name__}", index)
    for at, part in enumerate(parts or ()):
        problem = _problem(part, role)
        if problem:
            raise _malformed(problem, index, "parts", at)
    return role == "model"


def _problem(part: Any, role: str) -> str:
    """Why a part cannot be read, "" if it can."""
    if not isinstance(part, dict):
        return f"a part is a dict, not {type(part).__name__}"
    text, call, response = (field(part, name) for name in ("text", "functionCall", "functionResponse"))
    if not isinstance(text, str | None):
        return f"text is a str, not {type(text).__name__}"
    if call is not None and (role != "model" or not (made := call_of(part)) or not made.name):
        return "a functionCall is a dict with a name, in a content of the model"
    if response is None:
        return ""
    answer = result_of(part)
    if role == "model" or not answer or not (answer.id or answer.name):
        return "a functionResponse is a dict with the name of its function, in a content of the user"
    return ""


def _malformed(message: str, index: int, *path: str | int) -> ProviderFormatError:
    return ProviderFormatError(message, format=_FORMAT, path=path_text("contents", index, *path))


def _parts(path: tuple[str | int, ...], part: Any) -> Iterator[Part]:
    """What one part on the wire holds."""
    match data_of(part):
        case ["text"] if text := field(part, "text"):
            yield _text_part((*path, _key(part, "text")), part, text)
        case [("inlineData" | "fileData") as name]:
            kind = PartKind.REASONING if _thought(part) else PartKind.MEDIA
            yield _sealed(Part(path, kind, part, _mime(field(part, name))), part)
        case ["functionCall"] if isinstance(args := field(field(part, "functionCall"), "args"), dict):
            yield _call_part((*path, _key(part, "functionCall"), "args"), part, args)
        case ["functionResponse"] if isinstance(response := field(part, "functionResponse"), dict):
            yield from _response_parts((*path, _key(part, "functionResponse")), part, response)
        case ["functionCall"] if (
            call := call_of(part)
        ) is not None:  # without arguments there is nothing to change
            yield Part(path, PartKind.OPAQUE, part, "{}", call.name, call.id, sealed=PartKind.ARGUMENTS)
        case _:
            yield Part(path, PartKind.OPAQUE, part)


def _text_part(path: tuple[str | int, ...], part: dict[str, Any], text: Any) -> Part:
    if not isinstance(text, str):
        return Part(path, PartKind.OPAQUE, text)
    kind = PartKind.REASONING if _thought(part) else PartKind.TEXT
    return _sealed(Part(path, kind, text, text), part)


def _call_part(path: tuple[str | int, ...], part: dict[str, Any], args: dict[str, Any]) -> Part:
    call = call_of(part)
    assert call is not None
    return _sealed(Part(path, PartKind.ARGUMENTS, args, text_of_json(args), call.name, call.id), part)


def _sealed(found: Part, part: dict[str, Any]) -> Part:
    """What a part on the wire holds, sealed if it is signed. Thoughts are not: nothing changes them anyway."""
    if not signature_of(part) or found.kind is PartKind.REASONING:
        return found
    return replace(found, kind=PartKind.OPAQUE, sealed=found.kind)


def _response_parts(
    path: tuple[str | int, ...], part: dict[str, Any], response: dict[str, Any]
) -> Iterator[Part]:
    result = result_of(part)
    assert result is not None
    if (value := response.get("response")) is not None:
        text = _response_text(value)
        yield Part((*path, "response"), PartKind.RESULT, value, text, result.name, result.id)
    for at, media in enumerate(parts_of(response)):
        blob = next((blob for name in MEDIA if (blob := field(media, name)) is not None), None)
        kind = PartKind.OPAQUE if blob is None else PartKind.MEDIA
        yield Part((*path, "parts", at), kind, media, _mime(blob))


def _response_text(value: Any) -> str:
    """A response as its reader sees it; one that only wraps a text, as `with_part` writes it, is that text."""
    match value:
        case {"output": str(text)} if len(value) == 1:
            return text
        case _:
            return text_of_json(value)


def _key(part: dict[str, Any], name: str) -> str:
    return key_of(part, name) or name


def _thought(part: Any) -> bool:
    """Whether a part is the model's thinking and nothing else."""
    return field(part, "thought") is True and data_of(part) in (["text"], ["inlineData"], ["fileData"])


def _mime(blob: Any) -> str:
    if not isinstance(blob, dict):
        return ""
    return string_of(blob.get("mimeType")) or string_of(blob.get("mime_type"))


def _words(content: Any) -> str:
    if not isinstance(content, str):
        raise PlanError(f"a text is a str, not {type(content).__name__}")
    if not content:
        raise PlanError("a text may not become empty (G10); write what was there, or drop the unit")
    return content


def _without_response_media(entry: Entry, part: Part, description: str) -> Entry:
    """The entry without one medium of a response. Media before it may have gone since `part` was read."""
    _, at, key, _, _ = part.path
    try:
        response = entry["parts"][at][key]
        media = response["parts"]
        place = next(k for k, medium in enumerate(media) if medium is part.value or medium == part.value)
    except (LookupError, TypeError, StopIteration, RecursionError) as error:
        raise PlanError(f"the entry has no such medium at {path_text(*part.path)}") from error
    left = [medium for k, medium in enumerate(media) if k != place]
    output = as_object(response.get("response") or {})
    names = ("media" if n == 1 else f"media_{n}" for n in count(1))
    free = next(name for name in names if name not in output)
    changed = {k: value for k, value in response.items() if k != "parts" or left}
    changed |= {"response": {**output, free: description}} | ({"parts": left} if left else {})
    return replace_at(entry, ("parts", at, key), changed)


def _stripped(entry: Entry) -> Entry | None:
    """A model content without thoughts and signatures; None if nothing else was in it."""
    parts = parts_of(entry)
    left = [_unsigned(part) for part in parts if not _thought(part)]
    left = [part for part in left if part is not None]
    if len(left) == len(parts) and all(one is other for one, other in zip(left, parts, strict=True)):
        return entry
    return {**entry, "parts": left} if left else None


def _unsigned(part: Any) -> Any:
    """A part without its signature; None if it was there only to carry one."""
    if not signature_of(part) or any(name in data_of(part) for name in (*_HOSTED_TEXTS, *_HOSTED_JSON)):
        return part
    if data_of(part) in ([], ["text"]) and not field(part, "text"):
        return None
    return {key: value for key, value in part.items() if key not in ("thoughtSignature", "thought_signature")}


def _part_weight(part: Any) -> tuple[list[str], int]:
    """The texts that the model sees of a part, and fixed tokens beside them."""
    texts: list[str] = []
    fixed = 0
    for name in data_of(part):
        held = field(part, name)
        match name:
            case "text":
                texts.append(text_of(held))
            case "functionCall" | "functionResponse" if isinstance(held, dict):
                value = held.get("args" if name == "functionCall" else "response")
                texts += [string_of(held.get("name")), text_of_json({} if value is None else value)]
                media = parts_of(held) if name == "functionResponse" else []
                fixed += _CALL_TOKENS + sum(map(gemini_media_tokens, media))
            case "inlineData" | "fileData":
                fixed += gemini_media_tokens(part)
            case _ if isinstance(held, dict) and name in _HOSTED_TEXTS:
                texts.append(string_of(held.get(_HOSTED_TEXTS[name])))
            case _ if isinstance(held, dict) and name in _HOSTED_JSON:
                texts.append(text_of_json(held.get(_HOSTED_JSON[name])))
            case _:
                fixed += opaque_tokens(text_of_json(held))
    return texts, fixed if data_of(part) else opaque_tokens(text_of_json(part))
