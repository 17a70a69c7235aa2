"""What a compression result must have kept for its provider's sake, format by format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from tests.oracle import anthropic, gemini, responses
from tests.oracle.entries import DUMMY, Entry, dump, last_user, tool_results, tool_uses

Check = Callable[[list[Entry], list[Entry]], Iterator[str]]


def _bound(old: list[Entry], new: list[Entry]) -> Iterator[str]:
    """R7, R8: reasoning and the item right after it stay together, or the item loses its id."""
    led = {}
    for i, item in enumerate(old):
        if responses.kind_of(item) != "reasoning":
            continue
        follower = next((other for other in old[i + 1 :] if responses.kind_of(other) != "reasoning"), None)
        if follower is not None:
            led[dump(item)] = follower
    needs = {_name(follower): reasoning for reasoning, follower in led.items() if follower.get("id")}
    for i, item in enumerate(new):
        if responses.kind_of(item) == "reasoning":
            if dump(item) not in led:
                yield f"R12: reasoning at {i} of the result is not as it was"
                continue
            follower = next(
                (other for other in new[i + 1 :] if responses.kind_of(other) != "reasoning"), None
            )
            if follower is None or not _same_item(follower, led[dump(item)]):
                yield f"R7: reasoning at {i} of the result is not followed by the item that followed it"
        elif item.get("id") and _name(item) in needs:
            previous = dump(new[i - 1]) if i else ""
            if previous != needs[_name(item)]:
                yield f"R8: item {item['id']!r} at {i} of the result has its id, but not its reasoning"


def _name(item: Entry) -> str:
    return f"{responses.kind_of(item)} {item.get('id')}"


def _same_item(new: Entry, old: Entry) -> bool:
    if responses.kind_of(new) != responses.kind_of(old):
        return False
    return new.get("id") == old.get("id") and responses.call_key(new) == responses.call_key(old)


def _newest_compaction(old: list[Entry], new: list[Entry]) -> Iterator[str]:
    """R17 and R21: the newest compaction item, and all that changes the state of what follows."""
    compactions = [item for item in old if responses.kind_of(item) == "compaction"]
    present = set(map(dump, new))
    if compactions and dump(compactions[-1]) not in present:
        yield "R17: the newest compaction item is not there unaltered"
    for i, item in enumerate(old):
        if (
            responses.kind_of(item) in ("additional_tools", "configuration_update")
            and dump(item) not in present
        ):
            yield f"R21: entry {i}, which changes the state of what follows, is not there unaltered"


def _thinking(old: list[Entry], new: list[Entry]) -> Iterator[str]:
    """A15: the thinking of a message is there as it was and where it was, or not at all."""
    shapes = {dump(_thoughts(message)): _kinds(message) for message in old if _thoughts(message)}
    for i, message in enumerate(new):
        thoughts = _thoughts(message)
        if not thoughts:
            continue
        if dump(thoughts) not in shapes:
            yield f"A15: the thinking in message {i} of the result is not that of an original, or only a part of it"
        elif _kinds(message) != shapes[dump(thoughts)]:
            yield f"A15: the thinking in message {i} of the result was moved among its blocks"


def _thoughts(message: Entry) -> list[Entry]:
    return anthropic.of_type(anthropic.blocks_of(message), *anthropic.THINKING)


def _kinds(message: Entry) -> list[Any]:
    return [block.get("type") for block in anthropic.blocks_of(message)]


def _open_loop(messages: list[Entry]) -> list[Entry]:
    start = last_user(messages)
    return [message for message in messages[start + 1 :] if message.get("role") == "assistant"]


def _loop_thinks(old: list[Entry], new: list[Entry]) -> Iterator[str]:
    """A16: what thinks in the turn that is not finished goes on to do so."""
    loop = _open_loop(old)
    finished = old[-1].get("role") == "assistant" and not tool_uses(old[-1]) if old else True
    if finished:
        return
    leading = {_call_key(message) for message in loop if _leads_with_thinking(message)}
    for i, message in enumerate(new):
        key = _call_key(message)
        if key and key in leading and not _leads_with_thinking(message):
            yield f"A16: message {i} of the result is part of the open tool loop and lost its thinking"


def _loop_begins(old: list[Entry], new: list[Entry]) -> Iterator[str]:
    """A16: a tool loop that began with thinking begins with it, wherever one takes it to begin: behind the last user
    message without results, by itself or joined with its neighbours, or behind the last words of a user."""
    for reading, (joins, mixed) in {
        "message without results": (False, False),
        "turn without results": (True, False),
        "words": (True, True),
    }.items():
        if _begins_with_thinking(old, joins, mixed) and _begins_with_thinking(new, joins, mixed) is False:
            yield f"A16: the open tool loop begins without thinking, if behind the last user {reading}"


def _begins_with_thinking(messages: list[Entry], joins: bool, mixed: bool) -> bool | None:
    """Whether the open tool loop does; None if there is none."""
    if joins:
        turns = [(role, blocks) for role, _, blocks in anthropic.joined(messages)]
    else:
        turns = [(str(message.get("role")), anthropic.blocks_of(message)) for message in messages]
    if not turns or not anthropic.of_type(turns[-1][1], "tool_result", "tool_use"):
        return None
    for at in range(len(turns) - 1, -1, -1):
        role, blocks = turns[at]
        results = anthropic.of_type(blocks, "tool_result")
        if role == "user" and (len(results) < len(blocks) if mixed else not results):
            turns = turns[at + 1 :]
            break
    first = next((blocks for role, blocks in turns if role == "assistant"), None)
    return None if first is None else bool(anthropic.of_type(first[:1], *anthropic.THINKING))


def _leads_with_thinking(message: Entry) -> bool:
    return bool(anthropic.of_type(anthropic.blocks_of(message)[:1], *anthropic.THINKING))


def _call_key(message: Entry) -> tuple[Any, ...]:
    blocks = anthropic.of_type(anthropic.blocks_of(message), "tool_use")
    return tuple(block.get("id") for block in blocks) if message.get("role") == "assistant" else ()


def _server_blocks(old: list[Entry], new: list[Entry]) -> Iterator[str]:
    """A21 and A27: results of server tools are as they were; so is the newest compaction block."""
    kinds = (*anthropic.SERVER_RESULTS, *anthropic.SERVER_CALLS, "compaction", "fallback")

    def blocks(messages: list[Entry]) -> list[Entry]:
        return [
            block for message in messages for block in anthropic.of_type(anthropic.blocks_of(message), *kinds)
        ]

    known = set(map(dump, blocks(old)))
    present = blocks(new)
    for block in present:
        if dump(block) not in known:
            yield f"A21: a {block.get('type')} block was altered"
    compactions = anthropic.of_type(blocks(old), "compaction")
    if compactions and dump(compactions[-1]) not in set(map(dump, present)):
        yield "A27: the newest compaction block is not there unaltered"


def _split_results(old: list[Entry], new: list[Entry]) -> Iterator[str]:
    """A4: results that came in one message stay in one message."""

    def splits(messages: list[Entry]) -> int:
        return sum(bool(tool_results(one) and tool_results(two)) for one, two in pairwise(messages))

    if splits(new) > splits(old):
        yield "A4: results of one batch were split over several messages"


def _signed_parts(contents: list[Entry]) -> Counter[tuple[str, str]]:
    parts = [
        part for content in contents for part in gemini.parts_of(content) if part.get("thoughtSignature")
    ]
    return Counter((part["thoughtSignature"], _part_name(part)) for part in parts)


def _part_name(part: Entry) -> str:
    call = part.get("functionCall")
    if isinstance(call, dict):
        return f"call {call.get('name')} {call.get('id')}"
    return next((key for key in part if key in gemini.DATA), "")


def _signatures_in_place(old: list[Entry], new: list[Entry]) -> Iterator[str]:
    """G6, G7: a signature sits on the part that it came with."""
    for (signature, name), _ in (_signed_parts(new) - _signed_parts(old)).items():
        if signature != DUMMY:
            yield f"G7: signature {signature[:30]!r} sits on another part than before ({name})"


def _current_signatures(old: list[Entry], new: list[Entry]) -> Iterator[str]:
    """G5: steps of the current turn keep the signature of their first call, if all of them had one."""
    start = gemini.current_turn(old)
    firsts = [part for i, part in gemini.first_calls(old) if i > start]
    if not firsts or not all(part.get("thoughtSignature") for part in firsts):
        return
    current = dump(old[start]) if start >= 0 else ""
    begin = max((i for i, content in enumerate(new) if dump(content) == current), default=-1)
    for i, part in gemini.first_calls(new):
        if i > begin and not part.get("thoughtSignature"):
            yield f"G5: the first call in content {i} of the result lost its signature"


CHECKS: dict[str, tuple[Check, ...]] = {
    "openai-chat": (),
    "openai-responses": (_bound, _newest_compaction),
    "anthropic": (_thinking, _loop_thinks, _loop_begins, _server_blocks, _split_results),
    "gemini": (_signatures_in_place, _current_signatures),
}
