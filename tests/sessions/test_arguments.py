"""What cannot be right is refused in an error of ctxkit's that names it, and nothing is written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from ctxkit import (
    ConfigError,
    ConversationError,
    CtxkitError,
    MemoryStore,
    Retention,
    Session,
    UnknownHandleError,
    sweep,
)
from ctxkit.sessions.stores.sqlite import SQLiteStore

SETTINGS: dict[str, Any] = {"format": "openai-chat", "budget": {"window": 4_000, "reply": 200}}
FUNCTION = {"name": "f", "arguments": "{}"}
MESSAGES = [
    {"role": "user", "content": "Hi"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": FUNCTION}],
    },
]
Call = Callable[[Any], Awaitable[Any]]


async def _retained(session: Any, days: Any) -> None:
    await sweep(session.store, Retention(days=days))


WRONG: dict[str, tuple[type[CtxkitError], str, Call]] = {
    "request of a text": (ConversationError, "no request at position 'x'", lambda s: s.request("x")),
    "request of nothing": (ConversationError, "no request at position None", lambda s: s.request(None)),
    "request of a list": (ConversationError, r"no request at position \[\]", lambda s: s.request([])),
    "request of true": (ConversationError, "no request at position True", lambda s: s.request(True)),
    "request of a part": (ConversationError, "no request at position 1.5", lambda s: s.request(1.5)),
    "diff of texts": (ConversationError, "no request at position 'a'", lambda s: s.diff("a", "b")),
    "why of nothing": (ConfigError, "wanted: .* not None", lambda s: s.why(None)),
    "why of a part": (ConfigError, r"wanted: .* not 1\.5", lambda s: s.why(1.5)),
    "why of true": (ConfigError, "wanted: .* not True", lambda s: s.why(True)),
    "why of bytes": (ConfigError, "wanted: .* not b'x'", lambda s: s.why(b"x")),
    "original of a list": (UnknownHandleError, r"handle \[\]", lambda s: s.original([])),
    "original of nothing": (UnknownHandleError, "handle None", lambda s: s.original(None)),
    "child of a number": (ConfigError, "session: .* not 5", lambda s: s.child(5)),
    "purpose": (ConfigError, "purpose: .* not <object", lambda s: s.child("c", purpose=object())),
    "no purpose": (ConfigError, "purpose: .* not None", lambda s: s.child("c", purpose=None)),
    "handoff to": (ConfigError, "to: .* not <object", lambda s: s.handoff(to=object())),
    "handoff summary": (ConfigError, "summary: .* not 5", lambda s: s.handoff(summary=5)),
    "handoff tail": (ConfigError, "tail: .* not '2'", lambda s: s.handoff(tail="2")),
    "returned of a number": (ConversationError, "has no child 5", lambda s: s.returned(5, MESSAGES[:1])),
    "returned of a list": (ConversationError, r"has no child \[\]", lambda s: s.returned([], MESSAGES[:1])),
    "now of a text": (ConfigError, "now: .* not 'x'", lambda s: sweep(s.store, now="x")),
    "now that is none": (ConfigError, "now: .* not nan", lambda s: sweep(s.store, now=float("nan"))),
    "many days": (ConfigError, "days: .* not 10000", lambda s: _retained(s, 10**400)),
    "store": (ConfigError, "store: .* int has no append", lambda s: Session.open("x", 5, **SETTINGS)),
    "no store": (ConfigError, "store: .* NoneType", lambda s: Session.open("x", None, **SETTINGS)),
    "a key of a list": (ConfigError, r"key: .* not \['a'\]", lambda s: s.add(MESSAGES[:1], key=["a"])),
    "a key of a number": (ConfigError, "key: .* not 7", lambda s: s.add(MESSAGES[:1], key=7)),
    "no key": (ConfigError, "key: .* not None", lambda s: s.add(MESSAGES[:1], key=None)),
    "a reply's key": (ConfigError, "key: .* not 7", lambda s: s.reply(MESSAGES[:1], key=7)),
}


@pytest.mark.parametrize(("kind", "told", "call"), WRONG.values(), ids=WRONG)
async def test_it_is_refused(kind: type[CtxkitError], told: str, call: Call) -> None:
    session = await Session.open("s", MemoryStore(), **SETTINGS)
    await session.add(MESSAGES)
    position = session.position
    with pytest.raises(kind, match=told):
        await call(session)
    assert session.position == position
    assert [each.id for each in await session.store.sessions()] == ["s"]


async def test_a_key_may_have_any_characters() -> None:
    session = await Session.open("s", MemoryStore(), **SETTINGS)
    for key in ("\ud800", "患者", "\x00"):
        for _ in range(2):
            await session.add(MESSAGES[:1], key=key)
    assert len(session.messages) == 3


async def test_a_key_of_an_answer_is_none_of_what_is_added() -> None:
    session = await Session.open("s", MemoryStore(), **SETTINGS)
    await session.add(MESSAGES[:1], key="reply 7")
    turn = await session.reply({"role": "assistant", "content": "Done."}, key="7")
    await turn.delivered()
    assert [entry["content"] for entry in session.messages] == [MESSAGES[0]["content"], "Done."]


async def test_a_session_that_cannot_be_opened_leaves_no_store_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"sqlite:{tmp_path / 'sessions.db'}"
    async with await Session.open("s", address, **SETTINGS) as session:
        await session.add(MESSAGES)
    closed: list[SQLiteStore] = []

    async def close(store: SQLiteStore, close: Any = SQLiteStore.close) -> None:
        closed.append(store)
        await close(store)

    monkeypatch.setattr(SQLiteStore, "close", close)
    with pytest.raises(ConfigError, match="holds messages of the format"):
        await Session.open("s", address, **{**SETTINGS, "format": "gemini"})
    assert len(closed) == 1
    async with SQLiteStore(tmp_path / "sessions.db") as store:
        with pytest.raises(ConfigError):
            await Session.open("s", store, **{**SETTINGS, "format": "gemini"})
        assert len(closed) == 1  # one that was given stays as it is
        assert await store.read("s")


async def test_days_without_end_keep_everything() -> None:
    session = await Session.open("s", MemoryStore(), **SETTINGS)
    await session.add(MESSAGES)
    assert (await sweep(session.store, Retention(days=float("inf")), 10.0**12)).retained == []
