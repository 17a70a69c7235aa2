"""Packing: which facts of old steps are worth their tokens, and what counts as spoken of."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxkit.core.state import Meter
from ctxkit.providers import provider
from ctxkit.strategies.packing import Known, Scored, Talk, fitting, kept, ranked
from ctxkit.strategies.steps import Step, steps_of


def called(number: int, arguments: Any, result: Any) -> list[Step]:
    call = {"id": f"c{number}", "type": "function"}
    function = {"name": "find", "arguments": json.dumps(arguments)}
    entries = [
        {"role": "assistant", "content": None, "tool_calls": [{**call, "function": function}]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": json.dumps(result)},
    ]
    return steps_of(entries, Meter(provider("openai-chat"), len))


def known(talk: str = "", *, live: frozenset[str] = frozenset()) -> Known:
    return Known(frozenset(), frozenset(), {}, frozenset(), live, Talk(talk))


def best(steps: list[Step], given: Known) -> list[str]:
    """The texts of the facts, best first."""
    return [steps[-1 - each.age].facts[each.fact].text for each in ranked(steps, given, 10_000)]


@pytest.mark.parametrize(
    ("value", "spoken"),
    [
        ("comedy", True),
        ("Comedy", True),
        ("comed", False),
        ("gift_card_6276644", True),
        ("gift_card_6276645", False),
        ("2019-03-08", True),
        ("2019-06-03", True),
        ("2019-04-05", True),
        ("2019-03-12", False),
        ("故宫", True),
        ("天坛", False),
    ],
)
def test_somebody_spoke_of_a_value_or_its_number_or_its_day(value: str, spoken: bool) -> None:
    talk = Talk("A Comedy on March 8th or the 3rd of June; marked 12. Gift Card 6276644. 4月5日去故宫")
    assert talk.mentions(value) is spoken


def test_what_somebody_spoke_of_goes_first() -> None:
    steps = called(1, {}, {"ids": ["AB-1001", "AB-1002", "AB-1003"]})
    assert best(steps, known("Take number AB-1002, please."))[0] == "AB-1002"


def test_what_stays_in_sight_goes_last() -> None:
    steps = called(1, {}, {"ids": ["AB-1001", "AB-1002", "AB-1003"]})
    assert best(steps, known(live=frozenset({"AB-1001"})))[-1] == "AB-1001"


def test_what_a_newer_step_says_too_is_left_to_that() -> None:
    steps = [*called(1, {}, {"id": "AB-1001"}), *called(2, {}, {"id": "AB-1001"})]
    assert [each.age for each in ranked(steps, known(), 10_000)][:1] == [0]
    assert [each.age for each in ranked(steps, known(), 10_000)].count(0) == 1


def test_a_line_and_a_name_are_counted_with_the_first_that_needs_them() -> None:
    steps = called(1, {}, {"id": ["AB-1001", "AB-1002"]})
    first, second = ranked(steps, known(), 10_000)
    assert first.tokens > second.tokens == steps[0].facts[second.fact].size


def test_facts_are_packed_until_there_is_no_room() -> None:
    facts = [Scored(1.0, 0, 0, 5), Scored(1.5, 0, 1, 9), Scored(2.0, 0, 2, 3)]
    assert [each.fact for each in fitting(facts, 8)] == [0, 2]


def test_a_step_of_which_all_is_kept_is_that_step() -> None:
    steps = [*called(1, {"id": 1}, {"city": "Rome", "total": 120}), *called(2, {}, {"city": "Oslo"})]
    whole = [Scored(1.0, 1, number, 1) for number in (2, 0, 1)]
    told = kept(steps, whole)
    assert told[0] is steps[0]
    assert told[1] is None
    part = kept(steps, whole[:1])[0]
    assert part is not None
    assert [fact.text for fact in part.facts] == ["120"]
