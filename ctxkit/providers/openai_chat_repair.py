"""Repair of a Chat Completions history that breaks wire rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ctxkit.core.provider import Entry, Repair
from ctxkit.providers.common import text_of_json
from ctxkit.providers.openai_chat_parts import MEDIA_TYPES, media_type
from ctxkit.providers.openai_chat_rules import (
    NOT_IN_NAMES,
    Pairs,
    callees,
    is_bad_name,
    may_lack_content,
    paired,
)
from ctxkit.providers.openai_chat_shape import ROLES, call_ids, shown

__all__ = ["mended"]


def mended(entries: Sequence[Entry]) -> tuple[list[Entry], list[Repair]]:
    """`entries` without what can be mended, and what was done, in the order of `entries`."""
    kept: list[Entry] = []
    origins: list[int] = []
    repairs: list[Repair] = []
    for index, entry in enumerate(entries):
        whole = _mended_entry(entry, kept[-1] if kept else None, index, repairs)
        if whole is not None:
            kept.append(whole)
            origins.append(index)
    ordered = _ordered(kept, origins, repairs)
    return ordered, sorted(repairs, key=lambda repair: repair.index)


# Single messages.


def _mended_entry(entry: Entry, previous: Entry | None, index: int, repairs: list[Repair]) -> Entry | None:
    """The entry, a mended copy, or None if it goes; `previous` is the one before it that stayed."""
    if not isinstance(entry, dict) or entry.get("role") not in ROLES:
        return entry
    whole: Entry | None = entry
    if entry.get("role") == "function" and not entry.get("name"):
        whole = _named(entry, previous)
        done = "got the name of its function" if whole else "went: it does not tell its function"
        repairs.append(Repair("C13", index, done))
    for rule, mend, done in _MENDS:
        if whole is None:
            break
        after = mend(whole)
        if after is not whole:
            repairs.append(Repair(rule, index, done if after else "went: it had no content"))
            whole = after
    return whole


def _named(entry: Entry, previous: Entry | None) -> Entry | None:
    match previous:
        case {"role": "assistant", "function_call": {"name": str() as name}} if name:
            return {**entry, "name": name}
    return None


def _without_empty_calls(entry: Entry) -> Entry:
    if entry.get("tool_calls") != []:
        return entry
    return {key: value for key, value in entry.items() if key != "tool_calls"}


def _with_text_arguments(entry: Entry) -> Entry:
    if entry.get("role") != "assistant":
        return entry
    calls = list(entry["tool_calls"]) if isinstance(entry.get("tool_calls"), list) else []
    whole = entry
    for path, holder, key in callees(entry):
        if isinstance(holder.get(key), str):
            continue
        texted = {**holder, key: _argument_text(holder.get(key), key)}
        match path:
            case "tool_calls", int() as number, str() as kind:
                calls[number] = {**calls[number], kind: texted}
                whole = {**whole, "tool_calls": calls}
            case _:
                whole = {**whole, "function_call": texted}
    return whole


def _argument_text(value: Any, key: str) -> str:
    empty = "{}" if key == "arguments" else ""
    return empty if value is None else text_of_json(value)


def _without_foreign_media(entry: Entry) -> Entry:
    content = entry.get("content")
    if entry.get("role") == "user" or not isinstance(content, list):
        return entry
    if not any(_is_media(block) for block in content):
        return entry
    told = [
        {"type": "text", "text": f"[{media_type(block)}]"} if _is_media(block) else block for block in content
    ]
    return {**entry, "content": told}


def _is_media(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") in MEDIA_TYPES


def _with_legal_name(entry: Entry) -> Entry:
    name = entry.get("name")
    if not is_bad_name(name):
        return entry
    if isinstance(name, str) and name:
        return {**entry, "name": NOT_IN_NAMES.sub("_", name)}
    return {key: value for key, value in entry.items() if key != "name"}


def _without_empty_list(entry: Entry) -> Entry | None:
    return _emptied(entry) if entry.get("content") == [] else entry


def _without_null(entry: Entry) -> Entry | None:
    return _emptied(entry) if entry.get("content") is None and not may_lack_content(entry) else entry


def _emptied(entry: Entry) -> Entry | None:
    """The message with the empty string as content where it has calls or answers one, else None: it goes."""
    if entry["role"] in ("tool", "function") or may_lack_content(entry):
        return {**entry, "content": ""}
    return None


_MENDS: tuple[tuple[str, Callable[[Entry], Entry | None], str], ...] = (
    ("C7", _without_empty_calls, "lost its empty list of tool calls"),
    ("C14", _with_text_arguments, "has its arguments as text"),
    ("C11", _without_foreign_media, "has its media as text"),
    ("C12", _with_legal_name, "has a name without forbidden characters, or none"),
    ("C9", _without_empty_list, "has an empty text as content"),
    ("C8", _without_null, "has an empty text as content"),
)


# Pairs.


def _ordered(entries: list[Entry], origins: list[int], repairs: list[Repair]) -> list[Entry]:
    """The entries with each result in the run after its call, and without results that answer none."""
    pairs = paired(entries)
    whole = _with_own_ids(entries, origins, pairs, repairs)
    results: dict[int, list[Entry]] = {}
    for index, (caller, _) in pairs.answers.items():
        results.setdefault(caller, []).append(whole[index])
    for index in pairs.late:
        caller = origins[pairs.answers[index][0]]
        repairs.append(Repair("C3", origins[index], f"moved up to its call in messages[{caller}]"))
    repairs.extend(
        Repair("C4", origins[index], "went: its call has a result already") for index in pairs.doubled
    )
    repairs.extend(Repair("C2", origins[index], "went: no call waits for it") for index in pairs.orphans)
    moved = {*pairs.answers, *pairs.doubled, *pairs.orphans}
    ordered: list[Entry] = []
    for index, entry in enumerate(whole):
        if index not in moved:
            ordered.append(entry)
            ordered.extend(results.get(index, ()))
    return ordered


def _with_own_ids(
    entries: list[Entry], origins: list[int], pairs: Pairs, repairs: list[Repair]
) -> list[Entry]:
    """The entries with a new id for each call that shares its id with an earlier call of the same message, and
    for its result."""
    whole = list(entries)
    renamed: dict[tuple[int, int], str] = {}
    for index, entry in enumerate(entries):
        if not (fresh := dict(_fresh_ids(entry))):
            continue
        calls = [
            {**call, "id": fresh[number]} if number in fresh else call
            for number, call in enumerate(entry["tool_calls"])
        ]
        whole[index] = {**entry, "tool_calls": calls}
        for number, call_id in fresh.items():
            renamed[index, number] = call_id
            repairs.append(
                Repair("C4", origins[index], f"tool_calls[{number}] has the id {shown(call_id)} now")
            )
    for index, call in pairs.answers.items():
        if call in renamed:
            whole[index] = {**entries[index], "tool_call_id": renamed[call]}
    return whole


def _fresh_ids(entry: Entry) -> Iterator[tuple[int, str]]:
    """Number and new id of each call whose id an earlier call of the message has."""
    ids = list(call_ids(entry))
    taken = {call_id for _, call_id in ids}
    seen: dict[str, int] = {}
    for number, call_id in ids if len(taken) < len(ids) else ():
        if call_id not in seen:
            seen[call_id] = 1
            continue
        seen[call_id] += 1
        while (fresh := f"{call_id}_{seen[call_id]}") in taken:
            seen[call_id] += 1
        taken.add(fresh)
        yield number, fresh
