"""Wire formats: one adapter each, found by name and imported when asked for."""

from __future__ import annotations

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
        UnknownPluginError: there is no such format; the message lists those there are.
    """
    if not isinstance(format, str) or format not in _CLASSES:
        known = ", ".join(FORMATS)
        raise UnknownPluginError(
            f"no format {format!r:.60}; there are: {known}", name=format, installed=FORMATS
        )
    return _adapter(format)


@cache
def _adapter(format: str) -> Provider:
    module, name = _CLASSES[format]
    return cast(Provider, getattr(import_module(module), name)())
