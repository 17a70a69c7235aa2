"""`ctxkit session`: what stored sessions hold, what the model saw, and why; moving, tidying and checking them."""

from __future__ import annotations

import argparse
import asyncio
import logging
from collections.abc import Awaitable, Callable

from ctxkit.cli import session_ask, session_keep
from ctxkit.cli.outputs import warn
from ctxkit.cli.render import plain
from ctxkit.cli.session_store import add_store, hidden, opened
from ctxkit.errors import ConfigError, ConversationError, SessionError
from ctxkit.sessions.store import Store

__all__ = ["HELP", "add", "run"]

HELP = "look into stored sessions, move, tidy and check them"

USAGE, FAILED = 2, 3

EXIT_CODES = (
    "exit codes: 0 all fine, 1 `verify` found something, 2 usage or config error, or no such session, request or "
    "message, 3 a store or a log failed"
)

Action = Callable[[Store, argparse.Namespace], Awaitable[int]]


def add(parser: argparse.ArgumentParser) -> None:
    """Its actions with their options."""
    parser.epilog = EXIT_CODES
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    for name, (action, options, told) in {**session_ask.ACTIONS, **session_keep.ACTIONS}.items():
        own = actions.add_parser(
            name, help=told, description=f"{told[0].upper()}{told[1:]}.", epilog=EXIT_CODES
        )
        add_store(own, name)
        options(own)
        own.set_defaults(run=run, action=action)


def run(args: argparse.Namespace) -> int:
    """0 when all went well, 1 when `verify` found something, 2 for what is not there, 3 when a store or a log failed."""
    try:
        return asyncio.run(_acted(args))
    except (ConfigError, ConversationError) as error:
        warn(plain(hidden(str(error), args), 2_000))
        return USAGE
    except SessionError as error:
        warn(plain(hidden(str(error), args), 2_000))
        return FAILED


async def _acted(args: argparse.Namespace) -> int:
    # drivers log what they raise, in their own words and with what they connect to
    logging.getLogger("psycopg").setLevel(logging.CRITICAL)
    action: Action = args.action
    async with opened(args) as store:
        return await action(store, args)
