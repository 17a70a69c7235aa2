"""Chat Completions: what a message is, its parts, its wire rules and their repair."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionMessage, ParsedChatCompletion

from ctxkit.core.items import Call, Part, PartKind, Result, Role, Shape, Weight
from ctxkit.core.provider import Provider, Repair
from ctxkit.errors import PlanError, ProviderFormatError
from ctxkit.providers.openai_chat import OpenAIChat

CHAT: Provider = OpenAIChat()
CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus"
BROKEN_IN_SOURCE = {"taskmaster3": 6}
"""Conversations with a call that is never answered though the talk goes on, as the corpus' README counts them."""

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    "rkJggg=="
)


def user(text: str = "hi") -> dict[str, Any]:
    return {"role": "user", "content": text}


def calls(*ids: str, **more: Any) -> dict[str, Any]:
    made = [{"id": i, "type": "function", "function": {"name": "look", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": made, **more}


def tool(call: str, text: str = "found") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call, "content": text}


def rules(*messages: Any) -> list[tuple[str, int]]:
    return [(problem.rule, problem.index) for problem in CHAT.violations(messages)]


def repaired(*messages: Any) -> list[dict[str, Any]]:
    return CHAT.repair(messages)[0]


# Shape.


@pytest.mark.parametrize(
    ("message", "shape"),
    [
        ({"role": "system", "content": "be brief"}, Shape(Role.SYSTEM)),
        ({"role": "developer", "content": [{"type": "text", "text": "x"}]}, Shape(Role.SYSTEM)),
        (user(), Shape(Role.USER, words=True)),
        ({"role": "assistant", "content": "hello", "unknown": 1}, Shape(Role.MODEL)),
        ({"role": "assistant", "content": "x", "tool_calls": None, "function_call": None}, Shape(Role.MODEL)),
        (calls("a", "b"), Shape(Role.MODEL, calls=(Call("a", "look"), Call("b", "look")))),
        (
            {
                "role": "assistant",
                "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select"}}],
            },
            Shape(Role.MODEL, calls=(Call("c", "sql", kind="custom"),)),
        ),
        (
            {"role": "assistant", "function_call": {"name": "look", "arguments": "{}"}},
            Shape(Role.MODEL, calls=(Call(None, "look"),)),
        ),
        ({**tool("a"), "name": "look"}, Shape(Role.TOOL, results=(Result("a", "look"),))),
        (
            {"role": "function", "name": "look", "content": None},
            Shape(Role.TOOL, results=(Result(None, "look"),)),
        ),
    ],
)
def test_shape_tells_role_calls_and_results(message: dict[str, Any], shape: Shape) -> None:
    assert CHAT.shape(message) == shape


@pytest.mark.parametrize(
    ("message", "path", "rule"),
    [
        ("hello", "messages[7]", ""),
        (None, "messages[7]", ""),
        ({"content": "x"}, "messages[7].role", ""),
        ({"role": ["user"], "content": "x"}, "messages[7].role", ""),
        ({"role": "critic", "content": "x"}, "messages[7].role", ""),
        ({"role": "user", "content": 3}, "messages[7].content", ""),
        ({"role": "user", "content": {"text": "x"}}, "messages[7].content", ""),
        ({"role": "user", "content": ["x"]}, "messages[7].content[0]", ""),
        ({"role": "user", "content": [{"text": "x"}]}, "messages[7].content[0].type", ""),
        ({"role": "user", "content": [{"type": "text", "text": None}]}, "messages[7].content[0].text", ""),
        ({"role": "tool", "content": "x"}, "messages[7].tool_call_id", ""),
        ({"role": "function", "content": "x"}, "messages[7].name", "C13"),
        ({"role": "assistant", "tool_calls": {}}, "messages[7].tool_calls", ""),
        ({"role": "assistant", "tool_calls": ["a"]}, "messages[7].tool_calls[0]", ""),
        ({"role": "assistant", "tool_calls": [{"function": {}}]}, "messages[7].tool_calls[0].id", ""),
        ({"role": "assistant", "tool_calls": [{"id": "a"}]}, "messages[7].tool_calls[0].function", ""),
        ({"role": "assistant", "tool_calls": [{"id": "a", "type": 3}]}, "messages[7].tool_calls[0].type", ""),
        (
            {"role": "assistant", "tool_calls": [{"id": "a", "function": {}}]},
            "messages[7].tool_calls[0].function.name",
            "C14",
        ),
        ({"role": "assistant", "function_call": "look"}, "messages[7].function_call", ""),
    ],
)
def test_what_is_no_message_is_refused_with_its_path(message: Any, path: str, rule: str) -> None:
    with pytest.raises(ProviderFormatError) as caught:
        CHAT.shape(message, index=7)
    assert (caught.value.path, caught.value.rule, caught.value.format) == (path, rule, "openai-chat")
    assert CHAT.violations([message])[0].path == path.replace("7", "0", 1)


# Parts.


def test_parts_of_an_assistant_message_in_order() -> None:
    message: dict[str, Any] = {
        "role": "assistant",
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"q":1}'}},
            {"id": "b", "type": "custom", "custom": {"name": "sql", "input": "select 1"}},
            {"id": "c", "type": "novel", "novel": {}},
        ],
        "refusal": "no",
        "audio": {"id": "audio_1", "transcript": "as I say"},
        "content": [{"type": "text", "text": "so"}, {"type": "refusal", "refusal": "never"}],
        "reasoning_content": "because",
    }
    assert CHAT.parts(message) == (
        Part(("reasoning_content",), PartKind.REASONING, "because", "because"),
        Part(("content", 0, "text"), PartKind.TEXT, "so", "so"),
        Part(("content", 1, "refusal"), PartKind.OPAQUE, "never", "never", sealed=PartKind.TEXT),
        Part(("refusal",), PartKind.OPAQUE, "no", "no", sealed=PartKind.TEXT),
        Part(("audio",), PartKind.OPAQUE, message["audio"], "as I say", sealed=PartKind.TEXT),
        Part(
            ("tool_calls", 0, "function", "arguments"), PartKind.ARGUMENTS, '{"q":1}', '{"q":1}', "look", "a"
        ),
        Part(("tool_calls", 1, "custom", "input"), PartKind.ARGUMENTS, "select 1", "select 1", "sql", "b"),
        Part(("tool_calls", 2), PartKind.OPAQUE, message["tool_calls"][2], call="c"),
    )


def test_media_stand_after_the_result_that_holds_them() -> None:
    content = [{"type": "image_url", "image_url": {"url": PIXEL}}, {"type": "text", "text": "a chart"}]
    result, image = CHAT.parts({**tool("a"), "content": content})
    assert (result.kind, result.path, result.text, result.call) == (
        PartKind.RESULT,
        ("content",),
        "a chart",
        "a",
    )
    assert (image.kind, image.path, image.text) == (PartKind.MEDIA, ("content", 0), "image/png")


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ({"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}, "image"),
        ({"type": "image_url", "image_url": {"url": PIXEL}}, "image/png"),
        ({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}, "audio/wav"),
        ({"type": "file", "file": {"filename": "a.pdf", "file_data": "AAAA"}}, "application/pdf"),
        ({"type": "file", "file": {"file_id": "file-1"}}, "file"),
        ({"type": "file"}, "file"),
    ],
)
def test_media_are_told_by_their_type(block: dict[str, Any], told: str) -> None:
    (part,) = CHAT.parts({"role": "user", "content": [block]})
    assert (part.kind, part.text) == (PartKind.MEDIA, told)


def test_an_edit_shares_what_it_leaves_and_changes_nothing_in_place() -> None:
    message = {
        "role": "user",
        "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
        "x": [],
    }
    before = copy.deepcopy(message)
    edited = CHAT.with_part(message, CHAT.parts(message)[1], "2")
    assert edited == {**before, "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "2"}]}
    assert message == before
    assert edited["content"][0] is message["content"][0]
    assert edited["x"] is message["x"]


def test_a_result_becomes_a_string_and_keeps_its_id() -> None:
    message = {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "long"}]}
    (part,) = CHAT.parts(message)
    assert CHAT.with_part(message, part, "short") == tool("a", "short")
    assert CHAT.with_part(message, part, {"k": "ü"}) == tool("a", '{"k":"ü"}')


def test_arguments_stay_a_json_object_in_text() -> None:
    message = calls("a")
    (part,) = CHAT.parts(message)
    edited = CHAT.with_part(message, part, {"path": "x"})
    assert edited["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"path":"x"}'}
    for bad in ("cut off {", "[1]", 3, ["x"]):
        with pytest.raises(PlanError):
            CHAT.with_part(message, part, bad)


def test_input_of_a_custom_call_is_any_text() -> None:
    message = {
        "role": "assistant",
        "tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "s", "input": "x"}}],
    }
    (part,) = CHAT.parts(message)
    assert CHAT.with_part(message, part, "cut {")["tool_calls"][0]["custom"]["input"] == "cut {"


def test_media_become_a_text_block() -> None:
    message = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": PIXEL}}]}
    (part,) = CHAT.parts(message)
    assert CHAT.with_part(message, part, "[image]") == {
        "role": "user",
        "content": [{"type": "text", "text": "[image]"}],
    }
    with pytest.raises(PlanError):
        CHAT.with_part(message, part, " ")


@pytest.mark.parametrize("key", ["reasoning_content", "refusal", "audio"])
def test_what_is_opaque_cannot_be_edited(key: str) -> None:
    message = {"role": "assistant", key: "x"}
    with pytest.raises(PlanError):
        CHAT.with_part(message, CHAT.parts(message)[0], "y")


def test_reasoning_stays_with_calls_and_goes_elsewhere() -> None:
    asked = calls("a", reasoning_content="r")
    said = {"role": "assistant", "content": "done", "reasoning": "r", "reasoning_details": [{"text": "r"}]}
    only = {"role": "assistant", "reasoning": "r"}
    entries = [asked, tool("a"), said, only, user()]
    stripped = CHAT.strip(entries)
    assert stripped == [asked, tool("a"), {"role": "assistant", "content": "done"}, only, user()]
    assert [a is b for a, b in zip(stripped, entries, strict=True)] == [True, True, False, True, True]


# Units.


def test_a_made_up_answer_stands_at_the_end_of_the_run() -> None:
    unit = [calls("a", "b"), tool("a")]
    answered = CHAT.answer(unit, Call("b", "look"), "gone")
    assert answered == [*unit, tool("b", "gone")]
    assert answered[0] is unit[0]


def test_an_old_function_call_is_answered_by_a_function_message() -> None:
    asked = {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}}
    made = {"role": "function", "name": "look", "content": "gone"}
    assert CHAT.answer([asked], Call(None, "look"), "gone") == [asked, made]


def test_a_late_result_moves_to_the_run_of_its_call() -> None:
    late = tool("b", "late")
    unit = [calls("a", "b"), tool("a"), user("stray")]
    assert CHAT.place(unit, late) == [unit[0], unit[1], late, unit[2]]
    assert CHAT.place([*unit, late], late) == [unit[0], unit[1], late, unit[2]]


def test_a_result_of_another_unit_is_refused() -> None:
    with pytest.raises(PlanError, match="makes the call 'x'"):
        CHAT.place([calls("a")], tool("x"))
    with pytest.raises(PlanError):
        CHAT.answer([calls("a")], Call(None, "look"), "t")


def test_a_stand_in_is_a_bare_user_message() -> None:
    assert CHAT.stand_in("text") == {"role": "user", "content": "text"}


# Weight.


def test_weight_counts_envelopes_names_and_calls() -> None:
    assert CHAT.weigh(user("hello")) == Weight(("hello",), 4)
    assert CHAT.weigh({**user("hello"), "name": "bob"}) == Weight(("bob", "hello"), 5)
    assert CHAT.weigh(calls("a", "b")) == Weight(("look", "{}", "look", "{}"), 10)
    assert CHAT.weigh({"role": "assistant", "refusal": "no"}) == Weight(("no",), 4)


def test_base64_is_never_a_text() -> None:
    blocks = [
        {"type": "image_url", "image_url": {"url": "https://a.example/b.png", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://a.example/b.png"}},
        {"type": "image_url", "image_url": {"url": PIXEL}},
        {"type": "novel", "data": "A" * 4_000},
    ]
    weights = [CHAT.weigh({"role": "user", "content": [block]}) for block in blocks]
    assert [weight.texts for weight in weights] == [()] * 4
    assert [weight.fixed for weight in weights[:3]] == [4 + 85, 4 + 765, 4 + 255]
    assert 1_004 <= weights[3].fixed <= 1_024


def test_files_and_audio_weigh_something() -> None:
    for block in (
        {"type": "file", "file": {"file_data": "data:application/pdf;base64," + "A" * 9_000}},
        {"type": "input_audio", "input_audio": {"data": "A" * 90_000, "format": "wav"}},
    ):
        weight = CHAT.weigh({"role": "user", "content": [block]})
        assert weight.texts == ()
        assert weight.fixed > 4


def test_reasoning_told_twice_is_counted_once() -> None:
    details = [{"type": "reasoning.text", "text": "why"}, {"type": "reasoning.encrypted", "data": "x" * 40}]
    told = {"role": "assistant", "content": "so", "reasoning": "why", "reasoning_details": details}
    assert CHAT.weigh(told) == Weight(("why", "so"), 4 + 10)


def test_system_beside_the_list_weighs_as_a_message() -> None:
    assert CHAT.weigh_system(None) == Weight(())
    assert CHAT.weigh_system("s") == CHAT.weigh({"role": "system", "content": "s"}) == Weight(("s",), 4)
    assert CHAT.weigh_system([{"type": "text", "text": "s"}]) == Weight(("s",), 4)


# SDK objects.

COMPLETION: dict[str, Any] = {
    "id": "c",
    "object": "chat.completion",
    "created": 0,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {**calls("a"), "refusal": None, "reasoning_content": "r"},
        }
    ],
}


def test_dump_keeps_what_was_set_and_no_more() -> None:
    message = COMPLETION["choices"][0]["message"]
    completion = ChatCompletion.model_validate(COMPLETION)
    assert CHAT.dump(completion) == [message]
    assert CHAT.dump(completion.choices[0].message) == [message]
    assert CHAT.dump(ChatCompletionMessage(role="assistant", content="x")) == [
        {"role": "assistant", "content": "x"}
    ]


def test_dump_leaves_out_what_the_parse_helper_added() -> None:
    raw = copy.deepcopy(COMPLETION)
    message = raw["choices"][0]["message"]
    message["parsed"] = {"a": 1}
    message["tool_calls"][0]["function"]["parsed_arguments"] = {"a": 1}
    assert CHAT.dump(ParsedChatCompletion.model_validate(raw)) == CHAT.dump(
        ChatCompletion.model_validate(COMPLETION)
    )


def test_dump_gives_a_dict_back_as_it_is() -> None:
    message = user()
    assert CHAT.dump(message)[0] is message


@pytest.mark.parametrize(
    "thing", [None, "x", [user()], 3, ChatCompletionMessage, ChatCompletion.model_construct(choices=[])]
)
def test_dump_refuses_what_is_no_message(thing: object) -> None:
    with pytest.raises(ProviderFormatError):
        CHAT.dump(thing)


# Wire rules: what is accepted.


def test_a_good_history_breaks_no_rule() -> None:
    assert (
        rules(
            {"role": "system", "content": ""},
            {"role": "assistant", "content": "first"},
            user(),
            user(),
            calls("a", "b"),
            tool("b"),
            tool("a"),
            {"role": "system", "content": "mid-way"},
            calls("a"),
            tool("a", ""),
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{"}},
            {"role": "function", "name": "f", "content": None},
            {"role": "function", "name": "untied", "content": "x"},
            {"role": "assistant", "content": None, "refusal": "no"},
            {"role": "assistant", "audio": {"id": "a"}},
        )
        == []
    )


# Wire rules: what is refused, and what repair makes of it.

ODD_CALL = {"id": "a", "type": "function", "function": {"name": "look", "arguments": {"q": 1}}}
BROKEN = {
    "C1 unanswered": ([calls("a", "b"), tool("a"), user()], [("C1", 0)], None),
    "C6 waiting": ([user(), calls("a", "b"), tool("b")], [("C6", 1)], None),
    "C2 orphan": ([tool("a"), user()], [("C2", 0)], [user()]),
    "C2 double after the run": (
        [calls("a"), tool("a"), user(), tool("a")],
        [("C2", 3)],
        [calls("a"), tool("a"), user()],
    ),
    "C3 stray": (
        [calls("a", "b"), tool("a"), user(), tool("b")],
        [("C1", 0), ("C3", 2), ("C2", 3)],
        [calls("a", "b"), tool("a"), tool("b"), user()],
    ),
    "C3 late, in another run": (
        [calls("a"), calls("b"), tool("b"), tool("a")],
        [("C1", 0), ("C3", 1), ("C2", 3)],
        [calls("a"), tool("a"), calls("b"), tool("b")],
    ),
    "C4 two results": ([calls("a"), tool("a"), tool("a", "x")], [("C4", 2)], [calls("a"), tool("a")]),
    "C4 two calls": (
        [calls("a", "a", "a_2"), tool("a", "1"), tool("a", "2"), tool("a_2")],
        [("C4", 0)],
        [calls("a", "a_3", "a_2"), tool("a", "1"), tool("a_3", "2"), tool("a_2")],
    ),
    "C7 no calls": (
        [user(), {"role": "assistant", "content": "x", "tool_calls": []}],
        [("C7", 1)],
        [user(), {"role": "assistant", "content": "x"}],
    ),
    "C7 no calls, no content": ([user(), calls()], [("C8", 1), ("C7", 1)], [user()]),
    "C8 null": ([user(), {"role": "assistant", "content": None}], [("C8", 1)], [user()]),
    "C8 null result": (
        [calls("a"), {**tool("a"), "content": None}],
        [("C8", 1)],
        [calls("a"), tool("a", "")],
    ),
    "C9 empty list": ([user(), {"role": "user", "content": []}], [("C9", 1)], [user()]),
    "C9 empty list beside calls": (
        [calls("a", content=[]), tool("a")],
        [("C9", 0)],
        [calls("a", content=""), tool("a")],
    ),
    "C11 image in a result": (
        [calls("a"), {**tool("a"), "content": [{"type": "image_url", "image_url": {"url": PIXEL}}]}],
        [("C11", 1)],
        [calls("a"), {**tool("a"), "content": [{"type": "text", "text": "[image/png]"}]}],
    ),
    "C12 name": ([{**user(), "name": "a b<c"}], [("C12", 0)], [{**user(), "name": "a_b_c"}]),
    "C12 no name": ([{**user(), "name": ""}], [("C12", 0)], [user()]),
    "C13 nameless function": (
        [
            {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "content": "x"},
        ],
        [("C13", 1)],
        [
            {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "content": "x", "name": "f"},
        ],
    ),
    "C13 nameless orphan": ([user(), {"role": "function", "content": "x"}], [("C13", 1)], [user()]),
    "C14 object": (
        [{"role": "assistant", "tool_calls": [ODD_CALL]}, tool("a")],
        [("C14", 0)],
        [
            {
                "role": "assistant",
                "tool_calls": [{**ODD_CALL, "function": {"name": "look", "arguments": '{"q":1}'}}],
            },
            tool("a"),
        ],
    ),
    "C14 nothing": (
        [{"role": "assistant", "function_call": {"name": "f"}}],
        [("C14", 0)],
        [{"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}],
    ),
    "C14 no name": (
        [{"role": "assistant", "function_call": {"name": "", "arguments": ""}}],
        [("C14", 0)],
        None,
    ),
    "no role": ([{"content": "x"}, user()], [("shape", 0)], None),
}


@pytest.mark.parametrize(("messages", "broken", "whole"), BROKEN.values(), ids=BROKEN)
def test_broken_rules_are_told_and_mended(
    messages: list[Any], broken: list[tuple[str, int]], whole: list[Any] | None
) -> None:
    before = copy.deepcopy(messages)
    assert rules(*messages) == broken
    assert repaired(*messages) == (before if whole is None else whole)
    assert messages == before
    if whole is not None:
        assert rules(*whole) == []


def test_an_empty_or_missing_list_is_told() -> None:
    assert [(v.rule, v.index, v.path) for v in CHAT.violations([])] == [("C9", -1, "messages")]
    for thing in (None, {"role": "user"}, "messages", 3):
        assert [(v.rule, v.index) for v in CHAT.violations(thing)] == [("shape", -1)]  # type: ignore[arg-type]


def test_a_violation_names_the_place() -> None:
    (problem,) = CHAT.violations([calls("a", "b"), tool("b"), user()])
    assert str(problem) == "messages[0].tool_calls[0]: C1: the call 'a' has no result before messages[2]"


def test_repairs_are_told_by_index_before_the_repair() -> None:
    messages = [calls(), user(), calls("a"), user(), tool("a"), tool("z")]
    whole, done = CHAT.repair(messages)
    assert whole == [user(), calls("a"), tool("a"), user()]
    assert done == [
        Repair("C7", 0, "lost its empty list of tool calls"),
        Repair("C8", 0, "went: it had no content"),
        Repair("C3", 4, "moved up to its call in messages[2]"),
        Repair("C2", 5, "went: no call waits for it"),
    ]


def test_a_reused_id_pairs_with_the_call_just_before() -> None:
    messages = [calls("a"), user(), calls("a"), tool("a", "second")]
    assert rules(*messages) == [("C1", 0)]
    assert repaired(*messages) == messages


# Generated histories.

IDS = st.sampled_from(["a", "b"])
MESSAGES = st.one_of(
    st.builds(user),
    st.builds(tool, IDS),
    st.lists(IDS, max_size=3).map(lambda ids: calls(*ids)),
    st.builds(lambda text: {"role": "assistant", "content": text}, st.sampled_from(["x", None, []])),
    st.builds(lambda name: {"role": "function", "name": name, "content": None}, st.sampled_from(["f", ""])),
    st.just({"role": "system", "content": "s", "name": "a b"}),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
KEYS = [
    "content",
    "tool_calls",
    "function_call",
    "name",
    "tool_call_id",
    "refusal",
    "audio",
    "reasoning_details",
]
BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "refusal", "image_url", "input_audio", "file", "function", "novel"])},
    optional=dict.fromkeys(
        ["text", "refusal", "image_url", "input_audio", "file", "function", "custom", "id", "data"], JSON
    ),
)
WILD = st.builds(
    lambda role, rest: {"role": role, **rest},
    st.sampled_from(["system", "user", "assistant", "tool", "function"]) | JSON,
    st.dictionaries(st.sampled_from(KEYS), JSON | st.lists(BLOCKS, max_size=3), max_size=4),
)


@settings(deadline=None)
@given(st.lists(MESSAGES, max_size=9))
def test_repair_leaves_open_calls_alone_and_is_idempotent(messages: list[Any]) -> None:
    whole, done = CHAT.repair(messages)
    assert {rule for rule, _ in rules(*whole)} <= ({"C1", "C6"} if whole else {"C9"})
    assert bool(done) == (whole != messages)
    assert CHAT.repair(whole) == (whole, [])
    kept = [message["content"] for message in messages if message["role"] == "user"]
    assert [message["content"] for message in whole if message["role"] == "user"] == kept


@settings(deadline=None)
@given(st.lists(WILD, max_size=4))
def test_any_json_is_told_and_never_trips(messages: list[Any]) -> None:
    before = copy.deepcopy(messages)
    told = CHAT.violations(messages)
    assert [v.index for v in told] == sorted(v.index for v in told)
    CHAT.repair(messages)
    for index, message in enumerate(messages):
        refused_at = _refused_at(message, index)
        assert refused_at is None or refused_at in [v.path for v in told if v.index == index]
        CHAT.weigh(message)
        CHAT.strip([message])
        _check_edits(message)
    assert repr(messages) == repr(before)


def test_deep_or_broken_text_never_trips() -> None:
    deep: Any = []
    for _ in range(20_000):
        deep = [deep]
    block = {"type": "novel", "x": deep}
    odd = {"role": "assistant", "tool_calls": [{**ODD_CALL, "function": {"name": "f", "arguments": deep}}]}
    messages = [{"role": "user", "content": [block]}, odd, tool("a", "\ud800")]
    assert rules(*messages) == [("C14", 1)]
    assert CHAT.weigh(messages[0]).fixed >= 10_000
    assert rules(*repaired(*messages)) == []
    (part,) = CHAT.parts(calls("a"))
    with pytest.raises(PlanError):
        CHAT.with_part(calls("a"), part, "[" * 100_000)


def _refused_at(message: Any, index: int) -> str | None:
    try:
        CHAT.shape(message, index=index)
    except ProviderFormatError as error:
        return error.path
    return None


def _check_edits(message: dict[str, Any]) -> None:
    """Writing a part's own value back gives the message back; a list or null result reads the same."""
    parts = CHAT.parts(message)
    for part in parts:
        if part.kind not in (PartKind.TEXT, PartKind.RESULT, PartKind.ARGUMENTS):
            continue
        if isinstance(part.value, str):
            assert CHAT.with_part(message, part, part.value) == message
        elif part.kind is PartKind.RESULT:
            edited = CHAT.with_part(message, part, part.text)
            assert edited == {**message, "content": part.text}


# Real conversations.


def _conversations(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(CORPUS / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            conversation = json.loads(line)
            if conversation["format"] == "openai-chat":
                yield conversation


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not here")
@pytest.mark.parametrize(
    "name",
    ["cassettes_openai_chat", "tau_airline_gpt4o", "tau2_airline", "swe_mini_deepseek", "taskmaster3"],
)
def test_real_conversations_are_read_and_left_alone(name: str) -> None:
    broken = 0
    for conversation in _conversations(name):
        messages = conversation["messages"]
        told = {rule for rule, _ in rules(*messages)}
        broken += bool(told - {"C6"})
        whole, done = CHAT.repair(messages)
        assert told <= {"C1", "C6"}
        assert done == []
        assert all(a is b for a, b in zip(whole, messages, strict=True))
        for index, message in enumerate(messages):
            assert CHAT.shape(message, index=index).role
            assert CHAT.weigh(message).fixed >= 4
            _check_edits(message)
    assert broken == BROKEN_IN_SOURCE.get(name, 0)
