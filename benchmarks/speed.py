"""Speed and memory as ratios of one run: nothing here depends on how fast the machine is.

    python benchmarks/speed.py            # all of it, a minute or two
    python benchmarks/speed.py turns      # one part: turns, trim, memory, hostile

turns    window 8k, mean of 200 turns with the compactions among them, at 100, 1,000 and 10,000 messages: the time of
         a turn against that at 100 messages, and, less tokenising its new items, against a deep copy of the request.
trim     the same turn at 1,000 messages against langchain-core's `trim_messages` with the same token counter.
memory   bytes that a message takes beyond its parsed JSON (a deep copy of it), by tracemalloc.
hostile  1 MB of hostile text against 0.25 MB of the same: 4 is linear; and what `keep-key-facts` does with one message
         of a user, counted in characters that plugins are asked about and in facts.
"""

from __future__ import annotations

import copy
import gc
import json
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from typing import Any

from ctxkit import Budget, ContextManager, Fact, Remember, Services, Speaker, View
from ctxkit.core.state import Meter
from ctxkit.hooks import Called
from ctxkit.providers import provider
from ctxkit.strategies.keep_key_facts import KeepKeyFacts
from ctxkit.tokens import counter_for

WINDOW = 8_000
TURNS = 200


def messages() -> Iterator[dict[str, Any]]:
    """An endless tool-using conversation: a question, a call, its result, an answer; every text differs."""
    for turn in cycle([0]):
        for number in range(10**9):
            yield {
                "role": "user",
                "content": f"Where is order W{number:07}? It was paid on 2026-03-{number % 28 + 1:02}.",
            }
            call = {"id": f"call_{number}", "type": "function"}
            arguments = json.dumps({"order_id": f"W{number:07}"})
            yield {
                "role": "assistant",
                "content": None,
                "tool_calls": [{**call, "function": {"name": "get_order", "arguments": arguments}}],
            }
            order = {"order_id": f"W{number:07}", "status": "shipped", "total": number * 1.25, "items": []}
            order["items"] = [
                {"sku": f"SKU-{number}-{k}", "price": k * 9.5, "name": "bicycle lamp"} for k in range(8)
            ]
            yield {"role": "tool", "tool_call_id": f"call_{number}", "content": json.dumps(order)}
            yield {
                "role": "assistant",
                "content": f"Order W{number:07} was shipped, it arrives in {turn + 3} days.",
            }


def turn_times(count: int) -> tuple[float, float, float, int]:
    """Mean seconds of a turn after `count` messages, of tokenising its items, of a deep copy of its request; and
    compactions among them."""
    stream = messages()
    context = ContextManager("openai-chat", Budget(window=WINDOW))
    context.add(list(islice(stream, count - count % 4)))
    context.add(next(stream))
    context.prepare_sync()
    meter = Meter(provider("openai-chat"), counter_for(None).count)
    spent, tokenising, copying, compactions = [], [], [], 0
    for _ in range(TURNS):
        new = list(islice(stream, 4))
        started = time.process_time()
        context.add(new)
        request = context.prepare_sync()
        spent.append(time.process_time() - started)
        compactions += request.report.compacted
        fresh = [json.loads(json.dumps(each).replace("W0", "V0").replace("call_", "kall_")) for each in new]
        tokenising.append(timed(lambda fresh=fresh: [meter.entry(each) for each in fresh]))
        copying.append(timed(lambda request=request: copy.deepcopy(request.messages)))
    return statistics.mean(spent), statistics.mean(tokenising), statistics.mean(copying), compactions


def timed(work: Callable[[], Any]) -> float:
    """Seconds of one call."""
    started = time.process_time()
    work()
    return time.process_time() - started


def turns() -> None:
    """A turn does not cost more when the history is longer."""
    base = turn_times(100)
    for count in (100, 1_000, 10_000):
        spent, tokenising, copying, compactions = turn_times(count)
        print(
            f"turns   {count:6} messages: {spent / base[0]:5.2f} x a turn at 100; less tokenising "
            f"{(spent - tokenising) / copying:5.2f} x a deep copy of the request; {compactions} compactions "
            f"({spent * 1e3:.2f} ms a turn)"
        )


def trim() -> None:
    """The same turn against the fastest valid peer."""
    from langchain_core.messages import convert_to_messages, trim_messages

    counter = counter_for(None)
    stream = messages()
    history = convert_to_messages(list(islice(stream, 1_001)))

    def count(each: list[Any]) -> int:
        return sum(counter.count(str(m.content)) + 4 for m in each)

    def peer() -> Any:
        return trim_messages(
            history,
            max_tokens=WINDOW,
            token_counter=count,
            strategy="last",
            start_on="human",
            include_system=True,
        )

    peer()
    theirs = statistics.median(timed(peer) for _ in range(3))
    ours = turn_times(1_000)[0]
    print(f"trim    trim_messages at 1,000 messages takes {theirs / ours:6.0f} x a turn of ours")


def memory() -> None:
    """Bytes that one more message takes: of 20,000 what 10,000 do not take, for caches of a fixed size are no
    bookkeeping of a message."""
    (some, some_compacted), (more, more_compacted) = _held(10_000), _held(20_000)
    print(
        f"memory  {(more - some) / 10_000:5.0f} bytes an item beyond the parsed JSON, "
        f"{(more_compacted - some_compacted) / 10_000:5.0f} after a compaction"
    )


def _held(count: int) -> tuple[int, int]:
    """Bytes that a manager holds for its messages beyond a copy of them: when they were added, and after a
    compaction."""
    first, *plain = islice(messages(), count + 1)
    context = ContextManager("openai-chat", Budget(window=WINDOW))
    context.add(first)
    context.prepare_sync()
    gc.collect()
    tracemalloc.start()
    twin = copy.deepcopy(plain)
    parsed, _ = tracemalloc.get_traced_memory()
    context.add(plain)
    gc.collect()
    added, _ = tracemalloc.get_traced_memory()
    context.add({"role": "user", "content": "And now?"})
    context.prepare_sync()
    gc.collect()
    compacted, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del twin
    return added - 2 * parsed, compacted - 2 * parsed


def hostile() -> None:
    """Texts made to be slow."""
    kinds: dict[str, Callable[[int], str]] = {
        "one character": lambda size: "a" * size,
        "spaces": lambda size: " " * size,
        "no spaces": lambda size: "x9Z_" * (size // 4),
        "nested JSON": lambda size: "[" * (size // 2) + "]" * (size // 2),
        "JSON 10,000 deep": lambda size: ("[" * 10_000 + "1" + "]" * 10_000 + "\n") * (size // 20_002),
        "quotes": lambda size: '"\\' * (size // 2),
        "emoji": lambda size: "👩‍👩‍👧‍👦" * (size // 25),
        "digits": lambda size: "1234567890" * (size // 10),
        "aaa!": lambda size: ("a" * 30 + "!") * (size // 31),
    }
    for name, make in kinds.items():
        small, large = (_hostile_turn(make(size)) for size in (250_000, 1_000_000))
        print(f"hostile {name:18} 1 MB takes {large / small:5.1f} x 0.25 MB ({large:.2f} s)")
    said = "I am allergic to thing{0}. My order is W{0:07}, it must not be cancelled before May 4. "
    asked = [_key_facts_work("".join(map(said.format, range(size // 88)))) for size in (250_000, 1_000_000)]
    for what, small, large in zip(("characters asked about", "facts remembered"), *asked, strict=True):
        print(f"hostile key facts, {what}: 1 MB takes {large / small:5.2f} x 0.25 MB ({large})")


def _key_facts_work(text: str) -> tuple[int, int]:
    """Characters that plugins are asked about, and facts that are remembered, of one message of a user."""
    context = ContextManager("openai-chat", Budget(window=WINDOW), "keep-key-facts")
    context.add([{"role": "user", "content": text}, {"role": "assistant", "content": "done"}])
    context.add({"role": "user", "content": "and now?"})
    asked: list[str] = []

    class Counted(Called):
        def _found(self, text: str, said_by: Speaker) -> Iterator[Fact]:
            asked.append(text)
            return super()._found(text, said_by)

    view = View(context._history.state, Budget(window=WINDOW), context._history.setting)
    plan = KeepKeyFacts().plan(view, Services(context._history.original, hooks=Counted()))
    return sum(map(len, asked)), sum(isinstance(edit, Remember) for edit in plan.edits)


def _hostile_turn(text: str) -> float:
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    context = ContextManager("openai-chat", Budget(window=WINDOW))
    history = [
        {"role": "user", "content": "read it"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": text},
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "and now?"},
    ]

    def work() -> None:
        context.add(history)
        context.prepare_sync()

    return timed(work)


PARTS = {"turns": turns, "trim": trim, "memory": memory, "hostile": hostile}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
