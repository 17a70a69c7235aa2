"""The same for Gemini: contents with parts, calls without ids, thought signatures that stay where they are."""

import json
import os
from pathlib import Path

from ctxkit import Budget, ContextManager

recorded = json.loads((Path(__file__).parent / "data" / "weather_gemini.json").read_text(encoding="utf-8"))
MODEL = "gemini-2.5-flash"

context = ContextManager(
    "gemini",
    Budget(window=2_000, reply=500, aim_for=600),
    {"kind": "clear-tool-results", "keep": 0},
    model=MODEL,
)
context.add(recorded["contents"], system=recorded["systemInstruction"])
request = context.prepare_sync()

call, answer = request.messages[1], request.messages[2]
print("the calls are as they were:", call == recorded["contents"][1])
for part in answer["parts"]:
    print(part["functionResponse"]["name"], part["functionResponse"]["response"])
report = request.report
print("what is sent fits:", report.tokens_after <= report.limit < report.tokens_before)

if "GEMINI_API_KEY" in os.environ:
    from google import genai

    config = {"system_instruction": request.system}
    reply = genai.Client().models.generate_content(model=MODEL, contents=request.messages, config=config)
    context.add(reply)
    print(reply.text)

# prints:
# the calls are as they were: True
# get_forecast {'output': '[ctxkit 242833] result cleared; original: ctx:046999'}
# get_forecast {'output': '[ctxkit 242833] result cleared; original: ctx:046999'}
# what is sent fits: True
