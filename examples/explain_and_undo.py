"""Look before a compaction, ask what became of each message, read an original, take it all back."""

from ctxkit import Budget, ContextManager

context = ContextManager("openai-chat", Budget(window=4_000), {"kind": "sliding-window", "keep_turns": 1})
for number in (1, 2, 3):
    context.add({"role": "user", "content": f"Question {number}: what did we agree on in week {number}?"})
    context.add({"role": "assistant", "content": f"In week {number} we agreed on plan {number}. " * 10})
context.add({"role": "user", "content": "And what now?"})

seen = context.preview()
print("it would save", seen.tokens_before - seen.tokens_after, "tokens; nothing has changed:", end=" ")
print(len(context.prepare_sync().messages))

report = context.compact()
print(len(context.prepare_sync().messages), "message left;", report.edits[0].kind, "because", report.edits[0].why)
for each in context.explain():
    print(each.position, each.fate, each.by)

handle = report.edits[0].handle
print(context.original(handle)[0]["content"])

context.undo()
print("after undo:", len(context.prepare_sync().messages))

# prints:
# TODO
