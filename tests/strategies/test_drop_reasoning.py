"""What drop-reasoning strips, by the public API."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit import Budget, ContextManager, PartKind
from ctxkit.providers import provider

THOUGHT = "I think about it for a long while and come to a view. " * 30


def thinking(format: str, turns: int) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    for n in range(turns):
        match format:
            case "openai-chat":
                entries.append({"role": "user", "content": f"Question {n}"})
                entries.append({"role": "assistant", "content": f"Answer {n}", "reasoning_content": THOUGHT})
            case "openai-responses":
                entries.append({"role": "user", "content": f"Question {n}"})
                summary = [{"type": "summary_text", "text": THOUGHT}]
                entries.append({"type": "reasoning", "id": f"rs_{n}", "summary": summary})
                said = [{"type": "output_text", "text": f"Answer {n}", "annotations": []}]
                entries.append(
                    {
                        "type": "message",
                        "id": f"msg_{n}",
                        "role": "assistant",
                        "status": "completed",
                        "content": said,
                    }
                )
            case "anthropic":
                entries.append({"role": "user", "content": f"Question {n}"})
                thought = {"type": "thinking", "thinking": THOUGHT, "signature": f"sig{n}"}
                entries.append(
                    {"role": "assistant", "content": [thought, {"type": "text", "text": f"Answer {n}"}]}
                )
            case _:
                entries.append({"role": "user", "parts": [{"text": f"Question {n}"}]})
                parts = [{"text": THOUGHT, "thought": True}, {"text": f"Answer {n}"}]
                entries.append({"role": "model", "parts": parts})
    return entries


def thoughts(format: Any, entries: list[dict[str, Any]]) -> int:
    return sum(part.kind is PartKind.REASONING for entry in entries for part in provider(format).parts(entry))


def stripped(format: Any, entries: list[dict[str, Any]], **parameters: Any) -> list[dict[str, Any]]:
    context = ContextManager(
        format, Budget(window=100_000), {"kind": "drop-reasoning", **parameters}, strict=True
    )
    context.add(entries)
    context.compact()
    assert context.compact().edits == ()
    return context.prepare_sync().messages


FORMATS = ["openai-chat", "openai-responses", "anthropic", "gemini"]


@pytest.mark.parametrize("format", FORMATS)
def test_reasoning_of_finished_turns_goes_and_that_of_the_current_one_stays(format: str) -> None:
    entries = thinking(format, 4)
    messages = stripped(format, entries)
    assert thoughts(format, messages) == 1
    assert messages[-2:] == entries[-2:]
    assert [str(v) for v in provider(format).violations(messages)] == []  # type: ignore[arg-type]


@pytest.mark.parametrize("format", FORMATS)
def test_as_many_turns_keep_theirs_as_asked_for(format: str) -> None:
    assert thoughts(format, stripped(format, thinking(format, 5), keep_turns=3)) == 3


@pytest.mark.parametrize("format", FORMATS)
def test_what_was_said_stays(format: Any) -> None:
    messages = stripped(format, thinking(format, 4))
    assert thoughts(format, messages) < 4
    texts = [p.text for e in messages for p in provider(format).parts(e) if p.kind is PartKind.TEXT]
    assert texts == [text for n in range(4) for text in (f"Question {n}", f"Answer {n}")]


def test_conversation_without_reasoning_is_left_alone(talk: Any) -> None:
    talk.user("Hi").step("ok").assistant("Done.").user("And?").assistant("Fine.").user("So?")
    assert talk.manager(Budget(window=10_000), "drop-reasoning").compact().edits == ()
