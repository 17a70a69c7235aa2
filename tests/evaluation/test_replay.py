"""Requests measured by hand-made answers to "what was sent", and whole replays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ctxkit.errors import ConfigError, StrategyError
from ctxkit.evaluation.replay import Judge, Measured, replay
from ctxkit.evaluation.settings import Setting
from ctxkit.strategies.drop_media import DropMedia
from ctxkit.strategies.drop_oldest import DropOldest
from tests.evaluation.shop import ORDER, REFUND, TENS, calls, recorded, result, said

STUB = result("c1", "[cleared]")


def test_needs_are_held_or_lost() -> None:
    judge = Judge(recorded(REFUND), 1_000)
    # the user's message still has the order, and nothing else had the amount
    cleared = judge.sent(6, [*REFUND[:3], STUB, *REFUND[4:6]], None)
    assert [(need.literal, need.held) for need in cleared.needs] == [("W1234567", True), ("129.95", False)]


def test_a_refusal_holds_nothing() -> None:
    refused = Judge(recorded(REFUND), 1_000).refused(6, "too large")
    assert (refused.refusal, refused.tokens) == ("too large", 0)
    assert [need.held for need in refused.needs] == [False, False]


def test_constraints_bind_from_the_next_user_message_on() -> None:
    judge = Judge(recorded(REFUND), 1_000)
    told = [judge.sent(at, REFUND[:at], None).constraints for at in (2, 4, 6, 8)]
    assert told == [(), (), ("You must not ship on Mondays",), ("You must not ship on Mondays",)]
    assert judge.sent(6, REFUND[:6], None).kept == ("You must not ship on Mondays",)
    assert judge.sent(8, REFUND[5:8], None).kept == ()


def test_the_prefix_is_compared_with_the_request_before() -> None:
    judge = Judge(recorded(TENS), 1_000)
    first = judge.sent(1, TENS[:1], None)
    second = judge.sent(3, TENS[:3], None)
    third = judge.sent(5, TENS[2:5], None)
    # nothing is repeated by the first; the second adds two messages to the one before; the third repeats
    # message 2 alone, and as its first, where the one before had message 0
    sizes = [(each.tokens, each.cached, each.repeated) for each in (first, second, third)]
    assert sizes == [(10, 0, 0), (30, 10, 10), (30, 0, 10)]
    # with everything: 10, 30 and 50 tokens, of which the first 0, 10 and 30 were there before
    assert [(each.everything, each.everything_cached) for each in (first, second, third)] == [
        (10, 0),
        (30, 10),
        (50, 30),
    ]
    assert [each.answer for each in (first, second, third)] == [10, 10, 10]


def test_what_goes_along_is_repeated_too() -> None:
    judge = Judge(recorded(TENS, tools=[{"name": "f"}]), 1_000)  # 7 tokens
    assert judge.sent(1, TENS[:1], None).tokens == 17
    second = judge.sent(3, TENS[:3], None)
    assert (second.tokens, second.cached, second.repeated) == (37, 17, 17)


def test_a_new_result_that_was_shortened_is_not_repeated() -> None:
    judge = Judge(recorded(REFUND), 1_000)
    judge.sent(2, REFUND[:2], None)
    shortened = judge.sent(4, [*REFUND[:3], STUB], None)
    # system text 7, user message 20; the call and its result are new
    assert (shortened.cached, shortened.repeated) == (27, 27)


def test_a_result_that_was_shortened_later_breaks_the_prefix() -> None:
    recording = recorded(REFUND)
    judge = Judge(recording, 1_000)
    judge.sent(4, REFUND[:4], None)
    shortened = judge.sent(6, [*REFUND[:3], STUB, *REFUND[4:6]], None)
    # 7 + 20 + 16 tokens are as before, and the stub is repeated content that differs
    assert shortened.cached == 43
    assert shortened.repeated == 43 + recording.read(STUB).tokens


def test_violations_are_those_that_the_conversation_has_not() -> None:
    judge = Judge(recorded(REFUND), 1_000)
    assert judge.sent(4, [REFUND[0], REFUND[1], REFUND[3]], None).violations == ("C2",)
    assert judge.sent(4, REFUND[:4], None).violations == ()


def test_violations_that_the_conversation_has_are_not_counted_again() -> None:
    unanswered = [*TENS[:2], calls("c1", "lookup", "{}"), *TENS[2:]]
    judge = Judge(recorded(unanswered), 1_000)
    assert judge.sent(4, unanswered[:4], None).violations == ()
    twice = [*unanswered[:3], *unanswered[2:4]]
    assert "C1" in judge.sent(4, twice, None).violations


def test_sending_everything_lacks_nothing() -> None:
    done = replay(recorded(REFUND), Setting("hybrid", "hybrid", share=1.0))
    assert [request.at for request in done.requests] == [2, 4, 6, 8]
    assert all(need.held for request in done.requests for need in request.needs)
    assert not any(request.violations or request.compacted or request.refusal for request in done.requests)
    # the request before, plus what came since: 27, 27 + 34, 61 + 13, 74 + 27
    assert [(request.tokens, request.cached) for request in done.requests] == [
        (27, 0),
        (61, 27),
        (74, 61),
        (101, 74),
    ]


def test_moments_that_cannot_fit_are_left_out() -> None:
    # user messages of 10, 10 and 40 tokens, answers of 10; the window is half of 90
    messages = [*TENS[:4], said("user", 36), said("assistant", 6)]
    done = replay(recorded(messages), Setting("drop-oldest", "drop-oldest", share=0.5))
    assert [request.at for request in done.requests] == [1, 3, 5]
    assert done.requests[2].compacted
    assert done.requests[2].tokens <= 45
    half = replay(recorded(messages), Setting("drop-oldest", "drop-oldest", share=0.4))  # 36 tokens
    assert ([request.at for request in half.requests], half.excluded) == ([1, 3], 1)


def test_what_a_strategy_cannot_make_fit_is_a_refusal() -> None:
    messages = [message for _ in range(3) for message in TENS[:2]]
    setting = Setting("sliding-window", {"kind": "sliding-window", "keep_turns": 8}, budget={"window": 40})
    done = replay(recorded(messages), setting)
    assert [bool(request.refusal) for request in done.requests] == [False, False, True]
    assert "the smallest request that was reached has 50 tokens" in done.requests[2].refusal


def test_steps_that_failed_are_told_with_their_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("no idea")

    monkeypatch.setattr(DropMedia, "plan", broken)
    why = ("drop-media", "it raised ValueError: no idea")
    ladder = {"kind": "hybrid", "steps": ["drop-media", "drop-oldest"]}
    done = replay(recorded(TENS), Setting("ladder", ladder, share=0.5))
    assert [request.failures for request in done.requests] == [(), (), (why,)]
    # also where no request came of it
    alone = replay(recorded(TENS), Setting("drop-media", "drop-media", share=0.5))
    assert [(bool(request.refusal), request.failures) for request in alone.requests][-1] == (True, (why,))


def test_a_moment_with_an_open_call_asks_for_nothing() -> None:
    messages = [*TENS[:1], calls("c1", "lookup", "{}"), said("assistant", 6)]
    done = replay(recorded(messages), Setting("hybrid", "hybrid", share=1.0))
    assert ([request.at for request in done.requests], done.waiting) == ([1], 1)


def test_a_replay_is_the_same_each_time() -> None:
    setting = Setting("hybrid", "hybrid", share=0.6)
    first, second = (replay(recorded(REFUND), setting) for _ in range(2))
    assert first == second
    assert first.requests[0] != replace(first.requests[0], tokens=1)


def test_a_share_that_the_rest_of_the_budget_contradicts_is_a_config_error() -> None:
    setting = Setting("own", "hybrid", share=0.5, budget={"reply": 40})
    with pytest.raises(ConfigError, match=r"reply \(40\) must be smaller than window \(30\)"):
        replay(recorded(TENS), setting)


def test_a_strict_setting_raises_what_a_strategy_did(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("no idea")

    monkeypatch.setattr(DropOldest, "plan", broken)
    lax = Setting("drop-oldest", "drop-oldest", share=0.5)
    failed = [request for request in replay(recorded(TENS), lax).requests if request.refusal]
    assert failed
    with pytest.raises(StrategyError, match="no idea"):
        replay(recorded(TENS), replace(lax, manager={"strict": True}))


def test_a_setting_needs_a_size() -> None:
    with pytest.raises(ConfigError, match="no share of the tokens and no window"):
        Setting("hybrid", "hybrid")
    with pytest.raises(ConfigError, match="above 0"):
        Setting("hybrid", "hybrid", share=0.0)


def test_seconds_are_not_compared() -> None:
    assert Measured(1, 1, 10, seconds=1.0) == Measured(1, 1, 10, seconds=2.0)


def test_a_digest_beside_its_name_is_held() -> None:
    judge = Judge(recorded(REFUND), 1_000)
    digest = {"role": "user", "content": f"[earlier] {ORDER}"}
    # not JSON as a whole: the pair `"total":129.95` in it is what counts
    (order, amount) = judge.sent(6, [REFUND[0], digest, REFUND[5]], None).needs
    assert (order.held, amount.held) == (True, True)
