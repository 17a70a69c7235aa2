"""`ctxkit plugin check`: does a strategy keep every promise, and if not, what is the smallest conversation?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ctxkit.cli.outputs import say
from ctxkit.cli.plugin_view import lines_of, summary_of
from ctxkit.cli.render import Style, plain
from ctxkit.errors import ConfigError
from ctxkit.registry import STRATEGIES, strategy_class
from ctxkit.scaffold import importable, named_in

if TYPE_CHECKING:
    from ctxkit.testing.finding import Finding

__all__ = ["HELP", "add", "run"]

HELP = "check the strategies of a package, or an installed one, against every promise"

EXAMPLES = 50
"""Conversations that each promise is tried on when nobody says how many."""


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    check = actions.add_parser("check", help=HELP, description=__doc__, epilog=parser.epilog)
    check.add_argument(
        "target", metavar="PATH-or-KIND", help="the folder of a package, or the kind of an installed strategy"
    )
    check.add_argument(
        "--examples",
        type=_count,
        default=EXAMPLES,
        metavar="N",
        help=f"conversations that each promise is tried on ({EXAMPLES})",
    )
    check.set_defaults(run=run)


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return count


def run(args: argparse.Namespace) -> int:
    """0 when every promise is kept, 1 when one is broken."""
    if not find_spec("hypothesis"):
        raise ConfigError("checking needs Hypothesis: pip install 'ctxkit-core[testing]'")
    folder = _folder(args.target)
    points = named_in(folder) if folder else _installed(args.target)
    style = Style.of(sys.stdout)
    broken = 0
    with importable(folder) if folder else nullcontext():
        for point in points:
            broken += _checked(point, folder, args.examples, style)
    return 1 if broken else 0


def _folder(target: str) -> Path | None:
    """The package folder that is meant, None when it is the name of a kind."""
    path = Path(target)
    if path.name == "pyproject.toml":
        return path.parent
    if path.is_dir() or "/" in target or path.is_absolute():
        return path
    return None


def _installed(kind: str) -> list[EntryPoint]:
    points = list(entry_points(group=STRATEGIES, name=kind))
    if not points:
        strategy_class(kind)  # says which kinds are installed
    return points


def _checked(point: EntryPoint, folder: Path | None, examples: int, style: Style) -> int:
    """Check one strategy and tell each finding as it comes; how many were broken."""
    say(style.bold(plain(point.name)) + style.dim(f"  {plain(point.value)}"))
    told = []
    for finding in _findings(point, folder, examples):
        told.append(finding)
        for line in lines_of(finding, style):
            say(line)
        sys.stdout.flush()
    say(summary_of(told, examples, style))
    return sum(not finding.kept for finding in told)


def _findings(point: EntryPoint, folder: Path | None, examples: int) -> Iterator[Finding]:
    from ctxkit.testing.examination import tried
    from ctxkit.testing.form import checked_class, loaded

    found, findings = loaded(point, folder)
    yield from findings
    if found is None:
        return
    form = list(checked_class(found))
    yield from form
    if all(finding.kept for finding in form if finding.name == "defaults"):
        yield from tried(found.model_validate({}), examples=examples)
