"""One conversation after another through a ContextManager."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ctxkit.cli.formats import Formats
from ctxkit.cli.inputs import Conversation, InputError, Unread, conversations, opened
from ctxkit.cli.outputs import Progress, warn
from ctxkit.cli.render import plain
from ctxkit.config import Config
from ctxkit.errors import CtxkitError
from ctxkit.manager import ContextManager, Request

__all__ = ["Done", "Failed", "each", "named", "prepared", "told"]

MOST_SAID = 2_000
"""Characters of the line on stderr that tells a failure; the output has all of it."""


@dataclass(frozen=True, slots=True)
class Done:
    """A conversation, what it became, and the manager that knows how."""

    conversation: Conversation
    request: Request
    manager: ContextManager


@dataclass(frozen=True, slots=True)
class Failed:
    """A conversation that could not be processed, and why."""

    conversation: Conversation | Unread
    error: Exception


def each(source: str, formats: Formats) -> Iterator[Conversation | Unread]:
    """Every conversation of a file, with progress on a terminal.

    Raises:
        OSError: the file cannot be read.
        InputError: there is none.
    """
    progress = Progress()
    count = -1
    with opened(source) as stream:
        for count, conversation in enumerate(conversations(stream, name=source, formats=formats)):
            progress.at(count)
            yield conversation
    progress.clear()
    if count < 0:
        raise InputError(f"no conversation in {_place(source)}")


def prepared(source: str, config: Config, formats: Formats) -> Iterator[Done | Failed]:
    """Every conversation of a file, each in its own format, compressed as `config` says."""
    for conversation in each(source, formats):
        if isinstance(conversation, Unread):
            yield Failed(conversation, conversation.error)
            continue
        manager = config.manager(format=conversation.format)
        try:
            manager.add(conversation.messages, system=conversation.system)
            yield Done(conversation, manager.prepare_sync(conversation.tools), manager)
        except CtxkitError as error:
            yield Failed(conversation, error)


def named(source: str, conversation: Conversation | Unread) -> str:
    """Where a conversation is, for people: `file:line id`."""
    where = f"{_place(source)}:{conversation.line}"
    return f"{where} {conversation.id}" if conversation.has_id else where


def _place(source: str) -> str:
    return "stdin" if source == "-" else source


def _with_options(message: str) -> str:
    """A message with the options of commands instead of the arguments in Python that they stand for."""
    message = re.sub(r"\bformat='([\w-]+)'", r"--format \1", message)
    return re.sub(r"\brepair=True\b", "--repair", message)


def told(failed: Failed, source: str) -> dict[str, Any]:
    """The record of a failure for the output; it is printed to stderr too."""
    message = _with_options(str(failed.error))
    warn(plain(f"{named(source, failed.conversation)}: {type(failed.error).__name__}: {message}", MOST_SAID))
    id = {"id": failed.conversation.id} if failed.conversation.has_id else {}
    error = {"type": type(failed.error).__name__, "message": message}
    return {**id, "line": failed.conversation.line, "error": error}
