"""The options that say how to compress, and the config that they come to."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ctxkit.cli.formats import Formats
from ctxkit.config import Config, load
from ctxkit.errors import ConfigError
from ctxkit.providers import FORMATS

__all__ = ["add_format", "add_input", "add_settings", "config_of", "formats_of", "input_of"]


def add_input(parser: argparse.ArgumentParser) -> None:
    """The input file."""
    parser.add_argument(
        "input",
        metavar="IN",
        nargs="?",
        help="conversations as JSON or JSON Lines, .gz too; - is stdin. Each is a list of messages or an object "
        "with `messages` and perhaps `format`, `system`, `tools`, `id`",
    )


def input_of(args: argparse.Namespace) -> str:
    """The input file that is named, else stdin where that is no terminal.

    Raises:
        ConfigError: none is named, and nothing is piped in.
    """
    if args.input is None and sys.stdin.isatty():
        raise ConfigError("IN is missing: a file of conversations, or - for stdin")
    return args.input or "-"


def add_format(parser: argparse.ArgumentParser) -> None:
    """The wire format."""
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="the wire format of the messages (what each conversation names, or its entries tell)",
    )


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Everything that a config can say in few words, and the config file itself."""
    add_format(parser)
    parser.add_argument("--window", type=int, metavar="N", help="the context window, in tokens")
    parser.add_argument("--reply", type=int, metavar="N", help="tokens of it to keep free for the answer")
    parser.add_argument(
        "--model", metavar="M", help="picks the token counter, the prices, and the window where none is given"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--strategy", metavar="KIND", help="a strategy with its default parameters (hybrid)")
    how.add_argument(
        "--config",
        metavar="FILE",
        help="a config file (TOML, YAML, JSON, a pyproject.toml); the options given here win over it",
    )
    parser.add_argument("--repair", action="store_true", help="mend broken conversations, and report it")
    parser.add_argument(
        "--strict", action="store_true", help="fail where a strategy fails, instead of rolling it back"
    )


def config_of(args: argparse.Namespace) -> Config:
    """The config that the options come to.

    Raises:
        ConfigError: they name no budget, or the file has a mistake.
    """
    if args.window is None and args.model is None and args.config is None:
        raise ConfigError("--window is missing (or --model, or --config)")
    names = ("format", "model", "strategy")
    given: dict[str, Any] = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    given |= {name: True for name in ("repair", "strict") if getattr(args, name)}
    budget = {name: getattr(args, name) for name in ("window", "reply") if getattr(args, name) is not None}
    given |= {"budget": budget} if budget else {}
    return load(given) if args.config is None else load(args.config, overrides=given)


def formats_of(args: argparse.Namespace, config: Config | None) -> Formats:
    """What the options say of the format of every conversation; a config that is no file says nothing."""
    return Formats.said(args.format, *([config] if config and args.config is not None else []))
