"""`ctxkit schema`: the JSON Schema of a config file."""

from __future__ import annotations

import argparse
import json

from ctxkit.cli.outputs import say
from ctxkit.config import schema

__all__ = ["HELP", "add", "run"]

HELP = "print the JSON Schema of a config, installed strategies included"


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """0."""
    say(json.dumps(schema(), indent=2))
    return 0
