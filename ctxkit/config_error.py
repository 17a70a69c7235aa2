"""What pydantic says of a wrong setting, as a ConfigError: where it stands, what was found, what would be right."""

from __future__ import annotations

import difflib
import re
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ctxkit.errors import ConfigError, UnknownPluginError

__all__ = ["brief", "config_error", "moved", "nearest"]

ALSO = "\n  also wrong: "
"""Stands before each further mistake in a message; what comes from outside stands there as its `repr`, on one line."""

MAX_SHOWN = 60
"""Characters of a wrong value that a message shows."""

_shown = reprlib.Repr()
_shown.maxstring = _shown.maxother = _shown.maxlong = MAX_SHOWN


def config_error(
    error: ValidationError, path: str = "", *, model: type[BaseModel] | None = None, value: Any = None
) -> ConfigError:
    """A pydantic error as ours: about the first thing that is wrong, and a line on each of the others.

    Args:
        path: where `value` stands in the config.
        model: the class that it was read into; with it, unknown keys get the nearest known one.
        value: what was read; with it, the path holds keys of the config alone, not pydantic's own marks.
    """
    wrong: dict[str, list[ErrorDetails]] = {}
    for details in sorted(_said_once(error.errors(include_url=False)), key=_unknown_keys_first):
        wrong.setdefault(_where(details, path, value), []).append(details)
    first, *others = (_one(where, details, model) for where, details in wrong.items())
    return moved(first, "", more="".join(f"{ALSO}{each}" for each in others))


def _one(where: str, wrong: Sequence[ErrorDetails], model: type[BaseModel] | None) -> ConfigError:
    """What is wrong in one place."""
    inner = wrong[0].get("ctx", {}).get("error")
    if isinstance(inner, ConfigError):
        return moved(inner, where)
    said = " or ".join(dict.fromkeys(_said(each, model) for each in wrong))
    found = "" if wrong[0]["type"] in _SAY_ALL else f", found {brief(wrong[0]['input'])}"
    return ConfigError(f"{said}{found}{_meant(wrong[0])}", path=where)


def moved(error: ConfigError, under: str, *, note: str = "", more: str = "") -> ConfigError:
    """The same error, its paths continued to the left, `note` after its first line and `more` after all."""
    first, *others = str(error).removeprefix(f"{error.path}: ").split(ALSO)
    below = f"{ALSO}{under}." if under else ALSO
    message = f"{first}{note}{''.join(below + each for each in others)}{more}"
    path = ".".join(part for part in (under, error.path) if part)
    if isinstance(error, UnknownPluginError):
        return UnknownPluginError(message, name=error.name, installed=error.installed, path=path)
    return ConfigError(message, path=path)


def brief(value: Any) -> str:
    """A value for a message: of bounded length, whatever it is."""
    return _shown.repr(value)


def nearest(name: str, names: Sequence[str]) -> str:
    """`; did you mean ...?` with the name that comes nearest, "" when none is near."""
    near = difflib.get_close_matches(name[:100], names, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else ""


def _said_once(errors: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """Without lists that are too short only because what stands in them was wrong."""
    above = {each["loc"][:at] for each in errors for at in range(len(each["loc"]))}
    return [each for each in errors if each["type"] != "too_short" or each["loc"] not in above]


def _unknown_keys_first(details: ErrorDetails) -> bool:
    return details["type"] != "extra_forbidden"


def _where(details: ErrorDetails, path: str, value: Any) -> str:
    """The dotted path in the config; what pydantic adds to it (names of union members) is left out."""
    steps = [path] if path else []
    loc = details["loc"]
    for at, step in enumerate(loc):
        absent = details["type"] == "missing" and at == len(loc) - 1
        below = _below(value, step)
        if value is None or at == 0 or absent or below is not None:
            steps.append(str(step)[:MAX_SHOWN])
        if below is not None or at == 0:
            value = below[0] if below is not None else None
    return ".".join(steps)


def _below(value: Any, step: str | int) -> tuple[Any] | None:
    if isinstance(value, Mapping):
        return (value[step],) if step in value else None
    if isinstance(value, list | tuple) and isinstance(step, int) and step < len(value):
        return (value[step],)
    return None


_SAY_ALL = ("missing", "extra_forbidden", "value_error", "invalid_key")
"""Errors whose message needs no `found`."""


def _said(details: ErrorDetails, model: type[BaseModel] | None) -> str:
    match details["type"]:
        case "extra_forbidden":
            known = _known_keys(model, details["loc"])
            names = f"; known keys: {', '.join(known)}" if known else ""
            return f"unknown key{nearest(str(details['loc'][-1]), known) or names}"
        case "missing":
            return "missing; it has to be given"
        case "value_error":
            return str(details["ctx"]["error"])
        case _:
            return re.sub(r"valid dictionary( or instance of \w+)?", "table", _bare(details["msg"]))


def _meant(details: ErrorDetails) -> str:
    """The nearest of the names that may stand there, for a value that has to be one of some."""
    if details["type"] != "literal_error":
        return ""
    return nearest(str(details["input"]), re.findall(r"'([^']+)'", str(details["ctx"]["expected"])))


def _bare(message: str) -> str:
    return message.removeprefix("Input ").replace("valid tuple", "list")


def _known_keys(model: type[BaseModel] | None, loc: Sequence[str | int]) -> list[str]:
    """The keys that may stand where `loc` ends, as far as the annotations tell."""
    models = [model] if model is not None else []
    for step in loc[:-1]:
        fields = [each.model_fields[step] for each in models if step in each.model_fields]
        if fields:
            models = _models_in(fields[0].annotation)
    return sorted({name for each in models for name in each.model_fields})


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for each in get_args(annotation) for model in _models_in(each)]
