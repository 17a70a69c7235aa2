"""Measures how many medical constraints survive: python survival.py FOLDER, which holds aci_bench.jsonl.gz and
mts_dialog.jsonl.gz (a conversation in `messages` each line).

Talks are put in a row until a session has SESSION tokens, and a session is replayed message by message at a quarter of
its tokens. Counted are the statements that are still word
for word in the last request: what names an allergy, with the 40 characters around it, and what gives the dose of a
drug. The words that are looked for here are plainer than those of the plugin.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxkit import Budget, ContextManager

_AMOUNT = (
    r"(?:\d[\d,.]*|(?:one|two|three|four|five|six|eight|ten|fifteen|twenty|thirty|forty|fifty|eighty|hundred|thousand| )+)"
    r" ?(?:mg|m g|milligrams?|micrograms?|units|puffs)\b"
)
STATED = {
    "allergies": re.compile(r".{0,40}\ballerg.{0,40}", re.IGNORECASE),
    "doses": re.compile(rf"\b{_AMOUNT} of \w+|[a-z]{{4,}}[ ,]+{_AMOUNT}", re.IGNORECASE),
}
SESSION = 6_000
"""Tokens of a session at least."""
CHAINS: dict[str, Any] = {
    "hybrid": "hybrid",
    "keep-medical-constraints, hybrid": {"kind": "hybrid", "steps": ["keep-medical-constraints", "hybrid"]},
    "keep-medical-constraints, keep-key-facts, hybrid": {
        "kind": "hybrid",
        "steps": ["keep-medical-constraints", "keep-key-facts", "hybrid"],
    },
}


def sessions(folder: Path) -> Iterator[tuple[list[dict[str, Any]], int]]:
    """The messages of each session, and its tokens."""
    for name in ("aci_bench", "mts_dialog"):
        session: list[dict[str, Any]] = []
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                session += [each for each in json.loads(line)["messages"] if each["content"].strip()]
                if (tokens := size(session)) >= SESSION:
                    yield session, tokens
                    session = []


def statements(messages: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for message in messages:
        for kind, words in STATED.items():
            yield from ((kind, found.group()) for found in words.finditer(message["content"]))


def last_request(messages: list[dict[str, Any]], strategy: Any, window: int) -> tuple[str, float]:
    """The text of the last request, and its tokens as a share of the window."""
    context = ContextManager("openai-chat", Budget(window=window), strategy)
    for message in messages:
        context.add(message)
        request = context.prepare_sync()
    return "\n".join(each["content"] for each in request.messages), request.report.tokens_after / window


def size(messages: list[dict[str, Any]]) -> int:
    context = ContextManager("openai-chat", Budget(window=10**6))
    context.add(messages)
    return context.prepare_sync().report.tokens_after


def main(folder: Path) -> None:
    there: Counter[str] = Counter()
    kept: dict[str, Counter[str]] = {chain: Counter() for chain in CHAINS}
    filled = dict.fromkeys(CHAINS, 0.0)
    for messages, tokens in sessions(folder):
        there["sessions"] += 1
        there.update(kind for kind, _ in statements(messages))
        for chain, strategy in CHAINS.items():
            text, share = last_request(messages, strategy, tokens // 4)
            kept[chain].update(kind for kind, words in statements(messages) if words in text)
            filled[chain] += share
    print(dict(there))
    for chain, counts in kept.items():
        shares = ", ".join(f"{kind} {counts[kind]} ({counts[kind] / there[kind]:.0%})" for kind in STATED)
        print(f"{chain}: {shares}; requests fill {filled[chain] / there['sessions']:.0%}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
