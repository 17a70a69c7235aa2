"""`ctxkit check`: what a provider would refuse."""

from __future__ import annotations

import argparse

from ctxkit.cli.inputs import Unread
from ctxkit.cli.outputs import say
from ctxkit.cli.render import plain
from ctxkit.cli.run import Failed, each, named, told
from ctxkit.cli.settings import add_format, add_input
from ctxkit.providers import provider

__all__ = ["HELP", "add", "run"]

HELP = "list the wire rules that conversations break"


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    add_input(parser)
    add_format(parser, required=True)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 when all would be accepted, 1 when a rule is broken, 3 when something could not be read."""
    wire = provider(args.format)
    code = 0
    for conversation in each(args.input, args.format):
        if isinstance(conversation, Unread):
            told(Failed(conversation, conversation.error), args.input)
            code = 3
            continue
        for violation in wire.violations(conversation.messages, system=conversation.system):
            say(plain(f"{named(args.input, conversation)}: {violation}", 1_000))
            code = code or 1
    return code
