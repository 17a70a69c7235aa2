"""What of a state goes out on the wire, and what may not go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from ctxkit import Budget, ContextManager
from ctxkit.core.items import Item
from ctxkit.core.state import fixed_units, wire
from ctxkit.providers import provider
from tests.oracle import violations

FORMATS = ("openai-chat", "openai-responses", "anthropic", "gemini")


def user(format: str, text: str) -> dict[str, Any]:
    return {"role": "user", **({"parts": [{"text": text}]} if format == "gemini" else {"content": text})}


def calls(format: str, *ids: str) -> list[dict[str, Any]]:
    """One step with calls."""
    match format:
        case "openai-chat":
            made = [
                {"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in ids
            ]
            return [{"role": "assistant", "content": None, "tool_calls": made}]
        case "openai-responses":
            return [{"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"} for id in ids]
        case "anthropic":
            uses = [{"type": "tool_use", "id": id, "name": "f", "input": {}} for id in ids]
            return [{"role": "assistant", "content": uses}]
        case _:
            asked = [{"functionCall": {"id": id, "name": "f", "args": {}}} for id in ids]
            return [{"role": "model", "parts": asked}]


def result(format: str, id: str) -> dict[str, Any]:
    match format:
        case "openai-chat":
            return {"role": "tool", "tool_call_id": id, "content": f"found {id}"}
        case "openai-responses":
            return {"type": "function_call_output", "call_id": id, "output": f"found {id}"}
        case "anthropic":
            return {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": id, "content": f"found {id}"}],
            }
        case _:
            told = {"id": id, "name": "f", "response": {"output": f"found {id}"}}
            return {"role": "user", "parts": [{"functionResponse": told}]}


def results_of(format: str, entry: dict[str, Any]) -> Iterator[tuple[str | None, str]]:
    adapter = provider(format)  # type: ignore[arg-type]
    texts = [part.text for part in adapter.parts(entry) if part.kind == "result"]
    for each, text in zip(adapter.shape(entry).results, texts, strict=True):
        yield each.id, "stand-in" if "No result has been received" in text else text


@pytest.mark.parametrize("format", FORMATS)
def test_every_call_without_result_is_answered_in_its_step(format: str) -> None:
    context = ContextManager(format, Budget(window=100_000))  # type: ignore[arg-type]
    context.add([user(format, "one"), *calls(format, "a", "b"), user(format, "two")])
    context.add([*calls(format, "c", "d", "e"), result(format, "d"), user(format, "three")])
    context.add([*calls(format, "f"), result(format, "f"), user(format, "four"), *calls(format, "g")])
    context.add([user(format, "five")])
    messages = context.prepare_sync().messages
    assert violations(format, messages) == []
    steps = ["ab", "dce" if format != "gemini" else "cde", "f", "g"]
    seen = [list(results_of(format, entry)) for entry in messages]
    assert [each for answered in seen for each in answered] == [
        (id, f"found {id}" if id in "df" else "stand-in") for step in steps for id in step
    ]


class Counted(tuple[Item, ...]):
    """Items that count how often somebody goes through all of them."""

    times = 0

    def __iter__(self) -> Iterator[Item]:
        Counted.times += 1
        return super().__iter__()


@pytest.mark.parametrize("format", FORMATS)
def test_calls_without_result_cost_no_look_at_the_whole_conversation_each(format: str) -> None:
    context = ContextManager(format, Budget(window=1_000_000))  # type: ignore[arg-type]
    turns = [[user(format, f"turn {at}"), *calls(format, f"c{at}")] for at in range(60)]
    context.add([entry for turn in turns for entry in turn])
    context.add(user(format, "now"))
    state, Counted.times = context._history.state, 0
    entries, ids = wire(replace(state, items=Counted(state.items)), provider(format))  # type: ignore[arg-type]
    assert Counted.times <= 5
    assert len(entries) == len(ids) == 3 * 60 + 1
    assert ids[:6] == [0, 1, 1, 2, 3, 3]
    assert violations(format, entries) == []


def test_the_newest_summary_of_the_provider_stays() -> None:
    """All that stands before it is in it alone."""
    context = ContextManager("openai-responses", Budget(window=700), "drop-oldest")
    talk = [
        {"role": role, "content": f"{role} {'word ' * 20}"}
        for _ in range(6)
        for role in ("user", "assistant")
    ]
    first, second = ({"type": "compaction", "encrypted_content": each * 200} for each in "ab")
    context.add([user("openai-responses", "begin"), first, second, *talk])
    state = context._history.state
    assert {
        item.raw["encrypted_content"][0]: item.unit in fixed_units(state) for item in state.items[1:3]
    } == {
        "a": False,
        "b": True,
    }
    context.add([*talk, *talk, user("openai-responses", "now")])
    messages = context.prepare_sync().messages
    assert second in messages
    assert first not in messages
