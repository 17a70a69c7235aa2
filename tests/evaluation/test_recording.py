"""Where requests are made in a recording, and what each cannot do without."""

from __future__ import annotations

import pytest

from ctxkit.errors import ProviderFormatError, UnknownPluginError
from ctxkit.evaluation.recording import Recording, Transcript
from tests.evaluation.shop import REFUND, TENS, calls, recorded, result, said


def test_a_request_comes_before_each_answer() -> None:
    recording = recorded(REFUND)
    assert recording.requests == [2, 4, 6, 8]
    assert recording.turns == [0, 1, 1, 1, 1, 2, 2, 2, 2]


def test_no_request_comes_before_a_greeting() -> None:
    greeting = [{"role": "system", "content": "Be brief."}, said("assistant", 2), said("user", 1)]
    assert recorded([*greeting, said("assistant", 1)]).requests == [3]


def test_what_a_model_makes_in_one_go_is_one_answer() -> None:
    items = [
        {"role": "user", "content": "hi"},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": '{"city":"Rome"}'},
        {"type": "function_call", "call_id": "b", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "x"},
        {"type": "function_call_output", "call_id": "b", "output": "y"},
        {"role": "assistant", "content": "there"},
    ]
    recording = Recording(Transcript(items, "openai-responses", system="Be brief."))
    assert recording.requests == [1, 5]
    assert [read.entry for read in recording.answer(1)] == items[1:3]
    assert recording.tokens == recording.beside + recording.upto[-1]


def test_the_least_is_system_text_user_message_and_newest_step() -> None:
    # 0 system 5, 1 user 10, 2 call, 3 result, 4 answer 7, 5 user 8, 6 and 7 the step of c2
    messages = [
        said("system", 1),
        said("user", 6),
        calls("c1", "lookup", "{}"),
        result("c1", "lamp"),
        said("assistant", 3),
        said("user", 4),
        calls("c2", "lookup", "{}"),
        result("c2", "lamp"),
        said("assistant", 1),
    ]
    recording = recorded(messages)
    sizes = [read.tokens for read in recording.reads]
    assert (sizes[0], sizes[1], sizes[4], sizes[5]) == (5, 10, 7, 8)
    assert recording.least(2) == 5 + 10
    assert recording.least(4) == 5 + 10 + sizes[2] + sizes[3]
    assert recording.least(6) == 5 + 8
    assert recording.least(8) == 5 + 8 + sizes[6] + sizes[7]


def test_tool_schemas_count_where_they_are_given() -> None:
    bare, tooled = recorded(TENS), recorded(TENS, tools=[{"name": "f"}])
    # [{"name":"f"}] is 7 tokens in o200k_base
    assert (bare.tokens, tooled.tokens) == (60, 67)
    assert tooled.least(1) == 10 + 7


def test_what_can_be_mended_is_mended_first() -> None:
    recording = recorded([*TENS[:2], result("orphan", "lamp"), *TENS[2:]])
    assert [read.entry for read in recording.reads] == TENS
    assert not recording.broken(len(TENS))


def test_what_cannot_be_mended_counts_as_broken_from_there_on() -> None:
    recording = recorded([*TENS[:2], calls("c1", "lookup", "{}"), *TENS[2:]])
    assert dict(recording.broken(2)) == {}
    assert dict(recording.broken(7)) == {"C1": 1}


def test_what_is_no_message_is_a_typed_error() -> None:
    with pytest.raises(ProviderFormatError, match=r"messages\[1\]"):
        recorded([said("user", 1), {"role": 3}])


def test_an_unknown_format_is_named() -> None:
    with pytest.raises(UnknownPluginError, match="no format 'chat'"):
        Recording(Transcript([], "chat"))
