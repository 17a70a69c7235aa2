"""The front door: what goes in comes out, and what happens when several use it at once."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import pytest
from anthropic.types import Message as AnthropicMessage
from google.genai import types as genai
from openai.types.chat import ChatCompletion

from ctxkit import (
    Budget,
    BudgetExceededError,
    CompressionStrategy,
    ConfigError,
    ContextManager,
    ConversationError,
    Drop,
    OpenCallsError,
    Plan,
    ProviderFormatError,
    Services,
    StrategyError,
    UnknownHandleError,
    UnknownPluginError,
    View,
)
from ctxkit.providers import provider

OLDEST = "drop-oldest"


def said(count: int, *, words: int = 30) -> list[dict[str, Any]]:
    """Turns of a question and an answer each."""
    text = "lorem ipsum " * (words // 2)
    return [
        {"role": role, "content": f"{role} {turn}: {text}"}
        for turn in range(count)
        for role in ("user", "assistant")
    ]


def manager(window: int = 600, strategy: Any = OLDEST, **settings: Any) -> ContextManager:
    return ContextManager("openai-chat", Budget(window=window), strategy, **settings)


def test_a_compaction_goes_down_to_the_target_and_is_told() -> None:
    context = manager()
    context.add(
        [{"role": "system", "content": "Be brief."}, *said(20), {"role": "user", "content": "And now?"}]
    )
    request = context.prepare_sync()
    report = request.report
    assert report.compacted
    assert report.tokens_after <= report.target < report.limit < report.tokens_before
    assert sum(region.after for region in report.regions.values()) == report.tokens_after
    assert [(edit.kind, edit.by) for edit in report.edits] == [("Drop", OLDEST)]
    assert context.original(report.edits[0].handle) == [said(20)[at - 1] for at in report.edits[0].positions]
    assert context.report == report


def test_a_report_can_be_printed() -> None:
    context = manager()
    context.add(said(20) + said(1)[:1])
    report = context.prepare_sync().report
    first, second = str(report).splitlines()
    assert first.startswith(
        f"openai-chat: {report.tokens_before:,} -> {report.tokens_after:,} of 600 tokens; "
    )
    assert second.startswith("  Drop by drop-oldest: the oldest")
    assert second.endswith(report.edits[0].handle)
    assert repr(context).startswith("<ContextManager openai-chat, ")


def test_prepare_awaited_gives_what_prepare_sync_gives_also_inside_a_running_loop() -> None:
    async def both() -> None:
        first, second = manager(), manager()
        first.add(said(20) + said(1)[:1])
        second.add(said(20) + said(1)[:1])
        assert (await first.prepare()).messages == second.prepare_sync().messages

    asyncio.run(both())


class AsyncDrop(CompressionStrategy):
    """Drops the first free unit after a pause."""

    kind: str = "async-drop"
    pause_s: float = 0.01

    async def plan(self, view: View, services: Services) -> Plan:
        await asyncio.sleep(self.pause_s)
        return Plan.of(Drop(tuple(unit.id for unit in view.free()[:-1]), "a test"))


def test_a_sync_caller_in_a_running_loop_may_use_an_async_strategy() -> None:
    async def inside() -> None:
        context = manager(strategy=AsyncDrop())
        context.add(said(20) + said(1)[:1])
        assert context.prepare_sync().report.compacted

    asyncio.run(inside())


def test_an_async_plan_past_its_time_is_cancelled_and_named() -> None:
    slow = AsyncDrop(pause_s=5, timeout_s=0.05)
    context = manager(strategy={"kind": "hybrid", "steps": [slow, OLDEST]})
    context.add(said(20) + said(1)[:1])
    report = context.prepare_sync().report
    assert [failure.by for failure in report.failures] == ["async-drop"]
    assert "0.05 s" in report.failures[0].why
    assert {edit.by for edit in report.edits} == {OLDEST}


class Careless(CompressionStrategy):
    """Breaks a promise, or its own neck."""

    kind: str = "careless"
    how: str = "pinned"

    def plan(self, view: View, services: Services) -> Plan:
        match self.how:
            case "pinned":
                return Plan.of(Drop((next(iter(view.fixed)),)))
            case "nowhere":
                return Plan.of(Drop((10_000,)))
            case "nothing":
                return None  # type: ignore[return-value]
            case "loops":
                while True:
                    pass
            case _:
                raise ZeroDivisionError("oops")


@pytest.mark.parametrize("how", ["pinned", "nowhere", "nothing", "raises"])
def test_a_careless_strategy_is_contained_and_named(how: str) -> None:
    context = manager(strategy={"kind": "hybrid", "steps": [Careless(how=how), OLDEST]})
    context.add(said(20) + said(1)[:1])
    report = context.prepare_sync().report
    assert [failure.by for failure in report.failures] == ["careless"]
    assert report.compacted
    strict = manager(strategy=Careless(how=how), strict=True)
    strict.add(said(20) + said(1)[:1])
    with pytest.raises(StrategyError) as raised:
        strict.prepare_sync()
    assert raised.value.kind == "careless"
    assert len(strict.explain()) == 41


def test_an_isolated_strategy_that_never_ends_is_killed() -> None:
    endless = Careless(how="loops", isolate=True, timeout_s=3)
    context = manager(strategy={"kind": "hybrid", "steps": [endless, OLDEST]})
    context.add(said(20) + said(1)[:1])
    report = context.prepare_sync().report
    assert [failure.by for failure in report.failures] == ["careless"]
    assert report.compacted


def test_an_isolated_strategy_gives_the_plan_that_it_gives_here() -> None:
    here, there = manager(), manager(strategy={"kind": OLDEST, "isolate": True})
    for context in (here, there):
        context.add(said(20) + said(1)[:1])
    assert here.prepare_sync().messages == there.prepare_sync().messages


def test_what_is_remembered_is_in_every_request_and_a_lower_confidence_never_wins() -> None:
    context = manager(window=900)
    context.add(said(3))
    context.remember("allergy", "peanuts", confidence=0.9)
    context.remember("allergy", "none", confidence=0.2)
    context.add({"role": "user", "content": "What may I eat?"})
    first = context.prepare_sync().messages
    assert "allergy: peanuts" in first[-2]["content"]
    assert first[-1]["content"] == "What may I eat?"
    for turn in range(40):
        context.add(said(1))
        context.add({"role": "user", "content": f"question {turn}"})
        messages = context.prepare_sync().messages
        assert sum("allergy: peanuts" in each["content"] for each in messages) == 1
        assert not any("allergy: none" in each["content"] for each in messages)
    context.remember("allergy", "peanuts and eggs", confidence=0.9)
    context.forget("nothing")
    context.add({"role": "user", "content": "again?"})
    assert "peanuts and eggs" in context.prepare_sync().messages[-2]["content"]
    with pytest.raises(ConfigError):
        context.remember("allergy", "x", confidence=2)


def test_a_pinned_message_stays_until_it_is_unpinned() -> None:
    context = manager()
    context.add(said(2))
    context.pin(0)
    for _ in range(30):
        context.add(said(1))
        context.prepare_sync()
    assert said(1)[0] in context.prepare_sync().messages
    context.unpin(0)
    for _ in range(30):
        context.add(said(1))
        context.prepare_sync()
    assert context.explain()[0].fate == "dropped"
    with pytest.raises(ConversationError, match="left out"):
        context.pin(0)
    with pytest.raises(ConversationError, match="unknown"):
        context.pin(10**6)


def test_a_pin_with_an_end_ends() -> None:
    context = manager()
    context.add(said(1))
    context.pin(0, until=3)
    for _ in range(2):
        context.add(said(1))
    context.compact()
    assert (context.explain()[0].fate, context.explain()[0].by) == ("pinned", "user")
    for _ in range(20):
        context.add(said(1))
        context.prepare_sync()
    assert context.explain()[0].fate == "dropped"


def test_undo_brings_back_what_was_there_and_is_not_undone_at_once() -> None:
    context = ContextManager("openai-chat", Budget(window=3000, compact_at=600), OLDEST)
    context.add(said(20))
    question = {"role": "user", "content": "And now?"}
    context.add(question)
    assert context.prepare_sync().report.compacted
    context.undo()
    request = context.prepare_sync()
    assert request.messages == [*said(20), question]
    assert not request.report.compacted
    context.add(said(40))
    context.add(question)
    assert context.prepare_sync().report.compacted
    with pytest.raises(ConversationError, match="no compaction to undo"):
        manager().undo()


def test_preview_tells_and_changes_nothing() -> None:
    context = manager()
    context.add(said(20) + said(1)[:1])
    told = context.preview()
    assert told.compacted
    assert context.preview().edits == told.edits
    assert [each.fate for each in context.explain()] == ["present"] * 40 + ["pinned"]
    assert context.prepare_sync().report.edits == told.edits


def test_a_strategy_can_be_switched_at_run_time() -> None:
    context = manager()
    context.use({"kind": "sliding-window", "keep_turns": 1})
    context.add(said(20) + said(1)[:1])
    assert context.prepare_sync().messages == said(1)[:1]
    with pytest.raises(UnknownPluginError, match="did you mean drop-oldest"):
        context.use("drop-oldst")


def test_an_open_call_at_the_end_is_said_and_a_dead_one_is_closed_on_the_wire() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    context = manager(window=5000)
    context.add([said(1)[0], {"role": "assistant", "content": None, "tool_calls": [call]}])
    with pytest.raises(OpenCallsError) as raised:
        context.prepare_sync()
    assert raised.value.calls == ("c1",)
    context.add({"role": "user", "content": "never mind"})
    closed = context.prepare_sync().messages
    assert [each["role"] for each in closed] == ["user", "assistant", "tool", "user"]
    assert closed[2]["tool_call_id"] == "c1"
    answer = {"role": "tool", "tool_call_id": "c1", "content": "42"}
    context.add(answer)
    request = context.prepare_sync()
    assert request.messages == [*closed[:2], answer, closed[3]]
    assert len(request.report.normalised) == 1


def test_the_result_of_a_dropped_call_is_kept_as_a_note() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": "{}"}}
    context = manager(strategy={"kind": "sliding-window", "keep_turns": 1})
    context.add([said(1)[0], {"role": "assistant", "content": None, "tool_calls": [call]}, *said(3)])
    context.compact()
    context.add({"role": "tool", "tool_call_id": "c1", "content": "the answer is 42"})
    messages = context.prepare_sync().messages
    assert messages[-1]["role"] == "user"
    assert "the answer is 42" in messages[-1]["content"]
    assert "lookup" in messages[-1]["content"] or "c1" in messages[-1]["content"]


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        ({"role": "tool", "tool_call_id": "nobody", "content": "x"}, "messages[0]"),
        ({"role": "alien", "content": "x"}, "messages[0]"),
        ({"content": "x"}, "messages[0]"),
        ("just text", ""),
        (None, ""),
        ({"role": "user", "content": {"a": {1: 2}}}, "messages[0]"),
        ({"role": "user", "content": object()}, "messages[0]"),
    ],
)
def test_bad_messages_get_a_typed_error_and_leave_everything_as_it_was(entry: Any, path: str) -> None:
    context = manager()
    with pytest.raises(ProviderFormatError) as raised:
        context.add([entry])
    assert path in str(raised.value)
    context.add(said(1)[0])
    with pytest.raises(ProviderFormatError):
        context.add([said(1)[0], entry])
    assert context.prepare_sync().messages == said(1)[:1]


def test_repair_mends_and_says_so() -> None:
    context = manager(window=5000, repair=True)
    orphan = {"role": "tool", "tool_call_id": "nobody", "content": "x"}
    context.add([orphan, *said(1), said(1)[0]])
    context.add(orphan)
    request = context.prepare_sync()
    assert request.messages == [*said(1), said(1)[0]]
    assert len(request.report.normalised) == 2


def test_a_history_on_the_server_is_refused_with_the_reason() -> None:
    context = ContextManager("openai-responses", Budget(window=1000), OLDEST)
    with pytest.raises(ProviderFormatError, match="on the server"):
        context.add({"input": "hello", "previous_response_id": "resp_1"})


def test_reported_usage_tightens_the_limit() -> None:
    context = manager(window=1000)
    context.add(said(12) + said(1)[:1])
    before = context.prepare_sync().report
    assert not before.compacted
    for _ in range(5):
        context.observe_usage(before.tokens_after * 2)
    after = context.prepare_sync().report
    assert after.limit < 500
    assert after.compacted


def test_unknown_handles_are_said() -> None:
    with pytest.raises(UnknownHandleError, match="ctx:nothing"):
        manager().original("ctx:nothing")


def test_many_threads_lose_nothing() -> None:
    context = manager(window=2000)
    context.add(said(1)[0])
    errors: list[Exception] = []

    def work(number: int) -> None:
        try:
            for turn in range(25):
                context.add({"role": "user", "content": f"thread {number} says {turn} " + "word " * 20})
                request = context.prepare_sync()
                assert request.report.tokens_after <= 2000
        except Exception as error:  # noqa: BLE001 - shown by the assertion below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    explained = context.explain()
    assert len(explained) == 1 + 8 * 25
    assert all(each.handle and context.original(each.handle) for each in explained if each.fate == "dropped")


def test_what_is_explained_is_of_one_moment() -> None:
    """A commit changes what is kept while it is read, else."""
    context = manager()
    context.add(said(1))
    with ThreadPoolExecutor(1) as pool:
        with context._history.lock:
            explained = pool.submit(context.explain)
            assert wait([explained], timeout=0.2).not_done == {explained}
        assert len(explained.result()) == len(said(1))


def test_what_comes_in_while_a_plan_is_made_is_not_lost() -> None:
    async def meanwhile() -> None:
        context = manager(strategy=AsyncDrop(pause_s=0.05))
        context.add(said(20) + said(1)[:1])
        preparing = asyncio.create_task(context.prepare())
        await asyncio.sleep(0.01)
        late = {"role": "user", "content": "one more thing"}
        context.add(late)
        context.pin(2)
        context.remember("name", "Ada")
        await preparing
        messages = context.prepare_sync().messages
        assert late in messages
        assert said(20)[2] in messages
        assert any("name: Ada" in each["content"] for each in messages)

    asyncio.run(meanwhile())


def test_a_budget_that_cannot_be_met_names_what_is_fixed() -> None:
    context = manager(window=200)
    context.add([{"role": "system", "content": "rule " * 300}, *said(3), said(1)[0]])
    with pytest.raises(BudgetExceededError) as raised:
        context.prepare_sync()
    assert raised.value.by_region["system"] > 200
    assert "system" in raised.value.fixed[0]
    assert len(context.explain()) == 8


TOOL_STEP: dict[str, list[dict[str, Any]]] = {
    "openai-chat": [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
    ],
    "openai-responses": [
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "42"},
    ],
    "anthropic": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "42"}]},
    ],
    "gemini": [
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"x": 42}}}]},
    ],
}


def _loop(format: str) -> list[dict[str, Any]]:
    """What a loop of somebody's own has in its list."""
    return [HELLO[format], *TOOL_STEP[format], said_in(format, "assistant", "It is 42.")]


def said_in(format: str, role: str, text: str) -> dict[str, Any]:
    if format == "gemini":
        return {"role": "model" if role == "assistant" else role, "parts": [{"text": text}]}
    return {"role": role, "content": text}


@pytest.mark.parametrize("strategy", ["drop-oldest", "extractive-summary"])
@pytest.mark.parametrize("format", list(TOOL_STEP))
def test_a_list_that_begins_with_all_that_was_added_is_refused(format: Any, strategy: str) -> None:
    context = ContextManager(format, Budget(window=4_000, context_limit=2), strategy)
    whole = _loop(format)
    context.add(whole)
    for turn in range(5):  # compacted, in the end
        more = [said_in(format, "user", f"question {turn}"), said_in(format, "assistant", f"answer {turn}")]
        before = context.explain()
        with pytest.raises(ProviderFormatError) as raised:
            context.add([*whole, *more])
        field = provider(format).field
        assert raised.value.path == f"{field}[:{len(whole)}]"
        assert f"add only what is new: {field}[{len(whole)}:]" in str(raised.value)
        assert context.explain() == before
        context.add(more)
        whole += more
        context.prepare_sync()
    assert context.report is not None
    assert context.report.compactions > 0
    with pytest.raises(ProviderFormatError, match="were added already"):
        context.add(whole)
    assert len(context.explain()) == len(whole)


def test_what_is_said_once_more_is_added() -> None:
    context = manager(window=4_000)
    for _ in range(3):
        context.add({"role": "user", "content": "hi"})
    context.add([{"role": "user", "content": "hi"}] * 2)
    assert len(context.explain()) == 5
    pair = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello!"}]
    context = manager(window=4_000)
    for _ in range(3):
        context.add(pair)
    assert len(context.explain()) == 6
    context.add([*pair, *said(2)])  # no more than a part of the history
    assert len(context.explain()) == 12


def test_a_list_that_differs_from_the_history_anywhere_is_added() -> None:
    context = manager(window=4_000)
    context.add(said(2))
    context.add([*said(2)[:3], {"role": "assistant", "content": "another"}, said(1)[0]])
    assert len(context.explain()) == 9


class Counting(dict[str, Any]):
    """A message that counts how often it is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counting.compared += 1
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]


def test_no_more_is_compared_than_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    context = manager(window=90_000)
    history = context._history
    monkeypatch.setattr(
        history.archive, "original", lambda id, read=history.archive.original: Counting(read(id))
    )
    context.add(said(100))
    for added, most in ((said(99), 0), ([{"role": "user", "content": "x"}] * 300, 1)):
        Counting.compared = 0
        history.refuse_repeated(added)
        assert Counting.compared <= most


@pytest.mark.parametrize("started", [False, True], ids=["at first", "later"])
@pytest.mark.parametrize("format", list(TOOL_STEP))
def test_errors_count_in_the_list_that_was_given(format: Any, started: bool) -> None:
    hello, (call, result), field = HELLO[format], TOOL_STEP[format], provider(format).field
    wrong = {
        "no message": {"role": "alien", "content": "x", "parts": []},
        "no JSON": {**hello, "extra": object()},
        "answers nothing": result,
    }
    for bad in wrong.values():
        context = ContextManager(format, Budget(window=4_000), OLDEST)
        if started:
            context.add([hello, call, result, said_in(format, "assistant", "42")])
        with pytest.raises(ProviderFormatError) as raised:
            context.add([hello, said_in(format, "assistant", "x"), bad])
        assert raised.value.path.startswith(f"{field}[2]")
    if format in ("openai-responses", "anthropic") and started:
        with pytest.raises(ProviderFormatError, match="is used twice") as raised:
            context.add([hello, call])
        assert raised.value.path == f"{field}[1]"


@pytest.mark.parametrize(
    ("format", "entry", "where"),
    [
        ("anthropic", {"role": "system", "content": "Be brief."}, "stands beside the messages, as `system`"),
        ("gemini", {"role": "system", "parts": [{"text": "x"}]}, "stands beside the contents, as `system`"),
    ],
)
def test_system_text_in_the_list_is_told_where_it_belongs(
    format: Any, entry: dict[str, Any], where: str
) -> None:
    context = ContextManager(format, Budget(window=4_000), OLDEST)

    def sent() -> None:
        context.add([entry, HELLO[format]])
        context.prepare_sync()

    with pytest.raises(ProviderFormatError, match=where):
        sent()


@pytest.mark.parametrize("entry", TOOL_STEP["openai-chat"])
def test_what_is_chats_is_told_as_that_in_anthropic(entry: dict[str, Any]) -> None:
    context = ContextManager("anthropic", Budget(window=4_000), OLDEST)
    with pytest.raises(ProviderFormatError, match="looks like openai-chat"):
        context.add(entry)
    assert any("looks like openai-chat" in str(each) for each in provider("anthropic").violations([entry]))


def test_a_pinned_message_says_what_holds_it() -> None:
    call = {"role": "assistant", "content": None, "tool_calls": TOOL_STEP["openai-chat"][0]["tool_calls"]}
    context = manager(window=4_000)
    context.add([{"role": "system", "content": "Be brief."}, *said(3), said(1)[0], call])
    context.pin(1)
    context.pin(3, until=9)
    held = {each.position: (each.by, each.why) for each in context.explain() if each.fate == "pinned"}
    assert held == {
        0: ("", "system text"),
        1: ("user", "until it is unpinned"),
        3: ("user", "until turn 9"),
        7: ("", "the newest of what the user said"),
        8: ("", "its call waits for a result"),
    }


BROKEN: list[tuple[Any, str, list[dict[str, Any]]]] = [
    ("openai-chat", "C9", []),
    ("openai-responses", "shape", []),
    ("anthropic", "A8", []),
    ("gemini", "G10", []),
    ("anthropic", "A8", [{"role": "assistant", "content": "hello"}, {"role": "user", "content": "hi"}]),
    (
        "openai-responses",
        "R7",
        [{"type": "reasoning", "id": "rs_1", "summary": []}, {"role": "user", "content": "x"}],
    ),
]

FLAWED: list[tuple[Any, str, str, dict[str, Any]]] = [
    ("openai-chat", "C8", "messages[1].content", {"role": "assistant", "content": None}),
    ("openai-chat", "C9", "messages[1].content", {"role": "user", "content": []}),
    ("openai-chat", "C7", "messages[1].tool_calls", {"role": "assistant", "content": "x", "tool_calls": []}),
    ("anthropic", "A10", "messages[1].content", {"role": "assistant", "content": []}),
    (
        "anthropic",
        "A11",
        "messages[1].content",
        {"role": "user", "content": [{"type": "text", "text": ""}]},
    ),
    (
        "anthropic",
        "A25",
        "messages[1].content[0]",
        {"role": "assistant", "content": [{"type": "tool_result", "tool_use_id": "t"}]},
    ),
    ("gemini", "G10", "contents[1].parts", {"role": "model", "parts": []}),
    (
        "openai-responses",
        "R15",
        "input[1].content[0].type",
        {"role": "user", "content": [{"type": "output_text", "text": "x"}]},
    ),
]
HELLO: dict[str, dict[str, Any]] = {
    name: {"role": "user", **({"parts": [{"text": "hi"}]} if name == "gemini" else {"content": "hi"})}
    for name in ("openai-chat", "openai-responses", "anthropic", "gemini")
}


@pytest.mark.parametrize(
    ("format", "rule", "messages"), BROKEN, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_payload_that_is_broken_from_the_start_is_refused(
    format: Any, rule: str, messages: list[dict[str, Any]]
) -> None:
    context = ContextManager(format, Budget(window=1000), OLDEST)
    context.add(messages)
    with pytest.raises(ProviderFormatError) as raised:
        context.prepare_sync()
    assert raised.value.rule == rule
    assert raised.value.path


@pytest.mark.parametrize("started", [False, True], ids=["at first", "later"])
@pytest.mark.parametrize(
    ("format", "rule", "path", "flawed"), FLAWED, ids=[f"{each[0]}-{each[1]}" for each in FLAWED]
)
def test_a_message_that_no_provider_takes_is_refused_when_it_is_added(
    format: Any, rule: str, path: str, flawed: dict[str, Any], started: bool
) -> None:
    context = ContextManager(format, Budget(window=1000), OLDEST)
    if started:
        context.add(HELLO[format])
        context.prepare_sync()
    before = len(context.explain())
    with pytest.raises(ProviderFormatError) as raised:
        context.add([HELLO[format], flawed])
    assert (raised.value.rule, raised.value.path) == (rule, path)
    assert len(context.explain()) == before


@pytest.mark.parametrize("started", [False, True], ids=["at first", "later"])
@pytest.mark.parametrize(
    ("format", "flawed"),
    [(each[0], each[3]) for each in FLAWED if each[1] in ("C7", "C8", "C9", "A10", "A11", "G10")],
)
def test_asked_for_it_is_mended_and_the_report_says_so(
    format: Any, flawed: dict[str, Any], started: bool
) -> None:
    context = ContextManager(format, Budget(window=1000), OLDEST, repair=True)
    if started:
        context.add(HELLO[format])
        context.prepare_sync()
    context.add([HELLO[format], flawed, HELLO[format]])
    request = context.prepare_sync()
    assert not provider(format).violations(request.messages)
    assert any(f"messages[{1 + started}]: " in line for line in request.report.normalised)


@pytest.mark.parametrize(
    ("format", "entry", "looks"),
    [
        ("openai-chat", {"role": "user", "parts": [{"text": "hi"}]}, "gemini"),
        (
            "openai-chat",
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]},
            "anthropic",
        ),
        (
            "anthropic",
            {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            "openai-responses",
        ),
        ("anthropic", {"role": "assistant", "content": "x", "tool_calls": [{"id": "c"}]}, "openai-chat"),
        ("gemini", {"role": "user", "content": "hi"}, "parts"),
        ("openai-responses", {"role": "user", "content": [{"type": "tool_result"}]}, "anthropic"),
    ],
)
def test_a_message_of_another_format_is_refused_by_name(
    format: Any, entry: dict[str, Any], looks: str
) -> None:
    context = ContextManager(format, Budget(window=1000), OLDEST)
    for settings in ({}, {"system": "Be brief."}):
        with pytest.raises(ProviderFormatError, match=looks):
            context.add(entry, **settings)


def test_an_object_of_another_vendor_is_refused() -> None:
    types = pytest.importorskip("anthropic.types")

    message = types.Message(
        id="msg_1",
        content=[types.TextBlock(type="text", text="hi")],
        model="m",
        role="assistant",
        type="message",
        usage=types.Usage(input_tokens=1, output_tokens=1),
    )
    with pytest.raises(ProviderFormatError, match="anthropic SDK"):
        manager().add(message)


def test_chat_has_its_system_text_in_the_list() -> None:
    with pytest.raises(ProviderFormatError, match="in the list"):
        manager().add([], system="be brief")


def test_without_a_budget_the_model_decides() -> None:
    assert ContextManager("openai-chat", model="gpt-5").budget.limit == 272_000
    with pytest.raises(ConfigError, match="not None; or give model=, whose window it is then"):
        ContextManager("openai-chat")
    with pytest.raises(ConfigError, match=r"not 8000$"):
        ContextManager("openai-chat", 8_000)  # type: ignore[arg-type]


def test_leading_system_text_is_system_whatever_region_is_named() -> None:
    rule = {"role": "system", "content": "You are S. " + "rule " * 50}
    context = manager(window=1000)
    context.add([rule, {"role": "user", "content": "hi"}], region="retrieved")
    for turn in range(20):
        context.add(
            [{"role": "assistant", "content": "word " * 60}, {"role": "user", "content": f"q {turn}"}]
        )
        assert context.prepare_sync().messages[0] == rule


def test_messages_are_not_put_into_a_region_that_is_a_slip() -> None:
    context = manager(window=1000)
    with pytest.raises(
        ConfigError, match=r"region: did you mean the built-in region tool_results\?"
    ) as caught:
        context.add({"role": "user", "content": "hi"}, region="tool-results")
    assert caught.value.path == "region"
    assert context.explain() == []


def test_a_low_usage_never_widens_the_limit() -> None:
    context = manager(window=1000)
    context.add(said(1)[0])
    context.prepare_sync()
    context.observe_usage(1)
    for _ in range(40):
        context.add(said(1))
        assert context.prepare_sync().report.tokens_after <= 1000


def test_the_limit_on_turns_holds_though_a_compaction_gained_nothing() -> None:
    budget = Budget(window=100_000, context_limit=2, every=1)
    context = ContextManager("openai-chat", budget, {"kind": "sliding-window", "keep_turns": 2})
    for turn in range(8):
        context.add({"role": "user", "content": f"{turn} " + "w " * 20})
        assert len([each for each in context.prepare_sync().messages if each["role"] == "user"]) <= 2
        context.add({"role": "assistant", "content": "ok"})


def test_what_is_forgotten_is_told_to_the_model() -> None:
    context = manager(window=5000)
    context.add(said(1)[0])
    context.remember("allergy", "penicillin")
    context.prepare_sync()
    context.forget("allergy")
    context.add([said(1)[1], {"role": "user", "content": "and now?"}])
    assert "allergy: (withdrawn " in context.prepare_sync().messages[-2]["content"]
    context.compact()
    assert "penicillin" not in str(context.prepare_sync().messages)


@pytest.mark.parametrize("ids", [("a", "b"), ("", "")])
def test_results_of_one_step_that_come_one_by_one_are_one_content_for_gemini(ids: tuple[str, str]) -> None:
    def part(kind: str, at: int, **held: Any) -> dict[str, Any]:
        return {kind: {"name": f"find{at}", **({"id": ids[at]} if ids[at] else {}), **held}}

    context = ContextManager("gemini", Budget(window=1_000))
    context.add({"role": "user", "parts": [{"text": "x"}]})
    context.add({"role": "model", "parts": [part("functionCall", at, args={}) for at in (0, 1)]})
    answers = [part("functionResponse", at, response={"output": at}) for at in (0, 1)]
    for answer in answers:
        context.add({"role": "user", "parts": [answer]})
    request = context.prepare_sync()
    assert request.messages[-1] == {"role": "user", "parts": answers}
    assert not provider("gemini").violations(request.messages)
    assert request.report.normalised == ("the result in messages[3] was put beside the others of its step",)


def _answers() -> list[tuple[str, Any, str]]:
    chat = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    said = [
        ("stop", {"role": "assistant", "content": "x", "tool_calls": []}, "C7"),
        ("content_filter", {"role": "assistant", "content": None}, "C8"),
    ]
    choices = [([{"index": 0, "finish_reason": why, "message": each}], rule) for why, each, rule in said]
    message = {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": []}
    message |= {"stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}
    cut = {"candidates": [{"content": {"role": "model"}, "finish_reason": "MAX_TOKENS"}]}
    return [
        *(
            ("openai-chat", ChatCompletion.model_validate({**chat, "choices": each}), rule)
            for each, rule in choices
        ),
        ("gemini", genai.GenerateContentResponse.model_validate(cut), "G10"),
        ("anthropic", AnthropicMessage.model_validate(message), "A10"),
    ]


@pytest.mark.parametrize(("format", "answer", "rule"), _answers())
def test_an_answer_of_a_model_that_says_nothing_does_not_break_the_loop(
    format: Any, answer: Any, rule: str
) -> None:
    context = ContextManager(format, Budget(window=1_000))
    context.add(HELLO[format])
    context.prepare_sync()
    context.add(answer)
    context.add(HELLO[format])
    request = context.prepare_sync()
    assert not provider(format).violations(request.messages)
    assert [line for line in request.report.normalised if line.startswith(f"of a model's answer: {rule}: ")]


def test_a_compaction_is_not_taken_over_for_a_request_that_no_provider_takes() -> None:
    """What made it invalid came after the first request: the report of the compaction is not lost with the error."""
    context = ContextManager("openai-responses", Budget(window=400), "drop-oldest", plugins=())
    for number in range(2):
        context.add(
            [
                {"role": "user", "content": f"question {number} " * 15},
                {"role": "assistant", "content": "yes " * 40},
            ]
        )
    context.add({"role": "user", "content": "last"})
    context.prepare_sync()
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"}
    context.add([{"role": "user", "content": "more words " * 120}, reasoning])
    with pytest.raises(ProviderFormatError, match="reasoning is not followed"):
        context.prepare_sync()
    assert [each.fate for each in context.explain()][:4] == ["present"] * 4
    context.add({"role": "assistant", "content": "I see."})
    request = context.prepare_sync()
    assert request.report.compacted
    assert [edit.kind for edit in request.report.edits] == ["Drop"]
