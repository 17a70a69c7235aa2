"""JSON values: taken in from a user, copied, written as text."""

from __future__ import annotations

import json
from enum import Enum
from math import isfinite
from typing import Any

from ctxkit.containing import said
from ctxkit.errors import ProviderFormatError
from ctxkit.showing import shown

__all__ = ["MAX_DEPTH", "copied", "json_text", "taken_in"]

MAX_DEPTH = 200
"""Levels of nesting beyond which a payload is refused; no provider takes so many."""


MAX_BITS = 4_096
"""Bits of an integer beyond which a payload is refused; Python itself writes no more than 4,300 digits."""

LONGEST_PATH = 200
"""Characters of a path in an error."""


def taken_in(value: Any, *, format: str, path: str = "") -> Any:
    """A copy of a payload as plain JSON: SDK objects inside it are dumped, tuples become lists, members of enumerations
    their values; texts, numbers, lists and tables of classes of their own become plain ones.

    Raises:
        ProviderFormatError: something in it is no JSON, cannot be read, or is nested too deeply; with the path to it.
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
    if kind is dict:
        pairs = ((_key(key), each) for key, each in value.items())
        return {key: _inside(each, depth, key) for key, each in pairs}
    if kind is list or kind is tuple:
        return [_inside(each, depth, at) for at, each in enumerate(value)]
    if kind is int or kind is float:
        return _number(value)
    plain = _plain(value)
    return _taken(plain, depth if type(plain) in _CONTAINERS else depth + 1)


_CONTAINERS = (dict, list)


def _plain(value: Any) -> Any:
    """What a value of another class stands for: JSON of Python's own classes, but for what an enumeration has."""
    name = type(value).__name__
    try:
        if isinstance(value, type):
            raise _NoJson(f"the class {value.__name__} is not a JSON value")
        if isinstance(value, Enum):
            return value.value
        if isinstance(value, dict):
            return dict(value.items())
        if isinstance(value, list | tuple):
            return list(value)
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, int):
            return int.__int__(value)
        if isinstance(value, float):
            return float.__float__(value)
        dump = getattr(value, "model_dump", None)
        if callable(dump):
            return dump(mode="json", by_alias=True, exclude_unset=True)
    except _NoJson:
        raise
    except Exception as error:  # noqa: BLE001 - the boundary to others' classes
        raise _NoJson(f"{name} cannot be written as JSON: {said(error)}") from None
    raise _NoJson(f"{name} is not a JSON value")


def _inside(value: Any, depth: int, step: str | int) -> Any:
    if type(value) is str:
        return value
    try:
        return _taken(value, depth + 1)
    except _NoJson as error:
        error.steps.append(f"[{step}]" if isinstance(step, int) else f".{step[:LONGEST_PATH]}")
        raise


def _key(key: Any) -> str:
    if type(key) is str:
        return key
    if not issubclass(type(key), str):
        raise _NoJson(f"the key {shown(key, 60)} is not a string")
    return str.__str__(key)


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
        return [copied(each) if type(each) is dict or type(each) is list else each for each in value]
    return value


def json_text(value: Any) -> str:
    """Compact JSON text without ASCII escapes; what is no JSON is written as its `str`."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
