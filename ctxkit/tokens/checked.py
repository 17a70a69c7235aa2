"""Counters that others wrote, held to what a counter must do: limits are only as good as what counts."""

from __future__ import annotations

from dataclasses import dataclass

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
    if flaw := flaw_in(counter):
        raise ConfigError(f"a counter has count(text), name and exact: {flaw}", path=given)
    return CheckedCounter(counter.name, counter.exact, counter, given)


def flaw_in(counter: object) -> str:
    """Why something is no counter, "" when it is one."""
    missing = [name for name in ("count", "name", "exact") if not _has(counter, name)]
    if missing:
        return f"{type(counter).__name__} has no {', '.join(missing)}"
    name, exact = counter.name, counter.exact  # type: ignore[attr-defined]  # it has them, as was seen above
    if type(name) is not str:
        return f"its name is a text, not {shown(name, 40)}"
    if type(exact) is not bool:
        return f"its exact is True or False, not {shown(exact, 40)}"
    return ""


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
        except (Exception, SystemExit) as error:
            raise self._wrong(f"raised {_said(error)}", text) from error
        if type(tokens) is int and tokens >= 0:
            return tokens
        raise self._wrong(f"returned {shown(tokens, 40)}", text)

    def _wrong(self, did: str, text: str) -> ConfigError:
        return ConfigError(
            f"the counter {self.name!r:.60} {did} for a text of {len(text):,} characters; "
            "count(text) has to return a whole number of tokens, 0 or more, for every text",
            path=self._given,
        )


def _has(counter: object, name: str) -> bool:
    """Whether a counter has an attribute, and one that can be called as `count`."""
    try:
        value = getattr(counter, name)
    except Exception:  # noqa: BLE001 - the boundary to others' code: a property that raises is of no use either
        return False
    return name != "count" or callable(value)


def _said(error: BaseException) -> str:
    """An error for people, whatever its class makes of that."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - the boundary to others' code
        return f"{type(error).__name__}, without words"
