"""What sessions for the SDK may be set up with: arguments, config files, and what is said of those that are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ctxkit import ConfigError, MemoryStore
from ctxkit.openai_agents import CtxkitSession, SummarizingSession, TrimmingSession

TURNS = [
    {"role": "user", "content": "Where is the order W5362037?"},
    {"role": "assistant", "content": "It was shipped on Monday."},
]


def test_another_format_is_refused_with_the_reason() -> None:
    with pytest.raises(
        ConfigError, match="items of the Agents SDK are of the format openai-responses"
    ) as raised:
        CtxkitSession("chat", budget={"window": 8_000}, format="anthropic")
    assert raised.value.path == "format"
    assert CtxkitSession("chat", budget={"window": 8_000}, format="openai-responses").session_id == "chat"


@pytest.mark.parametrize("turns", [0, -1, True, None, "3"])
def test_a_number_of_turns_that_is_none_is_named_by_its_argument(turns: Any) -> None:
    with pytest.raises(ConfigError, match=r"^max_turns: a number of turns is 1 or more, not ") as raised:
        TrimmingSession("chat", max_turns=turns)
    assert raised.value.path == "max_turns"


@pytest.mark.parametrize("preset", [TrimmingSession, SummarizingSession])
def test_a_store_in_the_place_of_a_number_is_told_where_it_goes(preset: type[Any]) -> None:
    with pytest.raises(ConfigError, match=r"a store is given by its name, store='sqlite:f.db'"):
        preset("chat", "sqlite:f.db")


@pytest.mark.parametrize("preset", [TrimmingSession, SummarizingSession])
def test_a_preset_has_its_own_strategy(preset: type[Any]) -> None:
    with pytest.raises(ConfigError, match="CtxkitSession is the one that takes any") as raised:
        preset("chat", strategy="hybrid")
    assert raised.value.path == "strategy"


async def test_the_report_of_a_preset_names_no_limit_that_is_none() -> None:
    session = TrimmingSession("chat", max_turns=3)
    await session.add_items(TURNS)
    await session.get_items()
    report = (await session.opened()).report
    assert report is not None
    assert "tokens; nothing to do" in str(report)
    assert " of " not in str(report)
    limited = CtxkitSession("chat", budget={"window": 8_000})
    await limited.add_items(TURNS)
    await limited.get_items()
    assert " of 8,000 tokens; nothing to do" in str((await limited.opened()).report)


CONFIG = """
store = "sqlite:chats.db"
strategy = "drop-oldest"

[budget]
window = 8_000
reply = 1_000
"""


async def test_a_config_file_has_what_a_session_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ctxkit.toml").write_text(CONFIG, encoding="utf-8")
    async with CtxkitSession.from_config("chat", "ctxkit.toml") as session:
        await session.add_items(TURNS)
        prepared = (await session.opened()).preparation
        assert (prepared.budget.limit, prepared.strategy.kind) == (7_000, "drop-oldest")
    assert (tmp_path / "chats.db").exists()
    async with CtxkitSession.from_config("chat", "ctxkit.toml", strategy="hybrid") as session:
        assert await session.get_items() == TURNS
        assert (await session.opened()).preparation.strategy.kind == "hybrid"
    elsewhere = CtxkitSession.from_config("chat", "ctxkit.toml", MemoryStore())
    assert await elsewhere.get_items() == []


async def test_a_preset_takes_a_config_that_leaves_it_its_strategy() -> None:
    config: dict[str, Any] = {"budget": {"window": 8_000}, "repair": True}
    session = TrimmingSession.from_config("chat", config, max_turns=1)
    await session.add_items([*TURNS, *TURNS])
    assert await session.get_items() == TURNS
    assert (await session.opened()).preparation.budget.limit == 8_000
    with pytest.raises(ConfigError, match="this session has its own"):
        TrimmingSession.from_config("chat", {**config, "strategy": "drop-oldest"})
    with pytest.raises(ConfigError, match="format openai-responses"):
        CtxkitSession.from_config("chat", {**config, "format": "openai-chat"})


@pytest.mark.parametrize("store", ["sqlite://chats.db", "mysql://host/chats", 5])
def test_a_store_that_is_none_is_told_when_the_session_is_made(store: Any) -> None:
    with pytest.raises(ConfigError) as raised:
        CtxkitSession("chat", store, budget={"window": 4_000})
    assert raised.value.path == "store"
