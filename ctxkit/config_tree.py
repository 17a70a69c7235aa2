"""A config as a tree of plain values: refused when it contains itself or would grow without bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ctxkit.errors import ConfigError

__all__ = ["check_tree"]

MAX_DEPTH = 64
"""Levels of tables and lists inside each other."""

MAX_VALUES = 20_000
"""Values in all, one that several places share (by a YAML alias) counted at each of them."""


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def check_tree(root: Any, *, inside: Callable[[Any], Iterable[Any]] = _inside, path: str = "") -> None:
    """Raise ConfigError for a tree that contains itself, is nested too deeply, or is too large; linear time.

    Args:
        inside: what is directly inside a value; by default that of tables and lists.
        path: where `root` stands in the config.
    """
    measured: dict[int, tuple[int, int]] = {}

    def measure(value: Any, depth: int) -> tuple[int, int]:
        known = measured.get(id(value))
        height = known[1] if known is not None else 0
        if depth + height > MAX_DEPTH:
            raise ConfigError(
                f"nested more than {MAX_DEPTH} levels deep; does a part contain itself?", path=path
            )
        if known is None:
            below = [measure(each, depth + 1) for each in inside(value)]
            size = 1 + sum(each[0] for each in below)
            known = measured[id(value)] = size, 1 + max((each[1] for each in below), default=0)
        if known[0] > MAX_VALUES:
            raise ConfigError(
                f"it has more than {MAX_VALUES} values, those that are repeated counted each time", path=path
            )
        return known

    measure(root, 1)
