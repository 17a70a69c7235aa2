"""The same for Anthropic: system text beside the messages, tool results in user messages, thinking with signatures."""

import json
import os
from pathlib import Path

from ctxkit import Budget, ContextManager

recorded = json.loads((Path(__file__).parent / "data" / "airline_anthropic.json").read_text(encoding="utf-8"))
MODEL = "claude-sonnet-4-5"

context = ContextManager(
    "anthropic",
    Budget(window=5_000, reply=1_000),
    {"kind": "hybrid", "steps": ["drop-reasoning", "clear-tool-results", "drop-oldest"]},
    model=MODEL,
)
context.add(recorded["messages"], system=recorded["system"])
request = context.prepare_sync()

report = request.report
print(f"counted by {report.counter}, exact: {report.exact}")
print("what is sent fits:", report.tokens_after <= report.limit < report.tokens_before)
print("old thinking went first:", report.edits[0].kind, "by", report.edits[0].by)
print("system text untouched:", request.system == recorded["system"])

if "ANTHROPIC_API_KEY" in os.environ:
    from anthropic import Anthropic

    response = Anthropic().messages.create(
        model=MODEL, max_tokens=1_000, system=request.system, messages=request.messages
    )
    context.add(response)
    print(response.content[-1])

# prints:
# counted by estimate/claude, exact: False
# what is sent fits: True
# old thinking went first: Strip by drop-reasoning
# system text untouched: True
