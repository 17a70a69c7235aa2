"""What is signed, cited or spoken may not be changed, but it was said: it is read as if nothing sealed it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from ctxkit import Budget, ContextManager
from ctxkit.core.provider import Entry
from ctxkit.models.question import Question

Seal = Callable[[Entry], Entry]

ASKS_NO_MODEL = (
    "clear-tool-results",
    "digest-tool-results",
    "drop-media",
    "drop-oldest",
    "drop-reasoning",
    "extractive-summary",
    "hybrid",
    "keep-key-facts",
    "selective",
    "sliding-window",
    "trim-tool-results",
)
WRITES = ("digest-tool-results", "extractive-summary", "hybrid", "keep-key-facts")
"""Of these: what writes down what was said."""

CITATIONS = [{"type": "char_location", "document_index": 0, "cited_text": ""}]


def signed(content: Entry) -> Entry:
    """A content of Gemini with a signature on each part of the model's; too short a one to weigh anything."""
    if content["role"] != "model":
        return content
    return {**content, "parts": [{**part, "thoughtSignature": "sig"} for part in content["parts"]]}


def cited(message: Entry) -> Entry:
    """A message of Anthropic with citations on what the assistant said."""
    blocks = message["content"]
    if message["role"] != "assistant" or not isinstance(blocks, str):
        return message
    return {**message, "content": [{"type": "text", "text": blocks, "citations": CITATIONS}]}


def refused(message: Entry) -> Entry:
    """A chat message whose words are a refusal."""
    return _elsewhere(message, lambda said: {"refusal": said})


def spoken(message: Entry) -> Entry:
    """A chat message whose words are the transcript of what was spoken."""
    return _elsewhere(message, lambda said: {"audio": {"id": "a", "transcript": said}})


def _elsewhere(message: Entry, where: Callable[[str], dict[str, Any]]) -> Entry:
    if message["role"] != "assistant" or not message["content"]:
        return message
    return {**message, "content": None, **where(message["content"])}


SEALED = [("gemini", signed), ("anthropic", cited), ("openai-chat", refused), ("openai-chat", spoken)]
SEALS = ("thoughtSignature", "citations", "refusal", "transcript")


def talked(talk: Any) -> list[Entry]:
    """A conversation whose facts stand in what the assistant says and calls, and nowhere else."""
    for n, town in enumerate(["first", "second", "third", "fourth"]):
        talk.user(f"And what of the {town} town?")
        talk.step(
            json.dumps({"temperature": 5 + n, "station": f"OSL-{n}01", "log": "cold " * 150}),
            name="weather",
            arguments={"city": f"Oslo{n}", "unit": "celsius"},
        )
        talk.assistant(f"I have booked hotel HTL-77{n} for 120 EUR; you must pay by 3 June. {'Fine. ' * 30}")
    return talk.user("Which is warmer?").entries  # type: ignore[no-any-return]


def managed(
    format: Any, entries: list[Entry], strategy: Any, ask: Callable[[Question], Any] | None = None
) -> ContextManager:
    chain = {"kind": "hybrid", "steps": [strategy, "drop-oldest"]}
    context = ContextManager(format, Budget(window=1000, reply=100), chain, ask=ask)
    context.add(deepcopy(entries))
    return context


def masked(text: str) -> str:
    """A text without the numbers that are drawn by lot."""
    return re.sub(r"\d{6,}", "#", text)


def written(context: ContextManager) -> list[str]:
    """What ctxkit wrote in the next request."""
    messages = context.prepare_sync().messages
    texts = (json.dumps(message, ensure_ascii=False) for message in messages)
    return [masked(text) for text in texts if "[ctxkit " in text]


@pytest.mark.parametrize("strategy", ASKS_NO_MODEL)
@pytest.mark.parametrize(("format", "seal"), SEALED)
def test_what_is_sealed_is_read_like_what_is_not(
    talk_in: Any, format: str, seal: Seal, strategy: str
) -> None:
    plain = talked(talk_in(format))
    sealed = [seal(entry) for entry in plain]
    assert sealed != plain
    one, other = (managed(format, entries, strategy) for entries in (plain, sealed))
    told = written(one)
    assert told == written(other)
    assert "HTL-770" in "".join(told) or strategy not in WRITES


@pytest.mark.parametrize(("format", "seal"), SEALED)
def test_a_model_is_asked_to_summarise_what_is_sealed(talk_in: Any, format: str, seal: Seal) -> None:
    asked: list[str] = []

    def ask(question: Question) -> str:
        asked.append(masked(question.text))
        return "Facts:\n- assistant: hotel HTL-770 is booked"

    plain = talked(talk_in(format))
    for entries in (plain, [seal(entry) for entry in plain]):
        managed(format, entries, "summarize", ask).prepare_sync()
    assert len(asked) == 2
    assert asked[0] == asked[1]
    assert "HTL-770" in asked[0]
    assert "Oslo0" in asked[0]


@pytest.mark.parametrize(("format", "seal"), SEALED)
@pytest.mark.parametrize("wanted", [{"message": 1}, {"message": 3}, {"query": "HTL-770"}, {"query": "Oslo0"}])
def test_what_is_sealed_is_restored_and_found(
    talk_in: Any, format: str, seal: Seal, wanted: dict[str, Any]
) -> None:
    plain = talked(talk_in(format))
    read = []
    for entries in (plain, [seal(entry) for entry in plain]):
        context = managed(format, entries, "drop-oldest")
        context.prepare_sync()
        read.append(masked(context.run_restore(wanted)))
    assert read[0] == read[1]
    assert ("Oslo0" if "Oslo0" in str(wanted) or wanted.get("message") == 1 else "HTL-770") in read[1]


@pytest.mark.parametrize(("format", "seal"), SEALED)
def test_what_is_sealed_comes_back_as_it_was(talk_in: Any, format: str, seal: Seal) -> None:
    sealed = [seal(entry) for entry in talked(talk_in(format))]
    trims = {"kind": "trim-tool-results", "arguments": True, "max_tokens": 1}
    sent = [
        message
        for strategy in (*ASKS_NO_MODEL, trims)
        for message in managed(format, sealed, strategy).prepare_sync().messages
        if any(key in json.dumps(message) for key in SEALS)
    ]
    assert sent
    assert all(message in sealed for message in sent)


def test_a_signed_picture_is_restored_as_one() -> None:
    blob = {"inlineData": {"mimeType": "image/png", "data": "aaaa"}, "thoughtSignature": "c2ln"}
    context = ContextManager("gemini", Budget(window=1000))
    context.add([{"role": "user", "parts": [{"text": "Draw it."}]}, {"role": "model", "parts": [blob]}])
    assert "\n[image/png]\n" in context.run_restore({"message": 1})


SECRET = "ZX-4711"
UNREAD: list[tuple[Any, Entry]] = [
    ("gemini", {"role": "model", "parts": [{"text": SECRET, "thought": True, "thoughtSignature": "c2ln"}]}),
    ("gemini", {"role": "model", "parts": [{"text": "", "thoughtSignature": SECRET}]}),
    ("gemini", {"role": "model", "parts": [{"executableCode": {"code": SECRET}, "thoughtSignature": "c"}]}),
    ("anthropic", {"role": "assistant", "content": [{"type": "redacted_thinking", "data": SECRET}]}),
    (
        "anthropic",
        {"role": "assistant", "content": [{"type": "thinking", "thinking": SECRET, "signature": SECRET}]},
    ),
    ("anthropic", {"role": "assistant", "content": [{"type": "compaction", "content": SECRET}]}),
    ("openai-chat", {"role": "assistant", "content": "", "reasoning_content": SECRET}),
    ("openai-chat", {"role": "assistant", "audio": {"id": SECRET}}),
    ("openai-responses", {"type": "reasoning", "summary": [], "encrypted_content": SECRET}),
    ("openai-responses", {"type": "compaction", "encrypted_content": SECRET}),
]


@pytest.mark.parametrize(("format", "entry"), UNREAD)
def test_what_nobody_may_read_is_not_read(talk_in: Any, format: Any, entry: Entry) -> None:
    context = ContextManager(format, Budget(window=1000))
    context.add([*talk_in(format).user("Go on.").entries, entry])
    assert SECRET not in context.run_restore({"message": 1})
