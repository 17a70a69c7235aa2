"""What later calls need, and how long ago it was said."""

from __future__ import annotations

from ctxkit.evaluation.needs import Mentions, Need
from ctxkit.evaluation.recording import Recording, Transcript
from tests.evaluation.shop import REFUND, calls, recorded, result, said


def test_a_need_is_a_literal_of_the_answer_that_was_said_before() -> None:
    mentions = Mentions(recorded(REFUND))
    # before 2 the user message at 1 is the newest entry; the answers at 4 and 8 call nothing
    assert mentions.needs(2) == [Need("W1234567", 1, 0)]
    assert mentions.needs(4) == mentions.needs(8) == []
    # the result at 3 said both last; after it came "Found." (2 + 4 tokens) and "Refund it." (3 + 4 tokens)
    assert mentions.needs(6) == [Need("W1234567", 3, 13), Need("129.95", 3, 13)]


def test_what_only_system_text_says_is_no_need() -> None:
    messages = [{"role": "system", "content": "You are in Rome."}, said("user", 1)]
    assert Mentions(recorded([*messages, calls("c1", "f", '{"city":"Rome"}')])).needs(2) == []


def test_what_the_call_alone_says_is_no_need() -> None:
    messages = [said("user", 1), calls("c1", "f", '{"city":"Rome","sort":"lamp"}'), result("c1", "Rome")]
    assert Mentions(recorded(messages)).needs(1) == [Need("lamp", 0, 0)]


def test_origins_are_the_names_and_texts_of_before() -> None:
    mentions = Mentions(recorded(REFUND))
    at_6 = mentions.origins("W1234567", 6)
    assert [(origin.at, sorted(origin.names)) for origin in at_6] == [(1, []), (2, ["order"]), (3, ["order"])]
    assert [bool(origin.source) for origin in at_6] == [True, False, False]
    assert mentions.origins("W1234567", 2) == at_6[:1]


def test_a_signed_call_needs_what_it_was_given() -> None:
    call = {"functionCall": {"name": "f", "args": {"city": "Rome"}}, "thoughtSignature": "c2ln"}
    messages = [{"role": "user", "parts": [{"text": "To Rome."}]}, {"role": "model", "parts": [call]}]
    assert Mentions(Recording(Transcript(messages, "gemini"))).needs(1) == [Need("Rome", 0, 0)]
