"""Summaries by OpenAI. With OPENAI_API_KEY set, a model writes them; without, you see that nothing is lost for it."""

from ctxkit import Budget, ContextManager

MODEL = {"name": "gpt-5-mini", "extra": {"reasoning_effort": "low"}}
LADDER = [{"kind": "summarize", "model": MODEL, "keep_turns": 1}, {"kind": "extractive-summary"}]

context = ContextManager(
    "openai-chat",
    Budget(window=1_000, compact_at=200),
    {"kind": "fallback", "steps": LADDER},
    model="gpt-5",
)
for week in range(1, 7):
    context.add(
        {"role": "user", "content": f"Week {week}: the invoice INV-{week}042 is paid. What comes next?"}
    )
    context.add(
        {"role": "assistant", "content": f"Next is the order for week {week + 1}, as we agreed in May."}
    )
context.add({"role": "user", "content": "Which invoices are paid?"})

report = context.prepare_sync().report
for call in report.model_calls:
    print(f"{call.model}: {call.input_tokens} tokens in, {call.output_tokens} out")
for failure in report.failures:
    print(f"{failure.by} failed: {failure.why}")
(edit,) = report.edits
print("summarised by", edit.by)
print("the first message is kept:", context.original(edit.handle)[0]["content"])

# prints:
# summarize failed: model 'gpt-5-mini' did not answer: there is no key: set the environment variable OPENAI_API_KEY, or name another in api_key_env
# summarised by extractive-summary
# the first message is kept: Week 1: the invoice INV-1042 is paid. What comes next?
