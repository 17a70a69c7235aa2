"""Putting results into a step of an Anthropic conversation, and taking its thinking out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from ctxkit.core.provider import Entry
from ctxkit.errors import PlanError
from ctxkit.providers.anthropic_blocks import THINKING, calls_of, holds_thinking, results_of
from ctxkit.providers.common import kind_of

__all__ = ["with_late", "with_results", "without_thinking"]

_Block = dict[str, Any]


def with_results(
    entries: Sequence[Entry], results: Sequence[_Block], words: Sequence[_Block] = ()
) -> list[Entry]:
    """The entries with each result in the user message right behind the (joined) assistant turn of its call: at
    the end of the results that lead it, or in a message of its own if none do. `words` end the message of the
    last result. Raises PlanError for a result without a call."""
    places = _places(entries)
    wanted: dict[int, list[_Block]] = defaultdict(list)
    for result in results:
        wanted[_place(places, result)].append(result)
    last = _place(places, results[-1])
    arranged: list[Entry] = []
    for index in range(len(entries) + 1):
        here = list(entries[index : index + 1])
        if index in wanted:
            tail = words if index == last else ()
            led = bool(here) and _leading(here[0]) > 0
            arranged.append(_led(here.pop(), wanted[index], tail) if led else _made(wanted[index], tail))
        arranged += here
    return arranged


def with_late(entries: Sequence[Entry], late: Entry) -> list[Entry]:
    """The entries with the results of `late` behind their calls, and its words behind the last of them.

    `late` moves as it is where that is enough. Raises PlanError if it holds no result, or one without a call.
    """
    others = [entry for entry in entries if entry is not late]
    results = list(results_of(late))
    if not results:
        raise PlanError("an entry without results answers no call; leave it where it is")
    places = _places(others)
    targets = {_place(places, result) for result in results}
    at = min(targets)
    led = at < len(others) and _leading(others[at]) > 0
    if len(targets) == 1 and not led and _leading(late) == len(results):
        return [*others[:at], late, *others[at:]]
    words = [block for block in late["content"] if kind_of(block) != "tool_result"]
    return with_results(others, results, words)


def without_thinking(entry: Entry) -> Entry | None:
    """The entry without thinking, the same object if it has none; None if nothing with words or calls is left."""
    if not isinstance(entry, dict) or entry.get("role") != "assistant" or not holds_thinking(entry):
        return entry
    content = [block for block in entry["content"] if kind_of(block) not in THINKING]
    if all(kind_of(block) == "text" and not str(block.get("text", "")).strip() for block in content):
        return None
    return {**entry, "content": content}


def _places(entries: Sequence[Entry]) -> dict[str, int]:
    """For the id of each call the index of the entry that follows the run of assistant messages it is in."""
    places: dict[str, int] = {}
    running: list[str] = []
    for index, entry in enumerate(entries):
        if entry.get("role") != "assistant":
            places.update(dict.fromkeys(running, index))
            running = []
        running += [block["id"] for block in calls_of(entry) if isinstance(block.get("id"), str)]
    places.update(dict.fromkeys(running, len(entries)))
    return places


def _place(places: dict[str, int], result: _Block) -> int:
    key = result.get("tool_use_id")
    if not isinstance(key, str) or key not in places:
        raise PlanError(
            f"no message of this unit makes the call {key!s:.80}; its result belongs to another unit"
        )
    return places[key]


def _leading(entry: Entry) -> int:
    """How many results lead a user message."""
    content = entry.get("content") if entry.get("role") == "user" else None
    blocks = content if isinstance(content, list) else []
    return sum(1 for _ in takewhile(lambda block: kind_of(block) == "tool_result", blocks))


def _led(entry: Entry, results: Sequence[_Block], words: Sequence[_Block]) -> Entry:
    content, end = entry["content"], _leading(entry)
    return {**entry, "content": [*content[:end], *results, *content[end:], *words]}


def _made(results: Sequence[_Block], words: Sequence[_Block]) -> Entry:
    return {"role": "user", "content": [*results, *words]}
