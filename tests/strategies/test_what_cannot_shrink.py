"""A region over its target because of what cannot shrink: it borrows from the whole, and costs nothing elsewhere."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit import Budget, BudgetExceededError, ContextManager, OpenCallsError, ProviderFormatError
from ctxkit.registry import installed
from ctxkit.testing import Payload
from ctxkit.testing import conversations as payloads
from ctxkit.testing.replay import size
from tests.strategies.scribes import good

README = {"system": 500, "profile": 300, "summary": 800, "recent": 2_000, "tool_results": 500}
PARAMETERS: dict[str, dict[str, Any]] = {
    "first-that-fits": {"steps": [{"kind": "clear-tool-results", "keep": 1}, "drop-oldest"]},
    "within": {"region": "tool_results", "strategy": "drop-oldest"},
    "sliding-window": {"keep_turns": 2},
}
KINDS = [each.kind for each in installed() if not each.error]
BY_COUNT = {"sliding-window", "drop-reasoning", "drop-media"}
"""They take what is old whatever the budget says."""

LARGE = "large " * 900

Entries = list[dict[str, Any]]


def user(text: str) -> Entries:
    return [{"role": "user", "content": text}]


def assistant(text: str) -> Entries:
    return [{"role": "assistant", "content": text}]


def step(id: str, result: str) -> Entries:
    function = {"name": "look_up", "arguments": json.dumps({"at": id})}
    call = {"id": id, "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": id, "content": result},
    ]


@dataclass(frozen=True)
class Drawn:
    """A conversation with an item that is larger than the target of its region, in a pinned turn or as the newest."""

    turns: list[Entries]
    region: str
    cap: int
    at: int
    pinned: bool

    def manager(self, kind: str, **budget: Any) -> ContextManager:
        limits = Budget(window=100_000, regions={self.region: self.cap}, min_gain=0, **budget)
        strategy = {"kind": kind, **PARAMETERS.get(kind, {})}
        context = ContextManager("openai-chat", limits, strategy, plugins=(), ask=good)
        for number, turn in enumerate(self.turns):
            large = number == self.at
            context.add(turn, region="own" if large and self.region == "own" else "")
        if self.pinned:
            first = sum(map(len, self.turns[: self.at]))
            context.pin(*range(first, first + len(self.turns[self.at])))
        return context

    def without(self) -> list[Entries]:
        """The turns with nothing in the region."""
        inside = {"tool_results": any, "own": lambda _: False, "recent": lambda _: True}[self.region]
        return [
            turn
            for number, turn in enumerate(self.turns)
            if number != self.at and not inside(each["role"] == "tool" for each in turn)
        ]


@st.composite
def conversations(draw: st.DrawFn, regions: tuple[str, ...] = ("tool_results", "recent", "own")) -> Drawn:
    sizes = st.tuples(st.integers(1, 120), st.lists(st.integers(1, 150), max_size=3))
    turns: list[Entries] = []
    for number, (words, results) in enumerate(draw(st.lists(sizes, min_size=2, max_size=12))):
        steps = [
            entry
            for count, size in enumerate(results)
            for entry in step(f"t{number}_{count}", f"record: R{number}{count}77, note: " + "thing " * size)
        ]
        said = "word " * words
        turns.append([*user(f"Question {number}. {said}"), *steps, *assistant(f"Answer {number}. {said}")])
    region, pinned = draw(st.sampled_from(regions)), draw(st.booleans())
    at = draw(st.integers(0, len(turns) - 1)) if pinned else len(turns)
    large = LARGE[: 6 * draw(st.integers(150, 900))]
    turns.insert(
        at, [*user("And now?"), *(step("large", large) if region == "tool_results" else assistant(large))]
    )
    return Drawn(turns, region, draw(st.integers(20, 100)), at, pinned)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in BY_COUNT])
@given(conversations(regions=("tool_results", "own")))
def test_no_turn_without_anything_in_the_region_is_touched_for_its_sake(kind: str, drawn: Drawn) -> None:
    context = drawn.manager(kind)
    report = context.compact()
    assert report.tokens_before <= report.target, "the whole meets its target"
    sent = context.prepare_sync().messages
    for turn in drawn.without():
        assert all(entry in sent for entry in turn)


@pytest.mark.parametrize("kind", KINDS)
@given(conversations(), st.sampled_from([None, 300, 700, 1_500]))
def test_a_second_compaction_changes_nothing(kind: str, drawn: Drawn, aim_for: int | None) -> None:
    context = drawn.manager(kind, aim_for=aim_for)
    context.compact()
    sent = context.prepare_sync().messages
    assert context.compact().edits == ()
    assert context.prepare_sync().messages == sent


def talked(words: int) -> Entries:
    """Twenty plain turns, then a newest tool result of 605 tokens."""
    turns = [
        entry
        for number in range(20)
        for entry in (
            *user(f"Question {number} code Q{number}99X " + "word " * 30),
            *assistant(f"Answer {number} " + "word " * words),
        )
    ]
    return [*turns, *user("Now read it."), *step("z", " ".join(f"clause{n}" for n in range(300)))]


def worked() -> Entries:
    """Twelve steps, each with a payment in its result, then a newest tool result of 1,205 tokens."""
    orders = [
        {
            "order_id": f"W{n}00{n}",
            "payment_id": f"pay_{n}7{n}3",
            "address": f"{n} Main Street, 9000{n}",
            "items": [{"item_id": f"{n}{i}44556", "name": "widget " * 12} for i in range(8)],
        }
        for n in range(12)
    ]
    steps = [entry for n, order in enumerate(orders) for entry in step(f"c{n}", json.dumps(order))]
    newest = step("z", " ".join(f"clause{n}" for n in range(600)))
    return [*user("Handle the returns of my orders."), *steps, *newest]


def compacted(entries: Entries, strategy: Any, regions: dict[str, int]) -> tuple[str, Any]:
    """What is sent, as text, and the report."""
    context = ContextManager(
        "openai-chat", Budget(window=5_100, reply=1_000, regions=regions), strategy, plugins=()
    )
    context.add(entries)
    request = context.prepare_sync()
    return json.dumps(request.messages), request.report


FIRST = {"kind": "first-that-fits", "steps": ["clear-tool-results", "drop-oldest"]}


@pytest.mark.parametrize(
    "strategy", ["drop-oldest", "hybrid", "extractive-summary", "selective", FIRST], ids=str
)
@pytest.mark.parametrize("regions", [README, {"tool_results": 500}], ids=["readme", "one"])
def test_as_many_turns_stay_beside_a_newest_result_over_its_region(
    strategy: Any, regions: dict[str, int]
) -> None:
    sent, report = compacted(talked(180), strategy, regions)
    plain, expected = compacted(talked(180), strategy, {})
    kept = [number for number in range(20) if f"Q{number}99X" in sent]
    assert kept == [number for number in range(20) if f"Q{number}99X" in plain]
    assert len(kept) >= 9
    assert report.regions["recent"].after >= expected.regions["recent"].after


@pytest.mark.parametrize("strategy", ["hybrid", "digest-tool-results"])
@pytest.mark.parametrize("regions", [README, {"tool_results": 500}, {}], ids=["readme", "one", "none"])
def test_values_of_old_steps_stay_beside_a_newest_result_over_its_region(
    strategy: str, regions: dict[str, int]
) -> None:
    sent, report = compacted(worked(), strategy, regions)
    assert report.tokens_before > report.limit
    assert [number for number in range(12) if f"pay_{number}7{number}3" not in sent] == []


def test_a_digest_outlasts_a_second_compaction_of_a_region_that_is_over() -> None:
    budget = Budget(window=8_000, regions={"tool_results": 1_000})
    context = ContextManager("openai-chat", budget, "digest-tool-results", plugins=())
    context.add(worked())
    assert context.compact().regions["tool_results"].after == 1_205
    assert context.compact().edits == ()
    sent = json.dumps(context.prepare_sync().messages)
    assert [number for number in range(12) if f"pay_{number}7{number}3" not in sent] == []


def parallel(format: str, **results: str) -> Entries:
    """One step with a call of each name, and their results."""
    match format:
        case "openai-chat":
            calls = [
                {"id": name, "type": "function", "function": {"name": "read", "arguments": "{}"}}
                for name in results
            ]
            told = [{"role": "tool", "tool_call_id": name, "content": text} for name, text in results.items()]
            return [{"role": "assistant", "content": None, "tool_calls": calls}, *told]
        case "openai-responses":
            return [
                *(
                    {"type": "function_call", "call_id": name, "name": "read", "arguments": "{}"}
                    for name in results
                ),
                *(
                    {"type": "function_call_output", "call_id": name, "output": text}
                    for name, text in results.items()
                ),
            ]
    raise AssertionError(format)


MIN = {"tool_results": {"max": 500, "min": 100}}


@pytest.mark.parametrize("format", ["openai-chat", "openai-responses"])
@pytest.mark.parametrize("strategy", ["hybrid", "trim-tool-results"])
@pytest.mark.parametrize("regions", [MIN, {**MIN, "recent": {"max": 3_000, "min": 400}}], ids=["one", "two"])
@pytest.mark.parametrize("window", [6_000, 1_500])
def test_what_the_min_of_a_region_keeps_shields_nothing_beside_it(
    format: str, strategy: str, regions: dict[str, Any], window: int
) -> None:
    """Of two parallel results the newer is kept, and the other, which is far larger, is shortened."""
    context = ContextManager(format, Budget(window=window, regions=regions), strategy, plugins=())
    context.add(user("Compare both files."))
    step = parallel(format, a="line of a file\n" * 3_000, b="a short file")
    context.add(step)
    request = context.prepare_sync()
    assert request.report.tokens_after <= window
    assert request.messages[-1] == step[-1]
    assert [each.fate for each in context.explain()][-2:] == ["shortened", "present"]


def documents(window: int, regions: dict[str, Any], strategy: Any, newest: str) -> ContextManager:
    """Eight documents of about 100 tokens, six plain turns of about 200, and a newest message."""
    context = ContextManager("openai-chat", Budget(window=window, regions=regions), strategy, plugins=())
    for number in range(8):
        context.add(user(f"Document D{number}: " + "fact " * 95), region="docs")
    for number in range(6):
        context.add(
            [*user(f"Question {number}. " + "word " * 90), *assistant(f"Answer {number}. " + "word " * 90)]
        )
    context.add(user(newest))
    return context


DOCS = {"docs": {"max": 900, "min": 450}}


@pytest.mark.parametrize("strategy", ["drop-oldest", "hybrid", "fallback"])
def test_what_a_min_keeps_stays_while_the_request_fits_with_it(strategy: str) -> None:
    sent = json.dumps(documents(1_000, DOCS, strategy, "And now?").prepare_sync().messages)
    assert [number for number in range(4, 8) if f"Document D{number}:" not in sent] == []


@pytest.mark.parametrize("strategy", ["drop-oldest", "hybrid", "fallback"])
def test_what_a_min_keeps_goes_last_and_goes_before_a_request_is_refused(strategy: str) -> None:
    context = documents(1_000, DOCS, strategy, "Look at this: " + "thing " * 700)
    request = context.prepare_sync()
    sent = json.dumps(request.messages)
    kept = [number for number in range(8) if f"Document D{number}:" in sent]
    assert kept == [6, 7], "as many of the newest as there is room for"
    assert request.report.tokens_after <= 1_000


def test_an_error_names_what_a_min_keeps() -> None:
    context = documents(1_000, DOCS, {"kind": "sliding-window", "keep_turns": 1}, "Look: " + "thing " * 700)
    with pytest.raises(BudgetExceededError) as raised:
        context.prepare_sync()
    named = [line for line in raised.value.fixed if "kept by the min of docs" in line]
    assert [line.partition(" ")[0] for line in named] == [f"messages[{number}]" for number in range(4, 8)]


SAID = re.compile(r"(\d+) tokens$")
LEFT = re.compile(r"The strategy left (\d+) tokens")


@given(
    payload=payloads(),
    share=st.floats(0.02, 0.5),
    kind=st.sampled_from(["drop-oldest", "hybrid", "selective"]),
)
def test_an_error_names_every_token_of_the_request(payload: Payload, share: float, kind: str) -> None:
    limit = max(20, int(size(payload) * share))
    regions = {"tool_results": {"max": limit, "min": limit // 4}, "recent": {"max": limit, "min": limit // 4}}
    context = ContextManager(payload.format, Budget(window=limit, regions=regions), kind, plugins=())
    context.remember("diet", "no nuts")
    for number, message in enumerate(payload.messages):
        context.add(message, system=payload.system if number == 0 else None)
        if not number:
            context.pin(0)
        error = refusal(context, payload.tools)
        if error is not None:
            told = [int(found[1]) for line in error.fixed if (found := SAID.search(line))]
            left = LEFT.search(str(error))
            assert len(told) == len(error.fixed)
            assert sum(told) + (int(left[1]) if left else 0) == error.needed, str(error)


def refusal(context: ContextManager, tools: Any) -> BudgetExceededError | None:
    """Why what there is does not fit, None when it does or cannot be sent yet."""
    try:
        context.prepare_sync(tools=tools)
    except BudgetExceededError as error:
        return error
    except (OpenCallsError, ProviderFormatError):
        return None
    return None
