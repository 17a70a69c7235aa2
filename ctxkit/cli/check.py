"""`ctxkit check`: what a provider would refuse, and whether a config file can be used."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from ctxkit.cli.formats import Formats
from ctxkit.cli.inputs import Unread
from ctxkit.cli.outputs import say
from ctxkit.cli.render import plain
from ctxkit.cli.run import Failed, each, named, told
from ctxkit.cli.settings import add_format, add_input, formats_of
from ctxkit.config import Config, load
from ctxkit.errors import ConfigError
from ctxkit.providers import provider

__all__ = ["HELP", "add", "run"]

HELP = "list the wire rules that conversations break, or check a config file"

MOST = 1_000
"""Characters of a line."""


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    add_input(parser, optional=True)
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
    say(plain(f"{args.config} is fine: {_row(config.model_dump()['strategy'])}", MOST))
    return 0


def _checked(file: str) -> Config:
    config = load(file)
    config.manager()
    return config


def _row(strategy: Mapping[str, Any]) -> str:
    """A strategy as a table, told by its kind; in brackets those that it is made of, in their order."""
    values = [
        each
        for value in strategy.values()
        for each in (value if isinstance(value, tuple | list) else (value,))
    ]
    parts = ", ".join(_row(each) for each in values if isinstance(each, Mapping) and "kind" in each)
    return f"{strategy['kind']} ({parts})" if parts else f"{strategy['kind']}"


def _violations(source: str, formats: Formats) -> int:
    code = 0
    for conversation in each(source, formats):
        if isinstance(conversation, Unread):
            told(Failed(conversation, conversation.error), source)
            code = 3
            continue
        wire = provider(conversation.format)
        for violation in wire.violations(conversation.messages, system=conversation.system):
            say(plain(f"{named(source, conversation)}: {violation}", MOST))
            code = code or 1
    return code
