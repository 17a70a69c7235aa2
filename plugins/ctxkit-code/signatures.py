"""How many signatures that a coding agent needs are still in its requests: `python signatures.py FILE [EVERY]`.

A recorded conversation in OpenAI's chat format is replayed entry by entry. Before each call, for each function or
class that its arguments name and of which a tool result showed the `def` or `class` line before: does the request
still hold that line? Conversations are those of a JSON Lines file, `.gz` too, every EVERY-th of them; they are about
Python. A window is a share of the tokens of its conversation.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxkit import Budget, BudgetExceededError, ContextManager

RECOMMENDED = ["drop-reasoning", "drop-media", "digest-tool-results", "trim-tool-results", "drop-oldest"]
CHAINS = {
    "hybrid": RECOMMENDED,
    "outline-file-views, then the same": ["outline-file-views", *RECOMMENDED],
}
DECLARED = re.compile(r"(?:def|class) (\w{3,})[^\n]{0,200}")
SHARES = (0.25, 0.5)


def conversations(path: str, every: int) -> Iterator[list[dict[str, Any]]]:
    data = Path(path).read_bytes()
    lines = (gzip.decompress(data) if path.endswith(".gz") else data).splitlines()
    return (json.loads(line)["messages"] for line in lines[::every])


def text_of(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def needs(messages: list[dict[str, Any]]) -> Iterator[tuple[int, dict[str, str]]]:
    """Where a call is made, and the newest line with the signature of each name that it needs."""
    lines: dict[str, str] = {}
    for at, message in enumerate(messages):
        asked = " ".join(call["function"]["arguments"] for call in message.get("tool_calls") or [])
        named = set(re.findall(r"\w+", asked)) & lines.keys()
        if named:
            yield at, {name: lines[name] for name in sorted(named)}
        if message["role"] == "tool":
            lines.update({found[1]: found[0].rstrip() for found in DECLARED.finditer(text_of(message))})


def replayed(messages: list[dict[str, Any]], steps: list[str], share: float) -> tuple[int, int, int]:
    """Signatures needed, those still there, and the tokens of the requests."""
    whole = ContextManager("openai-chat", Budget(window=10_000_000), "drop-oldest", model="gpt-5")
    whole.add(messages[: max(at for at, each in enumerate(messages) if each["role"] != "assistant") + 1])
    window = int(share * whole.prepare_sync().report.tokens_before)
    strategy: dict[str, Any] = {"kind": "hybrid", "steps": steps}
    context = ContextManager("openai-chat", Budget(window=window), strategy, model="gpt-5")
    needed = held = tokens = added = 0
    for at, lines in needs(messages):
        context.add(messages[added:at])
        added = at
        try:
            request = context.prepare_sync()
        except BudgetExceededError:
            continue
        text = "\n".join(text_of(message) for message in request.messages)
        needed += len(lines)
        held += sum(line in text for line in lines.values())
        tokens += request.report.tokens_after
    return needed, held, tokens


def main(path: str, every: int = 1) -> None:
    for share in SHARES:
        for name, steps in CHAINS.items():
            scores = [replayed(messages, steps, share) for messages in conversations(path, every)]
            needed, held, tokens = (sum(column) for column in zip(*scores, strict=True))
            print(f"{share:.0%}  {name}: {held} of {needed} ({held / needed:.1%}), {tokens:,} tokens")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
