"""Problem: why a model did not answer, in words of ctxkit, and what follows from it.

The text of an exception is never quoted: it may hold a key, or what somebody said. Its type may be named.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["CANCELLED", "Problem", "problem_of"]

TRANSIENT = frozenset({408, 409, 429})
"""Statuses below 500 that the `openai` client tries again, too: a timeout, a conflict, a limit of rate."""

ACCESS = frozenset({401, 403, 404, 407})
"""Statuses that are about the key or the address, not about what was asked."""

LONGEST_WAIT_S = 600.0
"""Seconds; a server that asks to be left alone for longer is asked again after these."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why there is no answer.

    Attributes:
        why: what happened, as the end of "it did not answer: ...".
        transient: the same question may do better later.
        lasting: the same question would fail again, so it is not asked again.
        wait_s: seconds for which the server asked to be left alone.
    """

    why: str
    transient: bool = False
    lasting: bool = True
    wait_s: float = 0.0


CANCELLED = Problem("cancelled before it answered", transient=True, lasting=False)
"""What is put down for a question whose asker did not wait for the answer."""


def problem_of(error: BaseException) -> Problem:
    """The problem that an exception is, whichever SDK or function it comes from.

    An HTTP status decides, where the exception carries one: 408, 409, 429 and all from 500 on are transient. Without
    a status, timeouts and broken connections are.
    """
    if isinstance(error, asyncio.CancelledError):  # of its own making: a cancelled asker is `CANCELLED`
        return Problem(type(error).__name__, transient=True, lasting=False)
    status, code = _status(error), _code(error)
    name = f"{type(error).__name__}, {code}" if code else type(error).__name__
    if not status:
        transient = _is_connection(error)
        return Problem(name, transient, lasting=not transient)
    transient = (status in TRANSIENT or status >= 500) and code not in _NO_MONEY
    lasting = not (transient or status in ACCESS or code in _NO_MONEY)
    return Problem(f"HTTP {status} ({name})", transient, lasting, _wait_s(error))


_NO_MONEY = ("insufficient_quota",)
"""The code of a 429 that waiting does not help. Source: OpenAI's guide on error codes."""


def _status(error: BaseException) -> int:
    """The HTTP status: of openai, anthropic and httpx as `status_code`, of google-genai as `code`."""
    holders = (error, getattr(error, "response", None))
    found = (getattr(holder, name, None) for holder in holders for name in ("status_code", "status", "code"))
    return next((each for each in found if isinstance(each, int) and 400 <= each < 600), 0)


def _code(error: BaseException) -> str:
    """The provider's short code for what went wrong, such as `context_length_exceeded`."""
    code = getattr(error, "code", None)
    return code if isinstance(code, str) and re.fullmatch(r"[a-z]+(?:_[a-z]+){0,5}", code) else ""


def _is_connection(error: BaseException) -> bool:
    """Whether it is a timeout or a broken connection: Python's own, or what SDKs and HTTP clients call so."""
    names = {each.__name__ for each in type(error).__mro__}
    return isinstance(error, OSError) or not names.isdisjoint(("APIConnectionError", "TransportError"))


def _wait_s(error: BaseException) -> float:
    """What the server's Retry-After says, in seconds; a date counts from the server's own Date."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    if not isinstance(headers, Mapping):
        return 0.0
    try:
        wait_s = _seconds(headers)
    except (TypeError, ValueError):
        return 0.0
    return min(wait_s, LONGEST_WAIT_S) if wait_s > 0 else 0.0


def _seconds(headers: Mapping[str, Any]) -> float:
    if "retry-after-ms" in headers:
        return float(headers["retry-after-ms"]) / 1000
    wanted = headers.get("retry-after", "0")
    if wanted.replace(".", "", 1).isdecimal():
        return float(wanted)
    from email.utils import parsedate_to_datetime

    return (parsedate_to_datetime(wanted) - parsedate_to_datetime(headers["date"])).total_seconds()
