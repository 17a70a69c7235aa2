"""`summarize` with a model that is bad at it: what it makes up or leaves out costs nothing that matters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Budget, ContextManager
from ctxkit.strategies.summarize import Summarize
from ctxkit.summaries.specifics import specifics
from tests.oracle import violations

pytestmark = pytest.mark.model

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "data"

PATIENCE_S = 30
"""Seconds for a summary. A model that needs longer is one more way to fail, and fails as quietly."""

SHORT = (
    "Sum up the conversation in a few short lines, at most $max_words words. Copy numbers and names exactly."
)
"""Instructions that a model of this size can follow, more or less."""

SERIAL = "SN2023-188"

SUPPORT = [
    ("Hello, the label printer in our shop has stopped.", "Sorry to hear that. What does its display say?"),
    ("It says E-04 and blinks, since this morning.", "E-04 is the paper sensor. Which printer is it?"),
    (
        f"The serial number is {SERIAL}, we bought it in May.",
        "Thank you, I have found it; it has a warranty.",
    ),
    (
        "Good. What should I try first?",
        "Open the lid, take the roll out and wipe the sensor with a dry cloth.",
    ),
    ("Done, but it still blinks.", "Then please print a test page: hold the feed button for five seconds."),
    ("The test page is blank on the left side.", "That points to the print head. Is it clean?"),
    ("There is glue on it. May I use alcohol?", "Yes, isopropyl alcohol, and let it dry for ten minutes."),
    ("It prints again, but the labels are crooked.", "The guides are too wide. Push them against the roll."),
    ("They are at the end already.", "Then the roll is too narrow: this printer takes 58 mm and 80 mm."),
    ("Ours are 50 mm wide.", "There is an adapter for those. I can send one for free."),
    ("Please do, to the shop in Harbour Street 7.", "It leaves tomorrow and takes two days."),
    ("Meanwhile the old printer is needed for receipts.", "It can do that with the driver from 2019."),
    ("Where is that driver?", "On our site under Support, Archive. Choose the one for your system."),
    ("It asks for a licence key.", "Leave that empty; it is for the server edition only."),
    ("Installed. It prints the date wrong.", "Set the clock in the menu under System, Time."),
    ("All right now. Do we need to send anything back?", "No, keep the old roll holder as a spare."),
]


def test_a_real_conversation_is_summarised_or_left_as_it_was(small: Any) -> None:
    messages = json.loads((EXAMPLES / "retail.json").read_text(encoding="utf-8"))["messages"][:7]
    messages[0] = {"role": "system", "content": "You help customers of a shop."}
    messages.append({"role": "user", "content": "Go on."})
    asking = {"model": small(), "template": SHORT, "timeout_s": PATIENCE_S}
    strategy = Summarize(**asking, keep_turns=0, max_tokens=150)
    context = ContextManager("openai-chat", Budget(window=2_000, aim_for=220), strategy, model="gpt-4o")
    context.add(messages)
    report, request = context.compact(), context.prepare_sync()
    assert violations("openai-chat", request.messages, None) == []
    assert report.model_calls
    if not report.compacted:
        assert request.messages == messages
        assert report.failures[0].why
        return
    (edit,) = report.edits
    assert edit.tokens_after < edit.tokens_before
    sent = json.dumps(request.messages, ensure_ascii=False)
    said = [messages[at]["content"] for at in edit.positions if messages[at]["role"] == "user"]
    assert [each.text for text in said for each in specifics(text) if each.text not in sent + edit.why] == []
    assert context.original(edit.handle) == [messages[at] for at in edit.positions]


def test_an_identifier_said_once_is_there_after_many_summaries(small: Any) -> None:
    asking = {"model": small(), "template": SHORT, "timeout_s": PATIENCE_S}
    strategy = Summarize(**asking, keep_turns=1, max_tokens=100)
    context = ContextManager("openai-chat", Budget(window=1_000, compact_at=220), strategy, model="gpt-4o")
    tried, added = 0, []
    for said, answered in SUPPORT:
        context.add({"role": "user", "content": said})
        added.append({"role": "user", "content": said})
        request = context.prepare_sync()
        report = request.report
        assert violations("openai-chat", request.messages, None) == []
        assert request.messages[-1] == added[-1]
        assert report.compacted or report.failures or not report.model_calls
        assert report.compactions or request.messages == added
        tried += bool(report.model_calls)
        if len(added) > 4:
            assert SERIAL in json.dumps(request.messages)
        context.add({"role": "assistant", "content": answered})
        added.append({"role": "assistant", "content": answered})
    assert tried >= 2
