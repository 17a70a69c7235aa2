"""`ctxkit check`: what a provider would refuse, and whether a config file can be used."""

from __future__ import annotations

import argparse
import sys

from ctxkit.cli.formats import Formats
from ctxkit.cli.inputs import Unread
from ctxkit.cli.outputs import say, warn
from ctxkit.cli.recognising import other_format
from ctxkit.cli.render import plain, steps_of
from ctxkit.cli.run import Failed, each, named, told
from ctxkit.cli.settings import add_format, add_input, formats_of
from ctxkit.config import Config, load
from ctxkit.config_error import together
from ctxkit.errors import ConfigError
from ctxkit.providers import provider
from ctxkit.sessions.stores import open_store

__all__ = ["HELP", "add", "run"]

HELP = "list the wire rules that conversations break, or check a config file"

MOST = 1_000
"""Characters of a line."""


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    add_input(parser)
    add_format(parser)
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="a config file, which is checked; without IN it alone. Its format is that of conversations that name none",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 when all would be accepted, 1 when a rule is broken, 3 when something could not be read.

    Raises:
        ConfigError: the config file has a mistake, or there is neither one nor an input.
    """
    config = None if args.config is None else _checked(args.config)
    if args.input is not None:
        return _violations(args.input, formats_of(args, config))
    if config is None:
        raise ConfigError("nothing to check: give conversations (IN), a config file (--config FILE), or both")
    say(plain(f"{args.config} is fine: {steps_of(config.model_dump()['strategy'])}", MOST))
    return 0


def _checked(file: str) -> Config:
    """The config in a file, of which a manager and a store could be made; no store is opened.

    Raises:
        ConfigError: the first mistake, with a line on each of the others.
    """
    config = load(file)
    wrong = []
    for made in (config.manager, lambda: config.store is None or open_store(config.store)):
        try:
            made()
        except ConfigError as error:
            wrong.append(error)
    if wrong:
        raise together(wrong)
    return config


def _violations(source: str, formats: Formats) -> int:
    code = count = 0
    for conversation in each(source, formats):
        count += 1
        if isinstance(conversation, Unread):
            told(Failed(conversation, conversation.error), source)
            code = 3
            continue
        wire = provider(conversation.format)
        broken = wire.violations(conversation.messages, system=conversation.system)
        for violation in broken:
            say(plain(f"{named(source, conversation)}: {violation}", MOST))
            code = code or 1
        other = other_format(conversation.messages, conversation.format)
        if broken and other is not None:
            where = plain(named(source, conversation))
            warn(
                f"{where}: it was read as {conversation.format} and looks like {other}; say which with --format"
            )
    if code == 0:
        conversations = "1 conversation" if count == 1 else f"{count:,} conversations"
        say(f"{conversations}, no rule broken", sys.stderr)
    return code
