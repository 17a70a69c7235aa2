"""What a strategy sees within a region, by the public API."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit import Budget, ConfigError, ContextManager

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


@pytest.mark.parametrize(
    ("region", "said"),
    [
        ("tool-results", "did you mean the built-in region tool_results?"),
        ("Recent", "did you mean the built-in region recent?"),
        ("sumary", "did you mean the built-in region summary?"),
        ("tools", "tools are the schemas, of which nothing goes; the results are in tool_results"),
        (" ", "a region needs a name"),
    ],
)
def test_a_region_in_which_nothing_ever_is_is_refused(region: str, said: str) -> None:
    steps = {"kind": "hybrid", "steps": [within(region, "clear-tool-results"), "drop-oldest"]}
    with pytest.raises(ConfigError) as caught:
        ContextManager("openai-chat", Budget(window=900), steps)
    assert caught.value.path == "strategy.steps.0.region"
    assert str(caught.value).startswith(f"strategy.steps.0.region: {said}")


def test_a_region_of_somebodys_own_is_worked_on() -> None:
    budget = Budget(window=9_000, aim_for=100)
    context = ContextManager("openai-chat", budget, within("notes", "drop-oldest"))
    context.add([{"role": "user", "content": LOG[:900]}, {"role": "assistant", "content": "ok"}])
    context.add(
        [{"role": "user", "content": f"note {LOG[:900]}"}, {"role": "assistant", "content": "ok"}],
        region="notes",
    )
    context.add({"role": "user", "content": "So?"})
    (edit,) = context.compact().edits
    assert edit.positions == (2, 3)
