"""A package folder: the strategies that its pyproject.toml names, importable for as long as one looks at them."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from ctxkit.errors import ConfigError
from ctxkit.registry import STRATEGIES

__all__ = ["importable", "named_in"]


def named_in(folder: Path) -> list[EntryPoint]:
    """The strategies that a package names in its entry points.

    Raises:
        ConfigError: there is no such folder or no pyproject.toml in it, it cannot be read, or it names no strategy.
    """
    file = folder / "pyproject.toml"
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {folder}")
    try:
        table: Any = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(f"{folder} is no package: there is no pyproject.toml in it") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from error
    for key in ("project", "entry-points", STRATEGIES):
        table = table.get(key) if isinstance(table, dict) else None
    if not isinstance(table, dict) or not table:
        raise ConfigError(
            f'{file} names no strategy; it needs [project.entry-points."{STRATEGIES}"] with a line '
            'kind = "module:Class"'
        )
    return [EntryPoint(name, str(value), STRATEGIES) for name, value in table.items()]


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Have the modules of a folder, or of its `src`, found before any that are installed."""
    places = [str(place.resolve()) for place in (folder / "src", folder) if place.is_dir()]
    sys.path[:0] = places
    try:
        yield
    finally:
        sys.path[:] = [place for place in sys.path if place not in places]
