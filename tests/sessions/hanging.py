"""A worker whose compaction in the background never ends: `python -m tests.sessions.hanging sqlite:/tmp/sessions.db`.

It says so when it is at it, and goes on until it is killed.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Literal

from ctxkit import Budget, Plan, Services, Session, View
from ctxkit.strategy import CompressionStrategy

__all__ = ["SESSION", "SETTINGS", "said"]

SESSION = "hanging"
SETTINGS: dict[str, Any] = {
    "format": "openai-chat",
    "budget": Budget(window=3_000, compact_at=600, min_gain=0),
    "background": True,
}


def said(number: int) -> list[dict[str, Any]]:
    """A question and its answer, 50 tokens or so."""
    return [{"role": role, "content": f"{role} {number}: " + "word " * 20} for role in ("user", "assistant")]


class Hanging(CompressionStrategy):
    """Has no plan, ever."""

    kind: Literal["hanging"] = "hanging"

    async def plan(self, view: View, services: Services) -> Plan:
        print("compacting", flush=True)
        return await asyncio.Future()


async def _hang(address: str) -> None:
    session = await Session.open(SESSION, address, strategy=Hanging(), **SETTINGS)
    await session.add([entry for number in range(16) for entry in said(number)])
    await session.prepare()
    await session.settled()


if __name__ == "__main__":
    asyncio.run(_hang(sys.argv[1]))
