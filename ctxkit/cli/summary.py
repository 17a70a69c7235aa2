"""What `compress` tells people: one conversation in full, many in sums."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TextIO

from ctxkit.cli.outputs import say
from ctxkit.cli.render import Style, report_view
from ctxkit.cli.run import Done, Failed, named
from ctxkit.presets import find_preset

__all__ = ["Summary"]


@dataclass
class Summary:
    """What has been done so far.

    Attributes:
        source: the input file.
        model: the model whose prices are shown, if it is known.
        screen: where it is printed.
        everything: tell each conversation in full, however many there are.
    """

    source: str
    model: str | None
    screen: TextIO
    everything: bool
    count: int = 0
    failed: int = 0
    compacted: int = 0
    before: int = 0
    after: int = 0
    held: list[str] = field(default_factory=list)

    def add(self, outcome: Done | Failed) -> None:
        """Take in one more; it is printed now when everything is."""
        self.count += 1
        if isinstance(outcome, Failed):
            self.failed += 1
            return
        report = outcome.request.report
        self.compacted += report.compacted
        self.before += report.tokens_before
        self.after += report.tokens_after
        if self.everything or self.count == 1:
            self.held = self._view(outcome)
        if self.everything:
            say("\n".join(self.held), self.screen)

    def _view(self, done: Done) -> list[str]:
        preset = find_preset(self.model) if self.model else None
        where = named(self.source, done.conversation)
        return report_view(done.request.report, where=where, preset=preset, style=Style.of(self.screen))

    def end(self) -> None:
        """Print the only conversation in full, or the sums of many."""
        if self.count == 1 and not self.everything:
            say("\n".join(self.held), self.screen)
        if self.count == 1:
            return
        failed = f", {self.failed} failed" if self.failed else ""
        say(
            f"{self.count:,} conversations, {self.compacted:,} compacted{failed}; "
            f"tokens {self.before:,} -> {self.after:,}",
            self.screen,
        )
