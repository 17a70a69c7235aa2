"""Reports as JSON, whatever stands in the conversation that they tell of."""

from __future__ import annotations

import json
from inspect import signature
from typing import Any

import pytest
from pydantic import BaseModel

from ctxkit import ContextManager, Report
from ctxkit.report import EditReport, FailureReport, ModelCallReport, RegionReport
from ctxkit.tokens import TiktokenCounter

ODD = "é \ud800nuts \udfff 😀"
"""With lone surrogates: JSON can escape them, UTF-8 cannot hold them."""


def report(text: str) -> Report:
    return Report(
        format="openai-chat",
        compacted=True,
        trigger=text,
        tokens_before=2,
        tokens_after=1,
        limit=3,
        target=3,
        regions={text: RegionReport(before=2, after=1)},
        edits=(EditReport(kind="Remember", by="test", why=text, detail=text),),
        failures=(FailureReport(by="plugin", why=text),),
        model_calls=(ModelCallReport(model=text, error=text),),
        normalised=(text,),
        counter=text,
        seconds=0.25,
    )


@pytest.mark.parametrize("options", [{}, {"indent": 2}, {"exclude": {"trigger"}}, {"exclude_defaults": True}])
def test_lone_surrogates_are_escaped(options: dict[str, Any]) -> None:
    told, plain = report(ODD), report("plain")
    text = told.model_dump_json(**options)
    indent = options.pop("indent", None)
    assert json.loads(text) == told.model_dump(mode="json", **options)
    assert text.encode()  # which lone surrogates would not let it
    assert r"é \ud800nuts \udfff 😀" in text
    assert len(text.splitlines()) == len(plain.model_dump_json(indent=indent, **options).splitlines())
    assert (": " in text) is (indent is not None)


@pytest.mark.parametrize(
    "part",
    [EditReport(kind="Pin", by="", why=ODD), FailureReport(by="", why=ODD), ModelCallReport(model=ODD)],
)
def test_parts_of_a_report_too(part: EditReport | FailureReport | ModelCallReport) -> None:
    assert json.loads(part.model_dump_json()) == part.model_dump(mode="json")


def test_a_report_without_them_is_written_as_by_pydantic() -> None:
    assert '"trigger":"é 😀"' in report("é 😀").model_dump_json()


@pytest.mark.skipif(
    "ensure_ascii" not in signature(BaseModel.model_dump_json).parameters, reason="pydantic 2.12 brought it"
)
def test_what_can_be_escaped_is_when_asked() -> None:
    text = report(ODD).model_dump_json(ensure_ascii=True)
    assert text.isascii()
    assert json.loads(text)["trigger"] == ODD


def test_a_kept_sentence_with_a_lone_surrogate_is_told() -> None:
    strategy = {"kind": "hybrid", "steps": ["keep-key-facts", "drop-oldest"]}
    context = ContextManager("openai-chat", {"window": 1000}, strategy)
    context.add({"role": "user", "content": "I am allergic to \ud800nuts, so never send any."})
    for number in range(8):
        context.add({"role": "assistant", "content": "The sky is grey over the harbour. " * 8})
        context.add({"role": "user", "content": f"And on day {number}? " + "Tell me more. " * 20})
    told = context.prepare_sync().report
    assert r"\ud800nuts" in told.model_dump_json()


ASKED = ModelCallReport(model="small", input_tokens=120, output_tokens=5)


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (ASKED, "  asked: small, 120 + 5 tokens"),
        (ModelCallReport(model="ask"), "  asked: ask, tokens not told"),
        (ModelCallReport(model="ask", error="it refused"), "  asked: ask, tokens not told, it refused"),
    ],
)
def test_a_call_says_what_was_counted_or_that_nobody_told(call: ModelCallReport, line: str) -> None:
    assert line in str(report("x").model_copy(update={"model_calls": (call,)})).splitlines()


def _told(model: str | None, **settings: Any) -> Report:
    context = ContextManager("openai-chat", {"window": 8_000}, "drop-oldest", model=model, **settings)
    context.add({"role": "user", "content": "Hello"})
    first = context.prepare_sync().report
    assert "no preset" not in str(context.prepare_sync().report)  # it is said once
    return first


def test_an_estimate_is_told_in_the_first_line_and_a_model_that_nobody_knows_in_another() -> None:
    told = str(_told("gtp-5")).splitlines()
    assert told[0].startswith("openai-chat: 6 -> 6 of 8,000 tokens (estimated); ")
    assert told[1:] == [
        "  also: no preset for the model 'gtp-5' (did you mean gpt-5?); its tokens are estimated"
    ]


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gemini-2.5-flash"])
def test_a_known_model_whose_tokens_are_estimated_is_none_that_nobody_knows(model: str) -> None:
    (told,) = str(_told(model)).splitlines()
    assert " tokens (estimated); " in told


@pytest.mark.parametrize(
    ("model", "settings"), [(None, {}), ("gpt-5", {}), ("gtp-5", {"counter": TiktokenCounter()})]
)
def test_what_is_counted_is_no_estimate(model: str | None, settings: dict[str, Any]) -> None:
    (told,) = str(_told(model, **settings)).splitlines()
    assert "estimated" not in told


def _edit(kind: str, at: int, **more: Any) -> EditReport:
    return EditReport(kind=kind, by="keeper", why="it may go", detail=f"rule: {at}", **more)


def test_facts_are_told_in_brackets_however_many_there_are() -> None:
    edits = tuple(_edit(kind, at) for at in range(7) for kind in ("Remember", "Retract"))
    lines = str(
        report("asked for").model_copy(update={"edits": edits, "failures": (), "normalised": ()})
    ).splitlines()
    expected = [
        f"  {kind} by keeper (rule: {at}): it may go" for kind in ("Remember", "Retract") for at in range(7)
    ]
    assert lines[1:15] == expected


def test_many_edits_for_the_same_reason_are_one_line() -> None:
    def told(count: int) -> list[str]:
        edits = tuple(
            _edit("Strip", at, handle=f"ctx:{at}", tokens_before=100, tokens_after=40) for at in range(count)
        )
        return str(report("asked for").model_copy(update={"edits": edits})).splitlines()

    few, many = told(12), told(15)
    assert few[1:13] == [f"  Strip by keeper: it may go, 100 -> 40 ctx:{at}" for at in range(12)]
    assert many[1] == "  Strip ×15 by keeper: it may go, 1,500 -> 600 ctx:0 ctx:1 ctx:2 and 12 more"
    assert len(few) - len(many) == 11


def test_a_region_over_its_target_that_starts_nothing_is_told() -> None:
    regions = {"recent": RegionReport(before=9, after=9, target=5)}
    idle = report("below every trigger").model_copy(update={"regions": regions, "compacted": False})
    assert (
        str(idle)
        .splitlines()[0]
        .endswith("; below every trigger; a region over its target starts none by itself")
    )
    assert str(idle.model_copy(update={"compacted": True})).splitlines()[0].endswith("; below every trigger")


def test_what_a_prompt_cache_still_has_is_what_was_not_touched() -> None:
    budget = {"window": 100_000, "aim_for": 100}
    context = ContextManager("anthropic", budget, {"kind": "clear-tool-results", "keep": 0})
    context.add({"role": "user", "content": "Read. " + "word " * 50}, system="You read files.")
    untouched = context.compact()
    assert untouched.tokens_same == untouched.tokens_after == untouched.tokens_before
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "read", "input": {}}]}
    rows = "row skipped, column price empty\n" * 60
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": rows}]}
    context.add([call, result])
    context.add([{"role": "assistant", "content": "Done."}, {"role": "user", "content": "So?"}])
    told = context.compact()
    (edit,) = told.edits
    last = ContextManager("anthropic", budget, "drop-oldest")
    last.add([{"role": "assistant", "content": "Done."}, {"role": "user", "content": "So?"}])
    behind = edit.tokens_after + last.preview().tokens_before
    assert 0 < told.tokens_same == told.tokens_after - behind


def test_system_text_alone_is_what_it_has_when_the_first_turn_goes() -> None:
    context = ContextManager("openai-chat", {"window": 1_000, "aim_for": 100}, "drop-oldest")
    context.add([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "word " * 200}])
    context.add([{"role": "assistant", "content": "word " * 200}, {"role": "user", "content": "So?"}])
    told = context.compact()
    assert told.compacted
    assert told.tokens_same == told.regions["system"].after > 0
