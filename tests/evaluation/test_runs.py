"""Many conversations in many settings: in order, and the same in several processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ctxkit.evaluation.recording import Transcript
from ctxkit.evaluation.runs import Unscored, run, scored
from ctxkit.evaluation.scores import Score
from ctxkit.evaluation.settings import Setting
from tests.evaluation.shop import REFUND, TENS

WHOLE = Setting("hybrid", "hybrid", share=1.0)
SMALL = Setting("drop-oldest", "drop-oldest", budget={"window": 60})
CONTRARY = Setting("own", "hybrid", share=0.5, budget={"reply": 40})


def transcript(messages: list[dict[str, object]]) -> Transcript:
    return Transcript(messages, "openai-chat")


def test_a_conversation_has_an_outcome_for_each_setting() -> None:
    whole, small, contrary = scored(transcript(TENS), [WHOLE, SMALL, CONTRARY])
    assert isinstance(whole, Score)
    assert isinstance(small, Score)
    assert (whole.requests, small.requests) == (3, 3)
    assert isinstance(contrary, Unscored)
    assert contrary.type == "ConfigError"
    assert "reply (40)" in contrary.message


def test_a_broken_conversation_fails_in_every_setting() -> None:
    outcomes = scored(transcript([{"role": 3}]), [WHOLE, replace(SMALL, model="claude-sonnet-4-5")])
    assert [outcome.type for outcome in outcomes if isinstance(outcome, Unscored)] == [
        "ProviderFormatError",
        "ProviderFormatError",
    ]


def test_models_count_differently() -> None:
    (mine,) = scored(transcript(TENS), [replace(WHOLE, model="claude-sonnet-4-5")])
    (other,) = scored(transcript(TENS), [WHOLE])
    assert isinstance(mine, Score)
    assert isinstance(other, Score)
    assert other.tokens == 10 + 30 + 50
    assert mine.tokens != other.tokens


@pytest.mark.parametrize("entry", [3, None, [], {}, {"role": 3}, {"role": "user", "content": {}}])
@pytest.mark.parametrize("format", ["openai-chat", "openai-responses", "anthropic", "gemini"])
def test_any_json_has_an_outcome(entry: object, format: str) -> None:
    (outcome,) = scored(Transcript([entry], format), [WHOLE])
    if isinstance(outcome, Score):  # it could be mended away
        assert (outcome.conversations, outcome.requests) == (1, 0)
    else:
        assert outcome.type == "ProviderFormatError"


def given() -> list[Transcript | Unscored]:
    broken = Unscored("InputError", "not JSON")
    return [transcript(TENS), broken, transcript([{"role": 3}]), transcript(REFUND)] * 6


def timeless(outcome: Score | Unscored) -> Score | Unscored:
    return replace(outcome, seconds=0.0) if isinstance(outcome, Score) else outcome


def test_processes_change_nothing() -> None:
    one, two = (
        [[timeless(each) for each in outcomes] for outcomes in run(given(), [WHOLE, SMALL], jobs=jobs)]
        for jobs in (1, 2)
    )
    assert one == two
    assert len(one) == 24
    assert one[1] == [Unscored("InputError", "not JSON")] * 2


def test_conversations_are_taken_in_as_they_are_needed() -> None:
    taken: list[int] = []

    def endless() -> Iterator[Transcript]:
        while True:
            taken.append(1)
            yield transcript(TENS)

    outcomes = run(endless(), [WHOLE], jobs=2)
    next(outcomes)
    assert len(taken) < 40
    outcomes.close()  # type: ignore[attr-defined]
