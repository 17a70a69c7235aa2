"""`ctxkit explain`: the fate of each message, and the originals behind a handle."""

from __future__ import annotations

import argparse
import sys

from ctxkit.cli.outputs import json_line, say
from ctxkit.cli.render import Style, plain, table
from ctxkit.cli.run import Done, Failed, named, prepared, told
from ctxkit.cli.settings import add_input, add_settings, config_of
from ctxkit.errors import UnknownHandleError

__all__ = ["HELP", "add", "run"]

HELP = "say what would become of each message, and why"


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    add_input(parser)
    add_settings(parser)
    parser.add_argument(
        "--handle", metavar="H", help="print the original messages behind a handle, one JSON object a line"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 when all went well, 3 when some conversations failed.

    Raises:
        UnknownHandleError: no conversation has an original under the handle.
    """
    code = 0
    found = False
    style = Style.of(sys.stdout)
    for outcome in prepared(args.input, config_of(args)):
        if isinstance(outcome, Failed):
            told(outcome, args.input)
            code = 3
        elif args.handle is None:
            _show(outcome, args.input, style)
        else:
            found = _print_original(outcome, args.handle) or found
    if args.handle is not None and not found:
        raise UnknownHandleError(
            f"no original is kept under the handle {plain(args.handle)!r} with these settings"
        )
    return code


def _show(done: Done, source: str, style: Style) -> None:
    report = done.request.report
    say(style.bold(plain(named(source, done.conversation))))
    say(f"  tokens {report.tokens_before:,} -> {report.tokens_after:,}; {plain(report.trigger)}")
    say("\n".join(table(done.manager.explain(), style)))


def _print_original(done: Done, handle: str) -> bool:
    try:
        entries = done.manager.original(handle)
    except UnknownHandleError:
        return False
    sys.stdout.flush()
    for entry in entries:
        sys.stdout.buffer.write(json_line(entry))
    sys.stdout.buffer.flush()
    return True
