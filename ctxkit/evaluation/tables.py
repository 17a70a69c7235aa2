"""Tables: the scores of a run by setting and file, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ctxkit.evaluation.lost import Loss
from ctxkit.evaluation.metrics import METRICS, metrics, milliseconds_per_turn
from ctxkit.evaluation.prices import Prices
from ctxkit.evaluation.runs import Unscored
from ctxkit.evaluation.scores import Score
from ctxkit.evaluation.settings import Setting
from ctxkit.evaluation.values import one_spaced

__all__ = ["Evaluation", "Failed", "as_json", "legend", "markdown"]

MOST_SHOWN = 120
"""Characters that are shown of a reason."""

Count = tuple[str, str, Callable[[Score], int]]

COUNTS: tuple[Count, ...] = (
    ("requests", "requests that were asked for", lambda score: score.requests),
    ("literals", "literals that the answers' calls need, over all of them", lambda score: score.needs),
)
"""The counts that figures are shares of: title, meaning, and where it is."""

LEFT_OUT: Count = (
    "left out",
    "moments at which no request can fit, whatever the strategy: what must stay is larger than the budget; no other column "
    "counts them",
    lambda score: score.excluded,
)
"""The same of what no figure counts, where there is any."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A conversation that has no score in some settings, and why.

    Attributes:
        file, line, id: where it stands; the id is None where it has none.
        settings: names and sizes of the settings, empty for all.
    """

    file: str
    line: int
    id: str | None
    failure: Unscored
    settings: tuple[str, ...] = ()


@dataclass
class Evaluation:
    """What has been measured so far.

    Attributes:
        settings: what was compared.
        prices: those of each setting, None where they are not known.
        scores: by position of the setting and name of the file, in the order of the files.
        failures: in the order of the conversations.
    """

    settings: Sequence[Setting]
    prices: Sequence[Prices | None]
    scores: dict[tuple[int, str], Score] = field(default_factory=dict)
    failures: list[Failed] = field(default_factory=list)

    def add(self, file: str, line: int, id: str | None, outcomes: Sequence[Score | Unscored]) -> list[Failed]:
        """Take in what a conversation came to in each setting; those failures that are new."""
        why: dict[Unscored, list[str]] = {}
        where = f"{file}:{line}" if id is None else f"{file}:{line} {id}"
        for at, outcome in enumerate(outcomes):
            if isinstance(outcome, Unscored):
                setting = self.settings[at]
                why.setdefault(outcome, []).append(f"{setting.name} at {setting.size}")
            else:
                score = replace(outcome, lost=outcome.lost.within(where), unkept=outcome.unkept.within(where))
                self.scores[at, file] = self.scores.get((at, file), Score()) + score
        failed = [
            Failed(file, line, id, failure, () if len(names) == len(self.settings) else tuple(names))
            for failure, names in why.items()
        ]
        self.failures += failed
        return failed

    @property
    def files(self) -> list[str]:
        """Files with a score."""
        return list(dict.fromkeys(file for _, file in self.scores))

    def score(self, setting: int, file: str | None = None) -> Score:
        """The score in the setting at a position, of one file or of all."""
        files = self.files if file is None else [file]
        return sum((self.scores.get((setting, each), Score()) for each in files), Score())


def as_json(evaluation: Evaluation) -> dict[str, Any]:
    """Everything that is the same on each run, as JSON: sums and figures by setting and file, and of all files."""
    return {
        "metrics": {metric.name: metric.meaning for metric in METRICS},
        "results": [
            _result(evaluation, at, file)
            for at in range(len(evaluation.settings))
            for file in (None, *evaluation.files)
        ],
        "failures": [_failure(failed) for failed in evaluation.failures],
    }


def _result(evaluation: Evaluation, at: int, file: str | None) -> dict[str, Any]:
    setting, score = evaluation.settings[at], evaluation.score(at, file)
    sums = asdict(score)
    del sums["seconds"], sums["reasons"], sums["lost"], sums["unkept"]
    size = {"window": setting.budget["window"]} if setting.share is None else {"share": setting.share}
    return {
        "strategy": setting.name,
        **size,
        "model": setting.model,
        "file": file,
        "sums": sums,
        "steps": [
            {**asdict(step), "reasons": [asdict(reason) for reason in step.reasons]}
            for step in score.reasons.by_step()
        ],
        "lost": {
            "literals": [asdict(loss) for loss in score.lost.losses],
            "constraints": [asdict(loss) for loss in score.unkept.losses],
        },
        "metrics": metrics(score, evaluation.prices[at]),
    }


def _failure(failed: Failed) -> dict[str, Any]:
    error = {"type": failed.failure.type, "message": failed.failure.message}
    where = {"file": failed.file, "line": failed.line, "id": failed.id}
    return {**where, "settings": list(failed.settings), "error": error}


def markdown(evaluation: Evaluation) -> str:
    """The tables, budget by budget: all files together, then each; what took how long, and what columns mean; what failed."""
    blocks = list(_blocks(evaluation))
    return "\n\n".join(blocks) + "\n"


def legend(counts: Sequence[Count] = COUNTS) -> str:
    """What the columns mean, one line each."""
    columns = [
        *((title, meaning) for title, meaning, _ in counts),
        *((each.title, each.meaning) for each in METRICS),
    ]
    return "\n".join(f"- **{title}**: {meaning}" for title, meaning in columns)


def _blocks(evaluation: Evaluation) -> Iterator[str]:
    scores = [evaluation.score(k) for k in range(len(evaluation.settings))]
    if any(score.conversations for score in scores):
        yield from _measured(evaluation)
    if any(score.lost or score.unkept for score in scores):
        yield "## What was lost most often"
        yield "\n".join(_losses(evaluation.settings, scores))
    if any(score.failures for score in scores):
        yield "## What steps could not do"
        yield "\n".join(_steps(evaluation.settings, scores))
    if evaluation.failures:
        yield "## Failures"
        yield "\n".join(map(_told, evaluation.failures))


def _losses(settings: Sequence[Setting], scores: Sequence[Score]) -> Iterator[str]:
    """The commonest literals and constraints that requests of each setting lacked, each with a place to look at."""
    for setting, score in zip(settings, scores, strict=True):
        told = [*(("literal", each) for each in score.lost.losses)]
        told += [("constraint", each) for each in score.unkept.losses]
        if told:
            yield f"- {setting.name}, {setting.size}"
        yield from (f"  - {what} {_lost(loss)}" for what, loss in told)


def _lost(loss: Loss) -> str:
    times = "1 request" if loss.count == 1 else f"{loss.count:,} requests, first"
    return f"{_quoted(loss.text)}: {times} before messages[{loss.first}] of {_quoted(loss.where)}"


def _steps(settings: Sequence[Setting], scores: Sequence[Score]) -> Iterator[str]:
    """How often steps of each setting came to nothing or not to all, and the commonest reason of each."""
    for setting, score in zip(settings, scores, strict=True):
        if score.failures:
            yield f"- {setting.name}, {setting.size}: {score.failures}"
        for step in score.reasons.by_step():
            commonest = step.reasons[0]
            share = "all" if commonest.count == step.count else f"{commonest.count}"
            yield f"  - {_quoted(step.step)}: {step.count}, {share} of them {_quoted(commonest.why)}"


def _measured(evaluation: Evaluation) -> Iterator[str]:
    counts = _counts(evaluation)
    for size in dict.fromkeys(setting.size for setting in evaluation.settings):
        at = [k for k, setting in enumerate(evaluation.settings) if setting.size == size]
        yield f"## Budget {size}"
        yield _table(
            ["strategy"], [([evaluation.settings[k].name], *_scored(evaluation, k)) for k in at], counts
        )
        if len(evaluation.files) > 1:
            yield _table(
                ["file", "strategy"],
                [
                    ([file, evaluation.settings[k].name], *_scored(evaluation, k, file))
                    for file in evaluation.files
                    for k in at
                ],
                counts,
            )
    yield "## Time"
    yield _times(evaluation)
    yield "## What the columns mean"
    yield legend(counts)


def _counts(evaluation: Evaluation) -> Sequence[Count]:
    """The counts that tables have: of what was left out where anything was."""
    excluded = any(evaluation.score(k).excluded for k in range(len(evaluation.settings)))
    return (COUNTS[0], LEFT_OUT, *COUNTS[1:]) if excluded else COUNTS


def _scored(evaluation: Evaluation, at: int, file: str | None = None) -> tuple[Score, Prices | None]:
    return evaluation.score(at, file), evaluation.prices[at]


def _table(
    heads: list[str], rows: Sequence[tuple[list[str], Score, Prices | None]], counts: Sequence[Count]
) -> str:
    cells = [[*heads, *(title for title, _, _ in counts), *(metric.title for metric in METRICS)]]
    for names, score, prices in rows:
        figures = (metric.shown(metric.value(score, prices)) for metric in METRICS)
        cells.append([*names, *(f"{count(score):,}" for _, _, count in counts), *figures])
    return _aligned(cells, names=len(heads))


def _times(evaluation: Evaluation) -> str:
    cells = [["strategy", "budget", "ms a turn"]]
    for at, setting in enumerate(evaluation.settings):
        spent = milliseconds_per_turn(evaluation.score(at))
        cells.append([setting.name, setting.size, "-" if spent is None else f"{spent:.1f}"])
    return _aligned(cells, names=2)


def _aligned(rows: list[list[str]], *, names: int) -> str:
    """A Markdown table that is one in plain text too; all columns but the first few are numbers."""
    rows = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        " | ".join(f"{cell:{'<' if k < names else '>'}{widths[k]}}" for k, cell in enumerate(row))
        for row in rows
    ]
    rule = " | ".join("-" * width if k < names else "-" * (width - 1) + ":" for k, width in enumerate(widths))
    return "\n".join(f"| {line} |" for line in (lines[0], rule, *lines[1:]))


def _told(failed: Failed) -> str:
    some = f" ({', '.join(failed.settings)})" if failed.settings else ""
    why = f": {_quoted(failed.failure.message)}" if failed.failure.message else ""
    return f"- {failed.file}:{failed.line}{some}: {failed.failure.type}{why}"


def _quoted(text: str) -> str:
    """What others wrote, as one short line of code in Markdown: nothing in it is a mark. The JSON has all of it."""
    line = one_spaced("".join(each if each.isprintable() else " " for each in text)).replace("`", "'")
    return f"`{line if len(line) <= MOST_SHOWN else f'{line[: MOST_SHOWN - 1]}…'}`"
