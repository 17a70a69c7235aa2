"""`outline-file-views`: old views of source files become outlines, or pointers to newer views of the same lines."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from ctxkit import CompressionStrategy, Plan, Services, Shorten, View, marked
from ctxkit_code.languages import Parsing
from ctxkit_code.outlines import Line, outline
from ctxkit_code.shown import Shown, repeated_in, shown_in
from ctxkit_code.views import FileView

__all__ = ["OutlineFileViews"]

LEAST_SAVED_SHARE = 0.3
"""Of a result: what its outline has to save to be worth it."""

DOUBT = 8
"""Tokens by which the size of a text may mislead on that of its entry."""


class OutlineFileViews(CompressionStrategy):
    """Outline old views of source files: imports, classes, signatures and constants stay, bodies go.

    Views are told by numbered lines, by the path or the command that the tool was given, or by their looks; a parser
    reads them (Python, JavaScript, TypeScript, Go, Java, Rust, C, C++). First those of which a newer view of the same
    file shows every line become one line that says so; then, oldest first until the target is met, the others become
    outlines. Numbers are those of the file's lines. Text that is no source stays, and so does JSON around one.

    Attributes:
        keep: the newest results with views, which stay whole; those of the newest step always do.
        exclude: names of tools whose results stay.
    """

    kind: Literal["outline-file-views"] = "outline-file-views"
    keep: int = Field(default=2, ge=0)
    exclude: frozenset[str] = frozenset()

    def plan(self, view: View, services: Services) -> Plan:
        if not view.over:
            return Plan()
        shown = list(shown_in(view, self.exclude))
        newest = view.units[-1].id
        old = [each for each in shown[: max(0, len(shown) - self.keep)] if each.item.unit != newest]
        repeated, parsing = repeated_in(shown), Parsing()
        writers = (
            _Writer(view, "a newer result shows the same lines", repeated=repeated),
            _Writer(view, "an old file view, as its outline", parsing=parsing),
        )
        regions, edits = dict(view.regions), dict[tuple[int, int], Shorten]()
        for writer in writers:
            for each in old:
                if each.item.region not in view.pressed_with(regions):
                    continue
                edit, gain = writer.edit(each) if each.at not in edits else (None, 0)
                if edit is not None:
                    edits[each.at] = edit
                    regions[each.item.region] -= gain
        return Plan.of(*edits.values())


@dataclass(frozen=True)
class _Writer:
    """Writes results anew.

    Attributes:
        why: of its edits.
        repeated: views to point at newer ones.
        parsing: what reads all others, to outline them.
    """

    view: View
    why: str
    repeated: frozenset[FileView] = frozenset()
    parsing: Parsing | None = None

    def edit(self, shown: Shown) -> tuple[Shorten | None, int]:
        """The edit that shortens a result, if it saves enough, and the tokens that it saves."""
        handle = self.view.handle(shown.item)
        content = shown.rewritten(lambda each: self._written(each, handle))
        if content is None:
            return None, 0
        before = self.view.count(shown.text)
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        gain = before - self.view.count(text) - DOUBT
        edit = Shorten(shown.item.id, shown.part, content, self.why)
        return (edit, gain) if gain > LEAST_SAVED_SHARE * before else (None, 0)

    def _written(self, seen: FileView, handle: str) -> str:
        name = f"{seen.path or f'a {seen.language} file'}, lines {seen.first}-{seen.last}"
        if seen in self.repeated:
            return marked(f"{name}: a newer result shows the same lines; original: {handle}")
        lines = outline(seen.lines, seen.language, self.parsing) if self.parsing else []
        if not lines:
            return ""
        note = marked(f"outline of {name}, … stands for lines left out; original: {handle}")
        body = [_numbered(line, seen.first) for line in lines]
        return "\n".join((*_short(seen.before), note, *body, *_short(seen.after)))


def _numbered(line: Line, first: int) -> str:
    """A line of an outline with the file's numbers."""
    left_out = f" … {line.at + first + 1}-{line.until + first}" if line.until >= 0 else ""
    return f"{line.at + first}:{line.text}{left_out}"


def _short(around: tuple[str, ...]) -> tuple[str, ...]:
    """What stands around a source: the tool's own words, without blank lines."""
    return tuple(line for line in around if line.strip())
