"""What pydantic says of a wrong setting, as a ConfigError: where it stands, what was found, what would be right."""

from __future__ import annotations

import difflib
import re
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ctxkit.errors import ConfigError, UnknownPluginError

__all__ = ["brief", "config_error", "models_in", "moved", "nearest", "placed", "together"]

ALSO = "\n  also wrong: "
"""Stands before each further mistake in a message; what comes from outside stands there as its `repr`, on one line."""

UNKNOWN = ": unknown key"
"""Stands between the path to such a key and a hint."""

MAX_SHOWN = 60
"""Characters of a wrong value that a message shows."""

MOST_NEAR = 3
"""Names that are suggested for one."""

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
    return together(_one(where, details, model) for where, details in wrong.items())


def together(errors: Iterable[ConfigError]) -> ConfigError:
    """The first of some errors, with a line on each of the others."""
    first, *others = errors
    return moved(first, "", more="".join(f"{ALSO}{each}" for each in others))


def _one(where: str, wrong: Sequence[ErrorDetails], model: type[BaseModel] | None) -> ConfigError:
    """What is wrong in one place."""
    inner = wrong[0].get("ctx", {}).get("error")
    if isinstance(inner, ConfigError):
        return moved(inner, where)
    first, *others = dict.fromkeys(_said(each, model) for each in wrong)
    said = " or ".join([first, *(each.removeprefix("should be ") for each in others)])
    if others and any(each["type"] in _OF_SHARES for each in wrong):
        said = SHARE
    found = "" if wrong[0]["type"] in _SAY_ALL else f", found {brief(wrong[0]['input'])}"
    return ConfigError(f"{said}{found}{_meant(wrong[0])}", path=where)


def moved(error: ConfigError, under: str, *, note: str = "", more: str = "") -> ConfigError:
    """The same error, its paths continued to the left, `note` after its first line and `more` after all."""
    first, *others = str(error).removeprefix(f"{error.path}: ").split(ALSO)
    below = f"{ALSO}{under}." if under else ALSO
    message = f"{first}{note}{''.join(below + each for each in others)}{more}"
    return _again(error, message, ".".join(part for part in (under, error.path) if part))


def placed(error: ConfigError, place: Callable[[str, str], str]) -> ConfigError:
    """The same error with what `place` says of each unknown key, if it says anything.

    Args:
        place: takes the path to the key and what is said of it so far: the nearest key, or all that are known.
    """
    lines = []
    for line in str(error).split(ALSO):
        path, unknown, hint = line.partition(UNKNOWN)
        told = hint if hint in OWN_HINTS.values() else place(path, hint) or hint
        lines.append(f"{path}{unknown}{told}" if unknown else line)
    return _again(error, ALSO.join(lines).removeprefix(f"{error.path}: "), error.path)


def _again(error: ConfigError, message: str, path: str) -> ConfigError:
    """An error of the same type with another message."""
    if isinstance(error, UnknownPluginError):
        return UnknownPluginError(message, name=error.name, installed=error.installed, path=path)
    return ConfigError(message, path=path)


def brief(value: Any) -> str:
    """A value for a message: of bounded length, whatever it is."""
    return _shown.repr(value)


def nearest(name: str, names: Sequence[str]) -> str:
    """`; did you mean ...?` with the name that comes nearest, or those that have it as a word, "" when none is near."""
    word = f"-{name[:100].lower().replace('_', '-')}-"
    with_it = [each for each in names if word in f"-{each.replace('_', '-')}-"]
    near = difflib.get_close_matches(name[:100], names, n=1) or with_it
    return f"; did you mean {' or '.join(near[:MOST_NEAR])}?" if near else ""


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


SHARE = "should be a whole number from 1, or a share above 0 and up to 1"
_OF_SHARES = ("greater_than", "less_than_equal")
"""What is said of a setting that may be either, and the errors that tell it from others: only a share has such bounds."""

_SAY_ALL = ("missing", "extra_forbidden", "value_error", "invalid_key")
"""Errors whose message needs no `found`."""


OWN_HINTS = {
    "api_key": "; a key never stands in a config: put it into an environment variable, and name that in api_key_env",
    "max_tokens": "; did you mean window (input and reply together) or reply?",
}
"""What is said of unknown keys that are more than a slip."""


def _hint(key: str, known: Sequence[str]) -> str:
    """What may be meant by an unknown key, where these are known."""
    if key in OWN_HINTS and (key != "max_tokens" or "window" in known):
        return OWN_HINTS[key]
    names = f"; known keys: {', '.join(known)}" if known else ""
    return nearest(key, known) or names


def _said(details: ErrorDetails, model: type[BaseModel] | None) -> str:
    match details["type"]:
        case "extra_forbidden":
            return f"{UNKNOWN[2:]}{_hint(str(details['loc'][-1]), _known_keys(model, details['loc']))}"
        case "missing":
            return "missing; it has to be given"
        case "value_error":
            return str(details["ctx"]["error"])
        case _:
            return _plain(details["msg"])


def _meant(details: ErrorDetails) -> str:
    """The nearest of the names that may stand there, for a value that has to be one of some."""
    if details["type"] != "literal_error":
        return ""
    return nearest(str(details["input"]), re.findall(r"'([^']+)'", str(details["ctx"]["expected"])))


_PLAIN = (
    (r"^(Input|String|Tuple|List|Set|Frozenset|Dictionary) (?=should )", ""),
    (r" after validation, not \d+$|, unable to .*$", ""),
    (r"a valid dictionary or instance of Region", "tokens such as 500, a share such as 0.1, or a table"),
    (r"valid dictionary( or instance of \w+)?", "table"),
    (r"valid (tuple|set|frozenset|list)\b", "list"),
    (r"a valid boolean", "true or false"),
    (r"match pattern '\^https\?://'", "begin with http:// or https://"),
)
"""Words of pydantic that a config file does not know, and what is said instead."""


def _plain(message: str) -> str:
    for words, instead in _PLAIN:
        message = re.sub(words, instead, message)
    return message


def _known_keys(model: type[BaseModel] | None, loc: Sequence[str | int]) -> list[str]:
    """The keys that may stand where `loc` ends, as far as the annotations tell."""
    models = [model] if model is not None else []
    for step in loc[:-1]:
        fields = [each.model_fields[step] for each in models if step in each.model_fields]
        if fields:
            models = models_in(fields[0].annotation)
    return sorted({name for each in models for name in each.model_fields})


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """The models in an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for each in get_args(annotation) for model in models_in(each)]
