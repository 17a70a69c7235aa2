"""An OpenAI-compatible server that answers, or fails to, as a script says."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = [
    "Asked",
    "Server",
    "Step",
    "after",
    "breaks_off",
    "cuts",
    "echoes",
    "fails",
    "filters",
    "hangs",
    "refuses",
    "resets",
    "says",
    "sends",
    "serving",
]


@dataclass(frozen=True)
class Asked:
    """One request: its path below the base URL, its headers in lower case, its JSON."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def api(self) -> str:
        """As in `ModelSettings.api`."""
        return "chat" if self.path == "/chat/completions" else "responses"

    @property
    def said(self) -> Any:
        """The content of its last message."""
        return self.body["messages" if self.api == "chat" else "input"][-1]["content"]


@dataclass
class Server:
    """A running server.

    Attributes:
        base_url: what a client is given.
        requests: what was asked so far.
        stopping: set when the server stops, so that nothing hangs for longer.
    """

    script: tuple[Step, ...]
    base_url: str = ""
    requests: list[Asked] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def next_step(self, asked: Asked) -> Step:
        """Put a request down; what is to be done about it."""
        with self._lock:
            self.requests.append(asked)
            return self.script[min(len(self.requests), len(self.script)) - 1]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _HTTPServer
    asked: Asked

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.asked = Asked(self.path.removeprefix("/v1"), headers, body)
        self.server.ours.next_step(self.asked)(self)

    def send(self, status: int, body: bytes, *, size: int | None = None, **headers: str) -> None:
        """An answer over the wire; `size` is a length to claim instead of the true one."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(body) if size is None else size))
        self.end_headers()
        self.wfile.write(body)

    def send_json(self, value: Any, status: int = 200, **headers: str) -> None:
        self.send(status, json.dumps(value).encode(), content_type="application/json", **headers)

    def reset(self) -> None:
        """End the connection with a TCP reset."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Tests need no access log."""


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = True
    ours: Server

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is what many a script is about."""


Step = Callable[[_Handler], None]
"""What is done about one request."""


@contextmanager
def serving(*script: Step) -> Iterator[Server]:
    """A server that does what the script says, step by step, until the block ends."""
    ours = Server(script)
    with _HTTPServer(("127.0.0.1", 0), _Handler) as http:
        http.ours = ours
        ours.base_url = f"http://127.0.0.1:{http.server_address[1]}/v1"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield ours
        finally:
            ours.stopping.set()
            http.shutdown()
            thread.join()


# Answers


def says(text: str, *, tokens: tuple[int, int, int] = (120, 0, 30)) -> Step:
    """A good answer; `tokens` are the input, the cached part of it, and the output."""
    return lambda handler: handler.send_json(_answer(handler.asked, text, tokens))


def echoes() -> Step:
    """What was asked comes back as the answer."""
    return lambda handler: handler.send_json(_answer(handler.asked, handler.asked.said))


def cuts(text: str) -> Step:
    """An answer that ended at the limit of tokens."""
    return lambda handler: handler.send_json(
        _answer(handler.asked, text, finish="length", reason="max_output_tokens")
    )


def filters(text: str) -> Step:
    """An answer that a content filter ended."""
    return lambda handler: handler.send_json(
        _answer(handler.asked, text, finish="content_filter", reason="content_filter")
    )


def refuses(why: str) -> Step:
    """A refusal, in the field that is there for it."""
    return lambda handler: handler.send_json(_answer(handler.asked, "", refusal=why))


def sends(body: str, *, content_type: str = "application/json", status: int = 200) -> Step:
    """Any body at all."""
    return lambda handler: handler.send(status, body.encode(), content_type=content_type)


# Failures


def fails(status: int, message: str = "no", *, code: str | None = None, **headers: str) -> Step:
    """An error as providers send them; `retry_after="7"` is a header."""
    error = {"error": {"message": message, "type": "error", "param": None, "code": code}}
    return lambda handler: handler.send_json(error, status, **headers)


def hangs() -> Step:
    """No answer for as long as the server runs."""

    def step(handler: _Handler) -> None:
        handler.server.ours.stopping.wait()
        handler.reset()

    return step


def after(seconds: float, step: Step) -> Step:
    """A step that comes late."""

    def late(handler: _Handler) -> None:
        handler.server.ours.stopping.wait(seconds)
        step(handler)

    return late


def resets() -> Step:
    """The connection is reset before anything is answered."""
    return _Handler.reset


def breaks_off(text: str) -> Step:
    """Half of a good answer, then the connection is closed."""

    def step(handler: _Handler) -> None:
        body = json.dumps(_answer(handler.asked, text)).encode()
        handler.send(200, body[: len(body) // 2], size=len(body), content_type="application/json")
        handler.close_connection = True

    return step


def _answer(
    asked: Asked,
    text: str,
    tokens: tuple[int, int, int] = (120, 0, 30),
    *,
    refusal: str | None = None,
    finish: str = "stop",
    reason: str | None = None,
) -> dict[str, Any]:
    """An answer in the shape of the API that was asked."""
    if asked.api == "chat":
        return _chat(text, tokens, refusal, finish)
    return _responses(text, tokens, refusal, reason)


def _chat(text: str, tokens: tuple[int, int, int], refusal: str | None, finish: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text or None, "refusal": refusal}
    usage = {
        "prompt_tokens": tokens[0],
        "completion_tokens": tokens[2],
        "total_tokens": tokens[0] + tokens[2],
        "prompt_tokens_details": {"cached_tokens": tokens[1]},
    }
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_764_500_000,
        "model": "scripted",
        "choices": [choice],
        "usage": usage,
    }


def _responses(
    text: str, tokens: tuple[int, int, int], refusal: str | None, reason: str | None
) -> dict[str, Any]:
    said = {"type": "output_text", "text": text, "annotations": []}
    part = {"type": "refusal", "refusal": refusal} if refusal else said
    message = {"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}
    usage = {
        "input_tokens": tokens[0],
        "input_tokens_details": {"cached_tokens": tokens[1]},
        "output_tokens": tokens[2],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens[0] + tokens[2],
    }
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_764_500_000,
        "model": "scripted",
        "status": "incomplete" if reason else "completed",
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "output": [{"type": "reasoning", "id": "rs_1", "summary": []}, message],
        "usage": usage,
    }
