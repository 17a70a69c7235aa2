"""Report: one request told, for people and for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, ConfigDict

from ctxkit.core.edits import Close, Edit, Failure, Pin, Remember, Retract, Shorten, Strip, Unpin
from ctxkit.core.kernel import Applied
from ctxkit.models.models import ModelCall

__all__ = [
    "EditReport",
    "FailureReport",
    "ModelCallReport",
    "RegionReport",
    "Report",
    "by_reason",
    "handles_of",
    "why_of",
]

EDITS = 12
"""Edits beyond which those with the same reason are told as one."""

HANDLES = 3
"""Handles that are named for edits told as one."""

NO_LIMIT = 900_000_000
"""Tokens above which a limit is none, and is not told to people: no model has so many."""


_SURROGATE = re.compile("[\ud800-\udfff]")


class _Told(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def model_dump_json(self, *, indent: int | None = None, **options: Any) -> str:
        """The report as JSON that UTF-8 can hold: a lone surrogate, which pydantic cannot write, is escaped (`\\ud800`),
        and `json.loads` reads it back. A model of your own that has a report in it is written by pydantic alone."""
        try:
            return super().model_dump_json(indent=indent, **options)
        except ValueError:  # what else cannot be written, `model_dump` or `json` says again
            ensure_ascii = options.pop("ensure_ascii", False)
            told = self.model_dump(mode="json", **options)
            between = None if indent is not None else (",", ":")
            text = json.dumps(told, indent=indent, separators=between, ensure_ascii=ensure_ascii)
            return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class EditReport(_Told):
    """One edit.

    Attributes:
        kind: "Drop", "Replace", "Shorten", ...
        by: the kind of the strategy that made it.
        why: its reason.
        positions: what it touched, as positions in the input (0 is the first entry that was added).
        handle: the name under which the originals can be read, "" where none is touched.
        tokens_before, tokens_after: size of what it touched.
        detail: what else there is to say: the part, a fact as it stands in requests, the key of one that is taken back.
    """

    kind: str
    by: str
    why: str
    positions: tuple[int, ...] = ()
    handle: str = ""
    tokens_before: int = 0
    tokens_after: int = 0
    detail: str = ""


class FailureReport(_Told):
    """A step that was rolled back: the strategy's kind, and why."""

    by: str
    why: str


class ModelCallReport(_Told):
    """One call of a model: its name, the tokens it took as its provider counted, and what went wrong, "" for nothing;
    `reused` when nothing was asked, since a preview had asked the same."""

    model: str
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    error: str = ""
    reused: bool = False


class RegionReport(_Told):
    """One region: tokens before and after, and its target (None without one)."""

    before: int
    after: int
    target: int | None = None


class Report(_Told):
    """What a request holds and why.

    Attributes:
        format: the wire format.
        compacted: whether this request made a compaction.
        trigger: why it was made, or why none was: one sentence.
        tokens_before, tokens_after: size of the request before and after, system text and tools included.
        tokens_same: of these, the ones at the beginning that are as they were: what a prompt cache still has.
        limit, target: tokens that it may have, and to which a compaction goes down.
        regions: sizes by region; "tools" are the tool schemas.
        edits: each edit of this compaction, in order.
        failures: each step that was rolled back.
        model_calls: the models that were asked for it.
        normalised: what else changed since the last report: late results that were moved, repairs, an undo,
            other system text or tools.
        counter: name of the token counter; `exact` says whether it counts or estimates.
        compactions: how many there have been, this one included.
        seconds: what it took.
    """

    format: str
    compacted: bool
    trigger: str
    tokens_before: int
    tokens_after: int
    tokens_same: int = 0
    limit: int
    target: int
    regions: dict[str, RegionReport]
    edits: tuple[EditReport, ...] = ()
    failures: tuple[FailureReport, ...] = ()
    model_calls: tuple[ModelCallReport, ...] = ()
    normalised: tuple[str, ...] = ()
    counter: str = ""
    exact: bool = True
    compactions: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        """The report in a few lines, for a log; the first says whether tokens are estimated."""
        limit = f" of {self.limit:,}" if self.limit < NO_LIMIT else ""
        size = f"{self.tokens_before:,} -> {self.tokens_after:,}{limit} tokens{'' if self.exact else ' (estimated)'}"
        lines = [f"{self.format}: {size}; {why_of(self)}"]
        for group in by_reason(self.edits):
            facts = group[0].kind in ("Remember", "Retract")
            lines += [_edits_line([edit]) for edit in group] if facts else [_edits_line(group)]
        lines += [_line(call) for call in self.model_calls]
        lines += [f"  failed: {failure.by}: {failure.why}" for failure in self.failures]
        lines += [f"  also: {line}" for line in self.normalised]
        return "\n".join(lines)


def why_of(report: Report) -> str:
    """Why there was a compaction or none, and why there was none for a region that is over its target."""
    over = any(each.target is not None and each.after > each.target for each in report.regions.values())
    alone = "; a region over its target starts none by itself" if over and not report.compacted else ""
    return f"{report.trigger}{alone}"


def by_reason(edits: Sequence[EditReport]) -> list[list[EditReport]]:
    """Each edit alone, or together with those of the same kind, by the same strategy and for the same reason where there
    are many."""
    groups: dict[tuple[str, str, str] | int, list[EditReport]] = {}
    for at, edit in enumerate(edits):
        groups.setdefault((edit.kind, edit.by, edit.why) if len(edits) > EDITS else at, []).append(edit)
    return list(groups.values())


def handles_of(edits: Sequence[EditReport]) -> str:
    """The first of their handles, and how many more there are."""
    handles = [edit.handle for edit in edits if edit.handle]
    more = f" and {len(handles) - HANDLES} more" if len(handles) > HANDLES else ""
    return f"{' '.join(handles[:HANDLES])}{more}"


def _edits_line(edits: Sequence[EditReport]) -> str:
    first, handles = edits[0], handles_of(edits)
    times = f" ×{len(edits)}" if len(edits) > 1 else ""
    about = f" ({first.detail})" if first.kind in ("Remember", "Retract") else ""
    before, after = sum(edit.tokens_before for edit in edits), sum(edit.tokens_after for edit in edits)
    saved = f", {before:,} -> {after:,} {handles}" if handles else ""
    return f"  {first.kind}{times} by {first.by}{about}: {first.why}{saved}".rstrip()


def _line(call: ModelCallReport) -> str:
    if call.reused:
        return f"  asked before: {call.model}, at no further cost"
    wrong = f", {call.error}" if call.error else ""
    counts = f"{call.input_tokens:,} + {call.output_tokens:,} tokens"
    told = call.input_tokens or call.output_tokens
    return f"  asked: {call.model}, {counts if told else 'tokens not told'}{wrong}"


def told(applied: Applied) -> EditReport:
    """An edit for the report."""
    return EditReport(
        kind=type(applied.edit).__name__,
        by=applied.edit.by,
        why=applied.edit.why,
        positions=tuple(id for span in applied.ids for id in span),
        handle=applied.handle,
        tokens_before=applied.tokens_before,
        tokens_after=applied.tokens_after,
        detail=_detail(applied.edit),
    )


def failed(failure: Failure) -> FailureReport:
    """A failure for the report."""
    return FailureReport(by=failure.by, why=failure.why)


def called(call: ModelCall) -> ModelCallReport:
    """A call of a model for the report."""
    return ModelCallReport(**asdict(call))


def _detail(edit: Edit) -> str:
    match edit:
        case Shorten():
            return f"part {edit.part}"
        case Remember():
            return edit.fact.line
        case Retract():
            return edit.key
        case Close():
            return edit.call
        case Pin(until=int(until)):
            return f"until turn {until}"
        case Strip() | Pin() | Unpin():
            return ", ".join(f"unit {unit}" for unit in edit.units)
        case _:
            return ""


def region_reports(before: Any, after: Any, targets: Any) -> dict[str, RegionReport]:
    """Regions in the order of the budget's, for those that hold anything or have a target."""
    names = [*dict.fromkeys([*before, *after, *targets])]
    return {
        name: RegionReport(before=before.get(name, 0), after=after.get(name, 0), target=targets.get(name))
        for name in names
        if before.get(name) or after.get(name) or name in targets
    }
