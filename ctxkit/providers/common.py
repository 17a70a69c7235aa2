"""Small JSON helpers that all wire format adapters use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ctxkit.errors import PlanError

__all__ = [
    "at_path",
    "dump_model",
    "is_object_text",
    "kind_of",
    "opaque_tokens",
    "path_text",
    "replace_at",
    "string_of",
    "text_of",
    "text_of_json",
    "type_of_file",
]

_TYPES = {
    "pdf": "application/pdf",
    "json": "application/json",
    "csv": "text/csv",
    "html": "text/html",
    "xml": "text/xml",
    **dict.fromkeys(("txt", "md", "log", "yaml", "yml", "toml"), "text/plain"),
    "png": "image/png",
    "gif": "image/gif",
    "webp": "image/webp",
    **dict.fromkeys(("jpg", "jpeg"), "image/jpeg"),
}
"""Media types by the ends of file names; of ctxkit's own, since a file has to count the same on every machine."""


def type_of_file(name: Any) -> str:
    """The media type of a file by its name, "" when that tells none."""
    return _TYPES.get(name.rpartition(".")[2].lower(), "") if isinstance(name, str) else ""


def path_text(*steps: str | int) -> str:
    """Keys and indexes as one reads them: `path_text("messages", 3, "tool_calls", 0, "id")` is
    `messages[3].tool_calls[0].id`."""
    written = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return written.removeprefix(".")


def at_path(entry: Any, path: tuple[str | int, ...]) -> Any:
    """What stands at `path`; raises PlanError if nothing does."""
    found = entry
    for step in path:
        found = _child(found, step, path)
    return found


def replace_at(entry: dict[str, Any], path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """A copy of `entry` with `value` at `path`; whatever is not on the path is shared with `entry`.

    The last step may be a new key of a dict, every other step must be there. Raises PlanError if it is not.
    """
    if not path:
        raise PlanError("an empty path names no part of an entry")
    copy = dict(entry)
    holder: Any = copy
    for depth, step in enumerate(path[:-1]):
        child = _child(holder, step, path[: depth + 1])
        holder[step] = child.copy() if isinstance(child, dict | list) else child
        holder = holder[step]
    if not isinstance(holder, dict):
        _child(holder, path[-1], path)
    holder[path[-1]] = value
    return copy


def text_of_json(value: Any) -> str:
    """`value` as compact JSON text (`{"a":1}`), without ASCII escapes.

    Never raises: lone surrogates stay as they are, any depth is written, what is no JSON is written as its `str`.
    """
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (RecursionError, TypeError, ValueError):
        return "".join(_written(value))


def text_of(value: Any) -> str:
    """A text as it is, anything else as its JSON."""
    return value if isinstance(value, str) else text_of_json(value)


def string_of(value: object) -> str:
    """A text as it is, "" for anything else."""
    return value if isinstance(value, str) else ""


def kind_of(block: object) -> str:
    """The type of a block, "" for what is no block."""
    return string_of(block.get("type")) if isinstance(block, dict) else ""


def is_object_text(value: object) -> bool:
    """Whether a value is the text of a JSON object."""
    try:
        return isinstance(value, str) and isinstance(json.loads(value), dict)
    except (ValueError, RecursionError):
        return False


def opaque_tokens(text: str) -> int:
    """Tokens that an opaque string (a signature, encrypted content) is counted as: a quarter of its length."""
    return len(text) // 4


def dump_model(obj: object, *, nulls: bool = True) -> dict[str, Any] | None:
    """The JSON dict of a pydantic-based SDK object, with wire names and only the keys that were set, or without `nulls`
    those that have a value; None for what is no such object or will not be written as JSON."""
    dump = None if isinstance(obj, type) else getattr(obj, "model_dump", None)
    if not callable(dump):
        return None
    try:
        dumped = dump(mode="json", by_alias=True, exclude_unset=nulls, exclude_none=not nulls, warnings=False)
    except (TypeError, ValueError, RecursionError):  # pydantic's serialisation error is a ValueError
        return None
    return dumped if isinstance(dumped, dict) else None


def _child(holder: Any, step: str | int, path: tuple[str | int, ...]) -> Any:
    match holder, step:
        case dict(), str() if step in holder:
            return holder[step]
        case list(), int() if 0 <= step < len(holder):
            return holder[step]
    raise PlanError(
        f"the entry has nothing at {path_text(*path)}; take paths from `parts` of this very entry"
    )


def _written(value: Any) -> Iterator[str]:
    """Pieces of JSON text, made without recursion. A container inside itself is written as null there."""
    open_ids: list[int] = []
    inside: set[int] = set()
    stack: list[Iterator[tuple[str, Any]]] = [iter([("", value)])]
    closers = [""]
    while stack:
        prefix, child = next(stack[-1], (None, None))
        if prefix is None:
            stack.pop()
            yield closers.pop()
            if open_ids:
                inside.discard(open_ids.pop())
            continue
        yield prefix
        if not isinstance(child, dict | list | tuple):
            yield _scalar(child)
        elif id(child) in inside:
            yield "null"
        else:
            inside.add(id(child))
            open_ids.append(id(child))
            stack.append(_prefixed(child))
            closers.append("}" if isinstance(child, dict) else "]")
            yield "{" if isinstance(child, dict) else "["


def _prefixed(container: Any) -> Iterator[tuple[str, Any]]:
    """Children of a container, each with the text that stands before it."""
    if not isinstance(container, dict):
        return (("," if number else "", child) for number, child in enumerate(container))
    return (
        (f"{',' if number else ''}{_scalar(str(key))}:", child)
        for number, (key, child) in enumerate(container.items())
    )


def _scalar(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):  # no JSON at all, or an int past the interpreter's digit limit
        written = hex(value) if isinstance(value, int) else str(value)
        return json.dumps(written, ensure_ascii=False)
