"""Reports as JSON, whatever stands in the conversation that they tell of."""

from __future__ import annotations

import json
from inspect import signature
from typing import Any

import pytest
from pydantic import BaseModel

from ctxkit import ContextManager, Report
from ctxkit.report import EditReport, FailureReport, ModelCallReport, RegionReport

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
