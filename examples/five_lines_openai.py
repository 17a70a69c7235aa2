"""The five lines around an OpenAI call. Without OPENAI_API_KEY the request is built and shown, not sent."""

import json
import os
from pathlib import Path

from ctxkit import Budget, ContextManager

recorded = Path(__file__).parent / "data" / "retail.json"
messages = json.loads(recorded.read_text(encoding="utf-8"))["messages"]

context = ContextManager("openai-chat", Budget(window=8_000, reply=1_000), "hybrid", model="gpt-5")
context.add(messages)
request = context.prepare_sync()

report = request.report
print(f"{report.tokens_before} tokens were said; what is sent fits into {report.limit}:", end=" ")
print(report.tokens_after <= report.limit)
print("the system text and the newest message are there:", end=" ")
print(request.messages[0] == messages[0] and request.messages[-1] == messages[-1])

if "OPENAI_API_KEY" in os.environ:
    from openai import OpenAI

    response = OpenAI().chat.completions.create(model="gpt-5", messages=request.messages)
    context.add(response)
    print(response.choices[0].message.content)

# prints:
# 18138 tokens were said; what is sent fits into 7000: True
# the system text and the newest message are there: True
