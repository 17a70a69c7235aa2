"""Asking a model through the `openai` client, by Chat Completions or Responses."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from ctxkit.models.openai_answers import ChatAnswer, ResponsesAnswer
from ctxkit.models.problems import Problem, problem_of
from ctxkit.models.question import Question
from ctxkit.models.replies import Reply, Send
from ctxkit.models.settings import ModelSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["chat_request", "openai_sender", "responses_request"]

NO_KEY = "no-key-needed"
"""What a local server is given as a key when there is none; the client insists on one."""


def openai_sender(model: ModelSettings) -> Send:
    """What asks a model behind an OpenAI-compatible API: once, within its time, through a client of its own.

    A client a request costs some 50 ms, and needs no care: connections belong to one event loop, and each
    `prepare_sync` has a loop of its own, perhaps in another thread. An async client can be cancelled half-way, where
    a thread could not.
    """

    async def send(question: Question) -> Reply:
        base_url = model.base_url or os.environ.get("OPENAI_BASE_URL") or None
        key = os.environ.get(model.api_key_env, "").strip()
        if not key and base_url and _is_local(base_url):
            key = NO_KEY
        if not key:
            return Reply(problem=_no_key(model), sent=False)
        from openai import AsyncOpenAI

        try:
            async with (
                asyncio.timeout(model.timeout_s),
                AsyncOpenAI(api_key=key, base_url=base_url, max_retries=0, timeout=None) as client,
            ):
                return await _asked(client, question, model)
        except Exception as error:  # noqa: BLE001 - whatever the client raises is a problem to report
            shape = isinstance(error, ValidationError)
            problem = Problem("what came back is no answer of this API") if shape else problem_of(error)
            problem = replace(problem, why=f"{problem.why}{_at(base_url)}")
            return Reply(problem=problem, cause=None if key in f"{error} {error!r}" else error)

    return send


async def _asked(client: AsyncOpenAI, question: Question, model: ModelSettings) -> Reply:
    """The reply by the model's API. The text is read as it came: the client would take a web page for an answer."""
    named: dict[str, Any] = {"model": model.name, "extra_body": model.extra}
    if model.api == "chat":
        request = chat_request(question, limit=_limit_name(str(client.base_url)))
        chat = await client.chat.completions.with_raw_response.create(**named, **request)
        return ChatAnswer.model_validate_json(chat.text).reply()
    request = responses_request(question)
    response = await client.responses.with_raw_response.create(**named, **request)
    return ResponsesAnswer.model_validate_json(response.text).reply(question.max_tokens)


def chat_request(question: Question, *, limit: str = "max_completion_tokens") -> dict[str, Any]:
    """A question as a request of Chat Completions; `limit` is what the API calls the most tokens of an answer."""
    messages = [
        *_system_message(question.system if question.prefix else question.instructions),
        *question.prefix,
        {"role": "user", "content": _said(question)},
    ]
    return {"messages": messages, limit: question.max_tokens, **_tools(question)}


def responses_request(question: Question) -> dict[str, Any]:
    """A question as a request of Responses. The provider is asked not to keep it."""
    instructions = question.system if question.prefix else _encodable(question.instructions)
    return {
        "input": [*question.prefix, {"role": "user", "content": _said(question)}],
        "max_output_tokens": question.max_tokens,
        "store": False,
        **({"instructions": instructions} if instructions else {}),
        **_tools(question),
    }


def _system_message(system: Any) -> list[dict[str, Any]]:
    if isinstance(system, str):
        system = _encodable(system)
    return [{"role": "system", "content": system}] if system else []


def _said(question: Question) -> str:
    """The user message. After the conversation's own request it says what to do, too: the system text is taken."""
    parts = (question.instructions, question.text) if question.prefix else (question.text,)
    return _encodable("\n\n".join(filter(None, parts)))


def _tools(question: Question) -> dict[str, Any]:
    """The conversation's own tools, since they are part of what the cache holds; none is to be called."""
    if not (question.prefix and question.tools):
        return {}
    return {"tools": question.tools, "tool_choice": "none"}


def _encodable(text: str) -> str:
    """A text that can be sent: halves of characters become U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _limit_name(base_url: str) -> str:
    """OpenAI's newer models refuse `max_tokens`; many compatible servers know no other name."""
    host = urlsplit(base_url).hostname or ""
    ours = host.endswith((".openai.com", ".azure.com"))
    return "max_completion_tokens" if ours else "max_tokens"


def _at(base_url: str | None) -> str:
    """Which address was asked, without what of it may be a secret: a user, a password, a query; "" for the client's own."""
    address = urlsplit(base_url or "")
    place = address.netloc.rpartition("@")[2]
    return f" at {address.scheme}://{place}{address.path}" if place else ""


def _is_local(base_url: str) -> bool:
    """Whether an address is on this machine or in its own network, where servers often want no key."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".localhost", ".internal"))


def _no_key(model: ModelSettings) -> Problem:
    """A name that is not in capitals is not repeated: some keys look like one."""
    named = model.api_key_env if model.api_key_env.isupper() else "that api_key_env names"
    return Problem(
        f"there is no key: set the environment variable {named}, or name another in api_key_env",
        lasting=False,
    )
