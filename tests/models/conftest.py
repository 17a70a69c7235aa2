"""Models whose pauses take no time, and settings for a scripted server."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from ctxkit.models.models import Models
from ctxkit.models.question import Question
from ctxkit.models.settings import ModelSettings
from tests.servers.failing import Server

Api = Literal["chat", "responses"]


class Clock:
    """A clock that moves only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def models(self, ask: Any = None) -> Models:
        """Models that go by this clock."""
        return Models(ask, clock=self, sleep=self.sleep)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["chat", "responses"])
def api(request: pytest.FixtureRequest) -> Api:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


def settings(server: Server, api: Api = "chat", **fields: Any) -> ModelSettings:
    """A model behind a scripted server."""
    return ModelSettings(name="small", api=api, base_url=server.base_url, **fields)


def question(text: str = "What was said?", **fields: Any) -> Question:
    """A question."""
    return Question("Summarize.", text, 300, **fields)
