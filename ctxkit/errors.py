"""Every error that ctxkit raises, in one tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = [
    "BudgetExceededError",
    "ConfigError",
    "ConflictError",
    "ConversationError",
    "CtxkitError",
    "ModelCallError",
    "OpenCallsError",
    "PlanError",
    "PlanRejected",
    "ProviderFormatError",
    "SessionError",
    "SessionLimitError",
    "SplitSessionError",
    "StoreError",
    "StrategyError",
    "UnknownHandleError",
    "UnknownPluginError",
    "without_extra",
]


class CtxkitError(Exception):
    """The root: `except CtxkitError` catches whatever ctxkit raises on purpose."""


class ConfigError(CtxkitError, ValueError):
    """A setting that cannot be right.

    Attributes:
        path: where in the config it stands, dotted (`strategy.steps.1.keep_turns`), "" for the whole.
    """

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path


def without_extra(what: str, extra: str, *, path: str = "") -> ConfigError:
    """What is said when a package is missing that an extra of `ctxkit-core` brings."""
    install = f"install ctxkit-core with the extra {extra} (in a clone: pip install '.[{extra}]')"
    return ConfigError(f"{what}: {install}", path=path)


class UnknownPluginError(ConfigError, LookupError):
    """A name under which no plugin is installed.

    Attributes:
        name: the name asked for.
        installed: the names that are installed, sorted.
    """

    def __init__(self, message: str, *, name: str, installed: Sequence[str], path: str = "") -> None:
        super().__init__(message, path=path)
        self.name = name
        self.installed = tuple(installed)


class ConversationError(CtxkitError):
    """Something asked of a conversation that it cannot give."""


class OpenCallsError(ConversationError):
    """A request would end on a tool call that has no result yet; every provider refuses that.

    Attributes:
        calls: the ids (or names, where the format has no ids) of the calls that wait.
    """

    def __init__(self, message: str, *, calls: Sequence[str]) -> None:
        super().__init__(message)
        self.calls = tuple(calls)


class UnknownHandleError(ConversationError, LookupError):
    """A handle under which no original is kept."""


class SessionError(CtxkitError):
    """Something about the log of a session.

    Attributes:
        session: its id.
    """

    def __init__(self, message: str, *, session: str) -> None:
        super().__init__(message)
        self.session = session


class ConflictError(SessionError):
    """Somebody else wrote to the session first; read what is new and try again.

    Attributes:
        position: of the session's last record now.
    """

    def __init__(self, message: str, *, session: str, position: int) -> None:
        super().__init__(message, session=session)
        self.position = position


class SessionLimitError(SessionError):
    """A record or a session that would be larger than its store takes; nothing was written."""


class SplitSessionError(SessionError):
    """A session that is in two stores, asked of one of them alone, which has not all of it; see `TieredStore`."""


class StoreError(SessionError):
    """A store that could not be reached, or failed; `__cause__` is its driver's own error.

    It is not known whether what was being written is there: repeat the call with the same key.
    """


class ModelCallError(CtxkitError):
    """A model did not answer, or not with anything that can be used; `__cause__` is the client's own error.

    Attributes:
        transient: whether the same request may do better later (a timeout, a full server).
        request: the digest of the request.
    """

    def __init__(self, message: str, *, transient: bool = False, request: str = "") -> None:
        super().__init__(message)
        self.transient = transient
        self.request = request


class PlanError(CtxkitError):
    """A plan that cannot be applied, or a strategy that failed to make one."""


class PlanRejected(PlanError):
    """A plan that would break a promise; the view it was tried on is unchanged.

    Attributes:
        reasons: one sentence for each promise that it would break.
    """

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = tuple(reasons)


class StrategyError(PlanError):
    """A strategy raised, was too slow, or broke a promise, and `strict` was asked for.

    Attributes:
        kind: the strategy's kind.
    """

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


class BudgetExceededError(CtxkitError):
    """What must stay is larger than the budget.

    Attributes:
        needed: tokens of the smallest request that was reached.
        limit: tokens that a request may have (window less reply).
        by_region: tokens of that request by region, "tools" (the schemas) included.
        fixed: what cannot shrink, one line each.
        failures: strategies that failed on the way, and why, one line each.
    """

    def __init__(
        self,
        message: str,
        *,
        needed: int,
        limit: int,
        by_region: Mapping[str, int],
        fixed: Sequence[str] = (),
        failures: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.needed = needed
        self.limit = limit
        self.by_region = dict(by_region)
        self.fixed = tuple(fixed)
        self.failures = tuple(failures)


class ProviderFormatError(CtxkitError, ValueError):
    """A payload that is not of its format, or that its provider would refuse.

    Attributes:
        format: the format's name.
        path: where in the payload, as in `messages[3].tool_calls[0].id`.
        rule: the wire rule that is broken ("C2"), "" when it is a matter of shape.
    """

    def __init__(self, message: str, *, format: str, path: str = "", rule: str = "") -> None:
        super().__init__(f"{format}: {path}: {message}" if path else f"{format}: {message}")
        self.format = format
        self.path = path
        self.rule = rule
