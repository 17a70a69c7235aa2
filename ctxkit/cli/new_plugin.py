"""`ctxkit new-plugin`: a package with a working strategy in it, to be edited."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from ctxkit.cli.outputs import say
from ctxkit.scaffold import names_of, write

__all__ = ["HELP", "add", "run"]

HELP = "write a package with a working strategy and its tests, to start from"


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    parser.add_argument(
        "name", metavar="NAME", help="the strategy's kind, small letters and dashes: keep-food-allergies"
    )
    parser.add_argument(
        "--folder", type=Path, metavar="DIR", help="where the package goes, new or empty (ctxkit-NAME, here)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 when the package was written."""
    names = names_of(args.name)
    folder = args.folder or Path(names.distribution)
    for file in write(names, folder):
        say(f"wrote {file}")
    say(
        f"\nNext:\n  cd {shlex.quote(str(folder))}\n  pip install -e '.[test]'\n  pytest                   # the laws take about a minute\n  ctxkit plugin check .\n\n"
        f"What it keeps are the messages with one of WORDS in them: edit that list in src/{names.module}/__init__.py."
    )
    return 0
