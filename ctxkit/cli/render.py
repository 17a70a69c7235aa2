"""Reports for people: bars, reasons, costs, and where the originals are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TextIO

from ctxkit.explain import Explanation
from ctxkit.presets import Preset
from ctxkit.report import EditReport, Report, by_reason, handles_of, why_of

__all__ = ["Style", "bars", "costs", "plain", "ranges", "report_view", "steps_of", "table"]

BAR = 24
"""Characters of the longest bar."""


@dataclass(frozen=True, slots=True)
class Style:
    """Colours, or none of them."""

    colours: bool = False

    @classmethod
    def of(cls, stream: TextIO) -> Style:
        """Colours for a terminal, unless NO_COLOR is set (https://no-color.org)."""
        return cls(stream.isatty() and not os.environ.get("NO_COLOR"))

    def bold(self, text: str) -> str:
        """What matters."""
        return self._in("1", text)

    def dim(self, text: str) -> str:
        """What is there for reference."""
        return self._in("2", text)

    def good(self, text: str) -> str:
        """What went well."""
        return self._in("32", text)

    def bad(self, text: str) -> str:
        """What went wrong."""
        return self._in("31", text)

    def _in(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colours else text


def plain(value: object, most: int = 200) -> str:
    """A value that others wrote, safe to print: no control or invisible characters, of bounded length."""
    text = str(value)
    cut = text if len(text) <= most else f"{text[: most - 1]}…"
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in cut
    )


def report_view(report: Report, *, where: str, preset: Preset | None, style: Style) -> list[str]:
    """One request told: sizes, reasons, what it costs, where the originals are.

    Args:
        where: the conversation's file and line.
        preset: the prices of its model, None when they are not known.
    """
    lines = [style.bold(plain(where)), *_sizes(report, style), f"  why    {plain(why_of(report))}"]
    lines += [f"  cost   {line}" for line in costs(report, preset)]
    lines += _edits(report.edits, plain(where.partition(" ")[0]), style)
    lines += [style.bad(f"  failed {plain(each.by)}: {plain(each.why)}") for each in report.failures]
    lines += [f"  mended {plain(each)}" for each in report.normalised]
    return lines


def _sizes(report: Report, style: Style) -> list[str]:
    before, after = report.tokens_before, report.tokens_after
    guess = "" if report.exact else f" (estimated by {plain(report.counter)})"
    saved = f", {(before - after) / before:.0%} less" if after < before else ""
    width = max((len(name) for name in report.regions), default=0)
    most = max([1, *(max(each.before, each.after) for each in report.regions.values())])
    lines = [f"  tokens {before:,} -> {after:,} of {report.limit:,}{saved}{guess}"]
    for name, region in report.regions.items():
        kept, gone = _bar(region.after, most), _bar(max(0, region.before - region.after), most)
        bar = style.good("█" * kept) + style.dim("░" * gone) + " " * max(0, BAR - kept - gone)
        sizes = f"{region.before:>9,} -> {region.after:>9,}{_target(name, report)}"
        lines.append(f"  {plain(name):{width}} {bar} {sizes}")
    return lines


def _target(name: str, report: Report) -> str:
    """The target of a region, and by what it is more than its own, or the region more than its target."""
    region = report.regions[name]
    if region.target is None:
        return ""
    others = (each for each in report.regions.values() if each is not region and each.target is not None)
    lent = sum(max(0, (each.target or 0) - each.after) for each in others) if name == "recent" else 0
    notes = {"of it lent": lent, "borrowed": region.after - region.target if report.compacted else 0}
    told = ", ".join(f"{tokens:,} {how}" for how, tokens in notes.items() if tokens > 0)
    return f" of {region.target:,}" + (f" ({told})" if told else "")


def bars(regions: Mapping[str, int], style: Style) -> list[str]:
    """One line a region: its name, a bar, its tokens."""
    width = max(map(len, regions), default=0)
    most = max([1, *regions.values()])
    return [
        f"  {plain(name):{width}} {style.good('█' * _bar(tokens, most))}{' ' * (BAR - _bar(tokens, most))} {tokens:>9,}"
        for name, tokens in regions.items()
    ]


def _bar(tokens: int, most: int) -> int:
    return round(BAR * tokens / most) or int(tokens > 0)


def costs(report: Report, preset: Preset | None) -> list[str]:
    """What the input of the request costs without and with the compaction; nothing when no price is known.

    The first request after one begins as the last did for `tokens_same` alone, whatever a cache has; the next ones, and
    those of a conversation that is not compacted, begin as the ones before.
    """
    if preset is None:
        return []
    before, after = report.tokens_before, report.tokens_after
    if before == after:
        return [f"${after * preset.input / 1e6:.6f} ({preset.model}), nothing cached"]

    def line(without: float, with_: float, cached: str) -> str:
        return f"${without / 1e6:.6f} without, ${with_ / 1e6:.6f} with ({preset.model}), {cached}"

    fresh, read, same = preset.input, preset.cache_read, report.tokens_same
    lines = [line(before * fresh, after * fresh, "nothing cached")]
    if read < fresh:
        first = f"at first: all cached without, {same:,} tokens with"
        lines.append(line(before * read, same * read + (after - same) * fresh, first))
        lines.append(line(before * read, after * read, "later: all cached"))
    return lines


def _edits(edits: Sequence[EditReport], where: str, style: Style) -> list[str]:
    if not edits:
        return ["  edits  none"]
    lines = [f"  edits  {len(edits)}"]
    for group in by_reason(edits):
        lines += _group(group, where, style)
    return lines


def _group(group: Sequence[EditReport], where: str, style: Style) -> list[str]:
    first = group[0]
    times = f" ×{len(group)}" if len(group) > 1 else ""
    before, after = (sum(getattr(edit, f"tokens_{when}") for edit in group) for when in ("before", "after"))
    detail = f" ({plain(first.detail)})" if first.detail and len(group) == 1 else ""
    head = f"    {style.bold(plain(first.kind) + times)} by {plain(first.by)}{detail}: {plain(first.why) or 'no reason given'}"
    lines = [f"{head}, {before:,} -> {after:,}" if before or after else head]
    if positions := ranges(sorted({at for edit in group for at in edit.positions})):
        lines.append(style.dim(f"      {where} messages[{positions}] {plain(handles_of(group))}"))
    return lines


def ranges(positions: Iterable[int]) -> str:
    """`0..3, 7` for 0, 1, 2, 3, 7."""
    runs: list[list[int]] = []
    for position in positions:
        if runs and position == runs[-1][1] + 1:
            runs[-1][1] = position
        else:
            runs.append([position, position])
    return ", ".join(str(first) if first == last else f"{first}..{last}" for first, last in runs)


def steps_of(strategy: Mapping[str, Any]) -> str:
    """A strategy as a table, told by its kind; in brackets those that it is made of, in their order."""
    values = [
        each
        for value in strategy.values()
        for each in (value if isinstance(value, tuple | list) else (value,))
    ]
    parts = ", ".join(steps_of(each) for each in values if isinstance(each, Mapping) and "kind" in each)
    return f"{strategy['kind']} ({parts})" if parts else f"{strategy['kind']}"


def table(explanations: Sequence[Explanation], style: Style) -> list[str]:
    """One line a message, or run of messages of which the same is said: position, fate, who decided, handle, why."""
    runs = groupby(
        explanations, key=lambda each: (each.fate, each.by or "-", each.handle or "-", plain(each.why))
    )
    rows = [(f"messages[{ranges(each.position for each in run)}]", *said) for said, run in runs]
    widths = [max((len(row[at]) for row in rows), default=0) for at in range(4)]
    lines = []
    for row in rows:
        cells = "  ".join(f"{plain(cell):{width}}" for cell, width in zip(row[:4], widths, strict=True))
        lines.append(f"  {cells}  {style.dim(row[4])}")
    return lines
