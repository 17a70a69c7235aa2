"""Conversations read from JSON, JSON Lines or stdin, one at a time."""

from __future__ import annotations

import gzip
import itertools
import json
import sys
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, cast

from ctxkit.cli.formats import KEYS, Formats, InputError
from ctxkit.cli.recognising import recognised
from ctxkit.errors import CtxkitError, ProviderFormatError
from ctxkit.providers import provider

__all__ = ["Conversation", "InputError", "Unread", "conversations", "opened"]

LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
"""Endings of files that hold JSON Lines, whatever their first line looks like."""

CONFIGS = (".toml", ".yaml", ".yml")
"""Endings of files that hold no conversations."""

HISTORIES = {"openai-responses": ("messages", "input"), "gemini": ("messages", "contents")}
SYSTEMS = {
    "openai-responses": ("system", "instructions"),
    "gemini": ("system", "systemInstruction", "system_instruction"),
}


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation of the input.

    Attributes:
        line: where it begins in the file, counted from 1.
        id: its `id`, if `has_id`.
        messages: its history, as it stands there; of a whole response the entries that it holds.
        format: the wire format that it is in.
    """

    line: int
    id: Any
    has_id: bool
    messages: list[Any]
    format: str
    system: Any = None
    tools: Any = None


@dataclass(frozen=True, slots=True)
class Unread:
    """What stands where a conversation should be, and why it is none."""

    line: int
    id: Any
    has_id: bool
    error: CtxkitError


@contextmanager
def opened(source: str) -> Iterator[BinaryIO]:
    """The bytes of a file, or of stdin for "-", unpacked when they are gzip.

    Raises:
        OSError: it cannot be opened.
        InputError: it is a config file by its name.
    """
    if source.endswith(CONFIGS):
        raise InputError(
            f"{source} is no file of conversations; a config file is given with --config {source}"
        )
    with _raw(source) as raw:
        packed = isinstance(raw, BufferedReader) and raw.peek(2)[:2] == b"\x1f\x8b"
        yield cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw


def _raw(source: str) -> AbstractContextManager[BinaryIO]:
    if source == "-":
        return nullcontext(cast(BinaryIO, sys.stdin.buffer))
    return Path(source).open("rb")


def conversations(stream: BinaryIO, *, name: str, formats: Formats) -> Iterator[Conversation | Unread]:
    """Every conversation in a stream, in order; JSON Lines are read line by line, a JSON document as a whole.

    Args:
        name: the file's name; one that ends in .jsonl is read as JSON Lines without a look at it.
        formats: the wire format of each, which says under which keys the history and the system text may stand.
    """
    for line, text in _documents(_numbered(stream), lines=name.lower().endswith(LINES)):
        yield _conversation(line, text, formats) if isinstance(text, bytes) else _unread(line, text)


def _numbered(stream: BinaryIO) -> Iterator[tuple[int, bytes | InputError]]:
    """The lines that are not blank, counted from 1; a damaged gzip file ends in an error."""
    number = 0
    try:
        for number, text in enumerate(stream, 1):
            text = text.removeprefix(b"\xef\xbb\xbf") if number == 1 else text
            if text.strip():
                yield number, text
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        yield number + 1, InputError(f"the gzip file is damaged from here on: {error}")


def _documents(
    numbered: Iterator[tuple[int, bytes | InputError]], *, lines: bool
) -> Iterator[tuple[int, bytes | InputError]]:
    """Each line, or all lines as one where the first two show that they are one document; the first alone where
    they show that nothing is JSON."""
    first = list(itertools.islice(numbered, 2))
    everything = itertools.chain(first, numbered)
    begun = [text for _, text in first if isinstance(text, bytes)]
    if lines or not _is_one_document(begun):
        yield from first[:1] if not lines and _is_no_json(begun) else everything
        return
    texts: list[bytes] = []
    for number, text in everything:
        if not isinstance(text, bytes):
            yield number, text
            return
        texts.append(text)
    yield first[0][0], b"".join(texts)


def _is_one_document(first: list[bytes]) -> bool:
    """Whether the first line ends inside a value that goes on in the second."""
    if len(first) < 2 or first[0].strip()[:1] not in (b"[", b"{"):
        return False
    try:
        json.loads(first[0])
    except json.JSONDecodeError as error:
        unfinished = error.pos >= len(error.doc.rstrip())
        return unfinished and not _holds_a_history(first[1])
    except (ValueError, RecursionError):
        return False
    return False


def _is_no_json(first: list[bytes]) -> bool:
    """Whether of two lines neither the first is JSON nor the second a conversation."""
    return len(first) == 2 and _parsed(first[0]) is _NONE and not _is_a_conversation(_parsed(first[1]))


def _is_a_conversation(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, dict) and any(key in value for key in KEYS))


def _holds_a_history(line: bytes) -> bool:
    """Whether a line is a conversation of its own: then the one before it was cut off."""
    value = _parsed(line)
    return isinstance(value, dict) and _is_a_conversation(value)


_NONE = object()


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return _NONE


def _unread(line: int, error: CtxkitError, value: Any = None) -> Unread:
    has_id = isinstance(value, dict) and "id" in value
    return Unread(line, value["id"] if has_id else None, has_id, error)


def _conversation(line: int, text: bytes, formats: Formats) -> Conversation | Unread:
    try:
        value = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        return _unread(line, InputError("not read: JSON that is nested too deeply"))
    except ValueError as error:
        return _unread(line, InputError(f"not JSON: {error}"))
    try:
        return _taken_apart(line, value, formats.of(value))
    except CtxkitError as error:
        return _unread(line, error, value)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _taken_apart(line: int, value: Any, format: str) -> Conversation:
    if isinstance(value, list):
        return Conversation(line, None, False, _unwrapped(value, format), format)
    if not isinstance(value, dict):
        raise ProviderFormatError("neither a list of messages nor an object with one", format=format)
    _refuse_history_on_server(value, format)
    names = HISTORIES.get(format, ("messages",))
    messages = _first(value, names)
    if format == "openai-responses" and isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    if not isinstance(messages, list):
        wanted = " or ".join(f"`{name}`" for name in names)
        other = recognised(value)
        looks = f"; it looks like {other}" if other not in (None, format) else ""
        raise ProviderFormatError(f"an object without a list {wanted}{looks}", format=format)
    messages = _unwrapped(messages, format)
    system = _first(value, SYSTEMS.get(format, ("system",)))
    return Conversation(line, value.get("id"), "id" in value, messages, format, system, value.get("tools"))


def _unwrapped(messages: list[Any], format: str) -> list[Any]:
    """The messages, whole responses among them as the entries that they hold."""
    each = (provider(format).dump(entry) if isinstance(entry, dict) else [entry] for entry in messages)
    return [entry for entries in each for entry in entries]


def _refuse_history_on_server(value: dict[str, Any], format: str) -> None:
    for key in ("previous_response_id", "conversation"):
        if format == "openai-responses" and value.get(key) is not None:
            raise ProviderFormatError(
                "the history is on the server, so what stands here is only its end and cannot be compressed; "
                "send the whole history as `input` instead",
                format=format,
                path=key,
                rule="R18",
            )


def _first(value: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((value[name] for name in names if value.get(name) is not None), None)
