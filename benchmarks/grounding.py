"""Do the values that later tool calls need survive compression, and does the prompt prefix?

`ctxkit eval` on the recorded conversations of a corpus, in one line a file and strategy, and with the literals that
were lost; its guide, docs/guides/evaluation.md, says what the figures mean.

    python benchmarks/grounding.py                           all files with tools, the recommended chain
    python benchmarks/grounding.py -c crosswoz --sample 50   any corpus file, every n-th conversation of it
    python benchmarks/grounding.py --strategies hybrid,drop-oldest --share 0.3 --jobs 2 --show 20

Of the recommended chain over all files with tools, at half, a recall below 98 % or a prefix below 95 % ends it with 1.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from ctxkit import ConfigError
from ctxkit.evaluation.metrics import metrics
from ctxkit.evaluation.recording import Recording, Transcript
from ctxkit.evaluation.replay import Replay, replay
from ctxkit.evaluation.scores import Score, score_of
from ctxkit.evaluation.settings import Setting

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"
WITH_TOOLS = (
    "api_bank_tooltalk,bfcl_model_runs,bfcl_multi_turn_gold,cassettes_anthropic,cassettes_gemini,cassettes_openai_chat,"
    "cassettes_openai_responses,crosswoz,gemini_cli_session,intercode,livemcpbench,pi_coding_sessions,sgd,swe_mini_deepseek,"
    "swe_openhands_claude35,swe_sweagent_claude35,taskmaster3,tau2_airline,tau2_airline_claude45_thinking,tau2_retail,"
    "tau2_telecom,tau_airline_gpt4o"
)

BARS = {"recall": 0.98, "cache_repeated": 0.95}
"""The least figures of `HELD`: a strategy, files and a share."""

HELD = ("hybrid", WITH_TOOLS, 0.5)


def main() -> int:
    """Run the benchmark and print one row a file and strategy, and one for all files; 1 when a bar is broken."""
    options = _options()
    names, broken = options.corpora.split(","), False
    print(_HEAD)
    for strategy in options.strategies.split(","):
        total, lost = Score(), []
        for name in names:
            score = Score()
            for each, missing in _replayed(options, name, strategy):
                score += each
                lost += missing
            print(_row(strategy, name, score), flush=True)
            total += score
        if len(names) > 1:
            print(_row(strategy, "all", total), flush=True)
        for name, least in BARS.items() if (strategy, options.corpora, options.share) == HELD else ():
            is_met = (metrics(total)[name] or 0.0) >= least
            print(f"bar: {name} at least {least:.0%}, {'met' if is_met else 'BROKEN'}")
            broken |= not is_met
        for line in lost[: options.show]:
            print("   lost", line)
    return int(broken)


def _options() -> argparse.Namespace:
    about, _, _ = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument(
        "-c", "--corpora", default=WITH_TOOLS, help="corpus files without .jsonl.gz, with commas"
    )
    parser.add_argument("--strategies", default="hybrid", help="kinds, or JSON objects in a file @FILE")
    parser.add_argument("--share", type=float, default=0.5, help="window, as a share of all tokens")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="every N-th conversation")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N literals that were lost")
    parser.add_argument("--folder", type=Path, default=CORPUS)
    return parser.parse_args()


def _replayed(options: argparse.Namespace, name: str, strategy: str) -> Iterable[tuple[Score, list[str]]]:
    conversations = list(_conversations(options.folder / f"{name}.jsonl.gz"))[:: options.sample]
    work = partial(_scored, setting=Setting(strategy, _strategy(strategy), options.share))
    if options.jobs == 1:
        return map(work, conversations)
    with ProcessPoolExecutor(options.jobs) as pool:
        return list(pool.map(work, conversations, chunksize=4))


def _strategy(name: str) -> Any:
    return json.loads(Path(name[1:]).read_text(encoding="utf-8")) if name.startswith("@") else name


def _conversations(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _scored(conversation: dict[str, Any], setting: Setting) -> tuple[Score, list[str]]:
    recorded = Transcript(conversation["messages"], conversation["format"], conversation.get("system"))
    done = replay(Recording(recorded), setting)
    return score_of(done), list(_lost(conversation["id"], done))


def _lost(id: str, done: Replay) -> Iterator[str]:
    for request in done.requests:
        if request.refusal:
            yield f"{id} {request.at} refused: {request.refusal}"[:300]
            continue
        for need in request.needs:
            if not need.held:
                yield f"{id} {request.at} {need.literal!r}, last seen at {need.newest}"


_HEAD = (
    f"{'strategy':20} {'file':32} {'convs':>5} {'reqs':>5} {'excl':>4} {'refus':>5} {'ground':>6} "
    f"{'recall':>7} {'near':>7} {'far':>7} {'prefix':>7} {'usable':>7} {'share':>6} {'comp':>5} {'fail':>4} {'ms/req':>6}"
)


def _row(strategy: str, name: str, score: Score) -> str:
    figures = metrics(score)
    shares = " ".join(
        "      -" if figures[each] is None else f"{100 * figures[each]:6.2f}%"
        for each in ("recall", "near", "far", "cache_repeated", "usable")
    )
    return (
        f"{strategy[:20]:20} {name:32} {score.conversations:5} {score.requests:5} {score.excluded:4} "
        f"{score.requests - score.sent:5} {score.needs:6} {shares} "
        f"{score.tokens / max(1, score.everything):6.2f} {score.compactions:5} {score.failures:4} "
        f"{1000 * score.seconds / max(1, score.requests):6.1f}"
    )


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ConfigError as problem:
        sys.exit(f"grounding.py: {problem}")
