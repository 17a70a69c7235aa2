"""`ctxkit explain`: the fate of each message, and the originals behind a handle."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass, field
from typing import Any

from ctxkit.cli.outputs import json_line, say
from ctxkit.cli.render import Style, plain, table
from ctxkit.cli.run import Done, Failed, named, prepared, told
from ctxkit.cli.settings import add_input, add_settings, config_of, formats_of, input_of
from ctxkit.errors import UnknownHandleError

__all__ = ["HELP", "add", "run"]

HELP = "say what would become of each message, and why"

PREFIX = "ctx:"

NAMED = 5
"""Handles with one beginning that are named when none of them is meant."""


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    add_input(parser)
    add_settings(parser)
    parser.add_argument(
        "--handle",
        metavar="H",
        help="print the original messages behind a handle, one JSON object a line; its beginning is enough",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 when all went well, 3 when some conversations failed.

    Raises:
        UnknownHandleError: no conversation has an original under the handle, or several begin like it.
    """
    code = 0
    asked = _Asked(PREFIX + args.handle.removeprefix(PREFIX)) if args.handle is not None else None
    style = Style.of(sys.stdout)
    source, config = input_of(args), config_of(args)
    for outcome in prepared(source, config, formats_of(args, config)):
        if isinstance(outcome, Failed):
            told(outcome, source)
            code = 3
        elif asked is None:
            _show(outcome, source, style)
        else:
            asked.look_into(outcome)
    if asked is not None:
        asked.end()
    return code


def _show(done: Done, source: str, style: Style) -> None:
    report = done.request.report
    say(style.bold(plain(named(source, done.conversation))))
    say(f"  tokens {report.tokens_before:,} -> {report.tokens_after:,}; {plain(report.trigger)}")
    say("\n".join(table(done.manager.explain(), style)))


@dataclass
class _Asked:
    """A handle that is looked for: printed where it is found whole, else known by its beginning at the end; and whether
    the conversations name it themselves."""

    handle: str
    found: bool = False
    named: bool = False
    alike: dict[str, list[Any]] = field(default_factory=dict)

    def look_into(self, done: Done) -> None:
        """Print what a conversation has under the handle."""
        try:
            _print(done.manager.original(self.handle))
            self.found = True
        except UnknownHandleError:
            if self.handle == PREFIX:
                return
            self.named |= self.handle in json.dumps(done.conversation.messages)
            known = {each.handle for each in done.manager.explain()}
            known |= {each.handle for each in done.request.report.edits}
            begins = sorted(each for each in known if each.startswith(self.handle))
            for handle in begins[: NAMED - len(self.alike)]:
                self.alike[handle] = done.manager.original(handle)

    def end(self) -> None:
        """Print what begins like the handle, if nothing was found under it."""
        if self.found:
            return
        if len(self.alike) > 1:
            raise UnknownHandleError(f"{plain(self.handle)!r} may be any of {', '.join(self.alike)}")
        if not self.alike:
            why = f"no original is kept under the handle {plain(self.handle)!r} with these settings"
            hint = "; IN names it, so it is what was made: give the file that was compressed, not its result"
            raise UnknownHandleError(why + hint * self.named)
        _print(*self.alike.values())


def _print(entries: list[Any]) -> None:
    sys.stdout.flush()
    for entry in entries:
        sys.stdout.buffer.write(json_line(entry))
    sys.stdout.buffer.flush()
