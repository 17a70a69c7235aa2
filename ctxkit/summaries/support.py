"""Support: whether what a summary says was said at all, and by whom, told from the words that it shares with its sources.

A model says things in its own words. Exact values and runs of words tell a copy (`origins`); the stems of words tell
whose a paraphrase is. They are a coarse measure: what is doubtful is marked and kept, not refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from ctxkit.summaries.language import Language
from ctxkit.summaries.prose import stems

__all__ = ["UNVERIFIED", "Support", "Supported", "is_unverified"]

UNVERIFIED: dict[Language, str] = {"en": "[unverified]", "zh": "[未核实]"}
"""What stands behind a line of a summary that nothing that was said supports."""

LEAST_WORDS = 2
"""Stems of a sentence from which on it can be told whose it is."""

LEAST_SHARE = 0.2
"""Of the stems of a sentence: as many its sources have to have, or nothing supports it."""

_TELLING = frozenset(
    stems(
        "user users asked asks wants wanted request requested assistant agent customer client tool conversation stated "
        "mentioned confirmed decided decision goal unverified 用户 助手 工具 客户 表示 要求 希望 决定 目标 确认"
    )
)
"""Words with which summaries tell that somebody said something; they support nothing."""

_HAN = re.compile(r"[㐀-䶿一-鿿]")


class Supported(StrEnum):
    """Whose a sentence is, as far as its words tell."""

    OWN = "own"
    """People's or the assistant's, or it cannot be told."""
    TOOLS = "tools"
    """More of its words come from tools alone than from anybody else."""
    NOBODY = "nobody"
    """Next to none of its words were said."""


class Support:
    """The words that were said, by people and the assistant, and by tools.

    Args:
        own: what people and the assistant said.
        tools: what each tool said.
    """

    def __init__(self, own: str, tools: Sequence[str]) -> None:
        self._own = stems(own)
        self._by_tool = [stems(text) for text in tools]
        self._tools = frozenset().union(*self._by_tool) - self._own
        self._foreign = {bool(_HAN.search(text)) for text in tools if len(text.split()) >= LEAST_WORDS}

    def of(self, sentence: str) -> Supported:
        """Whose a sentence is. What has a digit tells nothing here: values are looked up exactly."""
        words = {word for word in stems(sentence) - _TELLING if not any(map(str.isdigit, word))}
        if len(words) < LEAST_WORDS:
            return Supported.OWN
        own, tools = len(words & self._own), len(words & self._tools)
        if tools > own:
            return Supported.TOOLS
        unsaid = own + tools < LEAST_SHARE * len(words)
        return Supported.NOBODY if unsaid and self._comparable(sentence) else Supported.OWN

    def shared(self, sentence: str) -> list[int]:
        """How many words of a sentence each tool said."""
        words = stems(sentence)
        return [len(words & tool) for tool in self._by_tool]

    def _comparable(self, sentence: str) -> bool:
        """Whether no tool said something in the other script, of which a sentence might be the translation."""
        return not self._foreign - {bool(_HAN.search(sentence))}


def is_unverified(line: str) -> bool:
    """Whether a line of a summary is marked as one that nothing supports."""
    return line.endswith(tuple(UNVERIFIED.values()))
