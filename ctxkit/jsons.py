"""JSON values: taken in from a user, copied, written as text."""

from __future__ import annotations

import json
from typing import Any

from ctxkit.errors import ProviderFormatError

__all__ = ["MAX_DEPTH", "copied", "json_text", "taken_in"]

MAX_DEPTH = 200
"""Levels of nesting beyond which a payload is refused; no provider takes so many."""


def taken_in(value: Any, *, format: str, path: str = "", depth: int = 0) -> Any:
    """A copy of a payload as plain JSON: SDK objects inside it are dumped, tuples become lists.

    Raises:
        ProviderFormatError: something in it is no JSON, or it is nested too deeply.
    """
    if value is None or type(value) in (str, int, float, bool):
        return value
    if depth > MAX_DEPTH:
        raise ProviderFormatError(f"nested more than {MAX_DEPTH} levels deep", format=format, path=path[:80])
    if isinstance(value, dict):
        return {
            _key(key, format, path): taken_in(each, format=format, path=f"{path}.{key}", depth=depth + 1)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [
            taken_in(each, format=format, path=f"{path}[{at}]", depth=depth + 1)
            for at, each in enumerate(value)
        ]
    if isinstance(value, str | int | float):
        return value
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return taken_in(
            dump(mode="json", by_alias=True, exclude_unset=True), format=format, path=path, depth=depth
        )
    raise ProviderFormatError(f"{type(value).__name__} is not a JSON value", format=format, path=path)


def _key(key: Any, format: str, path: str) -> str:
    if not isinstance(key, str):
        raise ProviderFormatError(f"key {key!r} is not a string", format=format, path=path)
    return key


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
