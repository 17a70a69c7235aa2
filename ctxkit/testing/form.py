"""Form: whether a strategy can be found, imported, made from its name alone, and held by a config file."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

from ctxkit.strategy import CompressionStrategy
from ctxkit.testing.finding import Finding

__all__ = ["checked_class", "loaded"]

IMPORTED = "its entry point leads to a strategy"


def loaded(
    point: EntryPoint, folder: Path | None
) -> tuple[type[CompressionStrategy] | None, Sequence[Finding]]:
    """The class behind an entry point, and what there is to say of how it is found; None when it cannot be used.

    Args:
        folder: the package that it has to come from, None for wherever it is installed.
    """
    try:
        found = point.load()
    except BaseException as error:  # noqa: BLE001 - the boundary to plugins, which may raise anything
        where, hint = _place(error, folder), _hint_for(error, point)
        return None, [Finding("import", "", IMPORTED, f"{type(error).__name__}: {error}{where}", hint)]
    file = Path(sys.modules[point.module].__file__ or "").resolve()
    if folder is not None and not file.is_relative_to(folder.resolve()):
        hint = "Give the module a name that no installed package has."
        return None, [
            Finding("import", "", IMPORTED, f"{point.module} was imported from {file} instead", hint)
        ]
    if not (isinstance(found, type) and issubclass(found, CompressionStrategy)):
        hint = "Name the class itself: module:Class, and let it be a subclass of ctxkit.CompressionStrategy."
        return None, [Finding("import", "", IMPORTED, f"{point.value} is no CompressionStrategy class", hint)]
    kind = found.model_fields["kind"]
    own = None if kind.is_required() else kind.default
    return found, [
        Finding("import", "", IMPORTED),
        Finding(
            "kind",
            "",
            "its kind is the name of its entry point",
            "" if own == point.name else f"the kind is {own!r}, the entry point {point.name!r}",
            f'Write in the class: kind: Literal["{point.name}"] = "{point.name}"',
        ),
    ]


def _place(error: BaseException, folder: Path | None) -> str:
    """The line of the package in which an error came up."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if folder and Path(frame.filename).is_relative_to(folder.resolve())]
    return f" ({inside[-1].filename}, line {inside[-1].lineno})" if inside else ""


def _hint_for(error: BaseException, point: EntryPoint) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name == point.module.partition(".")[0]:
        return (
            f"There is no module {error.name} in the folder or its src; the entry point says {point.value}."
        )
    if isinstance(error, ModuleNotFoundError):
        return f"Install what the package needs: pip install {error.name}, or pip install -e . in its folder."
    return f"`python -c 'import {point.module}'` has to work, and {point.attr} has to be in it."


def checked_class(found: type[CompressionStrategy]) -> Iterator[Finding]:
    """The form of a strategy: its docstring, its defaults, and whether a config file can hold it."""
    summary = (found.__doc__ or "").strip().splitlines()
    yield Finding(
        "docstring",
        "",
        "the first line of its docstring says what it does",
        "" if summary else f"{found.__name__} has no docstring",
        'Write it under the class: """Pin every message that ...""". `ctxkit strategies` shows it.',
    )
    yield Finding(
        "defaults",
        "",
        "every parameter has a default, so that its name alone is enough",
        _said_by(found),
        "Write plan(self, view, services), and give each field a default; or run the laws in a test, with parameters.",
    )
    yield Finding(
        "round_trip",
        "",
        "it is frozen, and a config file gives back what was written",
        "" if _said_by(found) else _not_the_same(found.model_validate({})),
        "Use fields that JSON can hold (numbers, texts, tuples), and leave model_config as it is.",
    )


def _said_by(found: type[CompressionStrategy]) -> str:
    needed = [name for name, field in found.model_fields.items() if field.is_required()]
    if needed:
        return f"{found.__name__}() cannot be made without {', '.join(needed)}"
    try:
        found.model_validate({})
    except Exception as error:  # noqa: BLE001 - the boundary to plugins
        return f"{found.__name__}() raises {type(error).__name__}: {error}"
    return ""


def _not_the_same(strategy: CompressionStrategy) -> str:
    if not strategy.model_config.get("frozen"):
        return "it is not frozen: its parameters can be changed while it is in use"
    try:
        written = strategy.model_dump_json()
        read = type(strategy).model_validate(json.loads(written))
    except Exception as error:  # noqa: BLE001 - the boundary to plugins
        return f"{type(error).__name__}: {error}"
    return "" if read == strategy else f"{written} is read as {read.model_dump_json()}"
