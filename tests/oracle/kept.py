"""What any compression result must have kept of the conversation that it was made from.

`before` has originals only, with their last user message, not the result of an earlier compression. `after` may have
fewer entries, shortened ones, and made-up ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tests.oracle import anthropic, gemini, responses
from tests.oracle.entries import DUMMY, Entry, dump, has_results, is_user, last_user, tool_results, tool_uses
from tests.oracle.kept_on_wire import CHECKS

ANSWER_KEYS = {"approval_request_id", "approve", "reason", "status", "tools", "execution"}
"""Keys that the answers to some calls have in Responses, made-up ones too."""

OPAQUE = {
    "encrypted_content": "R12",
    "encrypted_index": "A21",
    "fingerprint": "R12",
    "signature": "A15",
    "thoughtSignature": "G7",
    "thought_signature": "G7",
}


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
    for check in (_system, _user, _order, _opaque, _extras, *CHECKS[format]):
        found += check(old, new)
    return found + list(_words(format, old, new)) + list(_open(format, old, new))


def _is_system(entry: Entry) -> bool:
    return entry.get("role") in ("system", "developer") and "tools" not in entry


def _system(old: list[Entry], new: list[Entry]) -> Iterator[str]:
    lead = next((i for i, entry in enumerate(old) if not _is_system(entry)), len(old))
    if dump(new[:lead]) != dump(old[:lead]):
        yield "system: the leading system messages do not lead unaltered"


def _user(old: list[Entry], new: list[Entry]) -> Iterator[str]:
    at = last_user(old)
    if at >= 0 and dump(old[at]) not in set(map(dump, new)):
        yield f"user: the current user message, entry {at}, is not there unaltered"


def _words(format: str, old: list[Entry], new: list[Entry]) -> Iterator[str]:
    """Words of the user beside tool results, if no user message came after them."""
    if format not in ("anthropic", "gemini"):
        return
    for entry in reversed(old):
        if is_user(entry):
            return
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
    return entry.get("role") == "tool" or kind in responses.OUTPUTS or has_results(entry)


def _order(old: list[Entry], new: list[Entry]) -> Iterator[str]:
    marked_old = [(mark, i) for i, entry in enumerate(old) for mark in _marks(entry)]
    marked_new = [(mark, i) for i, entry in enumerate(new) for mark in _marks(entry)]
    once_old = Counter(mark for mark, _ in marked_old) + Counter(map(_bare, filter(_reasons, old)))
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


def _bare(entry: Entry) -> str:
    """An entry without its reasoning, which may go and leave what another entry is."""
    key = "parts" if "parts" in entry else "content"
    left = (part for part in entry[key] if not _is_reasoning(part))
    unsigned = [
        {k: v for k, v in part.items() if gemini.camel(k) != _SIGNATURE} if _is_signed(part) else part
        for part in left
    ]
    return dump(entry | {key: unsigned})


def _reasons(entry: Entry) -> bool:
    held = entry.get("parts", entry.get("content"))
    return isinstance(held, list) and any(_is_reasoning(part) or _is_signed(part) for part in held)


_SIGNATURE = "thoughtSignature"


def _is_signed(part: Any) -> bool:
    return isinstance(part, dict) and _SIGNATURE in map(gemini.camel, part)


def _is_reasoning(part: Any) -> bool:
    return isinstance(part, dict) and (part.get("thought") is True or part.get("type") in anthropic.THINKING)


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
        answers = str(entry.get("type", "")).endswith(("_output", "_response"))
        if strange := set(entry) - known - (ANSWER_KEYS if answers else set()):
            yield f"extra: entry {i} of the result has keys that no original has: {sorted(strange)}"
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
    last = last_user(items)
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
                entries, lambda entry: entry.get("role") == "assistant", tool_uses, tool_results
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


def _function_calls(content: Entry) -> int:
    return len(gemini.having(content, "functionCall"))


def _function_responses(content: Entry) -> int:
    return len(gemini.having(content, "functionResponse"))
