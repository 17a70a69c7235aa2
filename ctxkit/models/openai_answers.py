"""What OpenAI-compatible APIs answer, read from their JSON: the fields that are needed, and no others.

They are read here rather than by the client's own classes, which take any shape for an answer.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from ctxkit.models.problems import Problem
from ctxkit.models.question import Answer
from ctxkit.models.replies import Reply, reply_of

__all__ = ["ChatAnswer", "ResponsesAnswer"]

REFUSED = Problem("it refused")


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _CachedTokens(BaseModel):
    cached_tokens: int | None = None


class _ChatUsage(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _CachedTokens | None = None


class ChatAnswer(BaseModel):
    """An answer of Chat Completions."""

    choices: list[_Choice] = Field(min_length=1)
    usage: _ChatUsage | None = None

    def reply(self) -> Reply:
        """The reply that it is; complete when the model came to an end by itself."""
        choice, usage = self.choices[0], self.usage or _ChatUsage()
        answer = Answer(
            choice.message.content or "",
            complete=choice.finish_reason == "stop",
            input_tokens=usage.prompt_tokens,
            cached_tokens=_cached(usage.prompt_tokens_details),
            output_tokens=usage.completion_tokens,
        )
        return Reply(answer, REFUSED) if choice.message.refusal else reply_of(answer)


class _Part(BaseModel):
    type: str = ""
    text: str = ""
    refusal: str = ""


class _Output(BaseModel):
    type: str
    content: list[_Part] | None = None


class _Error(BaseModel):
    code: str | None = None


class _ResponsesUsage(BaseModel):
    input_tokens: int = 0
    output_tokens: int = 0
    input_tokens_details: _CachedTokens | None = None


class ResponsesAnswer(BaseModel):
    """An answer of Responses."""

    output: list[_Output]
    status: str | None = None
    error: _Error | None = None
    usage: _ResponsesUsage | None = None

    def reply(self, max_tokens: int) -> Reply:
        """The reply that it is: the text of all its messages.

        It is complete when its status says so and it is shorter than the limit that was asked for: llama.cpp's server
        calls an answer completed that it cut there.
        """
        messages = (item for item in self.output if item.type == "message")
        parts = [part for message in messages for part in message.content or ()]
        usage = self.usage or _ResponsesUsage()
        answer = Answer(
            "".join(part.text for part in parts if part.type == "output_text"),
            complete=self.status == "completed" and usage.output_tokens < max_tokens,
            input_tokens=usage.input_tokens,
            cached_tokens=_cached(usage.input_tokens_details),
            output_tokens=usage.output_tokens,
        )
        problem = self._problem(parts)
        return Reply(answer, problem) if problem else reply_of(answer)

    def _problem(self, parts: list[_Part]) -> Problem | None:
        if self.status == "failed" or self.error is not None:
            code = self.error.code if self.error else None
            transient = code in ("server_error", "rate_limit_exceeded")
            return Problem("its provider says that it failed", transient, lasting=not transient)
        return REFUSED if any(part.type == "refusal" for part in parts) else None


def _cached(details: Any) -> int:
    return (details.cached_tokens or 0) if details is not None else 0
