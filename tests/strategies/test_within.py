"""What a strategy sees within a region, by the public API."""

from __future__ import annotations

from typing import Any

from ctxkit import Budget

LOG = "2031-02-03 01:14 WARN row skipped, column price empty, sheet 3\n" * 60


def within(region: str, strategy: Any) -> dict[str, Any]:
    return {"kind": "within", "region": region, "strategy": strategy}


def test_only_the_region_shrinks_and_to_its_own_target(talk: Any) -> None:
    talk.user(f"Read. {LOG}").step(LOG).step(LOG).step(LOG).assistant("Done.").user("So?")
    budget = Budget(window=9_000, regions={"tool_results": 1_500})
    context = talk.manager(budget, within("tool_results", {"kind": "clear-tool-results", "keep": 0}))
    report = context.compact()
    messages = context.prepare_sync().messages
    assert messages[0] == talk.entries[0]
    assert report.regions["tool_results"].after <= 1_500
    assert sum("cleared" in text for text in talk.results(messages)) == 2


def test_region_under_its_target_is_left_alone(talk: Any) -> None:
    talk.user(f"Read. {LOG}").step(LOG).assistant("Done.").user("So?")
    budget = Budget(window=9_000, aim_for=100, regions={"tool_results": 4_000})
    context = talk.manager(budget, within("tool_results", {"kind": "clear-tool-results", "keep": 0}))
    assert context.compact().edits == ()


def test_failure_inside_is_named_by_the_strategy_that_failed(chat: Any) -> None:
    chat.user("Read.").step(LOG).assistant("Done.").user("So?")
    budget = Budget(window=9_000, aim_for=100)
    context = chat.manager(budget, within("tool_results", {"kind": "clear-tool-results", "keep": 0}))
    (edit,) = context.compact().edits
    assert edit.by == "clear-tool-results"
