"""The oracle finds each fault by name, and nothing in what is right."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from ctxkit.testing.conversations import FORMATS, Payload, conversations
from tests.oracle import OPEN, kept, rules, violations
from tests.oracle.bad_payloads import BAD, LOST

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"

CALM = settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

KNOWN_FAULTS = {
    "taskmaster3": {"C1"},
    "cassettes_anthropic": {"A6"},
    "cassettes_gemini": {"G2", "G3"},
    "gemini_cli_session": {"G2"},
    "cassettes_openai_responses": {"R10"},
}
"""What the files of recorded conversations are known to break; R10 is another vendor's server."""


@pytest.mark.parametrize(
    ("rule", "format", "messages"), BAD, ids=[f"{case[0]}-{i}" for i, case in enumerate(BAD)]
)
def test_each_fault_is_found_by_name(rule: str, format: str, messages: list[Any]) -> None:
    assert rule in rules(violations(format, messages))


@pytest.mark.parametrize(
    ("rule", "format", "before", "after"), LOST, ids=[f"{case[0]}-{i}" for i, case in enumerate(LOST)]
)
def test_each_loss_is_found_by_name(rule: str, format: str, before: list[Any], after: list[Any]) -> None:
    assert rules(violations(format, before)) <= OPEN
    assert kept(format, before, before) == []
    assert rule in rules(kept(format, before, after))


def test_a_loop_that_thinks_once_may_lose_steps_behind_its_thinking() -> None:
    before = next(case[2] for case in LOST if case[0] == "A16" and len(case[2]) > 3)
    mark = {"role": "assistant", "content": "[one step]"}
    assert kept("anthropic", before, [*before[:3], mark, *before[5:]]) == []


def test_altered_system_text_beside_the_list_is_found() -> None:
    assert kept("gemini", [], [], system_before="be kind", system_after="be short") != []


def test_entries_that_are_no_objects_are_named() -> None:
    assert rules(violations("gemini", ["hello"])) == {"shape"}


@pytest.mark.parametrize("format", FORMATS)
def test_generated_conversations_are_valid(format: str) -> None:
    @CALM
    @given(conversations(format))
    def check(payload: Payload) -> None:
        found = violations(payload.format, payload.messages, payload.system)
        assert rules(found) <= OPEN, found

    check()


@pytest.mark.parametrize("format", FORMATS)
def test_generated_conversations_that_end_on_the_user_can_be_sent(format: str) -> None:
    @CALM
    @given(conversations(format, ends="user"))
    def check(payload: Payload) -> None:
        assert violations(payload.format, payload.messages, payload.system) == []

    check()


@pytest.mark.parametrize("format", FORMATS)
def test_a_conversation_keeps_itself(format: str) -> None:
    @CALM
    @given(conversations(format))
    def check(payload: Payload) -> None:
        assert kept(payload.format, payload.messages, payload.messages) == []

    check()


def _recorded() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(CORPUS.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield path.name.split(".")[0], json.loads(line)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the recorded conversations are not there")
def test_recorded_conversations_break_only_what_is_known() -> None:
    unexpected = []
    seen: dict[str, set[str]] = {}
    for name, recorded in _recorded():
        system = None if recorded["format"] == "openai-chat" else recorded.get("system")
        found = violations(recorded["format"], recorded["messages"], system)
        broken = rules(found) - OPEN
        seen.setdefault(name, set()).update(broken)
        if broken - KNOWN_FAULTS.get(name, set()):
            unexpected.append((recorded["id"], found[:3]))
    assert unexpected == []
    assert {name: broken for name, broken in seen.items() if broken} == KNOWN_FAULTS


def test_an_entry_that_lost_its_reasoning_is_not_taken_for_another() -> None:
    call = {"functionCall": {"name": "f", "args": {}}}
    answer = {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}
    first = [{"role": "user", "parts": [{"text": "a"}]}, {"role": "model", "parts": [call]}, answer]
    thought = {"role": "model", "parts": [{"text": "hm", "thought": True}, call]}
    second = [{"role": "user", "parts": [{"text": "b"}]}, thought, answer]
    assert kept("gemini", [*first, *second], [second[0], {"role": "model", "parts": [call]}, answer]) == []


@pytest.mark.parametrize("key", ["thoughtSignature", "thought_signature"])
def test_an_entry_that_lost_its_signature_is_not_taken_for_another(key: str) -> None:
    user, call = {"role": "user", "parts": [{"text": "a"}]}, {"text": "so"}
    signed = {"role": "model", "parts": [{**call, key: "c2ln"}]}
    bare = {"role": "model", "parts": [call]}
    between = {"role": "model", "parts": [{"text": "between"}]}
    assert kept("gemini", [user, bare, between, signed, user], [user, between, bare, user]) == []
