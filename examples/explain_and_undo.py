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
edit = report.edits[0]
print(len(context.prepare_sync().messages), "message left;", edit.kind, "because", edit.why)
for each in context.explain():
    print(each.position, each.fate, each.by)

print(context.original(edit.handle)[0]["content"])

context.undo()
# the same strategy would do the same again once the window overflows: name another one before the next request
context.use({"kind": "sliding-window", "keep_turns": 3})
request = context.prepare_sync()
print("after undo:", len(request.messages), "messages;", request.report.normalised[0])

# prints:
# it would save 399 tokens; nothing has changed: 7
# 1 message left; Drop because older than the last 1 turns
# 0 dropped sliding-window
# 1 dropped sliding-window
# 2 dropped sliding-window
# 3 dropped sliding-window
# 4 dropped sliding-window
# 5 dropped sliding-window
# 6 pinned
# Question 1: what did we agree on in week 1?
# after undo: 7 messages; the last compaction was undone: the prompt cache is broken
