"""Writes a log as today's ctxkit does, to be read by every later one: `python -m tests.sessions.old_log`.

To be run once for each version of the record format, before that version is released; never for an older one.
"""

from __future__ import annotations

import asyncio
import json
from itertools import count
from pathlib import Path

from ctxkit import Budget, MemoryStore, Session
from ctxkit.sessions.records import VERSION

DATA = Path(__file__).parent / "data"


async def write() -> None:
    """One log with every kind of record that a session has."""
    store, clock = MemoryStore(), count(1_780_000_000)
    budget = Budget(window=700, reply=100, min_gain=0)
    session = await Session.open(
        "old", store, format="openai-chat", budget=budget, strategy="hybrid", clock=lambda: float(next(clock))
    )
    await session.add({"role": "system", "content": "You keep the books. 你管账。"})
    for number in range(8):
        await _turn(session, number)
        await session.prepare(
            tools=[{"type": "function", "function": {"name": "get_order", "parameters": {}}}]
        )
    await session.name("before")
    await session.undo()
    await session.redo()
    await session.remember("city", "Bergen")
    await session.forget("diet")
    await session.rollback("before")
    await session.add({"role": "user", "content": "to be taken back"})
    await session.pop()
    await session.reply({"role": "assistant", "content": "not delivered"}, key="draft-1")
    turn = await session.reply({"role": "assistant", "content": "delivered"}, key="draft-2")
    await turn.delivered()
    bodies = await store.read("old")
    expected = {
        "messages": session.messages,
        "facts": [fact.line for fact in session._history.state.facts],
        "names": session.names,
        "drafts": [each.id for each in session.undelivered()],
        "undoable": len(session._history.undoable),
    }
    DATA.mkdir(exist_ok=True)
    (DATA / f"v{VERSION}.jsonl").write_bytes(b"\n".join(bodies) + b"\n")
    text = json.dumps(expected, ensure_ascii=False, indent=1)
    (DATA / f"v{VERSION}.expected.json").write_text(text + "\n", encoding="utf-8")


async def _turn(session: Session, number: int) -> None:
    if number == 2:
        await session.remember("diet", "no nuts")
    await session.add({"role": "user", "content": f"Where is order W{number:07}? 我对花生过敏。"})
    function = {"name": "get_order", "arguments": json.dumps({"id": f"W{number:07}"})}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    await session.add({"role": "assistant", "content": None, "tool_calls": [call]})
    found = {
        "id": f"W{number:07}",
        "status": "shipped",
        "total": number * 12.5,
        "note": "left at the door " * 6,
    }
    await session.add({"role": "tool", "tool_call_id": f"call_{number}", "content": json.dumps(found)})
    await session.add({"role": "assistant", "content": f"It was shipped, the total is {number * 12.5}."})
    if number == 5:
        await session.pin(-1)


if __name__ == "__main__":
    asyncio.run(write())
