"""`OpenAIResponses`: shapes, parts, counting, rules and repair of Responses input items."""

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
from openai.types.responses import (
    Response,
    ResponseApplyPatchToolCall,
    ResponseFunctionToolCall,
    ResponseInputItemParam,
)
from openai.types.responses.parsed_response import ParsedResponseFunctionToolCall
from pydantic import TypeAdapter

from ctxkit.core.items import Call, Part, PartKind, Result, Role, Shape
from ctxkit.core.provider import Entry, Provider
from ctxkit.errors import PlanError, ProviderFormatError
from ctxkit.providers.openai_responses import OpenAIResponses
from ctxkit.providers.openai_responses_items import BLANK_SCREENSHOT, CALL_TYPES

SHARED = Path(__file__).parents[3] / "shared"
RESPONSES: Provider = OpenAIResponses()
DEEP: Any = 0
for _ in range(10_000):
    DEEP = [DEEP]


def user(text: str = "hi") -> Entry:
    return {"role": "user", "content": text}


def said(text: str = "Done.", id: str = "msg_1") -> Entry:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": id, "role": "assistant", "status": "completed", "content": [part]}


def reasoning(id: str = "rs_1") -> Entry:
    return {"type": "reasoning", "id": id, "summary": [{"type": "summary_text", "text": "Hm."}]}


def call(call_id: str, **more: Any) -> Entry:
    return {"type": "function_call", "call_id": call_id, "name": "look", "arguments": '{"at":1}'} | more


def output(call_id: str, text: Any = "seen", **more: Any) -> Entry:
    return {"type": "function_call_output", "call_id": call_id, "output": text} | more


CALLS: dict[str, Entry] = {
    "function_call": call("c1"),
    "custom_tool_call": {"type": "custom_tool_call", "call_id": "c1", "name": "sh", "input": "ls"},
    "computer_call": {
        "type": "computer_call",
        "id": "cu_1",
        "call_id": "c1",
        "pending_safety_checks": [],
        "status": "completed",
        "action": {"type": "screenshot"},
    },
    "local_shell_call": {
        "type": "local_shell_call",
        "id": "lsh_1",
        "call_id": "c1",
        "status": "completed",
        "action": {"type": "exec", "command": ["ls"], "env": {}},
    },
    "shell_call": {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}},
    "apply_patch_call": {
        "type": "apply_patch_call",
        "call_id": "c1",
        "status": "completed",
        "operation": {"type": "delete_file", "path": "a.py"},
    },
    "tool_search_call": {
        "type": "tool_search_call",
        "call_id": "c1",
        "execution": "client",
        "arguments": {"query": "mail"},
    },
    "mcp_approval_request": {
        "type": "mcp_approval_request",
        "id": "mcpr_1",
        "server_label": "crm",
        "name": "wipe",
        "arguments": "{}",
    },
}
PATCH_OUTPUT = {
    "type": "apply_patch_call_output",
    "call_id": "c1",
    "status": "failed",
    "output": "no such file",
}
SHELL_OUTPUT = {
    "type": "shell_call_output",
    "call_id": "c1",
    "output": [
        {"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 2}},
        {"stdout": "b", "stderr": "bad", "outcome": {"type": "exit", "exit_code": 0}},
    ],
}
SCREENSHOT_OUTPUT = {
    "type": "computer_call_output",
    "call_id": "c1",
    "output": {"type": "computer_screenshot", "image_url": "data:image/jpeg;base64,AAAA"},
}
HOSTED: list[Entry] = [
    {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "x"},
    },
    {
        "type": "mcp_call",
        "id": "mcp_1",
        "server_label": "crm",
        "name": "get",
        "arguments": "{}",
        "output": "42",
    },
    {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {"query": "mail"}},
    {"type": "something_new", "blob": {"a": 1}},
]


def rules(entries: list[Any]) -> list[tuple[str, int]]:
    return [(violation.rule, violation.index) for violation in RESPONSES.violations(entries)]


def part_of(entry: Entry, kind: PartKind) -> Part:
    return next(part for part in RESPONSES.parts(entry) if part.kind is kind)


# --- dump ---------------------------------------------------------------------------------------------------


def test_dump_gives_a_dict_back_as_it_is() -> None:
    entry = user()
    (dumped,) = RESPONSES.dump(entry)
    assert dumped is entry


def test_dump_of_a_response_is_its_output_without_what_only_outputs_have() -> None:
    response = Response.model_validate(
        {
            "id": "resp_1",
            "object": "response",
            "created_at": 0,
            "model": "gpt-5",
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "output": [reasoning(), call("c1", id="fc_1", **{"async": True})],
        }
    )
    assert RESPONSES.dump(response) == [reasoning(), call("c1", id="fc_1", **{"async": True})]
    patch = ResponseApplyPatchToolCall.model_validate(
        CALLS["apply_patch_call"] | {"id": "apc_1", "created_by": "me"}
    )
    assert RESPONSES.dump(patch) == [CALLS["apply_patch_call"] | {"id": "apc_1"}]
    parsed = ParsedResponseFunctionToolCall.model_validate(call("c1", parsed_arguments={"at": 1}))
    assert RESPONSES.dump(parsed) == [call("c1")]


@pytest.mark.parametrize("thing", ["hi", None, [user()], object(), ResponseFunctionToolCall])
def test_dump_refuses_what_is_no_item(thing: object) -> None:
    with pytest.raises(ProviderFormatError, match="is no input item"):
        RESPONSES.dump(thing)


# --- shape --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "shape"),
    [
        (user(), Shape(Role.USER, words=True)),
        ({"role": "developer", "content": "Be brief."}, Shape(Role.SYSTEM)),
        ({"role": "system", "content": []}, Shape(Role.SYSTEM)),
        (said(), Shape(Role.MODEL)),
        (reasoning(), Shape(Role.REASONING, binds="next")),
        ({"id": "rs_9"}, Shape(Role.REASONING, binds="next")),
        ({"type": "item_reference", "id": "fc_9"}, Shape(Role.MODEL)),
        ({"type": "compaction", "encrypted_content": "x"}, Shape(Role.COMPACTION)),
        ({"type": "additional_tools", "role": "developer", "tools": []}, Shape(Role.SYSTEM, keep=True)),
        ({"type": "compaction_trigger"}, Shape(Role.SYSTEM, keep=True)),
        ({"type": "program", "id": "p", "call_id": "p1"}, Shape(Role.MODEL)),
        ({"type": "program_output", "call_id": "p1"}, Shape(Role.MODEL, binds="previous")),
        (
            {"type": "tool_search_output", "execution": "server", "tools": []},
            Shape(Role.MODEL, binds="previous"),
        ),
        (output("c1"), Shape(Role.TOOL, results=(Result("c1"),))),
        (output("c1", name="look"), Shape(Role.TOOL, results=(Result("c1", "look"),))),
        (
            {"type": "function_call_output", "name": "look", "output": ""},
            Shape(Role.TOOL, results=(Result(None, "look"),)),
        ),
        (
            {"type": "local_shell_call_output", "id": "c1", "output": ""},
            Shape(Role.TOOL, results=(Result("c1"),)),
        ),
        (
            call("c1", caller={"type": "program", "caller_id": "p1"}),
            Shape(Role.MODEL, calls=(Call("c1", "look", "function_call"),), binds="previous"),
        ),
    ],
)
def test_shape(entry: Entry, shape: Shape) -> None:
    assert RESPONSES.shape(entry) == shape


@pytest.mark.parametrize("entry", HOSTED, ids=lambda entry: entry["type"])
def test_what_the_server_ran_is_the_models(entry: Entry) -> None:
    assert RESPONSES.shape(entry) == Shape(Role.MODEL)


def test_an_async_call_is_deferred() -> None:
    (made,) = RESPONSES.shape(call("c1", **{"async": True})).calls
    assert made.deferred


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        ("hi", "input[3]"),
        ({}, "input[3].type"),
        ({"type": ["x"]}, "input[3].type"),
        ({"role": "tool", "content": "x"}, "input[3].role"),
        ({"role": ["user"], "content": "x"}, "input[3].role"),
        ({"role": "user"}, "input[3].content"),
        ({"role": "user", "content": ["x"]}, "input[3].content"),
        ({"role": "assistant", "content": None, "tool_calls": [{}]}, "input[3].tool_calls"),
        ({"type": "function_call", "name": "look", "arguments": "{}"}, "input[3].call_id"),
        ({"type": "function_call", "call_id": "c1", "arguments": "{}"}, "input[3].name"),
        ({"type": "local_shell_call_output", "call_id": "c1"}, "input[3].id"),
        ({"type": "mcp_approval_response", "approve": True}, "input[3].approval_request_id"),
    ],
)
def test_malformed_items_are_refused_with_their_path(entry: Any, path: str) -> None:
    with pytest.raises(ProviderFormatError) as refused:
        RESPONSES.shape(entry, index=3)
    assert refused.value.path == path


# --- parts --------------------------------------------------------------------------------------------------


def test_parts_of_a_message() -> None:
    image = {"type": "input_image", "detail": "low", "image_url": "data:image/png;base64,AAAA"}
    strange = {"type": "hologram", "text": "x"}
    entry = {"role": "user", "content": [{"type": "input_text", "text": "look"}, image, strange]}
    assert RESPONSES.parts(entry) == (
        Part(("content", 0, "text"), PartKind.TEXT, "look", "look"),
        Part(("content", 1), PartKind.MEDIA, image, "image/png"),
        Part(("content", 2), PartKind.OPAQUE, strange),
    )
    described = RESPONSES.with_part(entry, RESPONSES.parts(entry)[1], "a photo")
    assert described["content"][1] == {"type": "input_text", "text": "a photo"}
    assert entry["content"][1] is image


def test_reasoning_is_never_rewritten() -> None:
    entry = reasoning() | {"encrypted_content": "gAAA"}
    assert [part.kind for part in RESPONSES.parts(entry)] == [PartKind.REASONING, PartKind.OPAQUE]
    for part in RESPONSES.parts(entry):
        with pytest.raises(PlanError):
            RESPONSES.with_part(entry, part, "short")


def test_arguments_of_a_function_stay_a_json_object() -> None:
    part = part_of(call("c1"), PartKind.ARGUMENTS)
    assert (part.text, part.name, part.call) == ('{"at":1}', "look", "c1")
    assert RESPONSES.with_part(call("c1"), part, {"at": "é"})["arguments"] == '{"at":"é"}'
    for bad in ("cut of", "[1]", [1], None):
        with pytest.raises(PlanError):
            RESPONSES.with_part(call("c1"), part, bad)


def test_structured_arguments_keep_their_keys_and_types() -> None:
    entry = CALLS["apply_patch_call"] | {"operation": {"type": "create_file", "path": "a", "diff": "+" * 99}}
    part = part_of(entry, PartKind.ARGUMENTS)
    shorter = {"type": "create_file", "path": "a", "diff": "+"}
    assert RESPONSES.with_part(entry, part, shorter)["operation"] == shorter
    for bad in (
        "+",
        {"type": "create_file", "path": "a"},
        shorter | {"type": "update_file"},
        shorter | {"diff": 1},
    ):
        with pytest.raises(PlanError):
            RESPONSES.with_part(entry, part, bad)


@pytest.mark.parametrize(
    ("entry", "content", "written"),
    [
        (output("c1", "long"), "short", "short"),
        (output("c1", "long"), {"id": 7}, '{"id":7}'),
        (output("c1", [{"type": "input_text", "text": "a"}]), "short", "short"),
        ({"type": "local_shell_call_output", "id": "c1", "output": "long"}, ["a"], '["a"]'),
        (PATCH_OUTPUT, "short", "short"),
        (SCREENSHOT_OUTPUT, "cleared", BLANK_SCREENSHOT),
        (
            SHELL_OUTPUT,
            "cleared",
            [{"stdout": "cleared", "stderr": "", "outcome": {"type": "exit", "exit_code": 2}}],
        ),
    ],
)
def test_a_result_is_written_in_the_type_of_its_output(entry: Entry, content: Any, written: Any) -> None:
    before = copy.deepcopy(entry)
    assert RESPONSES.with_part(entry, part_of(entry, PartKind.RESULT), content) == entry | {"output": written}
    assert entry == before


def test_text_of_a_result() -> None:
    assert part_of(SHELL_OUTPUT, PartKind.RESULT).text == "a\nb\nbad"
    image = {"type": "input_image", "file_id": "file_1"}
    mixed = output("c1", [{"type": "input_text", "text": "a"}, image])
    result, media = RESPONSES.parts(mixed)
    assert (result.text, media.path, media.value) == ("a", ("output", 1), image)


def test_a_screenshot_is_media_until_it_is_blank() -> None:
    blank = RESPONSES.with_part(SCREENSHOT_OUTPUT, part_of(SCREENSHOT_OUTPUT, PartKind.MEDIA), "a page")
    assert blank["output"] == BLANK_SCREENSHOT
    assert [part.kind for part in RESPONSES.parts(blank)] == [PartKind.RESULT]


@pytest.mark.parametrize(
    "entry",
    [
        *HOSTED[:2],
        CALLS["mcp_approval_request"],
        call("c1", caller={"type": "program", "caller_id": "p1"}),
        output("c1", caller={"type": "program", "caller_id": "p1"}),
    ],
    ids=lambda entry: entry["type"],
)
def test_what_has_to_come_back_as_it_was_is_opaque(entry: Entry) -> None:
    assert RESPONSES.parts(entry) == (Part((), PartKind.OPAQUE, entry),)


# --- strip --------------------------------------------------------------------------------------------------


def test_strip_takes_the_server_id_of_the_follower_too() -> None:
    first, second, third = call("c1", id="fc_1"), call("c2", id="fc_2"), output("c1")
    stripped = RESPONSES.strip([reasoning(), reasoning("rs_2"), first, second, third])
    assert stripped == [None, None, call("c1"), second, third]
    assert stripped[3] is second
    assert stripped[4] is third


def test_strip_writes_a_message_in_the_easy_form() -> None:
    easy = {"type": "message", "role": "assistant", "content": "Done.", "phase": "final_answer"}
    assert RESPONSES.strip([reasoning(), said() | {"phase": "final_answer"}]) == [None, easy]
    TypeAdapter(ResponseInputItemParam).validate_python(easy)


def test_strip_keeps_annotations_and_refusals_as_parts() -> None:
    cited = {"type": "output_text", "text": "x", "annotations": [{"type": "url_citation"}]}
    refused = {"type": "refusal", "refusal": "No."}
    for part in (cited, refused):
        _, bare = RESPONSES.strip([reasoning(), said() | {"content": [part]}])
        assert bare == {"type": "message", "role": "assistant", "content": [part]}


def test_strip_leaves_reasoning_whose_follower_needs_its_id() -> None:
    unit: list[Entry] = [reasoning(), HOSTED[0], reasoning("rs_2"), said()]
    stripped = RESPONSES.strip(unit)
    assert stripped[:3] == [reasoning(), HOSTED[0], None]
    assert RESPONSES.violations([entry for entry in stripped if entry is not None]) == []


# --- answer, place ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CALLS)
def test_a_made_answer_is_valid_for_each_type_of_call(kind: str) -> None:
    entry = CALLS[kind]
    (made,) = RESPONSES.shape(entry).calls
    assert made.kind == kind
    answered = RESPONSES.answer([entry], made, "No result yet.")
    assert answered[0] is entry
    assert answered[1]["type"] == CALL_TYPES[kind].output
    assert rules([entry]) == [("R2", 0)]
    assert rules(answered) == []
    TypeAdapter(ResponseInputItemParam).validate_python(answered[1])


def test_an_answer_stands_behind_the_outputs_of_its_step() -> None:
    unit = [reasoning(), call("c1"), reasoning("rs_2"), call("c2"), output("c2"), said()]
    placed = RESPONSES.place(unit, output("c1"))
    assert placed == [*unit[:5], output("c1"), unit[5]]
    assert RESPONSES.answer(unit, Call("c1", "look", "function_call"), "seen") == placed


def test_an_answer_to_a_programs_call_names_the_program() -> None:
    caller = {"type": "program", "caller_id": "p1"}
    entry = call("c1", caller=caller)
    answered = RESPONSES.answer([entry], RESPONSES.shape(entry).calls[0], "x")
    assert answered[1] == output("c1", "x", caller=caller)


def test_a_result_without_an_id_goes_to_the_call_of_its_name() -> None:
    late = {"type": "function_call_output", "name": "look", "output": "seen"}
    assert RESPONSES.place([call("c1"), said()], late) == [call("c1"), late, said()]


def test_a_result_of_another_unit_is_refused() -> None:
    with pytest.raises(PlanError, match="'c9'"):
        RESPONSES.place([call("c1")], output("c9"))


def test_stand_in_is_a_user_message_without_extras() -> None:
    made = RESPONSES.stand_in("[2 turns left out]")
    assert RESPONSES.shape(made) == Shape(Role.USER, words=True)
    TypeAdapter(ResponseInputItemParam).validate_python(made)
    assert set(made) == {"type", "role", "content"}


# --- weigh --------------------------------------------------------------------------------------------------


def test_weights() -> None:
    assert RESPONSES.weigh(user("hello")).texts == ("hello",)
    assert RESPONSES.weigh(user("hello")).fixed == 4
    assert RESPONSES.weigh(call("c1")).texts == ("look", '{"at":1}')
    assert RESPONSES.weigh(output("c1", "data: not a URL")).texts == ("data: not a URL",)
    sealed = reasoning() | {"encrypted_content": "g" * 400}
    assert (RESPONSES.weigh(sealed).texts, RESPONSES.weigh(sealed).fixed) == (("Hm.",), 104)
    assert "mail" in RESPONSES.weigh(HOSTED[2]).texts


@pytest.mark.parametrize(
    "entry",
    [
        {
            "role": "user",
            "content": [{"type": "input_image", "image_url": "data:image/png;base64," + "QUJD" * 999}],
        },
        {
            "role": "user",
            "content": [{"type": "input_file", "file_data": "data:application/pdf;base64," + "Q" * 999}],
        },
        {
            "role": "user",
            "content": [{"type": "input_audio", "input_audio": {"data": "Q" * 999, "format": "wav"}}],
        },
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}],
        },
        {"type": "image_generation_call", "id": "ig_1", "result": "Q" * 999},
        {
            "type": "code_interpreter_call",
            "outputs": [{"type": "image", "url": "data:image/png;base64," + "Q" * 999}],
        },
        SCREENSHOT_OUTPUT,
        output("c1", [{"type": "input_image", "image_url": "data:image/png;base64," + "Q" * 999}]),
    ],
)
def test_media_are_counted_by_their_price_and_never_as_text(entry: Entry) -> None:
    weight = RESPONSES.weigh(entry)
    assert not any("QQQ" in text or "QUJD" in text for text in weight.texts)
    assert 4 < weight.fixed < 4_000


def in_capitals(value: Any) -> Any:
    """The same with another spelling of the scheme of data URLs."""
    return json.loads(json.dumps(value).replace("data:", "DATA:"))


IMAGE = {"type": "input_image", "image_url": f"data:image/png;base64,{'QUJD' * 999}"}


@pytest.mark.parametrize(
    "entry",
    [
        {"role": "user", "content": [IMAGE]},
        {
            "role": "user",
            "content": [{"type": "input_file", "file_data": f"data:application/pdf,{'Q' * 999}"}],
        },
        {"type": "web_search_call", "action": {"url": f"data:image/png;base64,{'Q' * 999}"}},
        {"type": "code_interpreter_call", "outputs": [{"url": f"data:image/png;base64,{'Q' * 999}"}]},
        SCREENSHOT_OUTPUT,
        output("c1", [IMAGE]),
    ],
)
def test_data_urls_are_known_in_any_case(entry: Entry) -> None:
    spelled = in_capitals(entry)
    assert RESPONSES.weigh(spelled) == RESPONSES.weigh(entry)
    assert not any("QQQ" in text or "QUJD" in text for text in RESPONSES.weigh(spelled).texts)
    told = [part.text for part in RESPONSES.parts(entry) if part.kind is PartKind.MEDIA]
    assert [part.text for part in RESPONSES.parts(spelled) if part.kind is PartKind.MEDIA] == told


def test_weight_of_instructions() -> None:
    assert RESPONSES.weigh_system(None).fixed == 0
    assert RESPONSES.weigh_system("Be brief.").texts == ("Be brief.",)
    assert RESPONSES.weigh_system([user("a"), user("b")]).texts == ("a", "b")
    with pytest.raises(ProviderFormatError):
        RESPONSES.weigh_system(7)


# --- violations and repair ----------------------------------------------------------------------------------

PROGRAM = {"type": "program", "id": "prog_1", "call_id": "p1", "code": "x", "fingerprint": "f"}
BY_PROGRAM = {"caller": {"type": "program", "caller_id": "p1"}}
BROKEN: dict[str, tuple[list[Any], list[tuple[str, int]], list[Any]]] = {
    "orphan output": ([output("c1"), user()], [("R1", 0)], [user()]),
    "output of another type": (
        [call("c1"), output("c1"), PATCH_OUTPUT],
        [("R1", 2)],
        [call("c1"), output("c1")],
    ),
    "output before its call": (
        [user(), output("c1"), call("c1"), said()],
        [("R1", 1), ("R2", 2)],
        [user(), call("c1"), output("c1"), said()],
    ),
    "second output": (
        [call("c1"), output("c1"), output("c1", "again")],
        [("R5", 2)],
        [call("c1"), output("c1")],
    ),
    "id used again": (
        [
            user(),
            call("c1"),
            output("c1"),
            user(),
            call("c1"),
            output("c1", "new"),
            call("c1_2"),
            output("c1_2"),
        ],
        [("R5", 4), ("R5", 5)],
        [
            *[user(), call("c1"), output("c1"), user(), call("c1_3"), output("c1_3", "new")],
            *[call("c1_2"), output("c1_2")],
        ],
    ),
    "item twice": (
        [reasoning(), call("c1", id="fc_1"), output("c1"), reasoning(), call("c1", id="fc_1"), output("c1")],
        [("R6", 3), ("R5", 4), ("R6", 4), ("R5", 5)],
        [reasoning(), call("c1", id="fc_1"), output("c1")],
    ),
    "two messages with one id": (
        [said("a"), user(), said("b")],
        [("R6", 2)],
        [said("a"), user(), {"type": "message", "role": "assistant", "content": "b"}],
    ),
    "reasoning alone": ([user(), reasoning(), user("go on")], [("R7", 1)], [user(), user("go on")]),
    "reasoning at the end": ([user(), reasoning(), reasoning("rs_2")], [("R7", 1), ("R7", 2)], [user()]),
    "reasoning by reference": (
        [user(), {"id": "rs_1"}, call("c1", id="fc_1"), output("c1")],
        [("R9", 1)],
        [user(), call("c1"), output("c1")],
    ),
    "rebuilt message": (
        [user(), reasoning(), {"role": "assistant", "content": "Done."}],
        [("R10", 1)],
        [user(), {"role": "assistant", "content": "Done."}],
    ),
    "message without status": (
        [reasoning(), {key: value for key, value in said().items() if key != "status"}],
        [("R10", 0)],
        [reasoning(), said()],
    ),
    "no summary": (
        [{"type": "reasoning", "id": "rs_1"}, said()],
        [("R11", 0)],
        [{"type": "reasoning", "id": "rs_1", "summary": []}, said()],
    ),
    "id of another type": ([call("c1", id="msg_1"), output("c1")], [("R14", 0)], [call("c1"), output("c1")]),
    "part of the other side": (
        [
            {"role": "user", "content": [{"type": "output_text", "text": "a", "annotations": []}]},
            {"role": "assistant", "content": [{"type": "input_text", "text": "b"}]},
        ],
        [("R15", 0), ("R15", 1)],
        [
            {"role": "user", "content": [{"type": "input_text", "text": "a"}]},
            {"role": "assistant", "content": [{"type": "output_text", "text": "b"}]},
        ],
    ),
    "values of the wrong type": (
        [call("c1", arguments={"at": 1}), output("c1", {"a": 1}), call("c2"), output("c2", None)],
        [("R16", 0), ("R16", 1), ("R16", 3)],
        [call("c1"), output("c1", '{"a":1}'), call("c2"), output("c2", "")],
    ),
    "program gone": (
        [
            user(),
            call("c1", **BY_PROGRAM),
            output("c1", **BY_PROGRAM),
            {"type": "program_output", "call_id": "p1"},
        ],
        [("R20", 1), ("R20", 2), ("R20", 3)],
        [user()],
    ),
    "trigger in the middle": ([{"type": "compaction_trigger"}, user()], [("shape", 0)], [user()]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_rules_and_their_repair(name: str) -> None:
    entries, expected, whole = BROKEN[name]
    before = copy.deepcopy(entries)
    assert rules(entries) == expected
    repaired, repairs = RESPONSES.repair(entries)
    assert repaired == whole
    assert {repair.rule for repair in repairs} <= {rule for rule, _ in expected}
    assert repairs
    assert rules(repaired) == []
    assert entries == before


@pytest.mark.parametrize(
    "entries",
    [
        [user(), PROGRAM, call("c1", **BY_PROGRAM), output("c1", **BY_PROGRAM), said()],
        [call("c1"), user(), output("c1")],
        [call("c1", **{"async": True}), user(), user()],
        [{"id": "rs_1"}, {"id": "fc_1"}, output("c1")],
        [reasoning(), call("c1"), call("c2"), output("c2"), output("c1"), user()],
        [{"type": "reasoning", "id": "1e97d346", "summary": []}, {"role": "assistant", "content": "hello"}],
        [call("c1", id="1e97d346"), output("c1"), {"type": "compaction", "encrypted_content": "x"}],
        [user(), {"type": "compaction_trigger"}],
    ],
)
def test_valid_inputs_break_nothing_and_need_no_repair(entries: list[Entry]) -> None:
    assert rules(entries) == []
    repaired, repairs = RESPONSES.repair(entries)
    assert not repairs
    assert all(new is old for new, old in zip(repaired, entries, strict=True))


def test_open_calls_stay_open() -> None:
    entries = [user(), call("c1"), call("c2"), output("c1"), user()]
    assert [str(violation) for violation in RESPONSES.violations(entries)] == [
        "input[2].call_id: R2: no output found for this call"
    ]
    assert RESPONSES.repair(entries) == (entries, [])


def test_an_output_goes_to_the_newest_turn_that_waits_for_it() -> None:
    entries = [user(), call("c1"), user(), call("c1"), output("c1")]
    assert rules(entries) == [("R2", 1), ("R5", 3), ("R5", 4)]
    repaired, _ = RESPONSES.repair(entries)
    assert repaired == [user(), call("c1"), user(), call("c1_2"), output("c1_2")]


def test_renamed_ids_stay_within_64_characters() -> None:
    id = "c" * 64
    repaired, _ = RESPONSES.repair([call(id), output(id), call(id), output(id)])
    assert repaired[2]["call_id"] == repaired[3]["call_id"] == "c" * 62 + "_2"


def test_an_empty_input_is_a_violation() -> None:
    assert rules([]) == [("shape", -1)]


@pytest.mark.parametrize(
    "entry",
    [
        DEEP,
        {"role": "user", "content": [{"type": "hologram", "deep": DEEP}]},
        output("c1", DEEP),
        call("c1", arguments=DEEP),
        {"type": "something_new", "deep": DEEP},
        {"type": {}, "role": {}},
        {"type": "reasoning", "id": {}, "summary": 3, "encrypted_content": 4},
        user("\ud800" * 9),
    ],
)
def test_hostile_items_end_in_no_traceback(entry: Any) -> None:
    entries = [entry, entry]
    RESPONSES.violations(entries)
    repaired, _ = RESPONSES.repair(entries)
    assert len(repaired) <= 2
    if isinstance(entry, dict) and isinstance(entry.get("type", ""), str):
        assert RESPONSES.weigh(entry).fixed >= 4
        assert all(part.kind for part in RESPONSES.parts(entry))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["", "c1", "rs_1", "fc_1", "user", "assistant", "text"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "id", "call_id", "caller_id"]), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = [
    "role",
    "content",
    "id",
    "call_id",
    "name",
    "arguments",
    "output",
    "summary",
    "status",
    "caller",
    "execution",
]
TYPES = ["message", "reasoning", "item_reference", "program", "program_output", *CALL_TYPES]
TYPES += [call_type.output for call_type in CALL_TYPES.values()]
ENTRIES = st.builds(
    lambda kind, rest: {"type": kind} | rest,
    st.sampled_from(TYPES),
    st.dictionaries(st.sampled_from(KEYS), JSON, max_size=6),
)
SOUND = st.sampled_from(
    [
        user(),
        said(),
        said(id="msg_2"),
        reasoning(),
        reasoning("rs_2"),
        {"id": "rs_1"},
        call("c1", id="fc_1"),
        call("c1"),
        call("c2", id="fc_2"),
        output("c1"),
        output("c2", "other"),
        CALLS["mcp_approval_request"],
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
        HOSTED[0],
        PROGRAM,
        call("c3", **BY_PROGRAM),
        output("c3", **BY_PROGRAM),
        {"role": "assistant", "content": "ok"},
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(ENTRIES | JSON | SOUND, max_size=8))
def test_any_json_is_checked_and_repaired_without_an_error(entries: list[Any]) -> None:
    RESPONSES.violations(entries)
    repaired, _ = RESPONSES.repair(entries)
    assert RESPONSES.repair(repaired) == (repaired, [])


@settings(max_examples=200, deadline=None)
@given(st.lists(SOUND, min_size=1, max_size=12))
def test_repair_leaves_only_open_calls_and_references(entries: list[Entry]) -> None:
    repaired, repairs = RESPONSES.repair(entries)
    assert {rule for rule, _ in rules(repaired or [user()])} <= {"R2", "R9"}
    assert bool(repairs) == (repaired != entries)


@settings(max_examples=100, deadline=None)
@given(st.lists(SOUND, min_size=1, max_size=12))
def test_stripping_a_sound_input_breaks_nothing(entries: list[Entry]) -> None:
    repaired, _ = RESPONSES.repair(entries)
    before = set(rules(repaired or [user()]))
    kept = [entry for entry in RESPONSES.strip(repaired) if entry is not None]
    assert {rule for rule, _ in rules(kept or [user()])} <= {rule for rule, _ in before}


# --- recorded conversations and cases -----------------------------------------------------------------------


def _recorded() -> Iterator[tuple[str, list[Entry]]]:
    path = SHARED / "corpus" / "cassettes_openai_responses.jsonl.gz"
    if path.exists():
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                conversation = json.loads(line)
                yield conversation["id"].rpartition("/")[2], conversation["messages"]


def _cases() -> Iterator[tuple[str, list[Entry]]]:
    for number in ("002", "004", "012", "017"):
        for path in (SHARED / "cases").glob(f"{number}-*.json"):
            yield path.stem, _expanded(json.loads(path.read_text(encoding="utf-8"))["input"])


def _expanded(value: Any) -> Any:
    match value:
        case {"repeat": str() as text, "times": int() as times} if len(value) == 2:
            return text * times
        case {"join": list() as pieces} if len(value) == 1:
            return "".join(map(_expanded, pieces))
        case {"json": inner} if len(value) == 1:
            return json.dumps(_expanded(inner), ensure_ascii=False, separators=(",", ":"))
        case dict():
            return {key: _expanded(inner) for key, inner in value.items()}
        case list():
            return [_expanded(inner) for inner in value]
    return value


REAL = dict([*_recorded(), *_cases()])


@pytest.mark.skipif(not REAL, reason="the shared corpus is not there")
def test_real_inputs_are_read_whole() -> None:
    for name, entries in REAL.items():
        before = json.dumps(entries)
        for index, entry in enumerate(entries):
            assert RESPONSES.shape(entry, index=index).role in Role, name
            assert RESPONSES.weigh(entry).fixed >= 4, name
            for part in RESPONSES.parts(entry):
                if part.kind in (PartKind.TEXT, PartKind.RESULT, PartKind.ARGUMENTS):
                    assert RESPONSES.with_part(entry, part, part.value) == entry, name
        waiting = {rule for rule, _ in rules(entries)} - {"R2"}
        assert not waiting, name
        assert RESPONSES.repair(entries) == (entries, []), name
        stripped = [entry for entry in RESPONSES.strip(entries) if entry is not None]
        assert {rule for rule, _ in rules(stripped)} <= {"R2"}, name
        assert json.dumps(entries) == before, name


@pytest.mark.skipif("017-inline-image-is-not-text" not in REAL, reason="the shared cases are not there")
def test_the_length_of_base64_sets_no_price() -> None:
    entries = REAL["017-inline-image-is-not-text"]
    large, small = (RESPONSES.weigh(entries[index]).fixed for index in (1, 2))
    assert 50 < large < 3_500
    assert 0.9 < large / small < 1.1
