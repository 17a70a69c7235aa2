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

    Behind results of a tool loop that has thought, where a step without thinking follows, the model says it. Behind any
    results, where a user's words follow, it does too, lest they be one message with the results; but for words in a loop
    that has thought, which goes on behind them without: that loop has to begin before them. Behind system text, which an
    assistant message has to follow, the model says it too where none follows; else it stands in front.
    """
    placed: list[tuple[int, Entry]] = []
    has_thought = in_loop = False
    ahead = zip(_followers(entries, marks, ""), _followers(entries, marks, "assistant"), strict=True)
    for at, (entry, (follower, answer)) in enumerate(zip(entries, ahead, strict=True)):
        if not marks[at]:
            placed.append((at, entry))
            if entry["role"] != "system":
                in_loop = _has_results(entry) or (in_loop and entry["role"] == "user")
                has_thought = (has_thought and (in_loop or entry["role"] == "assistant")) or _thinks(entry)
            continue
        front = len(placed)
        while front and placed[front - 1][1]["role"] == "system":
            front -= 1
        goes_on = in_loop and has_thought
        parts = in_loop and (answer is None or _thinks(answer) or not has_thought)
        if _is_models(follower, goes_on=goes_on, parts=parts or front < len(placed)):
            placed.append((at, {**entry, "role": "assistant"}))
        else:
            placed.insert(front, (at, entry))
    return placed


def _followers(entries: Sequence[Entry], marks: Sequence[bool], role: str) -> list[Entry | None]:
    """For each message the next one behind it that is no mark, of this role or of any."""
    followers: list[Entry | None] = [None] * len(entries)
    for at in range(len(entries) - 2, -1, -1):
        behind = entries[at + 1]
        is_next = not marks[at + 1] and role in ("", behind["role"])
        followers[at] = behind if is_next else followers[at + 1]
    return followers


def _has_results(entry: Entry) -> bool:
    return entry["role"] == "user" and any(True for _ in results_of(entry))


def _thinks(entry: Entry) -> bool:
    """Whether it is the model's, and begins with thinking."""
    content: Any = entry["content"]
    first = content[0] if isinstance(content, list) and content else None
    return entry["role"] == "assistant" and kind_of(first) in THINKING


def _is_models(follower: Entry | None, *, goes_on: bool, parts: bool) -> bool:
    """Whether the model has to say it: what follows goes on with its loop, or is a user's words to be kept apart."""
    if follower is None:
        return False
    if follower["role"] == "assistant":
        return goes_on and not _thinks(follower)
    return parts
