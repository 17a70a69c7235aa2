"""Counters that others wrote, held to what a counter must do: limits are only as good as what counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ctxkit.containing import is_callers, said
from ctxkit.errors import ConfigError
from ctxkit.showing import shown
from ctxkit.tokens.counter import TiktokenCounter, TokenCounter
from ctxkit.tokens.estimate import EstimateCounter

__all__ = ["CheckedCounter", "checked", "flaw_in"]


def checked(counter: TokenCounter, given: str) -> TokenCounter:
    """A counter that is held to what a counter must do at each count; ctxkit's own are, as they are.

    Args:
        counter: what somebody gave as one.
        given: as what, for errors: the setting, or the hook and its plugin.

    Raises:
        ConfigError: it is no counter.
    """
    if type(counter) is TiktokenCounter or type(counter) is EstimateCounter:
        return counter
    name, exact, flaw = _read(counter)
    if flaw:
        raise ConfigError(f"a counter has count(text), name and exact: {flaw}", path=given)
    return CheckedCounter(name, exact, counter, given)


def flaw_in(counter: object) -> str:
    """Why something is no counter, "" when it is one."""
    return _read(counter)[2]


@dataclass(frozen=True, slots=True)
class CheckedCounter:
    """Another's counter, whose counts are whole numbers, 0 or more, or a ConfigError.

    Attributes:
        name, exact: as it had them when it was given.
    """

    name: str
    exact: bool
    _counter: TokenCounter
    _given: str

    def count(self, text: str) -> int:
        """Tokens of `text`.

        Raises:
            ConfigError: it raised, or returned what is no number of tokens.
        """
        try:
            tokens = self._counter.count(text)
        except BaseException as error:  # the boundary to others' code, which may raise anything
            if is_callers(error):
                raise
            raise self._wrong(f"raised {said(error)}", text) from error
        if type(tokens) is int and tokens >= 0:
            return tokens
        raise self._wrong(f"returned {shown(tokens, 40)}", text)

    def _wrong(self, did: str, text: str) -> ConfigError:
        return ConfigError(
            f"the counter {self.name!r:.60} {did} for a text of {len(text):,} characters; "
            "count(text) has to return a whole number of tokens, 0 or more, for every text",
            path=self._given,
        )


def _read(counter: object) -> tuple[Any, Any, str]:
    """The name of a counter, whether it is exact, and why it is no counter, "" when it is one; each is looked up once."""
    found = {name: _attribute(counter, name) for name in ("count", "name", "exact")}
    name, exact = found["name"], found["exact"]
    missing = [
        each
        for each, value in found.items()
        if value is _MISSING or (each == "count" and not callable(value))
    ]
    if missing:
        return name, exact, f"{type(counter).__name__} has no {', '.join(missing)}"
    if type(name) is not str:
        return name, exact, f"its name is a text, not {shown(name, 40)}"
    if type(exact) is not bool:
        return name, exact, f"its exact is True or False, not {shown(exact, 40)}"
    return name, exact, ""


_MISSING = object()


def _attribute(counter: object, name: str) -> Any:
    """An attribute of a counter; one that raises is of no use either, and taken for missing."""
    try:
        return getattr(counter, name)
    except BaseException as error:  # the boundary to others' code, which may raise anything
        if is_callers(error):
            raise
        return _MISSING
