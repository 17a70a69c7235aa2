"""Where what stands for left out messages may stand in a request, and as whose words (wire rules A16 and A24).

Words of a user inside a tool loop begin a new turn, also beside or behind its results: what goes on behind them would have
to begin with thinking once more. The model's own words do not: they join the step behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctxkit.core.provider import Entry
from ctxkit.providers.anthropic_blocks import THINKING, results_of
from ctxkit.providers.common import kind_of

__all__ = ["arranged"]


def arranged(entries: Sequence[Entry], marks: Sequence[bool]) -> list[tuple[int, Entry]]:
    """The messages as they go out, each with its index: where `marks` says so, it is a user message of ctxkit's own.

    Behind results of a tool loop that has thought, where a step without thinking follows, the model says it. Behind system
    text, which an assistant message has to follow, the model says it too where none follows; else it stands in front.
    """
    placed: list[tuple[int, Entry]] = []
    has_thought = in_loop = False
    for at, (entry, follower) in enumerate(zip(entries, _followers(entries, marks), strict=True)):
        if not marks[at]:
            placed.append((at, entry))
            if entry["role"] != "system":
                in_loop = _has_results(entry)
                has_thought = (has_thought and (in_loop or entry["role"] == "assistant")) or _thinks(entry)
            continue
        front = len(placed)
        while front and placed[front - 1][1]["role"] == "system":
            front -= 1
        if _is_models(follower, thinking=has_thought and in_loop, behind_system=front < len(placed)):
            placed.append((at, {**entry, "role": "assistant"}))
        else:
            placed.insert(front, (at, entry))
    return placed


def _followers(entries: Sequence[Entry], marks: Sequence[bool]) -> list[Entry | None]:
    """For each message the next one behind it that is no mark."""
    followers: list[Entry | None] = [None] * len(entries)
    for at in range(len(entries) - 2, -1, -1):
        followers[at] = followers[at + 1] if marks[at + 1] else entries[at + 1]
    return followers


def _has_results(entry: Entry) -> bool:
    return entry["role"] == "user" and any(True for _ in results_of(entry))


def _thinks(entry: Entry) -> bool:
    """Whether it is the model's, and begins with thinking."""
    content: Any = entry["content"]
    first = content[0] if isinstance(content, list) and content else None
    return entry["role"] == "assistant" and kind_of(first) in THINKING


def _is_models(follower: Entry | None, *, thinking: bool, behind_system: bool) -> bool:
    """Whether the model has to say it, by what follows it and what stands before it."""
    if follower is None:
        return False
    if follower["role"] == "assistant":
        return thinking and not _thinks(follower)
    return behind_system
