"""Writes logs as today's ctxkit does, to be read by every later one: `python -m tests.sessions.old_log`.

To be run once for each version of the record format, before that version is released; never for an older one.
"""

from __future__ import annotations

import asyncio
import json
from itertools import count
from pathlib import Path
from typing import Any, Literal

from ctxkit import Budget, MemoryStore, Plan, Services, Session, View
from ctxkit.sessions.records import VERSION
from ctxkit.strategy import CompressionStrategy

__all__ = ["DATA", "SETTINGS", "told"]

DATA = Path(__file__).parent / "data"
SETTINGS: dict[str, Any] = {
    "format": "openai-chat",
    "budget": Budget(window=700, reply=100, min_gain=0),
    "strategy": "hybrid",
}
TOOLS = [{"type": "function", "function": {"name": "get_order", "parameters": {}}}]


class Failing(CompressionStrategy):
    """Cannot do it."""

    kind: Literal["failing"] = "failing"

    async def plan(self, view: View, services: Services) -> Plan:
        raise ValueError("not today")


async def told(session: Session) -> dict[str, Any]:
    """What a session is, by all that can be asked of it, as JSON."""
    requests = [each.position for each in await session.requests() if each.recorded][-2:]
    handles = sorted(session._history.archive.kept)
    return {
        "position": session.position,
        "messages": session.messages,
        "facts": [fact.line for fact in session._history.state.facts],
        "pins": sorted(pin.unit for pin in session._history.state.pins),
        "names": session.names,
        "drafts": [each.id for each in session.undelivered()],
        "open_calls": [each.call.id for each in session.open_calls()],
        "children": [[each.id, each.purpose, each.returned] for each in session.children],
        "parent": session._log.book.parent,
        "undoable": len(session._history.undoable),
        "past": [[past.number, len(past.failures)] for past in session._history.archive.past],
        "requests": {str(position): (await session.request(position)).messages for position in requests},
        "originals": {handle: await session.original(handle) for handle in handles},
    }


async def write() -> None:
    """Sessions that have every kind of record together."""
    store, clock = MemoryStore(), count(1_780_000_000)
    settings = {**SETTINGS, "clock": lambda: float(next(clock))}
    desk = await Session.open("desk", store, **settings)
    await _talk(desk)
    await _work_with_others(desk)
    await _go_back(desk)
    await desk.fork("fork", at="before")
    for id in ("cleared", "retained"):
        session = await Session.open(id, store, **settings)
        await session.add({"role": "user", "content": "to be taken out"})
        await session.remember("city", "Bergen")
        await session.child(f"{id}/child", purpose="to be taken out, too")
        await (session.clear() if id == "cleared" else session.retain_structure())
        await session.add({"role": "user", "content": "and on it goes"})
    folder = DATA / f"v{VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    expected = {}
    for id in ("desk", "fork", "child", "cleared", "retained"):
        bodies = await store.read(id)
        (folder / f"{id}.jsonl").write_bytes(b"\n".join(bodies) + b"\n")
        expected[id] = await told(await Session.open(id, store, **SETTINGS))
    text = json.dumps(expected, ensure_ascii=False, indent=1)
    (folder / "expected.json").write_text(text + "\n", encoding="utf-8")


async def _talk(session: Session) -> None:
    """Turns with calls, requests, and compactions, one of which failed."""
    await session.add({"role": "system", "content": "You keep the books. 你管账。"})
    for number in range(8):
        await _turn(session, number)
        await session.prepare(tools=TOOLS)
    session.use(Failing())
    await session.compact()
    session.use("hybrid")


async def _go_back(session: Session) -> None:
    """Undo, rollback, and messages that are taken back."""
    await session.undo()
    await session.redo()
    await session.add({"role": "user", "content": "to be taken back with what was named"})
    await session.name("before")
    await session.pop()
    await session.remember("city", "Bergen")
    await session.forget("diet")
    await session.rollback("before")
    await session.add({"role": "user", "content": "to be taken back"})
    await session.pop()
    await session.compact()


async def _work_with_others(session: Session) -> None:
    """Answers that are delivered or not, a child, a handoff, calls that wait."""
    await session.reply({"role": "assistant", "content": "not delivered"}, key="draft-1")
    await (await session.reply({"role": "assistant", "content": "delivered"}, key="draft-2")).delivered()
    await (await session.reply({"role": "assistant", "content": "discarded"}, key="draft-3")).discard()
    child = await session.child("child", purpose="count the orders")
    await child.add({"role": "user", "content": "Count the orders."})
    await child.finish({"role": "assistant", "content": "There are 8."})
    await session.child("child-2")
    await session.handoff(to="billing", tail=1)
    await session.add([{"role": "user", "content": "And the others?"}, _call(98, 99)])
    await session.close_call("call_98", "given up")


def _call(*numbers: int) -> dict[str, Any]:
    functions = [
        (number, {"name": "get_order", "arguments": f'{{"id": "W{number:07}"}}'}) for number in numbers
    ]
    calls = [{"id": f"call_{number}", "type": "function", "function": each} for number, each in functions]
    return {"role": "assistant", "content": None, "tool_calls": calls}


async def _turn(session: Session, number: int) -> None:
    if number == 2:
        await session.remember("diet", "no nuts")
    await session.add(
        {"role": "user", "content": f"Where is order W{number:07}? 我对花生过敏。"}, author="Ann"
    )
    await session.add(_call(number))
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
