"""`ctxkit plugin check`: does a strategy keep every promise, and if not, what is the smallest conversation?"""

from __future__ import annotations

import argparse
import shutil
import sys
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from math import inf
from pathlib import Path

from ctxkit.cli.outputs import CLEAR, say
from ctxkit.cli.plugin_process import Examination, examined
from ctxkit.cli.plugin_view import summary_of
from ctxkit.cli.render import Style, plain
from ctxkit.errors import ConfigError, without_extra
from ctxkit.registry import STRATEGIES, strategy_class
from ctxkit.scaffold import named_in

__all__ = ["HELP", "add", "run"]

HELP = "check the strategies of a package, or an installed one, against every promise"

EXAMPLES = 50
"""Conversations that each promise is tried on when nobody says how many."""

TIMEOUT_S = 120.0
"""Seconds that one promise may take: a hundred times what it takes a quick strategy with so many examples."""


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
    check.add_argument(
        "--timeout",
        type=_seconds,
        default=TIMEOUT_S,
        metavar="S",
        help=f"seconds that one promise may take before the plugin's process is killed ({TIMEOUT_S:g})",
    )
    check.set_defaults(run=run)


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return count


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < inf:
        raise argparse.ArgumentTypeError("more than 0")
    return seconds


def run(args: argparse.Namespace) -> int:
    """0 when every promise is kept, 1 when one is broken or the examination did not come to its end."""
    if not find_spec("hypothesis"):
        raise without_extra("checking needs Hypothesis", "testing")
    folder = _folder(args.target)
    points = named_in(folder) if folder else _installed(args.target)
    style = Style.of(sys.stdout)
    broken = sum(_checked(point, folder, args, style) for point in points)
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
        try:
            strategy_class(kind)
        except ConfigError as error:
            raise ConfigError(f"there is no folder {kind}, and {error}") from None
    return points


def _checked(point: EntryPoint, folder: Path | None, args: argparse.Namespace, style: Style) -> int:
    """Check one strategy and tell each finding as it comes; how many were broken."""
    from ctxkit.testing.laws import STRATEGY_LAWS

    laws = tuple(law.__name__ for law in STRATEGY_LAWS)
    what = Examination(point.name, point.value, folder, args.examples, laws, style)
    say(style.bold(plain(point.name)) + style.dim(f"  {plain(point.value)}"))
    sys.stdout.flush()
    kept = []
    for told in examined(what, timeout_s=args.timeout, begins=_trying):
        _show("")
        kept.append(told.kept)
        for line in told.lines:
            say(line)
        sys.stdout.flush()
    _show("")
    say(summary_of(kept, args.examples, style))
    return kept.count(False)


def _trying(claim: str) -> None:
    """Say what is being tried, until there is a finding."""
    width = shutil.get_terminal_size().columns - 1
    _show(plain(f"  trying  {claim}", max(width, 1)))


def _show(text: str) -> None:
    """Write over the line of a terminal; nothing elsewhere."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{CLEAR}{text}")
        sys.stderr.flush()
