"""Budgets: limits, marks, regions, presets."""

from types import MappingProxyType
from typing import Any

import pytest

from ctxkit import Budget, ConfigError, ContextManager
from ctxkit.core.budget import AIM_FLOOR


def test_the_limit_is_the_window_less_the_reply() -> None:
    budget = Budget(window=8_000, reply=1_000)
    assert (budget.limit, budget.start, budget.target(0), budget.least_gain) == (
        7_000,
        7_000,
        1_500 + 2_500,  # 75 % of the first 2,000 and half of the other 5,000
        350,
    )
    assert budget.target(held=2_000) == 2_000 + 1_500 + 1_500
    assert budget.target(held=6_000) == 6_000 + 750
    assert budget.target(held=6_900) == 7_000
    assert budget.target(held=6_760) == 6_760 + AIM_FLOOR


def test_marks_may_be_given() -> None:
    budget = Budget(window=8_000, compact_at=6_000, aim_for=2_000, min_gain=10)
    assert (budget.start, budget.target(held=5_000), budget.least_gain) == (6_000, 2_000, 10)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"window": 0}, "window"),
        ({"window": 100, "reply": 100}, "smaller than window"),
        ({"window": 100, "compact_at": 200}, "compact_at"),
        ({"window": 100, "aim_for": 200}, "aim_for"),
        ({"window": 100, "regions": {"recent": {"max": 80, "min": 90}}}, "min"),
        (
            {"window": 100, "regions": {"a": {"max": 99, "min": 60}, "b": {"max": 99, "min": 60}}},
            "add up to 120",
        ),
        ({"window": 100, "regions": {"recent": 1.5}}, "recent"),
        ({"window": 100, "regions": {"": 50}}, "regions: a region needs a name"),
        ({"window": 100, "regions": {" ": {"max": 50}}}, "regions: a region needs a name"),
        ({"window": 100, "windw": 5}, "windw"),
        ({"window": "many"}, "window"),
        ({"window": "8000"}, "window"),
        ({"window": 8000, "reply": True}, "reply"),
        ({"window": 100, "regions": {"recent": {"max": "80"}}}, "recent.max"),
        ({"window": 100, "regions": {"recent": {"max": 80, "min": "8"}}}, "recent.min"),
        ({"window": 100, "regions": {"recent": {"max": 80, "min": 8.5}}}, "recent.min"),
        ({"window": 100, "regions": {"recent": {"max": 80, "min": -1.0}}}, "recent.min"),
        ({"window": 100, "regions": {"recent": {"max": 80, "priority": float("inf")}}}, "recent.priority"),
    ],
)
def test_budgets_that_cannot_be_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Budget(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"compact_at": 9_000, "aim_for": 8_500},
            "compact_at (9000) is above window less reply (8000); aim_for (8500) is above where compaction starts (8000)",
        ),
        ({"compact_at": 9_000, "aim_for": 8_000}, "compact_at (9000) is above window less reply (8000)"),
        (
            {"aim_for": 8_001, "regions": {"a": {"max": 9, "min": 10}, "b": {"max": 8_001, "min": 8_001}}},
            "the minimums of the regions add up to 8011, more than 8000; region 'a': min (10) is above max (9); "
            "aim_for (8001) is above where compaction starts (8000)",
        ),
    ],
)
def test_every_contradiction_is_told_at_once(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Budget(window=9_000, reply=1_000, **settings)
    assert str(caught.value) == said


def test_regions_are_tokens_or_shares_and_lend_to_recent_what_they_leave_unused() -> None:
    budget = Budget(window=1_000, regions={"recent": 400, "tool_results": 0.2, "summary": {"max": 100}})
    used = {"recent": 900, "tool_results": 50, "summary": 300}
    assert budget.caps(used) == {"recent": 400 + 150, "tool_results": 200, "summary": 100}


def test_regions_may_be_any_mapping() -> None:
    regions = MappingProxyType({"recent": MappingProxyType({"max": 300, "min": 20}), "system": 0.2})
    as_dicts = Budget(window=1_000, regions={"recent": {"max": 300, "min": 20}, "system": 0.2})  # type: ignore[dict-item]
    assert Budget(window=1_000, regions=regions) == as_dicts  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("profil", "profile"),
        ("profiles", "profile"),
        ("profiel", "profile"),
        ("tool_result", "tool_results"),
        ("tool-results", "tool_results"),
        ("toolResults", "tool_results"),
        ("sytem", "system"),
        ("sysetm", "system"),
        ("Recent", "recent"),
        ("RECENT", "recent"),
        ("SUMMARY", "summary"),
        ("recents", "recent"),
        ("recemt", "recent"),
        ("ecent", "recent"),
        ("ercent", "recent"),
        ("recent ", "recent"),
    ],
)
def test_a_slip_in_the_name_of_a_region_is_refused(name: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=rf"did you mean the built-in region {meant}\?") as caught:
        Budget(window=1_000, regions={name: 200, "recent": 300})  # type: ignore[dict-item]
    assert caught.value.path == f"regions.{name}"


@pytest.mark.parametrize(
    "name",
    [
        "notes",
        "memories",
        "retrieved",
        "tools",
        "files",
        "persons",
        "history",
        "summary_2",
        "recent_a",
        "recent2",
        "my system",
        "mysystem",
        "decent",
        "tool_result_docs",
        "percentage",
        "s",
    ],
)
def test_a_region_may_have_a_name_of_its_own(name: str) -> None:
    assert set(Budget(window=1_000, regions={name: 200}).regions) == {name}  # type: ignore[dict-item]


def test_whole_numbers_of_a_region_may_be_written_with_a_point() -> None:
    regions = {"recent": {"max": 80, "min": 8.0, "priority": -1.0}}
    region = Budget(window=100, regions=regions).regions["recent"]  # type: ignore[arg-type]
    assert (region.max, region.min, region.priority) == (80, 8, -1)
    assert type(region.min) is type(region.priority) is int


def test_the_first_configuration_of_the_design_is_right() -> None:
    regions = {"system": 500, "profile": 300, "summary": 800, "recent": 2000, "tool_results": 500}
    budget = Budget(window=sum(regions.values()) + 1000, reply=1000, regions=regions)  # type: ignore[arg-type]
    assert budget.limit == 4100
    assert Budget.model_validate(budget.model_dump()) == budget


def test_a_preset_gives_window_and_reply() -> None:
    budget = Budget.for_model("gpt-5")
    assert (budget.limit, budget.reply) == (272_000, 128_000)
    assert Budget.for_model("gpt-5-2025-08-07", reply=200_000).limit == 200_000
    with pytest.raises(ConfigError, match="gpt-5"):
        Budget.for_model("gtp-5")


def test_marks_derived_from_prices() -> None:
    budget = Budget.for_model("gpt-5", kept_tokens=20_000, new_tokens=500)
    # sqrt(2 * 500 * 20,000 * (1.25 / 0.125 - 1)) = 13,416.4
    assert (budget.target(0), budget.start) == (20_000, 33_416)


def test_scaling_tightens_every_limit() -> None:
    budget = Budget(window=3_000, reply=1_000, compact_at=1_600, aim_for=800).scaled(2.0)
    assert (budget.limit, budget.start, budget.target(0), budget.reply) == (1_000, 800, 400, 1_000)


@pytest.mark.parametrize("minimum", [0, 30, 60])
@pytest.mark.parametrize("kind", ["drop-oldest", "sliding-window", "extractive-summary", "hybrid"])
def test_nothing_takes_the_newest_items_of_a_region_up_to_its_minimum(kind: str, minimum: int) -> None:
    strategy = {"kind": kind, **({"keep_turns": 3} if kind == "sliding-window" else {})}
    documents = [{"role": "user", "content": f"Page {page}. " + "It rains. " * 6} for page in range(4)]
    budget = Budget(window=500, regions={"retrieved": {"max": 100, "min": minimum}})  # type: ignore[dict-item]
    context = ContextManager("openai-chat", budget, strategy)
    context.add({"role": "user", "content": "Begin."})
    context.add(documents, region="retrieved")
    for turn in range(12):
        context.add([{"role": "assistant", "content": f"Answer {turn}. " + "It is dry. " * 8}])
        context.add({"role": "user", "content": f"Question {turn}? " + "It is wet. " * 8})
    view = context._preparation.view(context._history.state)
    sizes = {item.id: item.tokens for item in view.state.items if item.region == "retrieved"}
    assert set(sizes.values()) == {27}
    kept = [1, 2, 3, 4][4 - minimum // 27 :]
    assert [id for id in sizes if id not in {unit.id for unit in view.free()}] == kept
    messages = context.prepare_sync().messages
    assert [page for page in range(4) if documents[page] in messages] == [id - 1 for id in kept]
