"""Short conversations, written the same way for each format."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ctxkit import Budget, ContextManager, PartKind
from ctxkit.core.provider import Entry
from ctxkit.providers import provider

FORMATS = ("openai-chat", "openai-responses", "anthropic", "gemini")


class Talk:
    """A conversation in one format, and how to run and read it."""

    def __init__(self, format: str) -> None:
        self.format = format
        self.entries: list[Entry] = []
        self._calls = 0

    def user(self, text: str) -> Talk:
        match self.format:
            case "gemini":
                self.entries.append({"role": "user", "parts": [{"text": text}]})
            case _:
                self.entries.append({"role": "user", "content": text})
        return self

    def assistant(self, text: str) -> Talk:
        match self.format:
            case "gemini":
                self.entries.append({"role": "model", "parts": [{"text": text}]})
            case _:
                self.entries.append({"role": "assistant", "content": text})
        return self

    def step(self, result: str, *, name: str = "read", arguments: dict[str, Any] | None = None) -> Talk:
        """A call with its result."""
        self._calls += 1
        id, asked = f"call_{self._calls}", arguments or {}
        match self.format:
            case "openai-chat":
                function = {"name": name, "arguments": json.dumps(asked)}
                call = {"id": id, "type": "function", "function": function}
                self.entries.append({"role": "assistant", "content": None, "tool_calls": [call]})
                self.entries.append({"role": "tool", "tool_call_id": id, "content": result})
            case "openai-responses":
                call = {"type": "function_call", "call_id": id, "name": name, "arguments": json.dumps(asked)}
                self.entries.append(call)
                self.entries.append({"type": "function_call_output", "call_id": id, "output": result})
            case "anthropic":
                use = {"type": "tool_use", "id": id, "name": name, "input": asked}
                answer = {"type": "tool_result", "tool_use_id": id, "content": result}
                self.entries.append({"role": "assistant", "content": [use]})
                self.entries.append({"role": "user", "content": [answer]})
            case "gemini":
                called = {"name": name, "args": asked, "id": id}
                response = {"name": name, "id": id, "response": {"output": result}}
                self.entries.append({"role": "model", "parts": [{"functionCall": called}]})
                self.entries.append({"role": "user", "parts": [{"functionResponse": response}]})
        return self

    def manager(self, budget: Budget, strategy: Any, **settings: Any) -> ContextManager:
        """A strict manager that holds the conversation."""
        context = ContextManager(self.format, budget, strategy, strict=True, **settings)  # type: ignore[arg-type]
        context.add(self.entries)
        return context

    def texts(self, entries: list[Entry], kind: PartKind) -> list[str]:
        """The texts of all parts of a kind."""
        return [
            part.text for entry in entries for part in provider(self.format).parts(entry) if part.kind is kind
        ]  # type: ignore[arg-type]

    def results(self, entries: list[Entry]) -> list[str]:
        """The results as their tools wrote them."""
        return self.texts(entries, PartKind.RESULT)

    def refused(self, entries: list[Entry]) -> list[str]:
        """What the provider would refuse."""
        return [str(each) for each in provider(self.format).violations(entries)]  # type: ignore[arg-type]


@pytest.fixture(params=FORMATS)
def talk(request: pytest.FixtureRequest) -> Talk:
    """An empty conversation, in every format."""
    return Talk(request.param)


@pytest.fixture
def chat() -> Talk:
    """An empty conversation in Chat Completions."""
    return Talk("openai-chat")


@pytest.fixture
def talk_in() -> Callable[[str], Talk]:
    """An empty conversation in a format of one's choice."""
    return Talk
