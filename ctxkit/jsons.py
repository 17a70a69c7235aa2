"""JSON values: taken in from a user, copied, written as text."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

from ctxkit.errors import ProviderFormatError

__all__ = ["MAX_DEPTH", "copied", "json_text", "taken_in"]

MAX_DEPTH = 200
"""Levels of nesting beyond which a payload is refused; no provider takes so many."""


MAX_BITS = 4_096
"""Bits of an integer beyond which a payload is refused; Python itself writes no more than 4,300 digits."""

LONGEST_PATH = 200
"""Characters of a path in an error."""


def taken_in(value: Any, *, format: str, path: str = "") -> Any:
    """A copy of a payload as plain JSON: SDK objects inside it are dumped, tuples become lists.

    Raises:
        ProviderFormatError: something in it is no JSON, or it is nested too deeply; with the path to it.
    """
    try:
        return _taken(value, 0)
    except _NoJson as error:
        where = path + "".join(reversed(error.steps))
        raise ProviderFormatError(error.message, format=format, path=where[:LONGEST_PATH]) from None


class _NoJson(Exception):
    """A value that is no JSON; the path to it grows on the way out."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.steps: list[str] = []


def _taken(value: Any, depth: int) -> Any:
    kind = type(value)
    if value is None or kind is str or kind is bool:
        return value
    if depth > MAX_DEPTH:
        raise _NoJson(f"nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, dict):
        return {_key(key): _inside(each, depth, key) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_inside(each, depth, at) for at, each in enumerate(value)]
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | float):
        return _number(value)
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return _taken(dump(mode="json", by_alias=True, exclude_unset=True), depth)
    raise _NoJson(f"{kind.__name__} is not a JSON value")


def _inside(value: Any, depth: int, step: str | int) -> Any:
    if type(value) is str:
        return value
    try:
        return _taken(value, depth + 1)
    except _NoJson as error:
        error.steps.append(f"[{step}]" if isinstance(step, int) else f".{step[:LONGEST_PATH]}")
        raise


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise _NoJson(f"the key {key!r:.60} is not a string")
    return key


def _number(value: int | float) -> int | float:
    if isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            raise _NoJson("the integer has too many digits")
    elif not isfinite(value):
        raise _NoJson(f"{value} is not a JSON number")
    return value


def copied(value: Any) -> Any:
    """A deep copy of plain JSON; several times faster than `copy.deepcopy`."""
    kind = type(value)
    if kind is dict:
        return {
            key: copied(each) if type(each) is dict or type(each) is list else each
            for key, each in value.items()
        }
    if kind is list:
        return [copied(each) for each in value]
    return value


def json_text(value: Any) -> str:
    """Compact JSON text without ASCII escapes; what is no JSON is written as its `str`."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
