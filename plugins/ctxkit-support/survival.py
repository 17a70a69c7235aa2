"""Measures how many commitments survive: python survival.py FOLDER, which holds tau2_retail.jsonl.gz,
tau2_airline.jsonl.gz and tau_airline_gpt4o.jsonl.gz (a conversation in `messages` each line).

Conversations, without their system text, are put in a row until a session has SESSION tokens, and a session is replayed
message by message at a quarter of its tokens. Counted are the sentences that are still
word for word in the last request: what customers wrote with one of a few strong words of will, and what agents wrote
that will be within days or hours. The words that are looked for here are fewer and plainer than those of the plugin.
"""

from __future__ import annotations

import gzip
import json
import logging
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxkit import Budget, BudgetExceededError, ContextManager, OpenCallsError

STATED = {
    "demands": (
        "user",
        re.compile(r"\b(?:must|don['’]t want|only if|only want|make sure|full refund|unless)\b", re.I),
    ),
    "promises": (
        "assistant",
        re.compile(r"\b(?:will|should|allow)\b.*\b(?:days|hours|today|tomorrow)\b", re.I),
    ),
}
CHAINS: dict[str, Any] = {
    "hybrid": "hybrid",
    "keep-support-commitments, hybrid": {"kind": "hybrid", "steps": ["keep-support-commitments", "hybrid"]},
    "keep-support-commitments, keep-key-facts, hybrid": {
        "kind": "hybrid",
        "steps": ["keep-support-commitments", "keep-key-facts", "hybrid"],
    },
}
FILES = ("tau2_retail", "tau2_airline", "tau_airline_gpt4o")


SESSION = 20_000
"""Tokens of a session at least."""


def sessions(folder: Path) -> Iterator[tuple[list[dict[str, Any]], int]]:
    """The messages of each session, and its tokens."""
    for name in FILES:
        session: list[dict[str, Any]] = []
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                session += [each for each in json.loads(line)["messages"] if each["role"] != "system"]
                if (tokens := size(session)) >= SESSION:
                    yield session, tokens
                    session = []


def statements(messages: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for message in messages:
        for kind, (role, words) in STATED.items():
            if message["role"] == role:
                for sentence in re.split(r"(?<=[.!?])\s+|\n+|\\n", message.get("content") or ""):
                    if words.search(sentence) and not sentence.rstrip().endswith("?"):
                        yield kind, sentence.strip(" -•*")


def text_of(messages: list[dict[str, Any]]) -> str:
    return "\n".join(str(each.get("content")) for each in messages)


def last_request(messages: list[dict[str, Any]], strategy: Any, window: int) -> tuple[str, float]:
    """The text of the last request, and its tokens as a share of the window."""
    context = ContextManager("openai-chat", Budget(window=window), strategy, repair=True)
    for message in messages:
        context.add(message)
        try:
            request = context.prepare_sync()
        except OpenCallsError:
            continue
    return text_of(request.messages), request.report.tokens_after / window


def size(messages: list[dict[str, Any]]) -> int:
    context = ContextManager("openai-chat", Budget(window=10**6), repair=True)
    context.add(messages)
    return context.compact().tokens_before


def main(folder: Path) -> None:
    logging.getLogger("ctxkit_support").setLevel(logging.ERROR)
    there: Counter[str] = Counter()
    kept: dict[str, Counter[str]] = {chain: Counter() for chain in CHAINS}
    filled = dict.fromkeys(CHAINS, 0.0)
    for messages, tokens in sessions(folder):
        try:
            ends = {
                chain: last_request(messages, strategy, tokens // 4) for chain, strategy in CHAINS.items()
            }
        except BudgetExceededError:
            there["left out: one step is over the budget"] += 1
            continue
        there["sessions"] += 1
        found = set(statements(messages))
        there.update(kind for kind, _ in found)
        for chain, (text, share) in ends.items():
            kept[chain].update(kind for kind, words in found if words in text)
            filled[chain] += share
    print(dict(there))
    for chain, counts in kept.items():
        shares = ", ".join(f"{kind} {counts[kind]} ({counts[kind] / there[kind]:.0%})" for kind in STATED)
        print(f"{chain}: {shares}; requests fill {filled[chain] / there['sessions']:.0%}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
