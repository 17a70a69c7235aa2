"""Speed and memory as ratios of one run: nothing here depends on how fast the machine is.

    python benchmarks/speed.py            # all of it, about five minutes
    python benchmarks/speed.py turns      # one part: turns, trim, memory, hostile

turns    window 8k, mean of 200 requests with the compactions among them, the best of three runs, at 100, 1,000 and
         10,000 messages: the time of one against that at 100 messages, and, less tokenising its new items, against a
         deep copy of the request.
trim     the same at 1,000 messages against langchain-core's `trim_messages` over all of them, with the same tokeniser.
memory   bytes that a message takes beyond its parsed JSON (a deep copy of it), by tracemalloc.
hostile  1 MB of hostile text against 0.25 MB of the same: 4 is linear; and what `keep-key-facts` does with one message
         of a user, counted in characters that plugins are asked about and in facts.

The first two over two conversations: one that is made up, of short messages, and the recorded one in `examples/data`,
again and again with other numbers; with what a manager does when no strategy is named, and with `drop-oldest`.

Beside the figures stand the bars that they are held to. One that is broken ends the run with 1; but for that of `trim`,
which is against a library that varies more than ours does.
"""

from __future__ import annotations

import copy
import gc
import json
import re
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

from ctxkit import Budget, ContextManager, Fact, Remember, Services, Speaker, View
from ctxkit.core.state import Meter
from ctxkit.hooks import Called
from ctxkit.providers import provider
from ctxkit.strategies.keep_key_facts import KeepKeyFacts
from ctxkit.tokens import counter_for
from ctxkit.tokens.tiktoken_files import encoding

WINDOW = 8_000
TURNS = 200


class Bar(NamedTuple):
    """What a figure is held to."""

    told: str
    is_met: bool
    ends: bool = True

    def __str__(self) -> str:
        return f"; bar: {self.told}, {'met' if self.is_met else 'BROKEN'}"


def at_most(figure: float, most: float) -> Bar:
    """The bar of a figure that must not be larger."""
    return Bar(f"at most {most:g}", figure <= most)


Figures = Iterator[tuple[str, list[Bar]]]
"""Lines, each with the bars of what it tells."""


def messages() -> Iterator[dict[str, Any]]:
    """An endless tool-using conversation: a question, a call, its result, an answer; every text differs."""
    for number in count():
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
        yield {"role": "assistant", "content": f"Order W{number:07} was shipped, it arrives in 3 days."}


def recorded() -> Iterator[dict[str, Any]]:
    """A recorded conversation of a shop, without its system text, again and again: each time with other numbers."""
    path = Path(__file__).resolve().parents[1] / "examples" / "data" / "retail.json"
    plain = json.loads(path.read_text("utf-8"))["messages"][2:]
    for again in count():

        def other(number: re.Match[str], again: int = again) -> str:
            return str((int(number[0]) + 37 * again) % 10 ** len(number[0])).zfill(len(number[0]))

        for message in plain:
            message = _texts_with(message, lambda text, other=other: re.sub(r"\d{4,}", other, text))
            for call in message.get("tool_calls") or ():
                call["id"] += f"_{again}"
            if "tool_call_id" in message:
                message["tool_call_id"] += f"_{again}"
            yield message


def _texts_with(value: Any, changed: Callable[[str], str]) -> Any:
    """A copy of a JSON value with each of its strings, but for ids of calls, changed."""
    if isinstance(value, str):
        return changed(value)
    if isinstance(value, list):
        return [_texts_with(each, changed) for each in value]
    if isinstance(value, dict):
        ids = ("id", "tool_call_id")
        return {key: each if key in ids else _texts_with(each, changed) for key, each in value.items()}
    return value


def requests(stream: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The messages between one answer of the model and the next: what is new in each request."""
    new: list[dict[str, Any]] = []
    for message in stream:
        if message["role"] == "assistant" and any(each["role"] != "assistant" for each in new):
            yield new
            new = []
        new.append(message)


def turn_times(
    make: Callable[[], Iterator[dict[str, Any]]], strategy: str, size: int
) -> tuple[float, float, float, int]:
    """Mean seconds of a request after `size` messages, of tokenising its items, of a deep copy of it; and compactions
    among them."""
    stream = requests(make())
    context = ContextManager("openai-chat", Budget(window=WINDOW), *[strategy] * bool(strategy))
    there = 0
    while there < size:
        new = next(stream)
        context.add(new)
        there += len(new)
    context.prepare_sync()
    meter = Meter(provider("openai-chat"), counter_for(None).count)
    spent, tokenising, copying, compactions = [], [], [], 0
    for _ in range(TURNS):
        new = next(stream)
        started = time.process_time()
        context.add(new)
        request = context.prepare_sync()
        spent.append(time.process_time() - started)
        compactions += request.report.compacted
        fresh = [_texts_with(each, lambda text: f"{text}~") for each in new]  # so that no cache has it
        tokenising.append(timed(lambda fresh=fresh: [meter.entry(each) for each in fresh]))
        copying.append(timed(lambda request=request: copy.deepcopy(request.messages)))
    return statistics.mean(spent), statistics.mean(tokenising), statistics.mean(copying), compactions


def timed(work: Callable[[], Any]) -> float:
    """Seconds of one call."""
    started = time.process_time()
    work()
    return time.process_time() - started


CONVERSATIONS = {"made up": messages, "recorded": recorded}
STRATEGIES = {"by default": "", "drop-oldest": "drop-oldest"}


def turns() -> Figures:
    """A turn does not cost more when the history is longer."""
    for conversation, make in CONVERSATIONS.items():
        for name, strategy in STRATEGIES.items():
            base = 0.0
            for size in (100, 1_000, 10_000):
                spent, tokenising, copying, compactions = min(
                    turn_times(make, strategy, size) for _ in range(3)
                )
                base = base or spent
                growth, copies = spent / base, (spent - tokenising) / copying
                bars = [at_most(growth, 1.2)] * (size == 10_000)
                bars += [at_most(copies, 3)] * ((conversation, name) == ("made up", "drop-oldest"))
                yield (
                    f"turns   {conversation}, {name}, {size:6} messages: {growth:5.2f} x at 100; less tokenising "
                    f"{copies:5.2f} x a deep copy of the request; {compactions} compactions "
                    f"({spent * 1e3:.2f} ms a request)",
                    bars,
                )


def trim() -> Figures:
    """The same against the fastest valid peer, over the same 1,000 messages."""
    from langchain_core.messages import convert_to_messages, trim_messages

    encode = encoding("o200k_base").encode

    def size_of(each: list[Any]) -> int:
        return sum(len(encode(str(m.content), disallowed_special=())) + 4 for m in each)

    for conversation, make in CONVERSATIONS.items():
        history = convert_to_messages(list(islice(make(), 1_001)))

        def peer(history: list[Any] = history) -> Any:
            return trim_messages(
                history,
                max_tokens=WINDOW,
                token_counter=size_of,
                strategy="last",
                start_on="human",
                include_system=True,
            )

        peer()
        theirs = statistics.median(timed(peer) for _ in range(3))
        for name, strategy in STRATEGIES.items():
            times = theirs / turn_times(make, strategy, 1_000)[0]
            bars = [Bar("at least 100", times >= 100, ends=False)]
            yield (
                f"trim    {conversation}: trim_messages takes {times:4.0f} x a request of ours, {name}",
                bars * ((conversation, name) == ("recorded", "drop-oldest")),
            )


def memory() -> Figures:
    """Bytes that one more message takes: of 20,000 what 10,000 do not take, for caches of a fixed size are no
    bookkeeping of a message."""
    (some, some_compacted), (more, more_compacted) = _held(10_000), _held(20_000)
    added, compacted = (more - some) / 10_000, (more_compacted - some_compacted) / 10_000
    yield (
        f"memory  {added:5.0f} bytes an item beyond the parsed JSON, {compacted:5.0f} after a compaction",
        [at_most(max(added, compacted), 300)],
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


def hostile() -> Figures:
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
        times = large / small
        yield f"hostile {name:18} 1 MB takes {times:5.1f} x 0.25 MB ({large:.2f} s)", [at_most(times, 8)]
    said = "I am allergic to thing{0}. My order is W{0:07}, it must not be cancelled before May 4. "
    asked = [_key_facts_work("".join(map(said.format, range(size // 88)))) for size in (250_000, 1_000_000)]
    for what, small, large in zip(("characters asked about", "facts remembered"), *asked, strict=True):
        told = f"hostile key facts, {what}: 1 MB takes {large / small:5.2f} x 0.25 MB ({large})"
        yield told, [at_most(large / small, 8)]


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


def main(parts: Iterable[str]) -> int:
    """Print the figures of some parts, each as it comes; 1 when a bar is broken that the project holds."""
    broken = False
    for part in parts:
        for told, bars in PARTS[part]():
            print(told, *bars, sep="", flush=True)
            broken |= any(bar.ends and not bar.is_met for bar in bars)
    return int(broken)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or PARTS))
