"""Registry: strategies by name, found as entry points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any

from pydantic import PlainValidator, SerializeAsAny, ValidationError, WithJsonSchema

from ctxkit.config_error import brief, config_error, nearest
from ctxkit.config_tree import check_tree
from ctxkit.containing import is_callers, said
from ctxkit.errors import ConfigError, UnknownPluginError
from ctxkit.strategy import CompressionStrategy

__all__ = [
    "SCHEMA_FORMAT",
    "AnyStrategy",
    "Installed",
    "installed",
    "strategy_class",
    "strategy_of",
]

STRATEGIES = "ctxkit.strategies"
"""The entry point group of strategies: the name is the class's `kind`."""

SCHEMA_FORMAT = "ctxkit-strategy"
"""Marks in a JSON Schema where a strategy may stand."""


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
    lines = found.__doc__.strip().splitlines() if isinstance(found.__doc__, str) else []
    return Installed(point.name, origin, version, lines[0] if lines else "")


def strategy_class(kind: str, path: str = "") -> type[CompressionStrategy]:
    """The class behind a kind; only this one is imported.

    Raises:
        UnknownPluginError: nothing of that name is installed; the message has the nearest name and all names.
        ConfigError: it is installed and cannot be imported, or is no strategy.
    """
    points = _entry_points()
    if kind not in points:
        names = ", ".join(points) or "none; is ctxkit-core installed with pip?"
        message = (
            f"no strategy named {brief(kind)} is installed{nearest(kind, list(points))} (installed: {names})"
        )
        raise UnknownPluginError(message, name=kind, installed=tuple(points), path=path)
    try:
        found = points[kind].load()
    except BaseException as error:  # the boundary to plugins: one that fails to import breaks only itself
        if is_callers(error):
            raise
        raise ConfigError(
            f"strategy {kind!r} ({points[kind].value}) cannot be imported: {said(error)}", path=path
        ) from error
    if not (isinstance(found, type) and issubclass(found, CompressionStrategy)):
        raise ConfigError(
            f"strategy {kind!r} ({points[kind].value}) is no CompressionStrategy class", path=path
        )
    own = found.model_fields["kind"].default
    if not isinstance(own, str) or own != kind:
        raise ConfigError(
            f"the entry point is named {kind!r}, and the kind of {points[kind].value} is {brief(own)}: they are to be "
            "the same",
            path=path,
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
    if isinstance(value, type):
        raise ConfigError(
            f"{value.__name__} is the class of a strategy; call it: {value.__name__}()", path=path
        )
    check_tree(value, path=path)
    table = {"kind": value} if isinstance(value, str) else value
    if not isinstance(table, Mapping):
        several = (
            "; steps in a row are {'kind': 'hybrid', 'steps': [...]}"
            if isinstance(table, list | tuple)
            else ""
        )
        raise ConfigError(
            f"a strategy is a kind name or a table with `kind`, not {brief(value)}{several}", path=path
        )
    model = strategy_class(*_kind_in(table, path if table is not value else f"{path}.kind".strip(".")))
    try:
        return model.model_validate(dict(table))
    except ValidationError as error:
        raise config_error(error, path, model=model, value=table) from None


def _kind_in(table: Mapping[str, Any], path: str) -> tuple[str, str]:
    kind = table.get("kind")
    if isinstance(kind, str):
        return kind, path
    found = f"found {brief(kind)}" if "kind" in table else "it is missing"
    if "kind" not in table and "steps" in table:
        found += "; steps in a row are of kind 'hybrid'"
    raise ConfigError(
        f"has to name an installed strategy; {found} (installed: {', '.join(_entry_points())})", path=path
    )


def _found(value: Any) -> CompressionStrategy:
    return strategy_of(value, path="")


AnyStrategy = Annotated[
    SerializeAsAny[CompressionStrategy],
    PlainValidator(_found),
    WithJsonSchema({"type": ["string", "object"], "format": SCHEMA_FORMAT}),
]
"""The type of a field that holds a strategy: reads what `strategy_of` reads."""
