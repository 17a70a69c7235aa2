"""The command line: `ctxkit compress`, `check`, `explain`, `eval`, `strategies`, `schema`, `new-plugin`, `plugin check`,
`session`."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import sys
from collections.abc import Sequence
from typing import Any

from ctxkit.cli import check, compress, evaluate, explain, new_plugin, plugin, schema, session, strategies
from ctxkit.cli.inputs import InputError
from ctxkit.cli.outputs import say, warn
from ctxkit.cli.owner import OURS, foreign_owners
from ctxkit.errors import ConfigError, UnknownHandleError

__all__ = ["main"]

COMMANDS = {
    "compress": compress,
    "check": check,
    "explain": explain,
    "eval": evaluate,
    "strategies": strategies,
    "schema": schema,
    "new-plugin": new_plugin,
    "plugin": plugin,
    "session": session,
}

USAGE = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
"""128 and the number of the signal, as shells have it: SIGINT is 2, SIGPIPE 13."""

EXIT_CODES = (
    "exit codes: 0 all fine, 1 a check found something, 2 usage or config error or nothing in IN, "
    "3 some conversations, or a store, failed"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code.

    Args:
        argv: its words, without the program's name; those of this process by default.
    """
    try:
        args = _parser().parse_args(argv)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else USAGE
    _warn_of_foreign_owners()
    try:
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except (ConfigError, InputError, UnknownHandleError) as error:
        warn(str(error))
        return USAGE
    except BrokenPipeError:
        # what reads our output has had enough; Python would complain when it flushes at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except OSError as error:
        warn(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ctxkit", description="Make conversations of language models fit a budget.", epilog=EXIT_CODES
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        module.add(commands.add_parser(name, help=module.HELP, description=module.__doc__, epilog=EXIT_CODES))
    return parser


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        say(f"ctxkit {importlib.metadata.version(OURS)}")
        parser.exit()


def _warn_of_foreign_owners() -> None:
    if owners := foreign_owners():
        warn(
            f"{', '.join(owners)} installs a package `ctxkit` too, and each overwrites files of the other; "
            "uninstall it and reinstall ctxkit-core"
        )
