"""`ctxkit strategies`: what is installed."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from ctxkit.cli.outputs import say
from ctxkit.cli.render import Style, plain
from ctxkit.registry import Installed, installed

__all__ = ["HELP", "add", "run"]

HELP = "list the installed strategies"


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    parser.add_argument("--json", action="store_true", help="as a JSON list")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0, also when some cannot be used: they are listed with the reason."""
    found = installed()
    if args.json:
        say(json.dumps([asdict(each) for each in found], indent=2))
        return 0
    style = Style.of(sys.stdout)
    width = max((len(each.kind) for each in found), default=0)
    for each in found:
        say(f"{style.bold(f'{plain(each.kind):{width}}')}  {_said(each, style)}")
    if not found:
        say("no strategy is installed; install ctxkit-core with pip, which registers its own")
    return 0


def _said(each: Installed, style: Style) -> str:
    what = style.bad(f"cannot be used: {plain(each.error)}") if each.error else plain(each.summary)
    return f"{what} {style.dim(f'({plain(each.origin)} {plain(each.version)})')}"
