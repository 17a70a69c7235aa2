"""The same for OpenAI Responses: a list of items, in which reasoning may not be parted from what follows it."""

import json
import os

from ctxkit import Budget, ContextManager

rows = [{"id": f"INV-{number}", "amount": number * 12.5, "paid": False} for number in range(1_001, 1_061)]

items = [
    {"role": "user", "content": "Which invoice of Okoro Ltd is the largest?"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAABopaque"},
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "list_invoices",
        "arguments": '{"customer": "Okoro Ltd"}',
    },
    {"type": "function_call_output", "call_id": "call_1", "output": json.dumps(rows)},
    {"role": "assistant", "content": "INV-1060, over 13250.0."},
    {"role": "user", "content": "Send a reminder for it."},
]

context = ContextManager("openai-responses", Budget(window=1_500, reply=500), "drop-oldest", model="gpt-5")
context.add(items, system="You keep the books.")
request = context.prepare_sync()

kinds = [item.get("type", item.get("role")) for item in request.messages]
print("the oldest turn went whole, reasoning, call and result together:", kinds)
print("instructions:", request.system)
handle = request.report.edits[0].handle
print("read back by its handle:", context.original(handle) == items[:5])

if "OPENAI_API_KEY" in os.environ:
    from openai import OpenAI

    response = OpenAI().responses.create(model="gpt-5", input=request.messages, instructions=request.system)
    context.add(response)
    print(response.output_text)

# prints:
# the oldest turn went whole, reasoning, call and result together: ['user']
# instructions: You keep the books.
# read back by its handle: True
