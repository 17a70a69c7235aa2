"""Registry: strategies by name, found as entry points; observers as pluggy hooks."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any

import pluggy
from pydantic import PlainValidator, SerializeAsAny, ValidationError

from ctxkit.errors import ConfigError, UnknownPluginError
from ctxkit.hooks import Hooks
from ctxkit.report import Report
from ctxkit.strategy import CompressionStrategy

__all__ = ["AnyStrategy", "Installed", "compacted", "installed", "strategy_class", "strategy_of"]

STRATEGIES = "ctxkit.strategies"
"""The entry point group of strategies: the name is the class's `kind`."""

HOOKS = "ctxkit"
"""The entry point group of plugins with hooks."""


@dataclass(frozen=True)
class Installed:
    """One installed strategy.

    Attributes:
        kind: the name by which it is picked.
        origin: the distribution that it comes from, and `version` its version.
        summary: one line on what it does.
        error: why it cannot be used, "" when it can.
    """

    kind: str
    origin: str
    version: str
    summary: str
    error: str = ""


@cache
def _entry_points() -> Mapping[str, EntryPoint]:
    return {
        point.name: point for point in sorted(entry_points(group=STRATEGIES), key=lambda point: point.name)
    }


def installed() -> list[Installed]:
    """Every installed strategy, by name; one that fails to import is listed with its error."""
    return [_described(point) for point in _entry_points().values()]


def _described(point: EntryPoint) -> Installed:
    origin = point.dist.name if point.dist else "?"
    version = point.dist.version if point.dist else "?"
    try:
        found = strategy_class(point.name)
    except ConfigError as error:
        return Installed(point.name, origin, version, "", str(error))
    lines = (found.__doc__ or "").strip().splitlines()
    return Installed(point.name, origin, version, lines[0] if lines else "")


def strategy_class(kind: str, *, path: str = "") -> type[CompressionStrategy]:
    """The class behind a kind; only this one is imported.

    Raises:
        UnknownPluginError: nothing of that name is installed; the message has the nearest name and all names.
        ConfigError: it is installed and cannot be imported, or is no strategy.
    """
    points = _entry_points()
    if kind not in points:
        near = difflib.get_close_matches(kind, points, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        names = ", ".join(points) or "none; is ctxkit-core installed with pip?"
        message = f"no strategy named {kind!r} is installed{hint} Installed: {names}"
        raise UnknownPluginError(message, name=kind, installed=tuple(points), path=path)
    try:
        found = points[kind].load()
    except Exception as error:  # the boundary to plugins: one that fails to import breaks only itself
        raise ConfigError(
            f"strategy {kind!r} ({points[kind].value}) cannot be imported: {type(error).__name__}: {error}",
            path=path,
        ) from error
    if not (isinstance(found, type) and issubclass(found, CompressionStrategy)):
        raise ConfigError(
            f"strategy {kind!r} ({points[kind].value}) is no CompressionStrategy class", path=path
        )
    return found


def strategy_of(
    value: str | CompressionStrategy | Mapping[str, Any], *, path: str = "strategy"
) -> CompressionStrategy:
    """The strategy that a kind name, a strategy, or a dict with `kind` and parameters stands for.

    Raises:
        UnknownPluginError: no such kind.
        ConfigError: parameters that are not right, with the path to the first of them.
    """
    if isinstance(value, CompressionStrategy):
        return value
    if isinstance(value, str):
        value = {"kind": value}
    if not isinstance(value, Mapping) or not isinstance(value.get("kind"), str):
        raise ConfigError(f"a strategy is a kind name or a table with `kind`, not {value!r:.80}", path=path)
    try:
        return strategy_class(value["kind"], path=path).model_validate(dict(value))
    except ValidationError as error:
        raise config_error(error, path) from error
    except RecursionError:
        raise ConfigError("the strategy contains itself", path=path) from None


def config_error(error: ValidationError, path: str = "") -> ConfigError:
    """A pydantic error as ours: the path to the first thing that is wrong, what is wrong, what was there."""
    first = error.errors(include_url=False)[0]
    inner = first.get("ctx", {}).get("error")
    where = ".".join(part for part in (path, *map(str, first["loc"])) if part)
    if isinstance(inner, ConfigError):
        return ConfigError(str(inner), path="")
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return ConfigError(f"{first['msg']}, got {first['input']!r:.60}{more}", path=where)


def _found(value: Any) -> CompressionStrategy:
    return strategy_of(value, path="")


AnyStrategy = Annotated[SerializeAsAny[CompressionStrategy], PlainValidator(_found)]
"""The type of a field that holds a strategy: reads what `strategy_of` reads."""


@cache
def _observers() -> pluggy.PluginManager:
    manager = pluggy.PluginManager(HOOKS)
    manager.add_hookspecs(Hooks)
    manager.load_setuptools_entrypoints(HOOKS)
    return manager


def compacted(report: Report) -> list[tuple[str, str]]:
    """Tell every observer of a compaction; returns those that failed, and why, for the report."""
    failures = []
    for implementation in _observers().hook.ctxkit_compacted.get_hookimpls():
        try:
            implementation.function(report=report)
        except Exception as error:  # noqa: BLE001 - the boundary to plugins: an observer never breaks a request
            failures.append((f"observer {implementation.plugin_name}", f"{type(error).__name__}: {error}"))
    return failures
