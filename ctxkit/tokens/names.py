"""What the name of a model tells: the bare name, and whose tokenizer it has."""

from __future__ import annotations

import re

__all__ = ["FAMILIES", "bare_name", "tokenizer_family"]

FAMILIES = ("claude", "claude-4.7", "gemini", "other")
"""Tokenizers that are only estimated. "claude-4.7" is the one of Claude 4.7 and all later models."""

_VENDORS = (
    "openai|anthropic|google|azure|bedrock|vertex|amazon|meta|mistral|deepseek|xai|moonshotai|qwen|openrouter"
)
_ROUTE = re.compile(
    rf"(?:.*/)?(?:(?:{_VENDORS})[a-z_-]*:)?(?:[a-z-]{{2,6}}\.)?(?:(?:{_VENDORS})\.)?", re.DOTALL
)
_CLAUDE_VERSION = re.compile(r"claude-[a-z]+-(\d{1,2})(?!\d)(?:-(\d{1,2})(?!\d))?")
_OLD_CLAUDE = re.compile(r"claude-(?:[123]\b|instant|v[123])")


def bare_name(model: str) -> str:
    """The name in lower case, without the route and vendor in front of it.

    "openai/gpt-5", "azure:gpt-5", "us.anthropic.claude-opus-4-5-20251101-v1:0", "models/gemini-2.5-pro" lose
    what stands before the model; dots in Claude's version numbers become hyphens, as in its official names.
    """
    name = model.strip().lower()[:200]
    route = _ROUTE.match(name)
    name = name[route.end() :] if route else name
    return re.sub(r"(?<=\d)\.(?=\d)", "-", name) if name.startswith("claude") else name


def tokenizer_family(name: str) -> str:
    """Which of `FAMILIES` the tokenizer of a model with that bare name belongs to.

    Source: Anthropic, overview of Claude Haiku 5.5: Claude 4.7 and later models share one tokenizer.
    """
    if name.startswith(("gemini", "gemma")):
        return "gemini"
    if not name.startswith("claude"):
        return "other"
    version = _CLAUDE_VERSION.match(name)
    old = (
        bool(_OLD_CLAUDE.match(name)) if version is None else (int(version[1]), int(version[2] or 0)) < (4, 7)
    )
    return "claude" if old else "claude-4.7"
