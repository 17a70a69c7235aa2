"""A strategy of one's own: drop what tools said about an order that the user is done with."""

import json
from typing import Literal

from ctxkit import Budget, CompressionStrategy, ContextManager, Plan, Services, Shorten, View


class ForgetClosedOrders(CompressionStrategy):
    """Shorten results that say `"status": "closed"` to their order number."""

    kind: Literal["forget-closed-orders"] = "forget-closed-orders"

    def plan(self, view: View, services: Services) -> Plan:
        closed = [each for each in view.results() if '"status": "closed"' in each.text]
        edits = [Shorten(each.item.id, each.part, _short(each.text), "a closed order") for each in closed]
        return Plan.of(*edits)


def _short(text: str) -> str:
    return json.dumps({"order": json.loads(text)["order"], "status": "closed"})


def step(number: int, status: str) -> list[dict]:
    """A call and its result."""
    result = {"order": f"W{number}", "status": status, "lines": [f"book {line}" for line in range(40)]}
    call = {"id": f"call_{number}", "type": "function", "function": {"name": "get_order", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{number}", "content": json.dumps(result)},
    ]


context = ContextManager("openai-chat", Budget(window=400), ForgetClosedOrders())
context.add({"role": "user", "content": "What is in W1 and W2?"})
context.add(step(1, "closed") + step(2, "open"))
request = context.prepare_sync()

print(request.messages[2]["content"])
print(request.messages[4]["content"][:45])
for edit in request.report.edits:
    print(edit.kind, "by", edit.by, "because of", edit.why)

# prints:
# {"order": "W1", "status": "closed"}
# {"order": "W2", "status": "open", "lines": ["
# Shorten by forget-closed-orders because of a closed order
