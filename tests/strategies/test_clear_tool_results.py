"""What clear-tool-results clears, by the public API."""

from __future__ import annotations

from typing import Any

from ctxkit import Budget, ContextManager

METER = "flow 12 l/min pressure 3.1 bar valve open; " * 16


def cleared(results: list[str]) -> list[bool]:
    return ["result cleared; original: ctx:" in text for text in results]


def test_oldest_go_first_until_the_target_is_met(talk: Any) -> None:
    talk.user("Check.")
    for n in range(10):
        talk.step(f"Meter {n}: {METER}")
    request = talk.manager(Budget(window=2_300, aim_for=1_800), "clear-tool-results").prepare_sync()
    flags = cleared(talk.results(request.messages))
    assert flags == sorted(flags, reverse=True)
    assert 0 < sum(flags) < 7
    assert request.report.tokens_after <= 1_800
    assert talk.refused(request.messages) == []


def test_newest_stay_whatever_their_size(talk: Any) -> None:
    talk.user("Check.").step(METER).step(METER).step(METER)
    context = talk.manager(Budget(window=10_000, aim_for=10), {"kind": "clear-tool-results", "keep": 2})
    context.compact()
    assert cleared(talk.results(context.prepare_sync().messages)) == [True, False, False]


def test_more_to_keep_than_there_is_clears_nothing(talk: Any) -> None:
    talk.user("Check.").step(METER).step(METER)
    context = talk.manager(Budget(window=10_000, aim_for=10), {"kind": "clear-tool-results", "keep": 3})
    assert context.compact().edits == ()


def test_excluded_tools_stay(talk: Any) -> None:
    talk.user("Check.").step(METER, name="memory").step(METER, name="read").assistant("Done.").user("So?")
    strategy = {"kind": "clear-tool-results", "keep": 0, "exclude": ["memory"]}
    context = talk.manager(Budget(window=10_000, aim_for=10), strategy)
    context.compact()
    assert cleared(talk.results(context.prepare_sync().messages)) == [False, True]


def test_short_results_stay(talk: Any) -> None:
    talk.user("Check.").step("ok").step("").step(METER).assistant("Done.").user("So?")
    context = talk.manager(Budget(window=10_000, aim_for=10), {"kind": "clear-tool-results", "keep": 0})
    context.compact()
    results = talk.results(context.prepare_sync().messages)
    assert cleared(results) == [False, False, True]


def test_too_little_to_clear_clears_nothing(chat: Any) -> None:
    chat.user("Check.").step(METER).step(METER).assistant("Done.").user("So?")
    strategy = {"kind": "clear-tool-results", "keep": 0, "clear_at_least": 5_000}
    assert chat.manager(Budget(window=10_000, aim_for=10), strategy).compact().edits == ()


def test_at_least_so_much_is_cleared_at_a_time(chat: Any) -> None:
    chat.user("Check.")
    for n in range(8):
        chat.step(f"Meter {n}: {METER}")
    strategy = {"kind": "clear-tool-results", "clear_at_least": 600}
    context = chat.manager(Budget(window=10_000, aim_for=9_999), strategy)
    report = context.compact()
    assert report.tokens_before - report.tokens_after >= 600
    assert sum(cleared(chat.results(context.prepare_sync().messages))) == 3


def test_clearing_is_stable_over_a_growing_conversation() -> None:
    """Of six requests at most three clear anything; what was cleared keeps its stub, the rest its prefix."""
    budget = Budget(window=2_200)
    strategy = {"kind": "clear-tool-results", "keep": 3, "clear_at_least": 600}
    context = ContextManager("anthropic", budget, strategy, strict=True)
    context.add({"role": "user", "content": "Check all thirteen."}, system="You look after a water network.")
    before: list[Any] = []
    breaks = 0
    for n in range(1, 14):
        use = {"type": "tool_use", "id": f"tu_{n}", "name": "read_meter", "input": {"meter": n}}
        text = [{"type": "text", "text": f"Meter {n}: {METER}end {n}"}]
        context.add({"role": "assistant", "content": [use]})
        context.add(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"tu_{n}", "content": text}]}
        )
        if n < 8:
            continue
        request = context.prepare_sync()
        assert request.report.tokens_after <= 2_200
        newest = [message["content"][0]["content"] for message in request.messages[2::2]][-3:]
        assert all(isinstance(content, list) for content in newest)
        stubs = {at: m for at, m in enumerate(before) if "result cleared" in str(m)}
        assert all(request.messages[at] == message for at, message in stubs.items())
        breaks += request.messages[: len(before)] != before
        before = request.messages
    assert breaks <= 3
