"""Every conversation of a corpus through every strategy at many budgets: what would a provider refuse?

    python benchmarks/safety.py ../shared/corpus --jobs 2
    python benchmarks/safety.py ../shared/corpus/tau2_retail.jsonl.gz --windows 2000 8000 --turn-by-turn

Each conversation is sent at its last point at which no call is open (with --turn-by-turn, at every such point). The
request is judged by the independent checker in `tests/oracle`, by rules that the conversation itself keeps, and by
the counter. A refusal (BudgetExceededError, ProviderFormatError) is counted, not excused: the table has it.
Exits with 1 when anything is broken, silently over the budget, or raised that is no error of ctxkit's.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ctxkit import Budget, BudgetExceededError, ContextManager, CtxkitError, OpenCallsError
from ctxkit.core.state import Meter
from ctxkit.providers import provider
from ctxkit.registry import installed
from ctxkit.tokens import counter_for
from tests.oracle import kept, rules, violations

WINDOWS = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000)
NEED_PARAMETERS = {
    "first-that-fits": {"steps": ["clear-tool-results", "drop-oldest"]},
    "within": {"region": "tool_results", "strategy": "clear-tool-results"},
}


def conversations(paths: list[Path]) -> Iterator[dict[str, Any]]:
    """Conversations of files and folders."""
    files = [file for path in paths for file in (sorted(path.glob("*.jsonl*")) if path.is_dir() else [path])]
    for file in files:
        opener = gzip.open if file.suffix == ".gz" else open
        with opener(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield {**json.loads(line), "corpus": file.name.split(".")[0]}


def judge(task: tuple[dict[str, Any], list[str], list[int], bool]) -> Counter[tuple[str, str, str]]:
    """Counts of (corpus, strategy, outcome) for one conversation."""
    conversation, kinds, windows, turn_by_turn = task
    found: Counter[tuple[str, str, str]] = Counter()
    for kind in kinds:
        for window in windows:
            for outcome in _outcomes(conversation, kind, window, turn_by_turn):
                found[conversation["corpus"], kind, outcome] += 1
    return found


def _outcomes(conversation: dict[str, Any], kind: str, window: int, turn_by_turn: bool) -> Iterator[str]:
    messages, system = conversation["messages"], conversation.get("system")
    strategy = {"kind": kind, **NEED_PARAMETERS.get(kind, {})}
    context = ContextManager(conversation["format"], Budget(window=window), strategy, repair=True)
    try:
        if not turn_by_turn:
            yield _outcome(context, conversation, system, messages, window)
            return
        for at, message in enumerate(messages):
            yield _outcome(
                context, conversation, system if at == 0 else None, [message], window, messages[: at + 1]
            )
    except Exception:  # noqa: BLE001 - whatever escapes is what this looks for
        yield "CRASH " + traceback.format_exc(limit=-2)[-300:]


def _outcome(
    context: ContextManager,
    conversation: dict[str, Any],
    system: Any,
    new: list[Any],
    window: int,
    so_far: list[Any] | None = None,
) -> str:
    so_far = new if so_far is None else so_far
    format = conversation["format"]
    try:
        context.add(new, system=system)
        request = context.prepare_sync()
    except OpenCallsError:
        return "open call at the end" if len(new) == 1 else _without_tail(context, conversation, window)
    except BudgetExceededError:
        return "refused: over budget"
    except CtxkitError as error:
        return f"refused: {type(error).__name__}"
    before = rules(violations(format, so_far, conversation.get("system")))
    after = [v for v in violations(format, request.messages, request.system) if v.split(":")[0] not in before]
    if after:
        return f"VIOLATION {sorted(rules(after))} {conversation['id']} window {window}: {after[0][:160]}"
    if not before and (lost := kept(format, so_far, request.messages)):
        return f"LOST {sorted(rules(lost))} {conversation['id']} window {window}: {lost[0][:160]}"
    return _fits(format, request, window)


def _fits(format: str, request: Any, window: int) -> str:
    adapter = provider(format)
    meter = Meter(adapter, counter_for(None).count)
    tokens = meter.weight(adapter.weigh_system(request.system)) + sum(map(meter.entry, request.messages))
    if tokens > window:
        return f"OVER by {tokens - window}"
    return "compacted" if request.report.compacted else "as it was"


def _without_tail(context: ContextManager, conversation: dict[str, Any], window: int) -> str:
    """The outcome when the conversation is cut back to where no call was open."""
    messages = conversation["messages"]
    strategy = context.strategy
    for end in range(len(messages) - 1, 0, -1):
        shorter = ContextManager(conversation["format"], Budget(window=window), strategy, repair=True)
        shorter.add(messages[:end], system=conversation.get("system"))
        try:
            shorter.prepare_sync()
        except OpenCallsError:
            continue
        except CtxkitError:
            pass
        again = ContextManager(conversation["format"], Budget(window=window), strategy, repair=True)
        return _outcome(again, conversation, conversation.get("system"), messages[:end], window)
    return "open call at the end"


def main() -> int:
    """Run it and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--windows", nargs="+", type=int, default=list(WINDOWS))
    parser.add_argument(
        "--strategies", nargs="+", default=[each.kind for each in installed() if not each.error]
    )
    parser.add_argument("--turn-by-turn", action="store_true")
    parser.add_argument("--every", type=int, default=1, help="take every n-th conversation")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    tasks = (
        (each, asked.strategies, asked.windows, asked.turn_by_turn)
        for at, each in enumerate(conversations(asked.paths))
        if at % asked.every == 0
    )
    total: Counter[tuple[str, str, str]] = Counter()
    with ProcessPoolExecutor(asked.jobs) as pool:
        for found in pool.map(judge, tasks, chunksize=4):
            total += found
    by_outcome: Counter[tuple[str, str]] = Counter()
    for (_, kind, outcome), count in total.items():
        by_outcome[kind, outcome] += count
    for (kind, outcome), count in sorted(by_outcome.items()):
        print(f"{kind:22} {count:8}  {outcome}")
    bad = sum(count for (_, _, outcome), count in total.items() if outcome.split()[0].isupper())
    print(f"{sum(total.values())} requests, {bad} broken")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
