"""The wire rules of Anthropic Messages, A1 to A29: which of them a payload breaks.

Calls, results, server tools and thinking are judged on *joined* turns (A9). Not seen in a payload, so not
checked: A14 (depends on the model), A17, A28 (what the server does), A18 (the prefix that a thinking block is
tied to), A29 (where a `fallback` block stood), A4 (accepted after joining).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

from ctxkit.core.provider import Violation
from ctxkit.providers.anthropic_blocks import (
    SERVER_CALLS,
    THINKING,
    JoinedTurn,
    PlacedBlock,
    is_server_result,
    joined,
    unreadable,
)
from ctxkit.providers.anthropic_entry_rules import entry_violations
from ctxkit.providers.common import kind_of, path_text

__all__ = ["MOST_MARKS", "marked_blocks", "may_precede_system", "open_loops", "server_strays", "violations"]

MOST_MARKS = 4
"""How many `cache_control` marks a request may have, system and tools included (A20)."""
_ID = re.compile(r"[a-zA-Z0-9_-]+\Z")


def violations(entries: Sequence[Any], *, system: Any = None) -> list[Violation]:
    """Every rule that a request with these messages would break, in the order of the messages; what is about the
    whole stands last. Entries that cannot be read break "shape". Linear time; never raises for any JSON."""
    if not entries:
        return [Violation("A8", -1, "messages", "there is no message to send")]
    turns = joined(entries)
    found = chain(
        chain.from_iterable(
            entry_violations(index, entry, final=index == len(entries) - 1)
            for index, entry in enumerate(entries)
        ),
        _pairs(turns),
        _ids(turns),
        _server(turns),
        _system_places(entries),
        _ends(entries),
        _marks(entries, system),
        _loop_start(turns),
    )
    return sorted(found, key=lambda violation: violation.index if violation.index >= 0 else len(entries))


def server_strays(
    turns: Sequence[JoinedTurn],
) -> tuple[list[PlacedBlock], list[PlacedBlock], list[PlacedBlock]]:
    """Server calls without a result (A21), server results without a call (A22), and blocks that stand among the
    client results for which an open server call waits (A23).

    Legal are a call that waits in the last turn (a pause), and one next to client calls, if a user message with
    their results only and then its own result follow.
    """
    unanswered: list[PlacedBlock] = []
    orphans: list[PlacedBlock] = []
    intruders: list[PlacedBlock] = []
    carried: dict[str, PlacedBlock] = {}
    for number, turn in enumerate(turns):
        if turn.role != "assistant":
            continue
        waiting = dict(carried)
        for placed in turn.blocks:
            if placed.kind in SERVER_CALLS:
                waiting[placed.block["id"]] = placed
            elif is_server_result(placed.kind) and not waiting.pop(placed.block["tool_use_id"], None):
                orphans.append(placed)
        late = carried.keys() & waiting.keys()
        unanswered += [placed for key, placed in waiting.items() if key in late]
        carried = {key: placed for key, placed in waiting.items() if key not in late}
        after = turns[number + 1] if number + 1 < len(turns) else None
        if carried and after is not None:
            if after.role == "user" and turn.of_kind("tool_use"):
                intruders += [placed for placed in after.blocks if placed.kind != "tool_result"]
            else:
                unanswered += carried.values()
                carried = {}
    return unanswered, orphans, intruders


def may_precede_system(entry: Any) -> bool:
    """Whether system text may stand right after this entry (A24)."""
    if unreadable(entry):
        return False
    if entry["role"] == "assistant" and isinstance(entry["content"], list) and entry["content"]:
        last = kind_of(entry["content"][-1])
        return last in SERVER_CALLS or is_server_result(last)
    return bool(entry["role"] == "user")


def marked_blocks(entries: Sequence[Any]) -> Iterator[tuple[int, int, int]]:
    """Each block with a `cache_control` mark, in order: index of its entry, its own, and the index inside the
    content of that block if the mark is in a result, else -1."""
    for number, entry in enumerate(entries):
        content = entry.get("content") if isinstance(entry, dict) else None
        for index, block in enumerate(content if isinstance(content, list) else ()):
            inner = block.get("content") if kind_of(block) == "tool_result" else None
            for place, nested in enumerate(inner if isinstance(inner, list) else ()):
                if _is_marked(nested):
                    yield number, index, place
            if _is_marked(block):
                yield number, index, -1


def open_loops(turns: Sequence[JoinedTurn]) -> list[list[JoinedTurn]]:
    """The assistant turns of the tool loop that is not finished yet, by each reading of where it begins: behind the last
    words of a user, behind the last user message without results, and behind the last user turn without any. None at all
    if the loop is finished.

    The readings differ where results and words share a user turn; each loop is no shorter than the one before it.
    """
    last = next((turn for turn in reversed(turns) if turn.role in ("user", "assistant")), None)
    if last is None or not _is_open(last):
        return []
    users = [
        (turn, {each.entry for each in turn.of_kind("tool_result")}) for turn in turns if turn.role == "user"
    ]
    spoken = [turn.entries[0] for turn, _ in users if any(each.kind != "tool_result" for each in turn.blocks)]
    alone = [at for turn, answering in users for at in turn.entries if at not in answering]
    pure = [turn.entries[0] for turn, answering in users if not answering]
    assistants = [turn for turn in turns if turn.role == "assistant"]
    starts = (max(entries, default=-1) for entries in (spoken, alone, pure))
    return [[turn for turn in assistants if turn.entries[0] > start] for start in starts]


def _is_open(last: JoinedTurn) -> bool:
    if last.role == "user":
        return bool(last.of_kind("tool_result"))
    answered = {placed.block["tool_use_id"] for placed in last.blocks if is_server_result(placed.kind)}
    paused = any(placed.block["id"] not in answered for placed in last.of_kind(*SERVER_CALLS))
    return paused or bool(last.of_kind("tool_use"))


def _found(rule: str, placed: PlacedBlock, message: str, *more: str) -> Violation:
    return Violation(rule, placed.entry, path_text(*placed.path, *more), message)


def _pairs(turns: Sequence[JoinedTurn]) -> Iterator[Violation]:
    """A1, A2, A3, A5."""
    nobody = JoinedTurn("")
    for before, turn in pairwise([nobody, *turns, nobody]):
        calls = before.of_kind("tool_use") if before.role == "assistant" else []
        results = turn.blocks if turn.role == "user" else []
        yield from _pairs_of(calls, results)


def _pairs_of(calls: Sequence[PlacedBlock], results: Sequence[PlacedBlock]) -> Iterator[Violation]:
    asked = Counter(placed.block["id"] for placed in calls)
    answered: Counter[str] = Counter()
    leading = True
    for placed in results:
        if placed.kind != "tool_result":
            leading = False
            continue
        key = placed.block["tool_use_id"]
        answered[key] += 1
        if key not in asked:
            yield _found("A2", placed, f"tool_result {key!r} has no tool_use in the turn before it")
        elif answered[key] > asked[key]:
            yield _found("A5", placed, f"tool_use {key!r} has more than one tool_result")
        elif not leading:
            yield _found("A3", placed, f"tool_result {key!r} stands after other content of its turn")
    for placed in calls:
        key = placed.block["id"]
        answered[key] -= 1
        if answered[key] < 0:
            yield _found("A1", placed, f"tool_use {key!r} has no tool_result in the turn after it")


def _ids(turns: Sequence[JoinedTurn]) -> Iterator[Violation]:
    """A6 and A7, the ids."""
    seen: set[str] = set()
    for placed in chain.from_iterable(turn.blocks for turn in turns if turn.role):
        key = "tool_use_id" if placed.kind == "tool_result" else "id"
        if placed.kind not in ("tool_use", "tool_result"):
            continue
        value = placed.block[key]
        if not _ID.match(value):
            yield _found("A7", placed, f"id {value!r:.80} may hold letters, digits, '_' and '-' only", key)
        if placed.kind == "tool_use" and value in seen:
            yield _found("A6", placed, f"tool_use id {value!r} was used before", key)
        seen.update({value} if placed.kind == "tool_use" else ())


def _server(turns: Sequence[JoinedTurn]) -> Iterator[Violation]:
    """A21, A22, A23."""
    unanswered, orphans, intruders = server_strays(turns)
    for placed in unanswered:
        yield _found("A21", placed, f"{placed.kind} {placed.block['id']!r} has no result in its turn")
    for placed in orphans:
        yield _found("A22", placed, f"{placed.kind} {placed.block['tool_use_id']!r} has no call before it")
    for placed in intruders:
        yield _found("A23", placed, "only client results may stand here while a server call is open")


def _system_places(entries: Sequence[Any]) -> Iterator[Violation]:
    for index, entry in enumerate(entries):
        if isinstance(entry, dict) and entry.get("role") == "system" and (why := _misplaced(entries, index)):
            yield Violation("A24", index, path_text("messages", index), why)


def _misplaced(entries: Sequence[Any], index: int) -> str:
    """Why the system entry at `index` stands in a wrong place (A24), "" if it stands well."""
    before = entries[index - 1] if index else None
    after = entries[index + 1] if index + 1 < len(entries) else None
    if not may_precede_system(before):
        return (
            "role 'system' must follow a 'user' message or an assistant message that ends in server tool use; "
            "the system text of the whole conversation stands beside the messages, as `system`"
        )
    if after is not None and not (isinstance(after, dict) and after.get("role") == "assistant"):
        return "role 'system' must precede an 'assistant' message or end the list"
    return ""


def _ends(entries: Sequence[Any]) -> Iterator[Violation]:
    """A8, A13, A19: what a list may begin and end with."""
    if not entries:
        return
    first, last = entries[0], entries[-1]
    if not unreadable(first) and first["role"] == "assistant" and not _has(first, "compaction"):
        yield Violation("A8", 0, path_text("messages", 0), "the first message must be from the user")
    if unreadable(last) or last["role"] != "assistant" or not last["content"]:
        return
    index, content = len(entries) - 1, last["content"]
    block = {"type": "text", "text": content} if isinstance(content, str) else content[-1]
    path = path_text("messages", index, "content", *(() if isinstance(content, str) else (len(content) - 1,)))
    if kind_of(block) in THINKING:
        yield Violation("A19", index, path, "the last message may not end in thinking")
    if kind_of(block) == "text" and block["text"] != block["text"].rstrip():
        yield Violation("A13", index, path, "the last message may not end in white space")


def _has(entry: dict[str, Any], kind: str) -> bool:
    content = entry["content"]
    return isinstance(content, list) and any(kind_of(block) == kind for block in content)


def _is_marked(block: Any) -> bool:
    return isinstance(block, dict) and block.get("cache_control") is not None


def _marks(entries: Sequence[Any], system: Any) -> Iterator[Violation]:
    count = sum(1 for _ in marked_blocks(entries))
    count += sum(map(_is_marked, system)) if isinstance(system, list) else 0
    if count > MOST_MARKS:
        message = f"at most {MOST_MARKS} blocks may have cache_control, {count} have"
        yield Violation("A20", -1, "messages", message)


def _loop_start(turns: Sequence[JoinedTurn]) -> Iterator[Violation]:
    """A16, as far as a payload tells: the open tool loop does not begin with thinking, by any reading of where it
    begins, although other assistant turns of the payload have thinking (so it is on).

    A model that thinks adaptively may begin a loop so; what counts there is that a compaction adds none.
    """
    loops = open_loops(turns)
    if not loops or any(not loop or _begins_well(loop[0]) for loop in loops):
        return
    if any(turn.role == "assistant" and turn.of_kind(*THINKING) for turn in turns):
        message = "the open tool loop does not begin with thinking, although thinking is on"
        # no entry's flaw: which one the loop begins with changes when steps are left out
        yield Violation("A16", -1, path_text(*loops[0][0].blocks[0].path), message)


def _begins_well(turn: JoinedTurn) -> bool:
    return not turn.of_kind("tool_use") or turn.blocks[0].kind in (*THINKING, "compaction", "fallback")
