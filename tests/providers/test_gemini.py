"""Google Gemini: what a content is, its parts, its wire rules and their repair."""

from __future__ import annotations

import copy
import gzip
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from google.genai import types
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ctxkit import Budget, ContextManager
from ctxkit.core.items import Call, Part, PartKind, Result, Role, Shape, Weight
from ctxkit.core.provider import Provider, Repair
from ctxkit.errors import PlanError, ProviderFormatError
from ctxkit.providers.gemini import Gemini

GEMINI: Provider = Gemini()
SHARED = Path(__file__).parents[2].parent / "shared"
CORPORA = ("cassettes_gemini", "gemini_cli_session")
SPLIT_RESPONSES = (
    "test_gemini_parallel_native_tool_calling_test_agent_kickoff",
    "test_gemini_parallel_native_tool_calling_test_crew",
)
"""Recorded on purpose with the responses of one step in several contents, which Gemini refuses."""

Json = dict[str, Any]


def user(*texts: str) -> Json:
    return {"role": "user", "parts": [{"text": text} for text in texts or ("hi",)]}


def said(text: str = "well") -> Json:
    return {"role": "model", "parts": [{"text": text}]}


def call(name: str = "look", id: str | None = None, *, signature: str = "") -> Json:
    made: Json = {"name": name, "args": {"q": name}} | ({"id": id} if id else {})
    return {"functionCall": made} | ({"thoughtSignature": signature} if signature else {})


def response(name: str = "look", id: str | None = None, output: Any = "found") -> Json:
    return {"functionResponse": ({"id": id} if id else {}) | {"name": name, "response": {"output": output}}}


def model(*parts: Json) -> Json:
    return {"role": "model", "parts": list(parts)}


def results(*parts: Json) -> Json:
    return {"role": "user", "parts": list(parts)}


def rules(*contents: Any) -> list[tuple[str, int]]:
    return [(broken.rule, broken.index) for broken in GEMINI.violations(contents)]


def repaired(*contents: Any) -> list[Json]:
    return GEMINI.repair(contents)[0]


def only_part(content: Json) -> Part:
    (part,) = GEMINI.parts(content)
    return part


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


# Shape.

BLOB = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
TOOL_CALL = {"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "args": {}}}
TOOL_RESPONSE = {"toolResponse": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "response": {}}}
CODE = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
CODE_RESULT = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}


@pytest.mark.parametrize(
    ("content", "shape"),
    [
        (user(), Shape(Role.USER, words=True)),
        ({"parts": [{"text": "no role"}]}, Shape(Role.USER, words=True)),
        (results(BLOB), Shape(Role.USER, words=True)),
        ({"role": "model"}, Shape(Role.MODEL)),
        (model(call("a"), call("b", "1")), Shape(Role.MODEL, calls=(Call(None, "a"), Call("1", "b")))),
        (results(response("a", "1")), Shape(Role.TOOL, results=(Result("1", "a"),))),
        ({"role": "function", "parts": [response("a")]}, Shape(Role.TOOL, results=(Result(None, "a"),))),
        (
            results(response("a"), {"text": "and hurry"}),
            Shape(Role.TOOL, results=(Result(None, "a"),), words=True),
        ),
        (
            {"role": "model", "parts": [{"function_call": {"name": "a", "args": None}}]},
            Shape(Role.MODEL, calls=(Call(None, "a"),)),
        ),
        (model(TOOL_CALL, TOOL_RESPONSE, {"text": "so"}), Shape(Role.MODEL)),
        (model(TOOL_RESPONSE), Shape(Role.MODEL, binds="previous")),
        (model(CODE_RESULT, CODE), Shape(Role.MODEL, binds="previous")),
        (model({"newThing": {"x": 1}}), Shape(Role.MODEL)),
    ],
)
def test_shape(content: Json, shape: Shape) -> None:
    assert GEMINI.shape(content) == shape


@pytest.mark.parametrize(
    ("content", "path"),
    [
        ("hi", "contents[7]"),
        ({"role": "assistant", "parts": []}, "contents[7]"),
        ({"role": nested(5_000), "parts": []}, "contents[7]"),
        ({"role": "user", "parts": {"text": "hi"}}, "contents[7]"),
        ({"role": "user", "parts": [{"text": "a"}, "b"]}, "contents[7].parts[1]"),
        ({"role": "user", "parts": [{"text": 1}]}, "contents[7].parts[0]"),
        (model({"functionCall": {"args": {}}}), "contents[7].parts[0]"),
        (model({"functionCall": "look"}), "contents[7].parts[0]"),
        (results(call()), "contents[7].parts[0]"),
        (results({"functionResponse": {"response": {}}}), "contents[7].parts[0]"),
        (results({"functionResponse": []}), "contents[7].parts[0]"),
        (model(response()), "contents[7].parts[0]"),
    ],
)
def test_malformed_contents_are_refused_with_their_path(content: Any, path: str) -> None:
    with pytest.raises(ProviderFormatError) as refused:
        GEMINI.shape(content, index=7)
    assert refused.value.path == path
    assert refused.value.format == "gemini"


# Parts.


def test_parts_in_wire_order() -> None:
    content = {
        "role": "model",
        "parts": [
            {"text": "hm", "thought": True},
            {"text": "so"},
            BLOB,
            call("look", "1"),
            CODE,
        ],
    }
    assert GEMINI.parts(content) == (
        Part(("parts", 0, "text"), PartKind.REASONING, "hm", "hm"),
        Part(("parts", 1, "text"), PartKind.TEXT, "so", "so"),
        Part(("parts", 2), PartKind.MEDIA, BLOB, "image/png"),
        Part(
            ("parts", 3, "functionCall", "args"),
            PartKind.ARGUMENTS,
            {"q": "look"},
            '{"q":"look"}',
            "look",
            "1",
        ),
        Part(("parts", 4), PartKind.OPAQUE, CODE),
    )


def test_media_of_a_response_follow_it() -> None:
    content = results(
        {
            "function_response": {
                "name": "shot",
                "response": {"ok": True},
                "parts": [{"inline_data": {"data": "aa"}}],
            }
        }
    )
    assert GEMINI.parts(content) == (
        Part(
            ("parts", 0, "function_response", "response"),
            PartKind.RESULT,
            {"ok": True},
            '{"ok":true}',
            "shot",
        ),
        Part(("parts", 0, "function_response", "parts", 0), PartKind.MEDIA, {"inline_data": {"data": "aa"}}),
    )


@pytest.mark.parametrize("key", ["thoughtSignature", "thought_signature"])
def test_what_is_signed_may_not_be_changed_but_is_read(key: str) -> None:
    told = [{"text": "so"}, call("look"), BLOB, {"text": "hm", "thought": True}]
    plain = GEMINI.parts(model(*told))
    parts = GEMINI.parts(model(*({**each, key: "c2ln"} for each in told)))
    assert [part.reads_as for part in parts] == [part.kind for part in plain]
    assert [(p.text, p.name, p.call) for p in parts] == [(p.text, p.name, p.call) for p in plain]
    for signed in ({"text": "so"}, {"text": ""}, call("look"), BLOB):
        content = model({**signed, key: "c2ln"})
        part = only_part(content)
        assert part.kind is PartKind.OPAQUE
        with pytest.raises(PlanError):
            GEMINI.with_part(content, part, "shorter")


def test_thinking_may_not_be_rewritten() -> None:
    content = model({"text": "hm", "thought": True})
    with pytest.raises(PlanError):
        GEMINI.with_part(content, only_part(content), "h")


@pytest.mark.parametrize(
    ("content", "written"),
    [
        ({"kept": 1}, {"kept": 1}),
        ("[cleared]", {"output": "[cleared]"}),
        ('{"kept": [1]}', {"kept": [1]}),
        ("{not json", {"output": "{not json"}),
        ('{"x": NaN}', {"output": '{"x": NaN}'}),
        ("[1]", {"output": "[1]"}),
        ([1], {"output": [1]}),
        ('{"x":' * 100_000, {"output": '{"x":' * 100_000}),
    ],
)
def test_a_response_stays_an_object(content: Any, written: Json) -> None:
    before: Json = {
        "role": "user",
        "parts": [{"functionResponse": {"id": "1", "name": "a", "response": {"long": "x"}}}],
    }
    after = GEMINI.with_part(before, only_part(before), content)
    assert after == results({"functionResponse": {"id": "1", "name": "a", "response": written}})
    assert before["parts"][0]["functionResponse"]["response"] == {"long": "x"}


def test_arguments_stay_an_object() -> None:
    content = model(call("look", "1"))
    changed = GEMINI.with_part(content, only_part(content), {"q": "l"})
    assert changed == model({"functionCall": {"name": "look", "args": {"q": "l"}, "id": "1"}})
    with pytest.raises(PlanError, match="dict"):
        GEMINI.with_part(content, only_part(content), "{}")


def test_a_text_never_becomes_empty() -> None:
    with pytest.raises(PlanError, match="G10"):
        GEMINI.with_part(user("hi"), only_part(user("hi")), "")
    with pytest.raises(PlanError, match="str"):
        GEMINI.with_part(user("hi"), only_part(user("hi")), 1)


def test_media_become_a_text_part() -> None:
    content = results({**BLOB, "mediaResolution": {"level": "MEDIA_RESOLUTION_HIGH"}}, {"text": "see"})
    changed = GEMINI.with_part(content, GEMINI.parts(content)[0], "[a picture]")
    assert changed == results({"text": "[a picture]"}, {"text": "see"})


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_media_of_a_response_are_described_in_it(order: tuple[int, int]) -> None:
    media = [copy.deepcopy(BLOB), {"fileData": {"fileUri": "gs://a/b", "mimeType": "image/jpeg"}}]
    content = results({"functionResponse": {"name": "shot", "response": {"media": 2}, "parts": media}})
    parts = [part for part in GEMINI.parts(content) if part.kind is PartKind.MEDIA]
    one = GEMINI.with_part(content, parts[order[0]], "first gone")
    assert one["parts"][0]["functionResponse"] == {
        "name": "shot",
        "response": {"media": 2, "media_2": "first gone"},
        "parts": [media[order[1]]],
    }
    none = GEMINI.with_part(one, parts[order[1]], "second gone")
    assert none["parts"][0]["functionResponse"] == {
        "name": "shot",
        "response": {"media": 2, "media_2": "first gone", "media_3": "second gone"},
    }
    with pytest.raises(PlanError, match="no such medium"):
        GEMINI.with_part(none, parts[0], "again")


# Strip, stand-ins, answers, late results.


def test_strip_takes_thoughts_and_signatures() -> None:
    plain = model({"text": "kept as it is"})
    unit = [
        model({"text": "hm", "thought": True}),
        model({"text": "hm", "thought": True}, call("look", "1", signature="s")),
        results(response("look", "1")),
        model({"text": "so", "thought_signature": "s"}, {"text": "", "thoughtSignature": "s"}),
        plain,
    ]
    before = copy.deepcopy(unit)
    stripped = GEMINI.strip(unit)
    assert stripped == [None, model(call("look", "1")), unit[2], model({"text": "so"}), plain]
    assert stripped[2] is unit[2]
    assert stripped[4] is plain
    assert unit == before


def test_strip_leaves_hosted_tools_alone() -> None:
    content = model({**TOOL_CALL, "thoughtSignature": "s"}, {**TOOL_RESPONSE, "thoughtSignature": "s"})
    assert GEMINI.strip([content])[0] is content


def test_a_stand_in_is_plain_user_text() -> None:
    assert GEMINI.stand_in("[3 steps left out]") == user("[3 steps left out]")


def test_an_answer_without_responses_is_a_content_of_its_own() -> None:
    unit = [model(call("look", "1")), model({"text": "waiting"})]
    answered = GEMINI.answer(unit, Call("1", "look"), "[pending]")
    assert answered == [*unit, results(response("look", "1", "[pending]"))]
    assert answered[0] is unit[0]


def test_answers_without_ids_pair_by_position() -> None:
    step = model(call("a"), call("b"), call("a"))
    unit = [step, results({"text": "words"}, response("a", output=1), {"text": "more"})]
    once = GEMINI.answer(unit, Call(None, "a"), "[pending]")
    twice = GEMINI.answer(once, Call(None, "b"), "[pending]")
    assert twice[1]["parts"] == [
        {"text": "words"},
        response("a", output=1),
        response("b", output="[pending]"),
        response("a", output="[pending]"),
        {"text": "more"},
    ]
    with pytest.raises(PlanError, match="not open"):
        GEMINI.answer(twice, Call(None, "a"), "[pending]")


def test_where_responses_do_not_tell_calls_apart_the_first_without_one_is_answered() -> None:
    unit = [model(call("a", "1"), call("a"), call("a", "1")), results(response("a"), response("a", "1"))]
    answered = GEMINI.answer(unit, Call(None, "a"), "[pending]")
    assert answered == [unit[0], results(response("a"), response("a", "1"), response("a", "1", "[pending]"))]


CALLED = st.tuples(st.sampled_from([None, "a", "b"]), st.sampled_from("fg"))
"""An id and a name; few, so that calls share them."""
ARRIVING = st.one_of(
    st.lists(CALLED, min_size=1, max_size=3).map(lambda made: model(*(call(name, id) for id, name in made))),
    st.lists(CALLED, min_size=1, max_size=3).map(
        lambda made: results(*(response(name, id) for id, name in made))
    ),
    st.just(user()),
)


@pytest.mark.parametrize("repair", [False, True])
@given(st.lists(ARRIVING, max_size=8))
@example([model(call("f", "b")), model(call("g", "b")), results(response("f", "b"))])
@example([model(call("f", "b")), model(call("g", "b")), results(response("g", "b"))])
@example(
    [model(call("f", "a"), call("f"), call("f", "a")), results(response("f")), results(response("f", "a"))]
)
def test_what_was_added_can_be_sent_whatever_ids_the_calls_share(repair: bool, contents: list[Json]) -> None:
    context = ContextManager("gemini", Budget(window=4_000), repair=repair)
    context.add(user())
    for content in contents:
        with suppress(ProviderFormatError):
            context.add(content)
    context.add(user("and?"))
    sent = context.prepare_sync().messages
    assert {rule for rule, _ in rules(*sent)} <= {"G4"}
    assert context.prepare_sync().messages == sent


@given(st.lists(ARRIVING, max_size=8))
def test_what_is_mended_pairs_whatever_ids_the_calls_share(contents: list[Json]) -> None:
    mended = repaired(user(), *contents, user())
    assert {rule for rule, _ in rules(*mended)} <= {"G3", "G4"}
    waits = [at for rule, at in rules(*mended) if rule == "G3"]
    assert all(mended[at]["role"] == "model" for at in waits)


def test_an_answer_is_spelled_as_its_content() -> None:
    unit = [
        model(call("a", "1"), call("b", "2")),
        {"parts": [{"function_response": {"id": "2", "name": "b"}}]},
    ]
    (first, _) = GEMINI.answer(unit, Call("1", "a"), "x")[1]["parts"]
    assert first == {"function_response": {"id": "1", "name": "a", "response": {"output": "x"}}}


def test_a_late_result_joins_the_responses() -> None:
    unit = [
        model(call("a", "1"), call("b", "2"), call("c", "3")),
        results(response("c", "3"), {"text": "words"}),
    ]
    late = results({"text": "here they are"}, response("b", "2"), response("a", "1"))
    placed = GEMINI.place(unit, late)
    assert placed == [
        unit[0],
        results(
            response("a", "1"),
            response("b", "2"),
            response("c", "3"),
            {"text": "words"},
            {"text": "here they are"},
        ),
    ]
    assert rules(user(), *placed) == []


def test_a_late_result_alone_goes_right_behind_its_call() -> None:
    unit = [model(call("a", "1")), model({"text": "meanwhile"})]
    late = results(response("a", "1"))
    placed = GEMINI.place(unit, late)
    assert [id(entry) for entry in placed] == [id(unit[0]), id(unit[1]), id(late)]


def test_case_003_a_late_approval_is_placed_after_its_call() -> None:
    path = SHARED / "cases" / "003-pending-approval-survives.json"
    if not path.exists():
        pytest.skip("the shared cases are not here")
    contents = json.loads(path.read_text(encoding="utf-8"))["input"]
    roles = [GEMINI.shape(content, index=index).role for index, content in enumerate(contents)]
    assert roles[1:3] + roles[8:] == [Role.MODEL, Role.USER, Role.TOOL]
    placed = GEMINI.place([contents[1]], contents[8])
    assert placed == [contents[1], contents[8]]
    assert rules(contents[0], *placed, *contents[2:7]) == []
    assert repaired(*contents) == [*contents[:2], contents[8], *contents[2:8]]


# Weights.


def test_weights() -> None:
    content = {
        "role": "model",
        "parts": [{"text": "so", "thoughtSignature": "s" * 40}, call("look", "1"), CODE, TOOL_RESPONSE, BLOB],
    }
    assert GEMINI.weigh(content) == Weight(("so", "look", '{"q":"look"}', "print(1)", "{}"), 4 + 10 + 8 + 258)
    shot = {"name": "shot", "response": {"ok": True}, "parts": [BLOB]}
    assert GEMINI.weigh(results({"functionResponse": shot})) == Weight(("shot", '{"ok":true}'), 4 + 8 + 258)


def test_base64_is_never_a_text() -> None:
    data = "QUJD" * 100_000
    strange = {"newThing": {"data": data}}
    for part in (
        {"inlineData": {"mimeType": "image/png", "data": data}},
        strange,
        {"text": "", "thoughtSignature": data},
    ):
        assert data not in "".join(GEMINI.weigh(model(part)).texts)
    assert GEMINI.weigh(model(strange)).fixed > 100_000


@pytest.mark.parametrize(
    ("system", "texts"),
    [
        (None, ()),
        ("be brief", ("be brief",)),
        ({"parts": [{"text": "be"}, {"text": "brief"}]}, ("be", "brief")),
        ({"text": "be brief"}, ("be brief",)),
        (["be", {"text": "brief"}], ("be", "brief")),
        (types.Content(parts=[types.Part(text="be brief")]), ("be brief",)),
    ],
)
def test_weight_of_system_text(system: Any, texts: tuple[str, ...]) -> None:
    assert GEMINI.weigh_system(system) == Weight(texts, 4 if texts else 0)


# Dump.


def test_dump_takes_sdk_objects() -> None:
    part = types.Part(
        function_call=types.FunctionCall(name="look", args={"q": None}), thought_signature=b"\xff\xfe"
    )
    content = types.Content(role="model", parts=[part])
    expected = model({"functionCall": {"args": {"q": None}, "name": "look"}, "thoughtSignature": "__4="})
    assert GEMINI.dump(content) == [expected]
    answer = types.GenerateContentResponse(candidates=[types.Candidate(content=content), types.Candidate()])
    assert GEMINI.dump(answer) == [expected]
    assert GEMINI.dump(types.Candidate(content=types.Content(parts=[types.Part(text="hi")]))) == [said("hi")]


def test_dump_gives_a_dict_back_as_it_is() -> None:
    content = user()
    assert GEMINI.dump(content)[0] is content


@pytest.mark.parametrize(
    "message",
    ["hi", 1, None, types.Content, types.Part(text="hi"), types.Content(), types.GenerateContentResponse()],
)
def test_dump_refuses_what_holds_no_content(message: object) -> None:
    with pytest.raises(ProviderFormatError, match="content"):
        GEMINI.dump(message)


# Rules.

OPEN = model(call("a", "1"), call("b", "2"))
DONE = results(response("a", "1"), response("b", "2"))
SIGNED, UNSIGNED = (
    model(call("a", signature=signature), call("a")) for signature in ("skip_thought_signature_validator", "")
)
PAIR = results(response("a"), response("a"))


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ([user()], []),
        ([user(), OPEN, DONE], []),
        ([user(), user(), OPEN, DONE, user()], []),
        ([user(), model(call("a", "1")), model(call("b", "2")), DONE], []),
        ([user(), OPEN, results(*reversed(DONE["parts"]))], []),
        ([user(), OPEN, results(*DONE["parts"], {"text": "hurry"})], []),
        ([user(), model({"text": "", "thoughtSignature": "s"}), user("")], []),
        ([user(), model(TOOL_CALL, TOOL_RESPONSE), user(), model(CODE), model(CODE_RESULT), user()], []),
        ([user(), model({"newThing": 1}), user()], []),
        ([], [("G10", -1)]),
        ([OPEN, DONE], [("G8", 0), ("G1", 0)]),
        ([said(), user()], [("G8", 0)]),
        ([user(), said()], []),
        ([user(), OPEN], [("G13", 1), ("G13", 1)]),
        ([user(), model(call("a"), call("b")), results(response("a"))], [("G13", 1)]),
        ([user(), model(call("a"), call("b")), results(response("a")), user()], [("G3", 1)]),
        ([user(), OPEN, user(), DONE], [("G3", 1), ("G3", 1), ("G2", 3), ("G2", 3)]),
        ([user(), OPEN, results(DONE["parts"][0]), results(DONE["parts"][1])], [("G3", 1), ("G3", 3)]),
        ([user(), OPEN, results(*DONE["parts"], response("a", "1"))], [("G3", 2)]),
        ([DONE], [("G2", 0), ("G2", 0)]),
        ([user(), said(), DONE], [("G2", 2), ("G2", 2)]),
        ([user(), model(call("a", "1")), results(response("a", "2"))], [("G4", 2)]),
        ([user(), model(call("a", "1")), results(response("b", "1"))], [("G4", 2)]),
        ([user(), model(call("a")), results(response("b"))], [("G4", 2)]),
        ([user(), model({"functionCall": {}}), results(response("a"))], [("G4", 1), ("G4", 2)]),
        ([user(), SIGNED, PAIR, UNSIGNED, PAIR], []),
        ([user(), SIGNED, PAIR, SIGNED, PAIR, UNSIGNED, PAIR], [("G5", 5)]),
        ([user(), SIGNED, PAIR, UNSIGNED, PAIR, user(), SIGNED, PAIR], []),
        ([user(), SIGNED, PAIR, SIGNED, PAIR, user(), UNSIGNED, PAIR], [("G5", 6)]),
        (
            [user(), model({"functionCall": {"name": "a", "thoughtSignature": "s"}}), results(response("a"))],
            [("G6", 1)],
        ),
        ([user(), model()], [("G10", 1)]),
        ([user(), {"role": "user"}], [("G10", 1)]),
        ([user(), results({})], [("G10", 1)]),
        ([user(), results({"text": None})], [("G10", 1)]),
        ([user(), results({"thoughtSignature": "s"})], [("G10", 1)]),
        ([user(), results({"text": "a", "fileData": {"fileUri": "b"}})], [("G10", 1)]),
        ([user(), results({"inlineData": "b"})], [("G10", 1)]),
        (
            [user(), model(call()), results({"functionResponse": {"name": "look", "response": "x"}})],
            [("G11", 2)],
        ),
        (
            [user(), model(call()), results({"functionResponse": {"name": "look", "response": [1]}})],
            [("G11", 2)],
        ),
        (
            [user(), model({"functionCall": {"name": "a", "args": "{}"}}), results(response("a"))],
            [("G11", 1)],
        ),
        ([user(), model(TOOL_RESPONSE, TOOL_CALL), user()], [("G14", 1), ("G14", 1)]),
        ([user(), model(CODE), user()], [("G14", 1)]),
        ([user(), results(call())], [("G1", 1)]),
        ([user(), model(response()), user()], [("G2", 1)]),
        ([user(), {"role": "system", "parts": [{"text": "x"}]}], [("G8", 1)]),
        (["hi"], [("G10", 0)]),
    ],
)
def test_rules(contents: list[Any], expected: list[tuple[str, int]]) -> None:
    assert rules(*contents) == expected


def test_a_violation_says_where() -> None:
    (broken,) = GEMINI.violations([user(), model(call("a"), call("b")), results(response("b")), user()])
    assert str(broken).startswith("contents[1].parts[0]: G3: the functionCall 'a' has no response")


KEYS = [
    *(
        "role",
        "parts",
        "text",
        "thought",
        "thoughtSignature",
        "name",
        "id",
        "args",
        "response",
        "inline_data",
        "x",
    ),
    *("functionCall", "functionResponse", "function_call", "function_response", "toolCall", "toolResponse"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(JSON, max_size=4))
def test_no_json_ends_in_a_traceback(contents: list[Any]) -> None:
    before = copy.deepcopy(contents)
    found = GEMINI.violations(contents)
    assert [broken.index for broken in found] == sorted(broken.index for broken in found)
    mended, repairs = GEMINI.repair(contents)
    assert repairs or mended == contents
    for content in contents:
        try:
            GEMINI.shape(content)
        except ProviderFormatError:
            continue
        assert all(GEMINI.weigh(content).fixed >= 4 for _ in GEMINI.parts(content))
    assert contents == before


def test_deep_json_ends_in_no_traceback() -> None:
    assert sys.getrecursionlimit() < 5_000
    deep = nested(5_000)
    for part in (
        {"text": deep},
        {"functionCall": {"name": deep, "args": {"x": deep}}},
        {"functionCall": {"name": "a", "args": {"x": deep}}},
        {"functionResponse": {"name": "a", "response": {"x": deep}, "parts": [deep, BLOB]}},
        {"toolCall": {"id": deep, "args": deep}},
        {"executableCode": {"code": deep}},
        {"newThing": deep},
    ):
        for content in (model(part), results(part), {"role": "user", "parts": deep}):
            GEMINI.violations([content])
            GEMINI.repair([content])
            GEMINI.strip([content])
            assert GEMINI.weigh(content).fixed >= 4
            assert isinstance(GEMINI.parts(content), tuple)


# Repair.


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ([user(), DONE], [user()]),
        ([user(), OPEN, results(*DONE["parts"], response("a", "1"))], [user(), OPEN, DONE]),
        ([user(), OPEN, DONE, results(response("a", "1"), {"text": "x"})], [user(), OPEN, DONE, user("x")]),
        ([user(), OPEN, user("x"), DONE], [user(), OPEN, DONE, user("x")]),
        ([user(), OPEN, results(DONE["parts"][1]), results(DONE["parts"][0])], [user(), OPEN, DONE]),
        (
            [user(), OPEN, results(DONE["parts"][1]), user("x"), said(), results(DONE["parts"][0])],
            [user(), OPEN, DONE, user("x"), said()],
        ),
        (
            [user(), OPEN, user("x"), results(DONE["parts"][1], {"text": "y"})],
            [user(), OPEN, results(DONE["parts"][1]), user("x"), user("y")],
        ),
        ([user(), OPEN], [user(), OPEN]),
        ([user(), {"role": "model"}, model({"text": "x"}, {})], [user(), said("x")]),
        ([user(), model({"thoughtSignature": "s"})], [user(), model({"thoughtSignature": "s", "text": ""})]),
        (
            [model(call("a")), results({"functionResponse": {"name": "a", "response": "x"}})],
            [model(call("a")), results(response("a", output="x"))],
        ),
        (
            [model(call("a")), results({"functionResponse": {"name": "a"}})],
            [model(call("a")), results({"functionResponse": {"name": "a", "response": {}}})],
        ),
        (
            [user(), model({"functionCall": {"name": "a", "args": '{"x": 1}'}}), results(response("a"))],
            [user(), model({"functionCall": {"name": "a", "args": {"x": 1}}}), results(response("a"))],
        ),
        (
            [
                user(),
                model(call("a")),
                user("x"),
                model(call("a")),
                results(response("a", output=2), response("a", output=1)),
            ],
            [
                user(),
                model(call("a")),
                results(response("a", output=1)),
                user("x"),
                model(call("a")),
                results(response("a", output=2)),
            ],
        ),
    ],
)
def test_repair(contents: list[Json], expected: list[Json]) -> None:
    before = copy.deepcopy(contents)
    mended, repairs = GEMINI.repair(contents)
    assert mended == expected
    assert bool(repairs) == (contents != expected)
    assert contents == before


def test_repair_says_what_it_did() -> None:
    _, repairs = GEMINI.repair([user(), OPEN, user("x"), results(*DONE["parts"], response("c", "3"))])
    assert repairs == [
        Repair("G3", 3, "a response was moved to those of its step"),
        Repair("G3", 3, "a response was moved to those of its step"),
        Repair("G2", 3, "a response that answers no open call was removed"),
    ]


WHICH = st.sampled_from([("a", None), ("a", "1"), ("a", "2"), ("b", None), ("b", "3")])
CALLS = WHICH.map(lambda which: call(*which))
RESPONSES = WHICH.map(lambda which: response(*which))
TEXTS = st.just({"text": "x"})
CONTENTS = st.builds(model, TEXTS | CALLS, TEXTS | CALLS) | st.builds(
    results, TEXTS | RESPONSES, RESPONSES | TEXTS
)


@settings(max_examples=300, deadline=None)
@given(st.lists(CONTENTS, max_size=8))
def test_repair_leaves_nothing_to_repair(contents: list[Json]) -> None:
    mended, _ = GEMINI.repair(contents)
    again, repairs = GEMINI.repair(mended)
    assert (again, repairs) == (mended, [])
    left = {broken.rule for broken in GEMINI.violations(mended) if mended}
    assert left <= {"G1", "G3", "G4", "G8", "G12", "G13"}
    about_calls = [broken for broken in GEMINI.violations(mended) if broken.rule == "G3"]
    assert all("has no response" in broken.message for broken in about_calls)


# Real conversations.


def conversations(*names: str) -> Iterator[Json]:
    for name in names:
        path = SHARED / "corpus" / f"{name}.jsonl.gz"
        if not path.exists():
            pytest.skip("the shared corpus is not here")
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def test_real_contents_are_read_and_written_back() -> None:
    for conversation in conversations(*CORPORA):
        for index, content in enumerate(conversation["messages"]):
            GEMINI.shape(content, index=index)
            assert GEMINI.weigh(content).texts
            for part in GEMINI.parts(content):
                value: Any = content
                for step in part.path:
                    value = value[step]
                assert value is part.value
                if part.kind not in (PartKind.REASONING, PartKind.OPAQUE):
                    assert GEMINI.with_part(content, part, part.value) == content


def test_real_conversations_break_no_rule_unless_they_were_meant_to() -> None:
    for conversation in conversations("cassettes_gemini"):
        contents = conversation["messages"]
        found = {broken.rule for broken in GEMINI.violations(contents, system=conversation.get("system"))}
        mended, repairs = GEMINI.repair(contents)
        if conversation["id"].endswith(SPLIT_RESPONSES):
            assert found == {"G3"}
            assert rules(*mended) == []
        else:
            assert found <= {"G13"}
            assert (mended, repairs) == (contents, [])


def test_repair_mends_the_long_session() -> None:
    (conversation,) = conversations("gemini_cli_session")
    contents = conversation["messages"]
    assert rules(*contents) == [("G2", 99)]
    mended, repairs = GEMINI.repair(contents)
    assert mended == contents[:99] + contents[100:]
    assert repairs == [Repair("G2", 99, "a response that answers no open call was removed")]
    assert rules(*mended) == []


def test_ten_thousand_contents_and_a_thousand_calls_at_once() -> None:
    steps = [entry for _ in range(2_500) for entry in (user(), OPEN, DONE, said())]
    assert rules(*steps, user()) == []
    assert repaired(*steps) == steps
    wide = model(*(call("a") for _ in range(1_000)))
    split = [results(response("a", output=number)) for number in range(1_000)]
    mended = repaired(user(), wide, *split)
    assert mended == [user(), wide, results(*(part for one in split for part in one["parts"]))]
    orphans = [entry for _ in range(5_000) for entry in (OPEN, user())]
    assert repaired(*orphans, *[results(response("c", "3"))] * 5_000) == orphans
