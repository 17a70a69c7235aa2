"""Steps for the server of `failing`: a model that answers in Responses as a script says, streamed when it is asked so.

    with serving(answers(call("weather", {"city": "Oslo"}, id="c1")), answers(message("18 degrees."))) as server:
        ...

A request that OpenAI would refuse is refused here too, with status 400 and what the oracle says of it.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from tests.oracle import violations
from tests.servers.failing import Step

__all__ = ["answers", "call", "message", "reasoning"]

_numbers = itertools.count(1)


def message(text: str) -> dict[str, Any]:
    """What the model says."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": "msg", "role": "assistant", "status": "completed", "content": [part]}


def call(name: str, arguments: dict[str, Any], *, id: str) -> dict[str, Any]:
    """A tool that it calls."""
    told = json.dumps(arguments, ensure_ascii=False)
    return {
        "type": "function_call",
        "id": "fc",
        "call_id": id,
        "name": name,
        "arguments": told,
        "status": "completed",
    }


def reasoning() -> dict[str, Any]:
    """What it thought, as far as one is told."""
    return {"type": "reasoning", "id": "rs", "summary": []}


def answers(*output: dict[str, Any]) -> Step:
    """The output of one call of the model."""

    def step(handler: Any) -> None:
        wrong = violations("openai-responses", handler.asked.body["input"])
        if wrong:
            error = {"message": str(wrong[0]), "type": "invalid_request_error", "param": None, "code": None}
            handler.send_json({"error": error}, 400)
            return
        response = _response(output)
        if not handler.asked.body.get("stream"):
            handler.send_json(response)
            return
        lines = (f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in _events(response))
        handler.send(200, "".join(lines).encode(), content_type="text/event-stream")

    return step


def _response(output: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """A whole response; its items have ids as the server gives them, none twice."""
    number = next(_numbers)
    items = [{**item, "id": f"{item['id']}_{number}_{at}"} for at, item in enumerate(output)]
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 110,
    }
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_764_500_000,
        "model": "scripted",
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "output": items,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": usage,
    }


def _events(response: dict[str, Any]) -> Iterator[dict[str, Any]]:
    events = [{"type": "response.created", "response": {**response, "status": "in_progress", "output": []}}]
    for at, item in enumerate(response["output"]):
        events.append({"type": "response.output_item.added", "output_index": at, "item": item})
        events.append({"type": "response.output_item.done", "output_index": at, "item": item})
    events.append({"type": "response.completed", "response": response})
    for number, event in enumerate(events):
        yield {**event, "sequence_number": number}
