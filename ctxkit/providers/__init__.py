"""Wire formats: one adapter each, found by name and imported when asked for."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Literal, cast, get_args

from ctxkit.core.provider import Provider
from ctxkit.errors import UnknownPluginError

__all__ = ["FORMATS", "FormatName", "provider"]

FormatName = Literal["openai-chat", "openai-responses", "anthropic", "gemini"]

FORMATS: tuple[str, ...] = get_args(FormatName)

_CLASSES = {
    "openai-chat": ("ctxkit.providers.openai_chat", "OpenAIChat"),
    "openai-responses": ("ctxkit.providers.openai_responses", "OpenAIResponses"),
    "anthropic": ("ctxkit.providers.anthropic", "Anthropic"),
    "gemini": ("ctxkit.providers.gemini", "Gemini"),
}


def provider(format: str) -> Provider:
    """The adapter of a wire format.

    Raises:
        UnknownPluginError: there is no such format; the message has the one that may be meant, and lists those there are.
    """
    if not isinstance(format, str) or format not in _CLASSES:
        known = ", ".join(FORMATS)
        raise UnknownPluginError(
            f"no format {format!r:.60}; there are: {known}{_meant(format)}", name=format, installed=FORMATS
        )
    return _adapter(format)


_VENDORS = {"claude": "anthropic", "google": "gemini", "openai": "openai-chat", "vertex": "gemini"}


def _meant(format: object) -> str:
    """What somebody may mean by the name of a vendor, or by a slip."""
    name = format.casefold()[:60] if isinstance(format, str) else ""
    near = [_VENDORS[name]] if name in _VENDORS else get_close_matches(name, FORMATS, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else ""


@cache
def _adapter(format: str) -> Provider:
    module, name = _CLASSES[format]
    return cast(Provider, getattr(import_module(module), name)())
