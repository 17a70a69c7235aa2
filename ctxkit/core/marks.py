"""Marks, fences and handles: how ctxkit's own text is told from everybody else's.

All come from content hashes, so the same input gives the same text and nothing has to be kept secret: a mark
carries a check sum of what it says, a fence a name that does not occur in what it holds. They are written in decimal
digits, of which tokenizers take three at a time: in hex they would take twice the tokens.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["HANDLE_PREFIX", "digest", "fence", "handle_of", "is_marked", "marked", "unmarked"]

HANDLE_PREFIX = "ctx:"
_MARK = re.compile(r"\[ctxkit ([0-9]{6})\] ")
_SHORTEST = 6
_DIGITS = 77
"""Decimal digits of 256 bits."""
_encoded = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def digest(*values: Any) -> str:
    """SHA-256, in 77 decimal digits, of JSON values; strings with lone surrogates included."""
    whole = hashlib.sha256(_encoded(values).encode("ascii")).digest()
    return str(int.from_bytes(whole, "big")).zfill(_DIGITS)[-_DIGITS:]


def marked(body: str) -> str:
    """`body` behind a mark that says ctxkit wrote it."""
    return f"[ctxkit {digest('mark', body)[:_SHORTEST]}] {body}"


def is_marked(text: str) -> bool:
    """Whether `text` is a whole marked text, unaltered.

    Anybody can compute a mark. It gains them nothing: marked text has less trust than what a user says.
    """
    found = _MARK.match(text)
    return found is not None and digest("mark", text[found.end() :])[:_SHORTEST] == found.group(1)


def unmarked(text: str) -> str:
    """A marked text without its mark."""
    return text.partition("] ")[2]


def fence(label: str, text: str) -> str:
    """`text` between two lines that cannot be closed from inside: their name does not occur in it."""
    whole = digest("fence", label, text)
    size = next(n for n in range(_SHORTEST, len(whole) + 1) if whole[:n] not in text)
    return f"<{label} {whole[:size]}>\n{text}\n</{label} {whole[:size]}>"


def handle_of(contents: Iterable[Any], *, taken: Callable[[str], bool] = lambda _: False) -> str:
    """A short name for originals, as in `ctx:719042`; longer where a shorter one is taken by others."""
    whole = HANDLE_PREFIX + digest("handle", *contents)
    shortest = len(HANDLE_PREFIX) + _SHORTEST
    return next(whole[:n] for n in range(shortest, len(whole) + 1) if not taken(whole[:n]))
