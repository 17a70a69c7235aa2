"""The Anthropic Messages adapter, by example and on recorded conversations."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import anthropic.types as sdk
import anthropic.types.beta as beta
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit.core.items import Call, Part, PartKind, Result, Role, Shape
from ctxkit.core.provider import Provider
from ctxkit.errors import PlanError, ProviderFormatError
from ctxkit.providers.anthropic import Anthropic

P: Provider = Anthropic()
SHARED = Path(__file__).parents[3] / "shared"
EDITABLE = (PartKind.TEXT, PartKind.RESULT, PartKind.ARGUMENTS, PartKind.MEDIA)
THOUGHT = {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"}
MARK = {"type": "ephemeral"}
SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "s1",
    "content": [{"type": "web_search_result", "title": "T", "url": "u", "encrypted_content": "e" * 400}],
}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def use(key: str, name: str = "look", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": key, "name": name, "input": arguments}


def result(key: str, content: Any = "found") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": key, "content": content}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content[0] if isinstance(content[0], str) else list(content)}


def model(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content[0] if isinstance(content[0], str) else list(content)}


def system(*content: Any) -> dict[str, Any]:
    return {"role": "system", "content": content[0] if isinstance(content[0], str) else list(content)}


def rules(entries: list[Any], **more: Any) -> list[str]:
    return [violation.rule for violation in P.violations(entries, **more)]


def part(entry: dict[str, Any], kind: PartKind) -> Part:
    return next(found for found in P.parts(entry) if found.kind is kind)


STEP = [user("hi"), model(use("a")), user(result("a")), model("done")]
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBOR" * 400}}
PDF = {"type": "document", "source": {"type": "url", "url": "https://a.example/x.pdf"}, "title": "Report"}


class TestShape:
    @pytest.mark.parametrize(
        ("entry", "index", "shape"),
        [
            (user("hi"), 0, Shape(Role.USER, words=True)),
            (user(text("hi"), IMAGE), 0, Shape(Role.USER, words=True)),
            (
                user(result("b"), result("a", None)),
                2,
                Shape(Role.TOOL, results=(Result("b"), Result("a"))),
            ),
            (user(result("a"), text("and?")), 2, Shape(Role.TOOL, results=(Result("a"),), words=True)),
            (user(result("a"), IMAGE), 2, Shape(Role.TOOL, results=(Result("a"),), words=True)),
            (user(result("a"), text(" ")), 2, Shape(Role.TOOL, results=(Result("a"),))),
            (
                model(THOUGHT, text("I look"), use("a"), use("b", "go")),
                1,
                Shape(Role.MODEL, calls=(Call("a", "look"), Call("b", "go"))),
            ),
            (model(SEARCH, FOUND, text("so")), 1, Shape(Role.MODEL)),
            (model(FOUND, text("so")), 3, Shape(Role.MODEL, binds="previous")),
            (
                model({"type": "compaction", "content": "s"}, use("a")),
                0,
                Shape(Role.COMPACTION, calls=(Call("a", "look"),)),
            ),
            (model({"type": "compaction", "content": None}), 0, Shape(Role.MODEL)),
            (system("be brief"), 3, Shape(Role.SYSTEM, binds="previous")),
            (
                system({"type": "tool_addition", "tool": {"type": "tool_reference", "name": "f"}}),
                3,
                Shape(Role.SYSTEM, binds="previous", keep=True),
            ),
            (
                {"role": "user", "content": [{"type": "new_block", "x": 1}], "extra": 1},
                0,
                Shape(Role.USER, words=True),
            ),
        ],
    )
    def test_shape_of(self, entry: dict[str, Any], index: int, shape: Shape) -> None:
        assert P.shape(entry, index=index) == shape

    @pytest.mark.parametrize(
        ("entry", "path"),
        [
            ("text", "messages[4]"),
            ({"content": "x"}, "messages[4].role"),
            ({"role": "tool", "content": "x"}, "messages[4].role"),
            ({"role": ["user"], "content": "x"}, "messages[4].role"),
            ({"role": "user"}, "messages[4].content"),
            ({"role": "user", "content": {"type": "text"}}, "messages[4].content"),
            (user(7), "messages[4].content[0]"),
            (user({"type": 7}), "messages[4].content[0]"),
            (user({"type": "text", "text": None}), "messages[4].content[0].text"),
            (model({"type": "tool_use", "id": 7, "name": "f", "input": {}}), "messages[4].content[0].id"),
            (user({"type": "tool_result", "content": "x"}), "messages[4].content[0].tool_use_id"),
            (user(result("a", 7)), "messages[4].content[0].content"),
            (user(result("a", ["x"])), "messages[4].content[0].content[0]"),
        ],
    )
    def test_what_cannot_be_read_is_refused_with_its_path(self, entry: Any, path: str) -> None:
        with pytest.raises(ProviderFormatError) as caught:
            P.shape(entry, index=4)
        assert caught.value.path == path
        assert rules([entry])[0] == "shape"


class TestParts:
    def test_parts_stand_in_wire_order_with_their_paths(self) -> None:
        entry = user(result("a", [text("one"), IMAGE, text("two")]), text("look"), PDF)
        found = [(p.path, p.kind, p.text, p.call) for p in P.parts(entry)]
        assert found == [
            (("content", 0, "content"), PartKind.RESULT, "one\ntwo", "a"),
            (("content", 0, "content", 1), PartKind.MEDIA, "image/png", None),
            (("content", 1, "text"), PartKind.TEXT, "look", None),
            (("content", 2), PartKind.MEDIA, "document", None),
        ]

    def test_parts_of_a_model_message(self) -> None:
        redacted = {"type": "redacted_thinking", "data": "ZGF0YQ"}
        entry = model(
            THOUGHT, redacted, text("so"), text("c", citations=[{"x": 1}]), SEARCH, FOUND, use("a", n=1)
        )
        found = [(p.path, p.kind, p.text, p.name, p.call) for p in P.parts(entry)]
        assert found == [
            (("content", 0, "thinking"), PartKind.REASONING, "Let me see.", "", None),
            (("content", 0, "signature"), PartKind.OPAQUE, "", "", None),
            (("content", 1, "data"), PartKind.REASONING, "", "", None),
            (("content", 2, "text"), PartKind.TEXT, "so", "", None),
            (("content", 3), PartKind.OPAQUE, "c", "", None),
            (("content", 4), PartKind.OPAQUE, "", "", None),
            (("content", 5), PartKind.OPAQUE, "", "", None),
            (("content", 6, "input"), PartKind.ARGUMENTS, '{"n":1}', "look", "a"),
        ]

    def test_a_text_with_citations_is_read_as_one(self) -> None:
        kinds = [p.reads_as for p in P.parts(model(THOUGHT, text("c", citations=[{"x": 1}]), SEARCH, FOUND))]
        assert kinds == [PartKind.REASONING, PartKind.OPAQUE, PartKind.TEXT, PartKind.OPAQUE, PartKind.OPAQUE]

    @pytest.mark.parametrize("content", ["long", [text("long"), IMAGE], None, "", []])
    def test_a_result_becomes_text_and_keeps_its_other_keys(self, content: Any) -> None:
        entry = user({**result("a", content), "is_error": True, "cache_control": MARK}, text("and?"))
        before = copy.deepcopy(entry)
        changed = P.with_part(entry, part(entry, PartKind.RESULT), "[cleared]")
        assert changed["content"][0] == {**result("a", "[cleared]"), "is_error": True, "cache_control": MARK}
        assert changed["content"][1] is entry["content"][1]
        assert entry == before

    def test_a_result_without_words_loses_its_content(self) -> None:
        entry = user(result("a", [text("x")]))
        changed = P.with_part(entry, part(entry, PartKind.RESULT), "")
        assert changed == user({"type": "tool_result", "tool_use_id": "a"})
        assert rules([*STEP[:2], changed]) == []

    def test_a_json_result_is_written_as_text(self) -> None:
        entry = user(result("a"))
        changed = P.with_part(entry, part(entry, PartKind.RESULT), {"k": [1, "é"]})
        assert changed == user(result("a", '{"k":[1,"é"]}'))

    def test_a_mark_inside_a_result_moves_to_the_result(self) -> None:
        entry = user(result("a", [text("x", cache_control=MARK)]))
        changed = P.with_part(entry, part(entry, PartKind.RESULT), "y")
        assert changed == user({"cache_control": MARK, **result("a", "y")})

    def test_media_become_text_and_keep_their_mark(self) -> None:
        entry = user(result("a", [{**IMAGE, "cache_control": MARK}]), PDF)
        first, second = (p for p in P.parts(entry) if p.kind is PartKind.MEDIA)
        changed = P.with_part(P.with_part(entry, first, "[an image]"), second, "[a report]")
        assert changed == user(result("a", [text("[an image]", cache_control=MARK)]), text("[a report]"))

    def test_text_keeps_its_mark_and_plain_text_stays_plain(self) -> None:
        entry = user(text("long text", cache_control=MARK))
        assert P.with_part(entry, part(entry, PartKind.TEXT), "x") == user(text("x", cache_control=MARK))
        assert P.with_part(user("long text"), part(user("long text"), PartKind.TEXT), "x") == user("x")

    @pytest.mark.parametrize(
        ("entry", "kind", "content"),
        [
            (user("x"), PartKind.TEXT, " \n"),
            (user("x"), PartKind.TEXT, None),
            (user(IMAGE), PartKind.MEDIA, ""),
            (model(use("a", n=1)), PartKind.ARGUMENTS, '{"n": 1}'),
            (model(THOUGHT), PartKind.REASONING, "x"),
            (model(text("c", citations=[{"x": 1}])), PartKind.OPAQUE, "x"),
        ],
    )
    def test_what_the_format_does_not_take_is_a_plan_error(
        self, entry: dict[str, Any], kind: PartKind, content: Any
    ) -> None:
        with pytest.raises(PlanError):
            P.with_part(entry, part(entry, kind), content)

    @pytest.mark.parametrize("other", [user("x"), user(text("x")), {"role": "user", "content": []}])
    def test_a_part_of_another_entry_is_a_plan_error(self, other: dict[str, Any]) -> None:
        with pytest.raises(PlanError):
            P.with_part(other, part(user(result("a", "long")), PartKind.RESULT), "x")


class TestSteps:
    def test_strip_takes_thinking_and_nothing_else(self) -> None:
        unit = [
            model(THOUGHT, text("I look"), use("a")),
            user(result("a")),
            model(THOUGHT),
            model(THOUGHT, text("\n")),
        ]
        stripped = P.strip(unit)
        assert stripped == [model(text("I look"), use("a")), unit[1], None, None]
        assert stripped[1] is unit[1]

    def test_answer_joins_the_results_of_its_batch(self) -> None:
        unit = [model(use("a"), use("b")), user(result("a"), text("and?"))]
        answered = P.answer(unit, Call("b", "look"), "pending")
        assert answered == [unit[0], user(result("a"), result("b", "pending"), text("and?"))]
        assert answered[0] is unit[0]

    def test_answer_stands_behind_the_joined_turn_of_the_caller(self) -> None:
        unit = [model(use("a")), model(use("b"))]
        assert P.answer(unit, Call("a", "look"), "pending") == [*unit, user(result("a", "pending"))]

    def test_answer_leaves_the_paused_server_call_alone(self) -> None:
        unit = [model(SEARCH, use("a"), use("b")), user(result("a")), model(FOUND, text("so"))]
        answered = P.answer(unit, Call("b", "look"), "pending")
        assert answered == [unit[0], user(result("a"), result("b", "pending")), unit[2]]
        assert rules([user("hi"), *answered]) == []

    def test_answer_of_no_call_of_the_unit_is_a_plan_error(self) -> None:
        with pytest.raises(PlanError):
            P.answer([model(use("a"))], Call("b", "look"), "x")
        with pytest.raises(PlanError):
            P.answer([model(use("a"))], Call(None, "look"), "x")

    def test_a_late_entry_moves_as_it_is_where_that_is_enough(self) -> None:
        unit, late = [model(use("a"), use("b"))], user(result("b"), result("a"))
        placed = P.place(unit, late)
        assert placed == [*unit, late]
        assert placed[1] is late

    def test_late_results_join_those_that_are_there_and_words_go_behind(self) -> None:
        unit = [model(use("a"), use("b")), user(result("a"), text("wait"))]
        placed = P.place(unit, user(text("here"), result("b")))
        assert placed == [unit[0], user(result("a"), result("b"), text("wait"), text("here"))]

    def test_late_words_do_not_lead(self) -> None:
        assert P.place([model(use("a"))], user(text("here"), result("a"))) == [
            model(use("a")),
            user(result("a"), text("here")),
        ]

    def test_late_without_results_is_a_plan_error(self) -> None:
        with pytest.raises(PlanError):
            P.place([model(use("a"))], user("x"))

    def test_stand_in_is_plain_user_text(self) -> None:
        assert P.stand_in("note") == {"role": "user", "content": "note"}


class TestWeigh:
    def test_call_and_result(self) -> None:
        assert P.weigh(model(text("so"), use("a", n=1))).texts == ("so", "look", '{"n":1}')
        assert P.weigh(model(text("so"), use("a", n=1))).fixed == 12
        assert P.weigh(user(result("a", [text("x")]), text("y"))).texts == ("x", "y")
        assert P.weigh(user(result("a"))).fixed == 12

    def test_opaque_strings_are_no_text(self) -> None:
        signed = {"type": "thinking", "thinking": "hm", "signature": "s" * 400}
        assert (P.weigh(model(signed)).texts, P.weigh(model(signed)).fixed) == (("hm",), 104)
        assert P.weigh(model({"type": "redacted_thinking", "data": "d" * 400})).fixed == 104
        assert P.weigh(model(FOUND)).texts == ("T", "u")
        assert P.weigh(model(FOUND)).fixed == 104

    @pytest.mark.parametrize(
        "block",
        [
            IMAGE,
            result("a", [IMAGE]),
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "A" * 4000},
            },
            {"type": "document", "source": {"type": "content", "content": [IMAGE]}},
        ],
    )
    def test_base64_is_no_text(self, block: dict[str, Any]) -> None:
        assert P.weigh(user(block)).texts == ()
        assert P.weigh(user(block)).fixed > 12

    def test_text_documents_are_text(self) -> None:
        source = {"type": "text", "media_type": "text/plain", "data": "words"}
        assert P.weigh(user({"type": "document", "source": source, "title": "T"})).texts == ("T", "words")

    def test_system(self) -> None:
        assert P.weigh_system("be brief").texts == ("be brief",)
        assert P.weigh_system([text("be"), text("brief", cache_control=MARK)]).texts == ("be", "brief")
        assert P.weigh_system(None).texts == ()
        assert P.weigh_system(None).fixed == 0


ADD = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "f"}}
LEGAL = {
    "step": STEP,
    "joined calls, joined results (A9)": [
        user("hi"),
        model(use("a")),
        model(use("b")),
        user(result("b"), result("a")),
    ],
    "split results (A4)": [user("hi"), model(use("a"), use("b")), user(result("a")), user(result("b"))],
    "words after results": [user("hi"), model(use("a")), user(result("a"), text("and?")), user("now?")],
    "no output (A12)": [user("hi"), model(use("a"), use("b")), user(result("a", ""), result("b", []))],
    "paused last (A23)": [user("hi"), model(text("so"), SEARCH)],
    "server call beside a client call (A23)": [
        user("hi"),
        model(SEARCH, use("a")),
        user(result("a")),
        model(FOUND, text("x")),
    ],
    "the same, not yet sent": [user("hi"), model(SEARCH, use("a")), user(result("a"))],
    "server result joined": [user("hi"), model(SEARCH), model(FOUND, text("so"))],
    "system after results": [*STEP[:3], system("be brief"), model("ok")],
    "system last": [user("hi"), system(text("be brief"), ADD)],
    "compaction first": [model({"type": "compaction", "content": "all"}), user("go on")],
    "blank beside words": [
        user(text(" "), text("hi")),
        model(THOUGHT, text("\n\n"), use("a")),
        user(result("a")),
    ],
    "omitted thinking": [
        user("hi"),
        model({"type": "thinking", "thinking": "", "signature": "s"}, text("ok")),
    ],
    "empty prefill": [user("hi"), model("")],
    "loop with thinking": [
        user("hi"),
        model(THOUGHT, use("a")),
        user(result("a")),
        model(use("b")),
        user(result("b")),
    ],
    "old loop without thinking": [*STEP, user("more"), model(THOUGHT, use("b")), user(result("b"))],
}
BROKEN = {
    "A1 pending": ([user("hi"), model(use("a"))], ["A1"]),
    "A1 half a batch": ([user("hi"), model(use("a"), use("b")), user(result("a"))], ["A1"]),
    "A2 window starts on a result": ([user(result("a")), model("ok"), user("x")], ["A2"]),
    "A2 late": ([user("hi"), model(use("a")), user("no"), model("ok"), user(result("a"))], ["A1", "A2"]),
    "A3 words lead": ([user("hi"), model(use("a")), user(text("x"), result("a"))], ["A3"]),
    "A3 after joining": ([user("hi"), model(use("a")), user("x"), user(result("a"))], ["A3"]),
    "A5": ([user("hi"), model(use("a")), user(result("a"), result("a"))], ["A5"]),
    "A6": ([*STEP, user("more"), *STEP[1:]], ["A6"]),
    "A7 id": ([user("hi"), model(use("a.b")), user(result("a.b"))], ["A7", "A7"]),
    "A7 input": ([user("hi"), model({**use("a"), "input": '{"n": 1}'}), user(result("a"))], ["A7"]),
    "A8": ([model("hello"), user("hi")], ["A8"]),
    "A8 empty": ([], ["A8"]),
    "A10": ([user("hi"), model("ok"), {"role": "user", "content": []}, model("ok")], ["A10"]),
    "A11 empty": ([user(text(""), text("hi"))], ["A11"]),
    "A11 in a result": ([user("hi"), model(use("a")), user(result("a", [text("")]))], ["A11"]),
    "A11 blank": ([user("  "), model("ok"), user("hi")], ["A11"]),
    "A13": ([user("hi"), model("ok\n")], ["A13"]),
    "A15": ([user("hi"), model({"type": "thinking", "thinking": "x"}, text("ok"))], ["A15"]),
    "A15 redacted": ([user("hi"), model({"type": "redacted_thinking"}, text("ok"))], ["A15"]),
    "A16": (
        [user("hi"), model(THOUGHT, text("ok")), user("more"), model(use("a")), user(result("a"))],
        ["A16"],
    ),
    "A19": ([user("hi"), model(text("x"), THOUGHT)], ["A19"]),
    "A20": ([user(*[text("x", cache_control=MARK)] * 5)], ["A20"]),
    "A20 on thinking": ([user("hi"), model({**THOUGHT, "cache_control": MARK}, text("ok"))], ["A20"]),
    "A21": ([user("hi"), model(SEARCH, text("so")), user("more")], ["A21"]),
    "A21 never came": ([user("hi"), model(SEARCH, use("a")), user(result("a")), model("ok")], ["A21"]),
    "A22": ([user("hi"), model(FOUND, text("so"))], ["A22"]),
    "A22 order": ([user("hi"), model(FOUND, SEARCH, text("so")), user("x")], ["A21", "A22"]),
    "A23": (
        [user("hi"), model(SEARCH, use("a")), user(result("a"), text("x")), model(FOUND, text("x"))],
        ["A23"],
    ),
    "A24 first": ([system("x"), user("hi")], ["A24"]),
    "A24 after the assistant": ([*STEP, system("x"), user("hi")], ["A24"]),
    "A24 twice": ([user("hi"), system("x"), system("y"), model("ok")], ["A24", "A24"]),
    "A25": ([user("hi"), model(text("x"), result("a")), user(THOUGHT)], ["A25", "A25"]),
    "A26": ([{**user("hi"), "name": "bob"}, {**model("ok"), "id": "msg_1"}], ["A26", "A26"]),
    "A27": ([model({"type": "compaction", "content": ""}), user("hi")], ["A27"]),
}
STAYS = {"A1 pending", "A1 half a batch", "A8", "A8 empty", "A16", "A23", "A25", "A27"}


class TestRules:
    @pytest.mark.parametrize("name", LEGAL)
    def test_legal(self, name: str) -> None:
        assert rules(LEGAL[name]) == []
        mended, repairs = P.repair(LEGAL[name])
        assert repairs == []
        assert all(new is old for new, old in zip(mended, LEGAL[name], strict=True))

    @pytest.mark.parametrize("name", BROKEN)
    def test_broken(self, name: str) -> None:
        entries, broken = BROKEN[name]
        assert sorted(rules(entries)) == broken

    def test_marks_of_the_system_text_count(self) -> None:
        assert rules(
            [user(*[text("x", cache_control=MARK)] * 4)], system=[text("s", cache_control=MARK)]
        ) == ["A20"]

    def test_a_violation_says_where(self) -> None:
        (found,) = P.violations([user("hi"), model(text("x"), use("a")), user("no"), model("ok")])
        assert (found.index, found.path) == (1, "messages[1].content[1]")

    def test_dropping_the_step_that_carries_the_thinking_is_seen(self) -> None:
        before = [
            *[user("hi"), model(THOUGHT, text("ok")), user("do it")],
            *[model(THOUGHT, use("a")), user(result("a")), model(use("b")), user(result("b"))],
        ]
        assert rules(before) == []
        assert rules([*before[:3], *before[5:]]) == ["A16"]
        assert rules([*before[:3], user("[one step left out]"), *before[5:]]) == ["A16"]

    def test_a_loop_that_begins_with_thinking_by_one_reading_is_taken(self) -> None:
        """Behind a message of the user's own, though it joins results, and though words beside results follow it."""
        front = [user("hi"), model(use("a")), user(result("a"))]
        behind = [user(result("b"), text("go on")), model(use("c")), user(result("c"))]
        assert rules([*front, user("and now"), model(THOUGHT, use("b")), *behind]) == []
        assert rules([user("hi"), model(THOUGHT, text("ok")), *front, model(use("b")), *behind]) == ["A16"]


class TestRepair:
    @pytest.mark.parametrize("name", [name for name in BROKEN if name not in STAYS])
    def test_what_can_be_mended_is(self, name: str) -> None:
        entries, _ = BROKEN[name]
        before = copy.deepcopy(entries)
        mended, repairs = P.repair(entries)
        assert set(rules(mended)) <= {
            "A1",
            "A8",
        }  # what is removed may have been the only user message in front
        assert repairs
        assert entries == before

    @pytest.mark.parametrize("name", sorted(STAYS))
    def test_the_rest_stays_as_it_is(self, name: str) -> None:
        entries, _ = BROKEN[name]
        assert P.repair(entries) == (entries, [])

    @pytest.mark.parametrize(
        ("entries", "mended"),
        [
            (
                [user("hi"), model(use("a")), user("no"), model("ok"), user(result("a"))],
                [user("hi"), model(use("a")), user(result("a")), user("no"), model("ok")],
            ),
            (
                [
                    user("hi"),
                    model(use("a"), use("b")),
                    user(text("x"), result("a")),
                    user("y"),
                    user(result("b")),
                ],
                [user("hi"), model(use("a"), use("b")), user(result("a"), result("b"), text("x")), user("y")],
            ),
            (
                [*STEP[:3], user("more"), *STEP[1:3]],
                [*STEP[:3], user("more"), model(use("a_2")), user(result("a_2"))],
            ),
            (
                [*STEP[:3], user("more"), model(use("a"))],
                [user("hi"), model(use("a_2")), user(result("a_2")), user("more"), model(use("a"))],
            ),
            (
                [user("hi"), model(SEARCH, text("so")), user("more"), model(FOUND), user("x")],
                [user("hi"), model(text("so")), user("more"), user("x")],
            ),
            (
                [*STEP, system("x"), user("hi"), system("y"), model("ok")],
                [*STEP, user("hi"), system(text("x"), text("y")), model("ok")],
            ),
            (
                [user("hi"), model({**use("a"), "input": '{"n": 1}'}), user(result("a"))],
                [user("hi"), model(use("a", n=1)), user(result("a"))],
            ),
            ([user("hi"), model(text("ok \n"), THOUGHT)], [user("hi"), model(text("ok"))]),
            (
                [user(text("a", cache_control=MARK), *[text("x", cache_control=MARK)] * 4)],
                [user(text("a"), *[text("x", cache_control=MARK)] * 4)],
            ),
        ],
    )
    def test_mended(self, entries: list[Any], mended: list[Any]) -> None:
        assert P.repair(entries)[0] == mended

    def test_unreadable_entries_stay(self) -> None:
        entries: list[Any] = [None, {"role": "x"}, user("hi"), model(use("a")), 7, user(result("a"))]
        mended, _ = P.repair(entries)
        assert mended == [None, {"role": "x"}, user("hi"), model(use("a")), user(result("a")), 7]


RESPONSE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5",
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
    "content": [
        THOUGHT,
        {"type": "text", "text": "So", "citations": None},
        {
            "type": "text",
            "text": "cited",
            "citations": [
                {
                    "type": "char_location",
                    "cited_text": "c",
                    "document_index": 0,
                    "document_title": None,
                    "start_char_index": 0,
                    "end_char_index": 1,
                    "file_id": None,
                }
            ],
        },
        {**use("a", n=1), "caller": None},
        {**SEARCH, "caller": {"type": "direct"}},
        {**FOUND, "content": [{**FOUND["content"][0], "page_age": None}]},
    ],
}


class TestDump:
    def test_a_dict_comes_back_as_it_is(self) -> None:
        assert P.dump(STEP[0])[0] is STEP[0]

    def test_a_response_becomes_what_a_request_takes(self) -> None:
        (entry,) = P.dump(sdk.Message.model_validate(RESPONSE))
        params = {
            "thinking": sdk.ThinkingBlockParam,
            "text": sdk.TextBlockParam,
            "tool_use": sdk.ToolUseBlockParam,
            "server_tool_use": sdk.ServerToolUseBlockParam,
            "web_search_tool_result": sdk.WebSearchToolResultBlockParam,
        }
        assert set(entry) == {"role", "content"}
        assert [block["type"] for block in entry["content"]] == [
            block["type"] for block in RESPONSE["content"]
        ]
        for block in entry["content"]:
            assert set(block) <= set(get_type_hints(params[block["type"]]))
        assert entry["content"][1] == text("So")
        assert set(entry["content"][2]["citations"][0]) == set(get_type_hints(sdk.CitationCharLocationParam))
        assert entry["content"][3] == use("a", n=1)
        assert rules([user("hi"), entry]) == ["A1"]

    def test_sdk_blocks_inside_a_message_param(self) -> None:
        blocks = sdk.Message.model_validate(RESPONSE).content
        assert P.dump({"role": "assistant", "content": blocks}) == P.dump(
            sdk.Message.model_validate(RESPONSE)
        )

    def test_compaction_and_fallback_are_kept_to_the_letter(self) -> None:
        hop = {
            "from": {"model": "m"},
            "to": {"model": "n"},
            "type": "fallback",
            "trigger": {"type": "refusal"},
        }
        blocks = [{"type": "compaction", "content": None, "encrypted_content": "e", "signature": None}, hop]
        message = beta.BetaMessage.model_validate({**RESPONSE, "content": blocks})
        assert P.dump(message) == [{"role": "assistant", "content": blocks}]

    @pytest.mark.parametrize(
        "thing", ["hi", 7, None, ["x"], sdk.Message, {"role": "user", "content": [object()]}]
    )
    def test_anything_else_is_refused(self, thing: object) -> None:
        with pytest.raises(ProviderFormatError):
            P.dump(thing)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
CLIENT_KINDS = ["text", "tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "?"]
SERVER_KINDS = ["server_tool_use", "mcp_tool_use", "web_search_tool_result", "compaction", "tool_addition"]
KINDS = st.sampled_from([*CLIENT_KINDS, *SERVER_KINDS])
KEYS = st.sampled_from(["a", "b", "c d"])
BLOCKS = st.fixed_dictionaries(
    {
        "type": KINDS,
        "text": st.sampled_from(["", " ", "words"]),
        "id": KEYS,
        "tool_use_id": KEYS,
        "name": KEYS,
    },
    optional={
        "input": JSON,
        "content": JSON | st.lists(st.just(IMAGE) | st.just(text("")), max_size=2),
        "source": JSON,
        "signature": JSON,
        "cache_control": JSON,
    },
)
MESSAGES = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "system"]),
        "content": st.lists(BLOCKS, max_size=4) | st.text(max_size=3),
    }
)
UNMENDED = {"A1", "A6", "A7", "A8", "A16", "A23", "A24", "A25", "A27", "shape"}


class TestAnyJson:
    @settings(max_examples=150, deadline=None)
    @given(st.lists(MESSAGES | JSON, max_size=7))
    def test_nothing_raises_but_typed_errors(self, entries: list[Any]) -> None:
        before = copy.deepcopy(entries)
        for index, entry in enumerate(entries):
            P.parts(entry)
            P.weigh(entry)
            assert _refused_at(entry, index).startswith(f"messages[{index}]")
        mended, repairs = P.repair(entries)
        assert entries == before
        assert set(rules(mended)) <= UNMENDED
        assert P.repair(mended) == (mended, [])
        assert bool(repairs) <= bool(P.violations(entries))

    @settings(max_examples=100, deadline=None)
    @given(MESSAGES)
    def test_writing_a_part_back_changes_nothing(self, entry: dict[str, Any]) -> None:
        for found in P.parts(entry):
            if found.kind in EDITABLE:
                assert P.with_part(entry, found, found.value) is entry

    def test_deep_nesting(self) -> None:
        deep: Any = {}
        for _ in range(10_000):
            deep = {"a": [deep]}
        entries = [user("hi"), model({**use("a"), "input": deep}), user({**result("a"), "x": deep})]
        assert rules(entries) == []
        weights = [P.weigh(entry) for entry in entries]
        assert len(weights[1].texts[1]) > 60_000
        assert part(entries[1], PartKind.ARGUMENTS).text == weights[1].texts[1]
        assert P.weigh(user(result("a", [{"type": "x", "y": deep}]))).texts == ()
        with pytest.raises(ProviderFormatError):
            P.shape({"role": deep, "content": deep})


def _refused_at(entry: Any, index: int) -> str:
    try:
        P.shape(entry, index=index)
    except ProviderFormatError as error:
        return error.path
    return f"messages[{index}]"


def recorded() -> Iterator[tuple[str, dict[str, Any]]]:
    names = ["tau2_airline_claude45_thinking", "pi_coding_sessions", "bfcl_model_runs", "cassettes_anthropic"]
    for name in names:
        path = SHARED / "corpus" / f"{name}.jsonl.gz"
        for line in gzip.decompress(path.read_bytes()).strip().split(b"\n"):
            conversation = json.loads(line)
            if conversation["format"] == "anthropic":
                yield name, conversation


@pytest.mark.skipif(not SHARED.exists(), reason="no recorded conversations beside the repository")
class TestRecorded:
    def test_recorded_conversations_are_read_and_legal(self) -> None:
        found = list(recorded())
        assert len(found) > 90
        for _, conversation in found:
            entries = conversation["messages"]
            for index, entry in enumerate(entries):
                P.shape(entry, index=index)
                P.weigh(entry)
                for this in P.parts(entry):
                    if this.kind in EDITABLE:
                        assert P.with_part(entry, this, this.value) is entry
            issues = conversation["meta"].get("protocol_issues", [])
            allowed = (
                {"A6"} if "duplicate id" in issues else {"A1"} if "ends on pending call" in issues else set()
            )
            assert set(rules(entries, system=conversation.get("system"))) <= allowed, conversation["id"]
            assert set(rules(P.repair(entries)[0])) <= allowed - {"A6"}, conversation["id"]

    @pytest.mark.parametrize("number", ["019", "024"])
    def test_cases_are_read(self, number: str) -> None:
        (path,) = (SHARED / "cases").glob(f"{number}-*.json")
        case = json.loads(path.read_text(encoding="utf-8"))
        entries = [_expanded(entry) for entry in case["input"]]
        roles = [P.shape(entry, index=index).role for index, entry in enumerate(entries)]
        assert roles[:3] == [Role.USER, Role.MODEL, Role.TOOL]
        assert rules(entries, system=case["setup"]["system"]) == []


def _expanded(value: Any) -> Any:
    """The long text notation of the cases written out."""
    match value:
        case {"repeat": str() as words, "times": int() as times, **rest} if not rest:
            return words * times
        case {"join": list() as pieces, **rest} if not rest:
            return "".join(map(_expanded, pieces))
        case dict():
            return {key: _expanded(inner) for key, inner in value.items()}
        case list():
            return [_expanded(inner) for inner in value]
        case _:
            return value
