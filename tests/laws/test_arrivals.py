"""Late answers, open and dead calls: conversations as they arrive, in every format."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit import Budget, BudgetExceededError, ContextManager, OpenCallsError, PartKind
from ctxkit.providers import provider
from ctxkit.testing import FORMATS, arrivals
from tests.oracle import OPEN, rules, violations


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("strategy", ["sliding-window", "drop-oldest", "clear-tool-results", "hybrid"])
@given(data=st.data())
def test_whatever_arrives_when_the_request_is_accepted(
    format: Any, strategy: str, data: st.DataObject
) -> None:
    batches = data.draw(arrivals(format))
    window = data.draw(st.sampled_from([150, 400, 1500, 10**6]))
    context = ContextManager(format, Budget(window=window, min_gain=0), strategy)
    for batch in batches:
        context.add(batch)
        try:
            request = context.prepare_sync()
        except (OpenCallsError, BudgetExceededError):
            continue
        assert violations(format, request.messages) == []
        assert request.report.tokens_after <= window
    assert len(context.explain()) == sum(map(len, batches))


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_a_late_answer_stands_with_its_call_as_it_was_given(format: Any, data: st.DataObject) -> None:
    batches = data.draw(arrivals(format))
    context = ContextManager(format, Budget(window=10**6), "drop-oldest")
    for batch in batches:
        context.add(batch)
    try:
        messages = context.prepare_sync().messages
    except OpenCallsError:
        return
    assert rules(violations(format, messages)) <= OPEN
    originals = {each.position for each in context.explain() if each.fate in ("present", "pinned")}
    flat = [entry for batch in batches for entry in batch]
    if format in ("openai-chat", "openai-responses"):
        assert all(flat[at] in messages for at in originals)


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_each_call_is_told_with_its_arguments(format: Any, data: st.DataObject) -> None:
    meter = provider(format)
    for batch in data.draw(arrivals(format)):
        for entry in batch:
            given = meter.arguments(entry)
            assert len(given) == len(meter.shape(entry).calls)
            parts = [part.text for part in meter.parts(entry) if part.reads_as is PartKind.ARGUMENTS]
            assert [text for text in parts if text not in given] == []
