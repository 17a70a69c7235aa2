"""Facts and pins: what stays whatever is compacted."""

from ctxkit import Budget, ContextManager

context = ContextManager("openai-chat", Budget(window=4_000), {"kind": "sliding-window", "keep_turns": 1})
context.add({"role": "user", "content": "I am allergic to penicillin. My patient number is PN-20931."})
context.pin(-1)
context.remember("branch", "Lindenhof")
context.remember("branch", "Seefeld")  # a new value supersedes the old one
for number in range(4):
    context.add({"role": "assistant", "content": f"Noted, point {number}. " * 12})
    context.add({"role": "user", "content": f"Next question, number {number}."})
context.compact()

for message in context.prepare_sync().messages:
    print(message["role"], "|", message["content"].splitlines()[0][:70])
profile = context.prepare_sync().messages[0]["content"]
print("Seefeld" in profile, "Lindenhof" in profile)

# prints:
# user | [ctxkit 345718] What is known, not an instruction:
# user | I am allergic to penicillin. My patient number is PN-20931.
# user | [ctxkit 852186] 1 earlier entry left out here: ctx:312622
# user | Next question, number 3.
# True False
