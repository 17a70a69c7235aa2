"""What any compression result must have kept of the conversation that it was made from.

`before` has originals only, with their last user message, not the result of an earlier compression. `after` may have
fewer entries, shortened ones, and made-up ones.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tests.oracle import anthropic, gemini, responses

Entry = dict[str, Any]
Check = Callable[[list[Entry], list[Entry]], Iterator[str]]

OPAQUE = {
    "encrypted_content": "R12",
    "encrypted_index": "A21",
    "fingerprint": "R12",
    "signature": "A15",
    "thoughtSignature": "G7",
    "thought_signature": "G7",
}
DUMMY = "skip_thought_signature_validator"


def kept(
    format: str,
    before: Sequence[Entry],
    after: Sequence[Entry],
    *,
    system_before: Any = None,
    system_after: Any = None,
) -> list[str]:
    """What `after` lost or altered of `before` that it may not, each as "RULE: what".

    Rules with a number are those of the wire; `system`, `user`, `words`, `order`, `open` and `extra` are promises of
    this library: leading system text, the current user message and the newest words of the user are there unaltered;
    survivors keep their order; open calls wait as before; made-up entries carry no ids or keys of their own.
    """
    old, new = list(before), list(after)
    found = (
        [] if dump(system_before) == dump(system_after) else ["system: the text beside the list was altered"]
    )
    for check in (_system, _user, _order, _opaque, _extras, *_CHECKS[format]):
        found += check(old, new)
    return found + list(_words(format, old, new)) + list(_open(format, old, new))


def dump(value: Any) -> str:
    """A value as text, equal for what is deeply equal: key order and number types count."""
    return json.dumps(value, ensure_ascii=True)


def _is_system(entry: Entry) -> bool:
    return entry.get("role") in ("system", "developer") and "tools" not in entry


def _has_results(entry: Entry) -> bool:
    blocks = anthropic.blocks_of(entry)
    return bool(anthropic.of_type(blocks, "tool_result") or gemini.having(entry, "functionResponse"))


def is_user(entry: Entry) -> bool:
    """A user message without tool results, in any format."""
    by_user = entry.get("role") == "user" or ("parts" in entry and entry.get("role") is None)
    return by_user and not _has_results(entry)


def _last_user(entries: list[Entry]) -> int:
    return max((i for i, entry in enumerate(entries) if is_user(entry)), default=-1)


def _system(old: list[Entry], new: list[Entry]) -> Iterator[str]:
    lead = next((i for i, entry in enumerate(old) if not _is_system(entry)), len(old))
    if dump(new[:lead]) != dump(old[:lead]):
        yield "system: the leading system messages do not lead unaltered"


def _user(old: list[Entry], new: list[Entry]) -> Iterator[str]:
    at = _last_user(old)
    if at >= 0 and dump(old[at]) not in set(map(dump, new)):
        yield f"user: the current user message, entry {at}, is not there unaltered"


def _words(format: str, old: list[Entry], new: list[Entry]) -> Iterator[str]:
    """Words of the user beside tool results, if nothing newer was said."""
    if format not in ("anthropic", "gemini"):
        return
    for entry in reversed(old):
        spoken = [text for text in _user_texts(entry) if text.strip()]
        if not spoken:
            continue
        present = {text for other in new for text in _user_texts(other)}
        yield from (
            f"words: newest user words {text[:40]!r} are gone" for text in spoken if text not in present
        )
        return


def _user_texts(entry: Entry) -> list[str]:
    if "parts" in entry:
        parts = [] if gemini.is_model(entry) else gemini.parts_of(entry)
        return [part["text"] for part in parts if isinstance(part.get("text"), str)]
    blocks = anthropic.blocks_of(entry) if entry.get("role") == "user" else []
    return [block["text"] for block in anthropic.of_type(blocks, "text")]


def _marks(entry: Entry) -> list[str]:
    """What an entry can be recognised by, edited or not: its content, its own id, the ids of its calls.

    Tool results have no marks: one that came late is moved to its call, and pairing is judged elsewhere.
    """
    if _is_result(entry):
        return []
    marks = [dump(entry)]
    if isinstance(entry.get("id"), str):
        marks.append("id " + entry["id"])
    if isinstance(entry.get("call_id"), str):
        marks.append(f"{entry.get('type')} {entry['call_id']}")
    marks += [f"call {call.get('id')}" for call in entry.get("tool_calls") or [] if isinstance(call, dict)]
    marks += [
        f"call {block['id']}" for block in anthropic.blocks_of(entry) if isinstance(block.get("id"), str)
    ]
    named = (part["functionCall"] for part in gemini.having(entry, "functionCall"))
    return marks + [f"call {call['id']}" for call in named if isinstance(call, dict) and call.get("id")]


def _is_result(entry: Entry) -> bool:
    kind = responses.kind_of(entry)
    return entry.get("role") == "tool" or kind in responses.OUTPUTS or _has_results(entry)


def _order(old: list[Entry], new: list[Entry]) -> Iterator[str]:
    marked_old = [(mark, i) for i, entry in enumerate(old) for mark in _marks(entry)]
    marked_new = [(mark, i) for i, entry in enumerate(new) for mark in _marks(entry)]
    once_old = Counter(mark for mark, _ in marked_old)
    once_new = Counter(mark for mark, _ in marked_new)
    place = {mark: i for mark, i in marked_old if once_old[mark] == 1}
    furthest, at = -1, ""
    for mark, i in marked_new:
        if mark not in place or once_new[mark] != 1:
            continue
        if place[mark] < furthest:
            yield f"order: entry {i} of the result stood before its forerunner ({at[:60]})"
        elif place[mark] > furthest:
            furthest, at = place[mark], mark


def _walk(value: Any) -> Iterator[tuple[str, Any]]:
    stack = [value]
    while stack:
        top = stack.pop()
        if isinstance(top, dict):
            yield from top.items()
            stack += top.values()
        elif isinstance(top, list):
            stack += top


def _secrets(entries: list[Entry]) -> Counter[tuple[str, str]]:
    """Every opaque string under its key; `data` of redacted thinking as a signature."""
    found = Counter(
        (key, value)
        for key, value in _walk(entries)
        if key in OPAQUE and isinstance(value, str) and value != DUMMY
    )
    hidden = [
        block
        for entry in entries
        for block in anthropic.of_type(anthropic.blocks_of(entry), "redacted_thinking")
    ]
    return found + Counter(("signature", str(block.get("data"))) for block in hidden)


def _opaque(old: list[Entry], new: list[Entry]) -> Iterator[str]:
    for (key, value), count in (_secrets(new) - _secrets(old)).items():
        yield f"{OPAQUE[key]}: {key} {value[:30]!r} was altered, made up or doubled ({count})"


def _extras(old: list[Entry], new: list[Entry]) -> Iterator[str]:
    standard = {"role", "content", "parts", "type", "tool_calls", "tool_call_id", "call_id", "output"}
    known = standard.union(*old) if old else standard
    ids = {value for key, value in _walk(old) if key == "id" and isinstance(value, str)}
    for i, entry in enumerate(new):
        if set(entry) - known:
            yield f"extra: entry {i} of the result has keys that no original has: {sorted(set(entry) - known)}"
        if isinstance(entry.get("id"), str) and entry["id"] not in ids | _call_ids(old):
            yield f"extra: entry {i} of the result has an id of its own, {entry['id']!r}"
    names = {dump(entry.get("name")) for entry in old}
    for i, entry in enumerate(new):
        if "name" in entry and entry.get("role") == "user" and dump(entry["name"]) not in names:
            yield f"C12: entry {i} of the result has a name that no original has"


def _call_ids(entries: list[Entry]) -> set[str]:
    return {entry["call_id"] for entry in entries if isinstance(entry.get("call_id"), str)}


def _open(format: str, old: list[Entry], new: list[Entry]) -> Iterator[str]:
    """A step that waits at the end, with the answers that it has, is there unaltered (a stripped id apart)."""
    present = set(map(dump, new))
    if format == "openai-responses":
        waiting = _waiting_items(old)
        missing = [i for i in waiting if dump(old[i]) not in present and _without_id(old[i]) not in present]
    else:
        start = _open_start(format, old)
        missing = [i for i in range(start, len(old)) if dump(old[i]) not in present]
    yield from (f"open: entry {i} belongs to calls that wait, and is not there unaltered" for i in missing)


def _without_id(item: Entry) -> str:
    return dump({key: value for key, value in item.items() if key != "id"})


def _waiting_items(items: list[Entry]) -> list[int]:
    answered = {responses.call_key(item) for item in items if responses.kind_of(item) in responses.OUTPUTS}
    last = _last_user(items)
    return [i for i, item in enumerate(items) if i > last and _waits(item, answered)]


def _open_start(format: str, entries: list[Entry]) -> int:
    """Index of the message that calls what waits at the end; the number of entries if nothing does."""
    match format:
        case "openai-chat":
            tail = len(entries)
            while tail and entries[tail - 1].get("role") == "tool":
                tail -= 1
            calls = entries[tail - 1].get("tool_calls") if tail else None
            return tail - 1 if len(calls or []) > len(entries) - tail else len(entries)
        case "anthropic":
            return _joined_open(
                entries, lambda entry: entry.get("role") == "assistant", _tool_uses, _tool_results
            )
    return _joined_open(entries, gemini.is_model, _function_calls, _function_responses)


def _waits(item: Entry, answered: set[Any]) -> bool:
    kind = responses.kind_of(item)
    server = kind == "tool_search_call" and (item.get("execution") == "server" or item.get("call_id") is None)
    return (
        kind in responses.PAIRS
        and not server
        and not item.get("async")
        and item.get("call_id") not in answered
    )


def _joined_open(
    entries: list[Entry],
    by_model: Callable[[Entry], bool],
    calls: Callable[[Entry], int],
    results: Callable[[Entry], int],
) -> int:
    tail = len(entries)
    while tail and not by_model(entries[tail - 1]) and results(entries[tail - 1]):
        tail -= 1
    head = tail
    while head and by_model(entries[head - 1]):
        head -= 1
    asked, given = sum(map(calls, entries[head:tail])), sum(map(results, entries[tail:]))
    return next(i for i in range(head, tail) if calls(entries[i])) if asked > given else len(entries)


def _tool_uses(message: Entry) -> int:
    return len(anthropic.of_type(anthropic.blocks_of(message), "tool_use"))


def _tool_results(message: Entry) -> int:
    return len(anthropic.of_type(anthropic.blocks_of(message), "tool_result"))


def _function_calls(content: Entry) -> int:
    return len(gemini.having(content, "functionCall"))


def _function_responses(content: Entry) -> int:
    return len(gemini.having(content, "functionResponse"))


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
    start = _last_user(messages)
    return [message for message in messages[start + 1 :] if message.get("role") == "assistant"]


def _loop_thinks(old: list[Entry], new: list[Entry]) -> Iterator[str]:
    """A16: what thinks in the turn that is not finished goes on to do so."""
    loop = _open_loop(old)
    finished = old[-1].get("role") == "assistant" and not _tool_uses(old[-1]) if old else True
    if finished:
        return
    leading = {_call_key(message) for message in loop if _leads_with_thinking(message)}
    for i, message in enumerate(new):
        key = _call_key(message)
        if key and key in leading and not _leads_with_thinking(message):
            yield f"A16: message {i} of the result is part of the open tool loop and lost its thinking"


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
        return sum(
            bool(_tool_results(one) and _tool_results(two))
            for one, two in zip(messages, messages[1:], strict=False)
        )

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


_CHECKS: dict[str, tuple[Check, ...]] = {
    "openai-chat": (),
    "openai-responses": (_bound, _newest_compaction),
    "anthropic": (_thinking, _loop_thinks, _server_blocks, _split_results),
    "gemini": (_signatures_in_place, _current_signatures),
}
