"""`ctxkit compress`: conversations in, conversations that fit out."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any, BinaryIO

from ctxkit.cli.outputs import json_line, written
from ctxkit.cli.run import Done, Failed, prepared, told
from ctxkit.cli.settings import add_input, add_settings, config_of, formats_of, input_of
from ctxkit.cli.summary import Summary
from ctxkit.errors import ConfigError

__all__ = ["HELP", "add", "run"]

HELP = "make conversations fit a budget"


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    add_input(parser)
    add_settings(parser)
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="one JSON object a line goes here; - is stdout (the default)"
    )
    parser.add_argument(
        "--show",
        "--report",
        action="store_true",
        help="tell what was done, for people; so it is on a terminal",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 when all went well, 3 when some conversations failed."""
    config = config_of(args)
    formats = formats_of(args, config)
    source, out = input_of(args), args.output or "-"
    _refuse_same_file(source, out)
    only_shown = sys.stdout.isatty() and args.output is None
    screen = sys.stderr if out == "-" and not only_shown else sys.stdout
    shown = args.show or sys.stdout.isatty()
    summary = Summary(source, config.model, screen, everything=args.show) if shown else None
    failures = 0
    with written(os.devnull if only_shown else out) as stream:
        for outcome in prepared(source, config, formats):
            outcome = _written(outcome, stream, source)
            failures += isinstance(outcome, Failed)
            if summary is not None:
                summary.add(outcome)
    if summary is not None:
        summary.end()
    return 3 if failures else 0


def _written(outcome: Done | Failed, stream: BinaryIO, source: str) -> Done | Failed:
    """The outcome, when its line is in the output; a failure when it cannot be written as JSON."""
    if isinstance(outcome, Done):
        try:
            stream.write(json_line(_record(outcome)))
            return outcome
        except ValueError as error:
            outcome = Failed(outcome.conversation, error)
    stream.write(json_line(told(outcome, source)))
    return outcome


def _record(done: Done) -> dict[str, Any]:
    conversation, request = done.conversation, done.request
    id = {"id": conversation.id} if conversation.has_id else {}
    system = {"system": request.system} if request.system is not None else {}
    report = request.report.model_dump(mode="json")
    for edit in report["edits"]:
        edit["line"] = conversation.line
    return {**id, "format": conversation.format, "messages": request.messages, **system, "report": report}


def _refuse_same_file(source: str, target: str) -> None:
    if "-" in (source, target) or not os.path.isfile(target):
        return
    if os.path.exists(source) and os.path.samefile(source, target):
        raise ConfigError(f"OUT is the file IN, {source}; it would be lost")
