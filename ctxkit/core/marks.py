"""Marks, fences and handles: how ctxkit's own text is told from everybody else's.

All come from content hashes, so the same input gives the same text and nothing has to be kept secret: a mark
carries a check sum of what it says, a fence a name that does not occur in what it holds.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["HANDLE_PREFIX", "digest", "fence", "handle_of", "is_marked", "marked"]

HANDLE_PREFIX = "ctx:"
_MARK = re.compile(r"\[ctxkit ([0-9a-f]{8})\] ")
_SHORTEST = 10


def digest(*values: Any) -> str:
    """SHA-256, in hex, of JSON values; strings with lone surrogates included."""
    hasher = hashlib.sha256()
    for value in values:
        text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        hasher.update(text.encode("utf-8", "surrogatepass"))
        hasher.update(b"\0")
    return hasher.hexdigest()


def marked(body: str) -> str:
    """`body` behind a mark that says ctxkit wrote it."""
    return f"[ctxkit {digest('mark', body)[:8]}] {body}"


def is_marked(text: str) -> bool:
    """Whether `text` is a whole marked text, unaltered.

    Anybody can compute a mark. It gains them nothing: marked text has less trust than what a user says.
    """
    found = _MARK.match(text)
    return found is not None and digest("mark", text[found.end() :])[:8] == found.group(1)


def fence(label: str, text: str) -> str:
    """`text` between two lines that cannot be closed from inside: their name does not occur in it."""
    whole = digest("fence", label, text)
    size = next(n for n in range(_SHORTEST, len(whole) + 1) if whole[:n] not in text)
    return f"<{label} {whole[:size]}>\n{text}\n</{label} {whole[:size]}>"


def handle_of(contents: Iterable[Any], *, taken: Callable[[str], bool] = lambda _: False) -> str:
    """A short name for originals, as in `ctx:1f3a9c02d4`; longer where a shorter one is taken by others."""
    whole = HANDLE_PREFIX + digest("handle", *contents)
    shortest = len(HANDLE_PREFIX) + _SHORTEST
    return next(whole[:n] for n in range(shortest, len(whole) + 1) if not taken(whole[:n]))
