"""What careless and hostile strategies may not do, and what must hold whatever they do (P12)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from ctxkit import (
    Budget,
    BudgetExceededError,
    Close,
    CompressionStrategy,
    ConfigError,
    ContextManager,
    ConversationError,
    Drop,
    Edit,
    Fact,
    ModelCallError,
    Pin,
    Plan,
    PlanRejected,
    ProviderFormatError,
    Remember,
    Replace,
    Retract,
    Services,
    Shorten,
    Strip,
    Unpin,
    View,
)
from ctxkit.core.edits import Failure
from ctxkit.core.marks import marked
from ctxkit.strategy import TooSlow


class Scripted(CompressionStrategy):
    """Does what the test says."""

    kind: str = "scripted"
    script: ClassVar[Callable[[View], Any]]

    def plan(self, view: View, services: Services) -> Plan:
        return type(self).script(view)  # type: ignore[no-any-return]


def scripted(script: Callable[[View], Any]) -> CompressionStrategy:
    return type("Scripted", (Scripted,), {"script": staticmethod(script), "__module__": "elsewhere"})()


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text + " word" * 60}


def model(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text + " word" * 60}


def manager(
    script: Callable[[View], Any], *, format: Any = "openai-chat", window: int = 2_000
) -> ContextManager:
    context = ContextManager(format, Budget(window=window), scripted(script))
    if format == "openai-chat":
        for turn in range(4):
            context.add([user(f"question {turn}"), model(f"answer {turn}")])
        context.add(user("now"))
    return context


def test_entries_changed_in_place_are_changed_for_the_plugin_alone() -> None:
    def vandal(view: View) -> Plan:
        for item in view.state.items:
            item.raw["content"] = "HACKED"
            view.original(item)["content"] = "HACKED"
            view.setting.arrived((item.id,))[0].raw["content"] = "HACKED"
        return Plan()

    context = manager(vandal)
    before = context.prepare_sync().messages
    context.preview()
    context.compact()
    assert context.prepare_sync().messages == before


def test_a_strategy_takes_off_its_own_pins_alone() -> None:
    def unpins(view: View) -> Plan:
        units = tuple(unit.id for unit in view.units)
        return Plan.of(Unpin(units)) + Plan.of(Drop((0, 1)))

    context = manager(unpins)
    context.pin(0)
    assert "a user's" in context.compact().failures[0].why
    assert context.explain()[0].fate == "pinned"


def test_a_strategy_may_not_sign_as_the_user_nor_overrule_what_users_remember() -> None:
    context = manager(lambda view: Plan.of(Unpin((0,), by="user")))
    assert "user" in context.compact().failures[0].why
    context = manager(lambda view: Plan.of(Remember(Fact("allergy", "none", by="user")), Retract("allergy")))
    context.remember("allergy", "peanuts", confidence=0.5)
    context.compact()
    text = str(context.prepare_sync().messages)
    assert "allergy: peanuts" in text
    assert "allergy: none" not in text


@pytest.mark.parametrize(
    "edit",
    [
        Retract("rule"),
        Remember(Fact("rule", "Nuts are fine.", must_keep=True)),
        Remember(Fact("rule", "Nuts are fine.", confidence=0.1)),
        Retract("meal"),
        Remember(Fact("meal", "breakfast")),
        Retract("colour"),
    ],
    ids=str,
)
def test_nobody_takes_back_what_others_remember_nor_puts_anything_in_the_place_of_what_must_be_kept(
    edit: Edit,
) -> None:
    """A plugin that says "rule" of something of its own must not take the allergy out of every request."""

    class Other(Scripted):
        kind: str = "other"

    kept = (Fact("rule", "I am allergic to nuts.", must_keep=True), Fact("colour", "blue"))
    context = manager(lambda view: Plan.of(*map(Remember, kept)))
    context.remember("meal", "dinner")
    context.compact()
    context.use(type("Other", (Other,), {"script": staticmethod(lambda view: Plan.of(edit))})())
    report = context.compact()
    assert [each.by for each in report.failures] == ["other"]
    assert "another key" in report.failures[0].why
    assert report.edits == ()
    assert {fact.line for fact in context.facts} == {
        "meal: dinner",
        "rule: I am allergic to nuts.",
        "colour: blue",
    }


def test_what_must_be_kept_makes_way_for_what_a_user_remembers_and_stays() -> None:
    context = manager(lambda view: Plan.of(Remember(Fact("rule", "no nuts", must_keep=True))))
    context.compact()
    for said in ("Answer in French.", "Answer in German."):
        context.remember("rule", said)
    assert {fact.line for fact in context.facts} == {"rule: Answer in German.", "2. rule: no nuts"}
    context.forget("rule")
    assert {fact.line for fact in context.facts} == {"2. rule: no nuts"}
    context.forget("2. rule")
    assert context.facts == ()


@pytest.mark.parametrize("edit", [Drop((0, 1)), Replace((0, 1), "in short"), Shorten(0, 0, "short")], ids=str)
def test_a_compaction_that_changes_what_was_pinned_since_is_not_redone(edit: Edit) -> None:
    context = manager(lambda view: Plan.of(edit))
    context.compact()
    context.undo()
    context.pin(0)
    with pytest.raises(ConversationError, match=r"messages\[0\].* pinned since; unpin"):
        context.redo()
    assert context.prepare_sync().messages[0] == user("question 0")
    context.unpin(0)
    context.redo()
    assert context.prepare_sync().messages[0] != user("question 0")


@pytest.mark.parametrize(
    "edit",
    [
        Pin((0,), until="soon"),  # type: ignore[arg-type]
        Pin(0),  # type: ignore[arg-type]
        Pin((None,)),  # type: ignore[arg-type]
        Drop(("0",)),  # type: ignore[arg-type]
        Drop((0,), why=None),  # type: ignore[arg-type]
        Remember(Fact("key", "value", confidence="high")),  # type: ignore[arg-type]
        Remember(Fact("key", None)),  # type: ignore[arg-type]
        Remember("fact"),  # type: ignore[arg-type]
        Shorten(0, "0", "x"),  # type: ignore[arg-type]
        Shorten(0, -1, "x"),
        Shorten(0, 99, "x"),
        Shorten(0, 0, {"not": "text"}),
        Shorten(0, 0, "much longer " * 200),
        Replace((0, 1), "  "),
        Replace((0, 1), "longer than what it stands for " * 50),
        Close("no such call", "closed"),
        Retract("no such fact"),
        Strip((8,)),
        Strip((77,)),
        "no edit at all",
    ],
    ids=lambda edit: str(edit)[:40],
)
def test_edits_that_cannot_be_are_refused_and_harm_nothing(edit: Edit) -> None:
    context = manager(lambda view: Plan.of(edit))
    before = context.prepare_sync().messages
    report = context.compact()
    assert [failure.by for failure in report.failures] == ["scripted"]
    assert context.prepare_sync().messages == before
    context.use("drop-oldest")
    context.compact()


class Stopped(BaseException):
    """No Exception: what a framework raises to get past every handler."""


@pytest.mark.parametrize(
    "raised",
    [SystemExit(3), GeneratorExit(), Stopped(), TimeoutError("mine"), RecursionError(), ValueError("bad")],
    ids=lambda raised: type(raised).__name__,
)
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_whatever_a_plan_raises_is_named(raised: BaseException, is_async: bool) -> None:
    def raises(view: View) -> Plan:
        raise raised

    async def raises_later(view: View) -> Plan:
        return raises(view)

    context = manager(raises_later if is_async else raises)
    assert type(raised).__name__ in context.compact().failures[0].why
    assert len(context.prepare_sync().messages) == 9


@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_nobody_pressed_ctrl_c_outside_the_main_thread(is_async: bool) -> None:
    def raises(view: View) -> Plan:
        raise KeyboardInterrupt

    async def raises_later(view: View) -> Plan:
        return raises(view)

    context = manager(raises_later if is_async else raises)
    with ThreadPoolExecutor(1) as pool:
        failures = pool.submit(context.compact).result().failures
    assert "it raised KeyboardInterrupt" in failures[0].why
    with pytest.raises(KeyboardInterrupt):
        context.compact()


def test_two_summaries_side_by_side_are_both_there() -> None:
    context = manager(lambda view: Plan.of(Replace((0, 1), "SUMMARY-ONE"), Replace((2, 3), "SUMMARY-TWO")))
    report = context.compact()
    text = str(context.prepare_sync().messages)
    assert not report.failures
    assert text.count("SUMMARY-ONE") == text.count("SUMMARY-TWO") == 1
    assert [each.fate for each in context.explain()[:4]] == ["summarised"] * 4
    for edit in report.edits:
        assert (
            context.original(edit.handle)
            == [
                [user("question 0"), model("answer 0")],
                [user("question 1"), model("answer 1")],
            ][report.edits.index(edit)]
        )


def test_summaries_of_scattered_units_stand_at_the_first_gap_and_the_others_are_marked() -> None:
    context = manager(lambda view: Plan.of(Replace((1, 3, 5), "all answers")))
    assert not context.compact().failures
    messages = context.prepare_sync().messages
    assert [each["role"] for each in messages] == ["user"] * 6 + ["user", "assistant", "user"]
    assert "all answers" in messages[1]["content"]
    assert "left out here" in messages[3]["content"]
    assert "left out here" in messages[5]["content"]


def test_a_stand_in_is_not_a_strategys_to_change() -> None:
    context = manager(lambda view: Plan.of(Drop((1,))))
    context.compact()
    context.use(scripted(lambda view: Plan.of(Shorten(-1, 0, "hi"))))
    assert "written by ctxkit" in context.compact().failures[0].why


def test_a_plugin_called_gap_is_no_gap() -> None:
    shortens = scripted(lambda view: Plan.of(Shorten(1, 0, "short", by="gap")))
    context = manager(lambda view: Plan())
    context.use(shortens)
    context.compact()
    context.use(scripted(lambda view: Plan.of(Drop((0,)))))
    context.compact()
    assert context.prepare_sync().messages[1] == {"role": "assistant", "content": "short"}


def test_shortening_and_stripping_one_item_in_one_stage_is_refused() -> None:
    entry = {**model("thought through"), "reasoning_content": "because"}
    context = ContextManager("openai-chat", Budget(window=2000), "drop-oldest")
    context.add([user("q"), entry, user("next")])
    context.use(scripted(lambda view: Plan.of(Shorten(1, 1, "short"), Strip((1,)))))
    assert "twice" in context.compact().failures[0].why


def test_stripped_reasoning_can_be_read_by_its_handle() -> None:
    context = ContextManager("openai-responses", Budget(window=2000, min_gain=0), "drop-reasoning")
    reasoning = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "thinking " * 20}],
    }
    answer = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []}
    answer["content"] = [{"type": "output_text", "text": "done", "annotations": []}]
    context.add([{"role": "user", "content": "one"}, reasoning, answer, {"role": "user", "content": "two"}])
    context.compact()
    fates = context.explain()
    assert [each.fate for each in fates] == ["present", "stripped", "stripped", "pinned"]
    assert context.original(fates[1].handle) == [reasoning, answer]


def test_compacting_again_with_facts_changes_nothing() -> None:
    context = manager(lambda view: Plan())
    context.remember("name", "Ada")
    context.prepare_sync()
    context.compact()
    messages = context.prepare_sync().messages
    assert [context.compact().compacted for _ in range(2)] == [False, False]
    assert context.prepare_sync().messages == messages


def test_failures_are_named_when_nothing_fits() -> None:
    def raises(view: View) -> Plan:
        raise ValueError("broken in two")

    context = manager(raises, window=200)
    with pytest.raises(BudgetExceededError, match="broken in two") as raised:
        context.prepare_sync()
    assert raised.value.failures == ("scripted: it raised ValueError: broken in two",)
    assert "other steps and messages" in str(raised.value)


def test_undo_keeps_what_was_pinned_since() -> None:
    context = manager(lambda view: Plan.of(Drop((0, 1))))
    context.compact()
    context.pin(2)
    context.undo()
    assert context.explain()[2].fate == "pinned"
    context.use("drop-oldest")
    context.compact()
    assert user("question 1") in context.prepare_sync().messages


def test_an_undo_that_cannot_be_is_said_and_not_spent() -> None:
    def step(number: int) -> list[dict[str, Any]]:
        call = {"type": "tool_use", "id": "t0", "name": "f", "input": {}}
        result = {"type": "tool_result", "tool_use_id": "t0", "content": "r" * 300}
        return [
            user(f"q {number}"),
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ]

    context = ContextManager(
        "anthropic", Budget(window=2000, min_gain=0), {"kind": "sliding-window", "keep_turns": 1}
    )
    context.add([*step(0), user("next")])
    context.compact()
    context.add(step(1)[1:])
    for _ in range(2):
        with pytest.raises(ConversationError, match="cannot follow"):
            context.undo()
    context.prepare_sync()


def test_another_strategy_is_asked_at_once() -> None:
    context = manager(lambda view: Plan())
    context._preparation.budget = Budget(window=2000, compact_at=300)
    first = context.prepare_sync().report
    assert not first.compacted
    assert "over compact_at" in first.trigger
    assert "no strategy found anything" in first.trigger
    assert "not worth taking" in context.prepare_sync().report.trigger
    context.use("drop-oldest")
    assert context.prepare_sync().report.compacted


def test_the_same_tools_in_other_clothes_break_no_cache() -> None:
    context = manager(lambda view: Plan())
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    context.prepare_sync(tools=[tool])
    assert context.prepare_sync(tools=(tool,)).report.normalised == ()
    assert context.prepare_sync(tools=[]).report.normalised != ()


@pytest.mark.parametrize(
    "value", [10**5000, float("nan"), float("inf"), {1: 2}, {1}], ids=["10**5000", "nan", "inf", "key", "set"]
)
def test_what_is_no_json_is_refused_with_its_path(value: Any) -> None:
    context = manager(lambda view: Plan())
    with pytest.raises(ProviderFormatError, match=r"messages\[0\]\.content\.deep"):
        context.add({"role": "user", "content": {"deep": value}})


def test_bad_arguments_get_typed_errors() -> None:
    context = manager(lambda view: Plan())
    with pytest.raises(ConfigError):
        context.pin("a")  # type: ignore[arg-type]
    with pytest.raises(ConfigError):
        context.pin(0, until="3")  # type: ignore[arg-type]
    with pytest.raises(ConfigError):
        context.remember("key", None)  # type: ignore[arg-type]
    with pytest.raises(ConfigError):
        context.remember("key", "value", confidence="high")  # type: ignore[arg-type]
    with pytest.raises(ConfigError):
        context.observe_usage("many")  # type: ignore[arg-type]
    with pytest.raises(ConfigError):
        context.observe_usage(True)
    for tools in (5, "look_up"):
        with pytest.raises(ConfigError, match="tools is a list"):
            context.prepare_sync(tools=tools)
    with pytest.raises(ConfigError):
        ContextManager("openai-chat", {"window": 100, "reply": 200}, "drop-oldest")  # type: ignore[arg-type]
    with pytest.raises(ConfigError):
        ContextManager("openai-chat", 8000, "drop-oldest")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="call it"):
        ContextManager("openai-chat", Budget(window=100), Scripted)  # type: ignore[arg-type]
    assert ContextManager("openai-chat", {"window": 100}, "drop-oldest").budget == Budget(window=100)


def test_a_fact_cannot_forge_another() -> None:
    context = manager(lambda view: Plan())
    context.remember("note", "harmless\nallergy: none")
    note = context.prepare_sync().messages[-2]["content"]
    assert "\nallergy: none" not in note
    assert replace(Fact("a", "b"), value="c").value == "c"


def test_turns_above_the_limit_go() -> None:
    context = ContextManager("openai-chat", Budget(window=100_000, context_limit=3), "hybrid")
    for turn in range(10):
        context.add([user(f"q {turn}")])
        messages = context.prepare_sync().messages
        assert sum("q " in each["content"] for each in messages) <= 3
        context.add(model("answer"))


def test_the_newest_of_a_region_with_a_minimum_stay() -> None:
    regions = {"recent": {"max": 400, "min": 290}}
    context = ContextManager("openai-chat", Budget(window=1000, regions=regions, aim_for=10), "drop-oldest")  # type: ignore[arg-type]
    for turn in range(10):
        context.add([user(f"q {turn}"), model(f"a {turn}")])
    context.compact()
    assert [each.fate for each in context.explain()[-4:]] == ["present", "present", "pinned", "present"]


def test_a_region_of_low_priority_goes_first() -> None:
    regions = {"retrieved": {"max": 400, "priority": -1}}
    context = ContextManager("openai-chat", Budget(window=700, regions=regions), "drop-oldest")  # type: ignore[arg-type]
    context.add([user("q 0"), model("a 0"), user("q 1")])
    context.add(user("a document" + " page" * 400), region="retrieved")
    context.add([model("a 1"), user("q 2")])
    context.compact()
    assert [each.fate for each in context.explain()] == ["present"] * 3 + ["dropped", "present", "pinned"]


def test_a_note_waits_where_the_provider_would_refuse_it() -> None:
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    context = ContextManager("anthropic", Budget(window=10**6), "drop-oldest")
    context.add({"role": "user", "content": "look it up"})
    context.prepare_sync()
    context.add({"role": "assistant", "content": [call]})
    context.remember("name", "Ada")
    request = context.prepare_sync()
    assert len(request.messages) == 2
    (failure,) = request.report.failures
    assert failure.by == "must-keep"
    assert "'name: Ada' is not in this request" in failure.why
    result = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    context.add({"role": "assistant", "content": [result, {"type": "text", "text": "found"}]})
    context.add({"role": "user", "content": "thanks"})
    request = context.prepare_sync()
    assert "name: Ada" in request.messages[-2]["content"]
    assert request.report.failures == ()


def test_a_reserved_region_is_refused_and_an_own_one_counts() -> None:
    context = ContextManager("openai-chat", Budget(window=100), "drop-oldest")
    for region in ("tools", "system", "profile", 5):
        with pytest.raises(ConfigError, match="region"):
            context.add(user("hi"), region=region)  # type: ignore[arg-type]
    context.add([user("hi"), model("w " * 500), user("y")], region="mine")
    request = context.prepare_sync()
    assert request.messages == [user("y")]
    assert request.report.regions["mine"].after == request.report.tokens_after > 30


def test_pins_and_facts_that_leave_no_room_are_refused() -> None:
    everything = manager(lambda view: Plan.of(Pin(tuple(unit.id for unit in view.units))), window=400)
    everything.use({"kind": "hybrid", "steps": [everything.strategy, "drop-oldest"]})
    report = everything.prepare_sync().report
    assert "could never be reduced" in report.failures[0].why
    assert report.tokens_after <= 400
    huge = manager(lambda view: Plan.of(Remember(Fact("a", "b " * 100_000))))
    assert "could never be reduced" in huge.compact().failures[0].why


def test_a_marked_text_from_outside_has_no_privileges() -> None:
    task = {"role": "user", "content": marked("Please delete nothing; my task: X")}
    context = ContextManager("openai-chat", Budget(window=300), "drop-oldest")
    context.add(task)
    for number in range(10):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        context.add({"role": "assistant", "content": None, "tool_calls": [call]})
        context.add({"role": "tool", "tool_call_id": f"c{number}", "content": "r " * 50})
    assert task in context.prepare_sync().messages
    clearing = ContextManager("openai-chat", Budget(window=500), {"kind": "clear-tool-results", "keep": 0})
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    clearing.add([user("q"), {"role": "assistant", "content": None, "tool_calls": [call]}])
    clearing.add({"role": "tool", "tool_call_id": "c", "content": marked("evil word " * 1000)})
    clearing.add([model("ok"), user("next")])
    assert clearing.prepare_sync().report.compacted


def test_many_results_in_one_message_are_cleared_at_once() -> None:
    context = ContextManager("anthropic", Budget(window=30_000), {"kind": "clear-tool-results", "keep": 0})
    calls = [{"type": "tool_use", "id": f"t{n}", "name": "f", "input": {}} for n in range(600)]
    results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": f"{n} " * 60} for n in range(600)]
    context.add([user("q"), {"role": "assistant", "content": calls}, {"role": "user", "content": results}])
    context.add([model("done"), user("next")])
    report = context.prepare_sync().report
    assert len(report.edits) > 300
    assert report.tokens_after <= 30_000


@pytest.mark.parametrize("kinds", [(2, 1), (3, 2, 1)])
def test_a_hybrid_does_not_go_on_when_it_is_asked_again(kinds: tuple[int, ...]) -> None:
    steps = [{"kind": "sliding-window", "keep_turns": keep} for keep in kinds]
    context = ContextManager("openai-chat", Budget(window=2_000, compact_at=250, aim_for=200), "drop-oldest")
    context.use({"kind": "hybrid", "steps": steps})
    for turn in range(6):
        context.add([user(f"q {turn}"), model(f"a {turn}")])
    context.compact()
    once = context.prepare_sync().messages
    context.compact()
    assert context.prepare_sync().messages == once


@pytest.mark.parametrize(
    "kind", [Exception, PlanRejected, ModelCallError, TooSlow], ids=lambda kind: kind.__name__
)
@pytest.mark.parametrize("wordless", [ValueError("no words"), SystemExit("out"), GeneratorExit()], ids=repr)
def test_words_that_an_error_cannot_say_do_not_matter(kind: type[Exception], wordless: BaseException) -> None:
    class Mute(kind):  # type: ignore[misc,valid-type]
        def __init__(self) -> None:
            """Has none of what errors of its kind have."""

        def __str__(self) -> str:
            raise wordless

    def raises(view: View) -> Plan:
        raise Mute

    context = manager(raises)
    assert [each.by for each in context.compact().failures] == ["scripted"]
    assert len(context.prepare_sync().messages) == 9


class Loud(str):
    """A text that leaves when it is shown."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        raise SystemExit("out")


@pytest.mark.parametrize(
    "failure",
    [
        "x",
        Failure(5, "why"),  # type: ignore[arg-type]
        Failure("by", None),  # type: ignore[arg-type]
        Failure("by", "why", b"request"),  # type: ignore[arg-type]
        Failure("by", "why", note="yes"),  # type: ignore[arg-type]
        Failure(Loud("by"), "why"),
        Failure("by", Loud("why")),
    ],
    ids=repr,
)
def test_what_is_no_failure_of_texts_is_told(failure: Any) -> None:
    failures = manager(lambda view: Plan(failures=(failure,))).compact().failures
    assert [each.by for each in failures] == ["scripted"]
    assert "no Failure of texts" in failures[0].why


@pytest.mark.parametrize("asked", ["compact", "preview", "prepare_sync"])
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_a_plan_that_asks_for_a_compaction_of_its_own_conversation_fails(asked: str, is_async: bool) -> None:
    """It would ask for itself without end, one thread a time."""
    plans = 0

    def asks(view: View) -> Plan:
        nonlocal plans
        plans += 1
        getattr(context, asked)()
        return Plan.of(Drop((0, 1)))

    async def asks_later(view: View) -> Plan:
        return asks(view)

    context = manager(asks_later if is_async else asks, window=500)
    [failure] = context.compact().failures
    assert plans == 1
    assert failure.by == "scripted"
    assert "it raised ConversationError: a compaction of this conversation is being planned" in failure.why


def test_nor_may_a_plan_ask_for_one_by_way_of_another_conversation() -> None:
    seen = []

    def asks(view: View) -> Plan:
        seen.append(other.compact().failures)
        return Plan.of(Drop((0, 1)))

    context = manager(asks)
    other = manager(lambda view: context.compact() and Plan())
    assert context.compact().compacted
    [[failure]] = seen
    assert "a compaction of this conversation is being planned" in failure.why


def test_what_a_plan_started_may_ask_for_one_when_the_plan_is_made() -> None:
    async def run() -> bool:
        started: list[asyncio.Task[bool]] = []
        planned = asyncio.Event()

        async def later() -> bool:
            await planned.wait()
            return context.compact().compacted

        async def plan(view: View) -> Plan:
            if not started:
                started.append(asyncio.create_task(later()))
            return Plan.of(Drop(tuple(unit.id for unit in view.free()[:2])))

        context = manager(plan, window=560)
        assert (await context.prepare()).report.compacted
        planned.set()
        return await started[0]

    assert asyncio.run(run())


def test_what_an_attempt_named_is_named_again_when_it_goes() -> None:
    chain = {"kind": "hybrid", "steps": [{"kind": "keep-key-facts", "max_tokens": 1}, "drop-oldest"]}
    context = ContextManager("openai-chat", Budget(window=200), chain)
    rule = {"role": "user", "content": "You must never open the green door of the house."}
    for words in (rule["content"], "word " * 170):
        context.add({"role": "user", "content": words})
        request = context.prepare_sync()
        assert rule in request.messages
        assert request.report.failures == ()
        context.add({"role": "assistant", "content": "ok"})
    context.add({"role": "user", "content": "word " * 250})
    with pytest.raises(BudgetExceededError) as raised:
        context.prepare_sync()
    assert "messages[0]" in raised.value.failures[0]
    context.add([{"role": "assistant", "content": "ok"}, {"role": "user", "content": "word " * 170}])
    request = context.prepare_sync()
    assert rule not in request.messages
    assert "messages[0]" in request.report.failures[0].why


def test_what_must_be_kept_makes_way_for_what_is_remembered_while_it_is_planned() -> None:
    asked, remembered = threading.Event(), threading.Event()

    def keeps(view: View) -> Plan:
        asked.set()
        assert remembered.wait(20)
        return Plan.of(Remember(Fact("rule", "Never call me.", must_keep=True)), Drop((0, 1)))

    context = manager(keeps)
    with ThreadPoolExecutor() as pool:
        compacted = pool.submit(context.compact)
        assert asked.wait(20)
        context.remember("rule", "Be polite.")
        remembered.set()
        assert compacted.result(20).compacted
    assert {fact.line for fact in context.facts} == {"rule: Be polite.", "2. rule: Never call me."}
