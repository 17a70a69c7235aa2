"""Formats: which wire format a conversation is in. It may say so itself, options say it, or its entries tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ctxkit.cli.recognising import recognised
from ctxkit.config import Config
from ctxkit.errors import CtxkitError
from ctxkit.providers import provider

__all__ = ["KEYS", "Formats", "InputError"]

KEYS = ("messages", "input", "contents")
"""Keys of an object that its history may stand under."""


class InputError(CtxkitError):
    """A line that holds no JSON or no conversation, or a file without one."""


_UNTOLD = (
    "it names no wire format, and none can be told from it; add a `format` to the object, or give --format"
)
_NOTHING = "neither a list of messages nor an object with a list `messages`, `input` or `contents`"


@dataclass(frozen=True, slots=True)
class Formats:
    """What the options say of the wire format of every conversation; its own `format` goes before all but --format.

    Attributes:
        option: what --format says: a conversation that says another is refused.
        config: what a config says, for those that name none.
        otherwise: for those that name none and do not tell, either.
    """

    option: str | None = None
    config: str | None = None
    otherwise: str | None = None

    @classmethod
    def said(cls, option: str | None, *configs: Config) -> Formats:
        """What --format and the configs say: those that set none leave it to the conversations, several that set
        different ones do too."""
        named = {config.format for config in configs if "format" in config.model_fields_set}
        default: str = Config.model_fields["format"].default
        return cls(option, named.pop() if len(named) == 1 else None, default if configs else None)

    def of(self, value: Any) -> str:
        """The format of a list of messages, or of an object with one.

        Raises:
            InputError: it is neither, it says another format than --format, or nobody says any.
            UnknownPluginError: it says one that does not exist.
        """
        own = value.get("format") if isinstance(value, dict) else None
        if own is not None:
            return self._own(own)
        found = self.option or self.config or recognised(value) or self.otherwise
        if found is None:
            raise InputError(_UNTOLD if _is_a_history(value) else _NOTHING)
        return found

    def _own(self, named: Any) -> str:
        if self.option is not None and named != self.option:
            raise InputError(
                f"its `format` is {named!r:.60}, and --format says {self.option!r}; "
                "leave --format out, or put right which it is"
            )
        return provider(named).name


def _is_a_history(value: Any) -> bool:
    if isinstance(value, dict):
        value = next((value[key] for key in KEYS if value.get(key) is not None), None)
    return isinstance(value, list)
