"""Real bug reports of peers, through the public API: the situation of each, and what must hold."""

from __future__ import annotations

import json
import unicodedata
from copy import deepcopy
from itertools import pairwise
from typing import Any

import pytest
import regex

from ctxkit import Budget, BudgetExceededError, ContextManager, MemoryStore, Session
from ctxkit.registry import installed, strategy_of
from tests.cases import COUNTER, SHARED, assert_order, assert_valid, load, manager, text_of, tokens

pytestmark = pytest.mark.skipif(not (SHARED / "cases").exists(), reason="the cases are not here")

OLDEST = "drop-oldest"


def _trimmed(name: str, strategy: Any = OLDEST) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A case and the messages after its budget was applied; valid, in order, within budget, input untouched."""
    case = load(name)
    before = deepcopy(case["input"])
    context = manager(case, strategy, min_gain=0)
    context.add(case["input"], system=case.get("setup", {}).get("system"))
    request = context.prepare_sync()
    assert case["input"] == before
    assert_valid(case, request.messages)
    assert_order(case, request.messages)
    assert tokens(case, *request.messages) <= case["budget"]["tokens"]
    return case, request.messages


def test_001_a_cut_never_leaves_an_answer_without_its_call() -> None:
    case, messages = _trimmed("001")
    assert case["input"][0] in messages
    assert messages[-1] == case["input"][5]


def test_002_each_of_parallel_calls_goes_with_its_own_result() -> None:
    case, messages = _trimmed("002")
    for call_id in ("call_flatA", "call_flatB"):
        kinds = sorted(each["type"] for each in messages if each.get("call_id") == call_id)
        assert kinds in ([], ["function_call", "function_call_output"])
    assert messages[-1] == case["input"][6]


def test_003_a_call_that_waits_for_approval_survives_compaction() -> None:
    case = load("003")
    context = manager(case, {"kind": "sliding-window", "keep_turns": 2}, window=4000)
    context.add(case["input"][:8], waiting=case["setup"]["open_calls"])
    context.compact()
    context.add(case["input"][8])
    messages = context.prepare_sync().messages
    assert_valid(case, messages)
    at = messages.index(case["input"][1])
    assert messages[at + 1] == case["input"][8]
    assert text_of(messages).count('"appr-1"') == 2
    assert text_of(messages).count("Put one glass in a new basket") == 1


def test_004_reasoning_stays_with_the_item_after_it() -> None:
    case, messages = _trimmed("004")
    said = case["input"]
    for at, item in enumerate(messages):
        if item.get("type") == "reasoning":
            assert messages[at + 1] == said[said.index(item) + 1]
    for at in (2, 5, 8):
        if said[at] in messages:
            assert messages[messages.index(said[at]) - 1] == said[at - 1]
    assert messages[-1] == said[11]


def test_005_system_text_survives_a_turn_window_and_is_no_turn() -> None:
    case = load("005")
    said = case["input"]
    window = {"kind": "sliding-window", "keep_turns": 2}
    context = manager(case, window, window=4000)
    context.add(said)
    context.compact()
    messages = context.prepare_sync().messages
    assert messages == [said[0], said[1], said[8], said[9], said[10]]
    again = manager(case, window, window=4000)
    again.add(messages)
    again.compact()
    assert again.prepare_sync().messages == messages


def test_006_the_question_is_kept_through_a_tool_loop() -> None:
    case, messages = _trimmed("006")
    said = case["input"]
    assert messages[0] == said[0]
    assert said[3] in messages
    assert messages[-2:] == said[14:]
    assert "end of weather log." in text_of(messages)


def test_007_a_last_message_over_the_budget_is_said_with_figures() -> None:
    case = load("007")
    context = manager(case, {"kind": "hybrid", "steps": [OLDEST]})
    context.add(case["input"])
    with pytest.raises(BudgetExceededError) as raised:
        context.prepare_sync()
    assert raised.value.limit == 1000
    assert raised.value.needed > tokens(case, case["input"][3]) > 1000
    assert any("messages[3]" in line for line in raised.value.fixed)
    assert [context.explain()[at].fate for at in range(4)] == ["pinned", "present", "present", "pinned"]


def test_009_what_cannot_shrink_is_named_each_time_and_nothing_is_lost() -> None:
    case = load("009")
    context = manager(case, "hybrid")
    tools = [{"type": "function", "function": {"name": "ticket", "description": "router ticket " * 180}}]
    for first, last in ((0, 3), (3, 5), (5, 7), (7, 9), (9, 11)):
        context.add(case["input"][first:last])
        with pytest.raises(BudgetExceededError) as raised:
            context.prepare_sync(tools=tools)
        assert raised.value.by_region["system"] > 600
        assert raised.value.by_region["tools"] > 300
        assert "system" in str(raised.value)
        assert "tools" in str(raised.value)
    assert len(context.explain()) == 11


@pytest.mark.parametrize(
    "kind", [each.kind for each in installed() if each.kind not in ("within", "first-that-fits")]
)
def test_014_under_budget_changes_nothing(kind: str) -> None:
    case = load("014")
    before = deepcopy(case["input"])
    context = manager(case, kind)
    context.add(case["input"])
    messages = context.prepare_sync().messages
    assert messages == before
    assert [list(each) for each in messages] == [list(each) for each in before]
    messages[2]["tool_calls"][0]["function"]["name"] = "changed"
    assert case["input"] == before
    assert context.prepare_sync().messages == before


@pytest.mark.parametrize(
    "kind", [each.kind for each in installed() if each.kind not in ("within", "first-that-fits")]
)
async def test_014_under_budget_changes_nothing_in_a_session_either(kind: str) -> None:
    case, store = load("014"), MemoryStore()
    settings = {
        "format": case["format"],
        "budget": Budget(window=100_000),
        "strategy": kind,
        "counter": COUNTER,
    }
    session = await Session.open("s", store, **settings)
    await session.add(deepcopy(case["input"]))
    assert (await session.prepare()).messages == case["input"]
    assert (await (await Session.open("s", store, **settings)).prepare()).messages == case["input"]


def test_016_special_token_text_is_text() -> None:
    assert 3 <= COUNTER.count("<|endoftext|>") <= 12
    case, messages = _trimmed("016")
    assert 300 <= tokens(case, case["input"][3]) <= 1400
    assert messages[-1] == case["input"][5]


def test_017_an_inline_image_is_not_counted_as_text() -> None:
    case, messages = _trimmed("017")
    first, second = (tokens(case, case["input"][at]) for at in (1, 2))
    assert 50 <= first <= 3500
    assert 0.9 <= first / second <= 1.1
    assert messages == case["input"]


def test_018_shortened_arguments_stay_json() -> None:
    case, messages = _trimmed(
        "018",
        {
            "kind": "hybrid",
            "steps": [{"kind": "trim-tool-results", "max_tokens": 100, "arguments": True}, OLDEST],
        },
    )
    calls = [call for each in messages for call in each.get("tool_calls") or []]
    assert calls, "the call was shortened, not dropped"
    arguments = json.loads(calls[0]["function"]["arguments"])
    assert (arguments["path"], arguments["mode"]) == ("recipes/rye-bread.md", "create")
    assert "left out" in arguments["content"]
    assert messages[0] == case["input"][0]
    assert messages[-1] == case["input"][5]


def test_019_a_cut_lies_between_characters_only() -> None:
    case = load("019")
    original = case["input"][2]["content"][0]["content"][0]["text"]
    clusters = set(regex.findall(r"\X", original))
    for cap in range(5, 61):
        context = manager(case, {"kind": "trim-tool-results", "max_tokens": cap}, window=300, aim_for=1)
        context.add(case["input"], system=case["setup"]["system"])
        context.compact()
        messages = context.prepare_sync().messages if cap < 10**9 else []
        assert_valid(case, messages)
        assert [messages[at] for at in (0, 1, 3, 4)] == [case["input"][at] for at in (0, 1, 3, 4)]
        block = messages[2]["content"][0]
        assert (block["type"], block["tool_use_id"]) == ("tool_result", "tu_g")
        _assert_cut_cleanly(text_of_block(block), original, clusters)


def text_of_block(block: dict[str, Any]) -> str:
    content = block["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _assert_cut_cleanly(text: str, original: str, clusters: set[str]) -> None:
    text.encode("utf-8")
    assert "\ufffd" not in text
    head, _, rest = text.partition("[ctxkit ")
    assert original.startswith(head.rstrip("\n"))
    tail = rest.rpartition("]")[2].lstrip("\n") if rest else ""
    for piece in regex.findall(r"\X", head.rstrip("\n")):
        assert piece in clusters, f"half a character: {piece!r}"
    assert not tail or not unicodedata.combining(tail[0])
    assert not tail.startswith(("\u200d", "\ufe0f"))


def test_024_clearing_is_stable() -> None:
    case = load("024")
    said = case["input"]
    strategy = {"kind": "clear-tool-results", "keep": 3, "clear_at_least": 600}
    context = manager(case, strategy)
    context.add(said[:17], system=case["setup"]["system"])
    lists = []
    for end in (17, 19, 21, 23, 25, 27):
        context.add(said[len(context.explain()) : end])
        messages = context.prepare_sync().messages
        assert_valid(case, messages)
        assert tokens(case, *messages) <= 2200
        assert messages[0] == said[0]
        results = [at for at in range(end) if at and at % 2 == 0]
        assert [messages[at] for at in results[-3:]] == [said[at] for at in results[-3:]]
        assert [messages[at] for at in range(1, end, 2)] == [said[at] for at in range(1, end, 2)]
        lists.append(messages)
    breaks = sum(new[: len(old)] != old for old, new in pairwise(lists))
    assert breaks <= 3
    for old, new in pairwise(lists):
        cleared = [at for at, each in enumerate(old) if each != said[at]]
        assert [new[at] for at in cleared] == [old[at] for at in cleared]
    for each in context.explain():
        if each.handle:
            assert context.original(each.handle) == [said[each.position]]


def test_every_built_in_is_found_by_name() -> None:
    assert isinstance(strategy_of(OLDEST).kind, str)
    assert ContextManager is not None
