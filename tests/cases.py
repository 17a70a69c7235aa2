"""The cases of real bug reports: expanding them, and the checks that they name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ctxkit import Budget, ContextManager
from ctxkit.core.state import Meter
from ctxkit.providers import provider
from ctxkit.tokens import TiktokenCounter
from tests.oracle import violations

SHARED = Path(__file__).resolve().parents[2] / "shared"
COUNTER = TiktokenCounter("cl100k_base")


def load(name: str) -> dict[str, Any]:
    """A case, its long texts written out."""
    found = next((SHARED / "cases").glob(f"{name}-*.json"))
    return expanded(json.loads(found.read_text(encoding="utf-8")))  # type: ignore[no-any-return]


def expanded(value: Any) -> Any:
    """A value with `repeat`, `join` and `json` objects written out, inner ones first."""
    if isinstance(value, list):
        return [expanded(each) for each in value]
    if not isinstance(value, dict):
        return value
    value = {key: expanded(each) for key, each in value.items()}
    match value:
        case {"repeat": text, "times": times} if len(value) == 2:
            return text * times
        case {"join": parts} if len(value) == 1:
            return "".join(parts)
        case {"json": inner} if len(value) == 1:
            return json.dumps(inner, separators=(",", ":"), ensure_ascii=False)
        case _:
            return value


def manager(case: dict[str, Any], strategy: Any, window: int | None = None, **budget: Any) -> ContextManager:
    """A manager for a case: its format, its budget, the counter that its sizes were chosen with."""
    limit = window if window is not None else case["budget"]["tokens"]
    return ContextManager(case["format"], Budget(window=limit, **budget), strategy, counter=COUNTER)


def tokens(case: dict[str, Any], *messages: dict[str, Any]) -> int:
    """Size of messages by the product's own weights."""
    return sum(map(Meter(provider(case["format"]), COUNTER.count).entry, messages))


def assert_valid(case: dict[str, Any], messages: list[dict[str, Any]]) -> None:
    """No wire rule is broken, by the oracle and by the product."""
    system = case.get("setup", {}).get("system")
    assert violations(case["format"], messages, system) == []
    assert provider(case["format"]).violations(messages, system=system) == []


def assert_order(case: dict[str, Any], messages: list[dict[str, Any]]) -> None:
    """Kept messages are in input order."""
    said = iter(case["input"])
    for message in (each for each in messages if each in case["input"]):
        assert any(message == each for each in said)


def text_of(messages: Any) -> str:
    """All that is written in messages."""
    return json.dumps(messages, ensure_ascii=False)
