"""What docs/api-stability.md calls stable, against tests/data/api.json: nothing of it goes or changes by accident.

What is new is no break; `CTXKIT_WRITE=1` puts it into the file, and every change that was made on purpose.
"""

from __future__ import annotations

import argparse
import enum
import importlib
import inspect
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ctxkit.cli import _parser
from ctxkit.config import Config
from ctxkit.core.budget import Budget, Region
from ctxkit.hooks import GROUP, Hooks
from ctxkit.registry import STRATEGIES, installed, strategy_class
from ctxkit.report import EditReport, FailureReport, RegionReport, Report

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "tests" / "data" / "api.json"
PAGE = (ROOT / "docs" / "api-stability.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
WRITE = bool(os.environ.get("CTXKIT_WRITE"))
MODULES = ("ctxkit", "ctxkit.testing")
MADE_BY_CTXKIT = (
    "Explanation",
    "Item",
    "Part",
    "Question",
    "Report",
    "Request",
    "Services",
    "Turn",
    "Unit",
    "View",
)
"""Classes that nobody else makes: a field more in one of them is no break, also when it has no default."""

Tree = dict[str, Any]


def api() -> Tree:
    """All that is stable, as plain values: the public names, hooks, config keys, commands, reports."""
    told = (Report, EditReport, FailureReport, RegionReport)
    return {
        **{name: _module(name) for name in MODULES},
        "other modules": dict(_other_modules()),
        "entry point groups": [GROUP, STRATEGIES],
        "hooks": {
            name: _signature(value) for name, value in vars(Hooks).items() if name.startswith("ctxkit_")
        },
        "config": {each.__name__: _keys(each) for each in (Config, Budget, Region)},
        "strategies": {
            each.kind: _keys(strategy_class(each.kind))
            for each in installed()
            if each.origin == "ctxkit-core"
        },
        "commands": dict(_commands(_parser(), "ctxkit")),
        "report": {each.__name__: _keys(each) for each in told},
    }


def _module(name: str) -> Tree:
    module = importlib.import_module(name)
    return {each: _described(getattr(module, each)) for each in module.__all__}


def _other_modules() -> Iterator[tuple[str, Tree]]:
    """What the reference lists of other modules, but for those that may still change."""
    for name, told in re.findall(r"^\| \[(ctxkit\.[\w.]+)\]\([^)]+\) \| (.+) \|$", REFERENCE, re.MULTILINE):
        if name not in MODULES and "may still change" not in told:
            module = importlib.import_module(name)
            yield name, {each: _described(getattr(module, each)) for each in re.findall(r"`(\w+)`", told)}


def _described(value: Any) -> Any:
    if inspect.isclass(value):
        return _class(value)
    if inspect.isfunction(value):
        return _signature(value)
    if isinstance(value, tuple):
        return sorted(each if isinstance(each, str) else each.__name__ for each in value)
    return sorted(str(getattr(each, "__name__", each)) for each in get_args(value)) or type(value).__name__


def _class(value: type) -> Tree:
    if issubclass(value, enum.Enum):
        return {"members": [each.name for each in value]}
    bases = [
        base.__name__
        for base in value.__mro__[1:-1]
        if base.__module__.startswith("ctxkit") or issubclass(base, Exception)
    ]
    names = {
        name
        for base in value.__mro__
        if base.__module__.startswith("ctxkit")
        for name, each in vars(base).items()
        if not name.startswith("_")
        and (callable(each) or isinstance(each, classmethod | property | cached_property))
    }
    made = not (is_dataclass(value) or issubclass(value, BaseModel)) and inspect.isfunction(value.__init__)
    found = {name: inspect.getattr_static(value, name) for name in sorted(names)}
    found |= {"__init__": value.__init__} if made else {}  # type: ignore[misc]
    fields = {"fields": _keys(value)} if is_dataclass(value) or issubclass(value, BaseModel) else {}
    return {"bases": bases, **fields, "has": {name: _member(each) for name, each in found.items()}}


def _member(value: Any) -> Any:
    if isinstance(value, classmethod):
        return _signature(value.__func__)
    return _signature(value) if inspect.isfunction(value) else "attribute"


def _keys(value: type) -> Tree:
    """The fields of a dataclass or model: their types as written, and their defaults."""
    types: dict[str, Any] = {}
    for base in reversed(value.__mro__):
        types |= inspect.get_annotations(base) if base.__module__.startswith("ctxkit") else {}
    if issubclass(value, BaseModel):
        return {name: f"{types[name]}{_of_model(each)}" for name, each in value.model_fields.items()}
    own = [each for each in fields(value) if not each.name.startswith("_")]  # type: ignore[arg-type]
    return {each.name: f"{types[each.name]}{_of_dataclass(each)}" for each in own}


def _of_dataclass(field: Field[Any]) -> str:
    if field.default is not MISSING:
        return f" = {field.default!r}"
    return "" if field.default_factory is MISSING else " = ..."


def _of_model(field: FieldInfo) -> str:
    if field.is_required():
        return ""
    return (
        " = ..." if field.default_factory or isinstance(field.default, BaseModel) else f" = {field.default!r}"
    )


def _signature(function: Callable[..., Any]) -> Tree:
    """Parameters and what is returned. A place is told of those alone that can be given by it."""
    signature = inspect.signature(function)
    parameters = {}
    for at, each in enumerate(signature.parameters.values()):
        place = f"{at}: " if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) else ""
        stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        default = "" if each.default is each.empty else f" = {each.default!r}"
        parameters[f"{stars}{each.name}"] = f"{place}{_type(each.annotation)}{default}"
    return {"parameters": parameters, "returns": _type(signature.return_annotation)}


def _type(annotation: Any) -> str:
    return "" if annotation is inspect.Signature.empty else str(annotation)


def _commands(parser: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, list[str]]]:
    flags = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, below in action.choices.items():
                yield from _commands(below, f"{name} {word}")
        else:
            flags += action.option_strings or [str(action.metavar)]
    yield name, sorted(flags)


def breaks(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """What somebody who relies on `old` would stumble over in `new`."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key in new:
                yield from breaks(value, new[key], f"{path}.{key}".strip("."))
            else:
                yield f"{path}.{key} is gone".removeprefix(".")
        *_, owner, last = ("", *path.split("."))
        if last == "parameters" or (last == "fields" and owner not in MADE_BY_CTXKIT):
            for key in new.keys() - old.keys():
                if " = " not in new[key] and not key.startswith("*"):
                    yield f"{path}.{key} is new and has to be given"
    elif isinstance(old, list) and isinstance(new, list):
        yield from (f"{path}: {each} is gone" for each in old if each not in new)
    elif old != new:
        yield f"{path} was {old!r} and is {new!r}"


def test_nothing_that_is_stable_has_changed() -> None:
    now = api()
    if WRITE:
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    found = list(breaks(json.loads(FILE.read_text(encoding="utf-8")), now))
    assert not found, (
        "this breaks those who rely on it:\n  "
        + "\n  ".join(found)
        + "\nIf it is meant, say so in CHANGELOG.md as "
        "docs/api-stability.md asks, and run CTXKIT_WRITE=1 python -m pytest tests/test_api.py"
    )


FUNCTION = {"parameters": {"text": "0: str", "most": "int = 3"}, "returns": "str"}


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ({"f": FUNCTION, "g": FUNCTION}, []),
        ({"f": FUNCTION | {"parameters": {**FUNCTION["parameters"], "by": "str = ''"}}}, []),
        ({"f": FUNCTION | {"parameters": {**FUNCTION["parameters"], "**more": "Any"}}}, []),
        ({}, ["f is gone"]),
        ({"f": FUNCTION | {"parameters": {"text": "0: str"}}}, ["f.parameters.most is gone"]),
        ({"f": FUNCTION | {"returns": "bytes"}}, ["f.returns was 'str' and is 'bytes'"]),
        (
            {"f": FUNCTION | {"parameters": {**FUNCTION["parameters"], "by": "str"}}},
            ["f.parameters.by is new and has to be given"],
        ),
        (
            {"f": FUNCTION | {"parameters": {"most": "int = 3", "text": "1: str"}}},
            ["f.parameters.text was '0: str' and is '1: str'"],
        ),
    ],
)
def test_what_counts_as_a_break(new: Tree, said: list[str]) -> None:
    old = {"f": FUNCTION}
    assert list(breaks(old, new)) == said


def test_a_flag_a_member_a_field() -> None:
    assert list(breaks({"x": ["--a", "--b"]}, {"x": ["--a", "--c"]})) == ["x: --b is gone"]
    more = {"fields": {"units": "tuple", "size": "int"}}
    assert list(breaks({"Drop": {"fields": {"units": "tuple"}}}, {"Drop": more})) == [
        "Drop.fields.size is new and has to be given"
    ]
    assert list(breaks({"View": {"fields": {"units": "tuple"}}}, {"View": more})) == []


def test_the_snapshot_holds_what_the_page_calls_stable() -> None:
    held = json.loads(FILE.read_text(encoding="utf-8"))
    assert set(held) == set(re.findall(r"^\| [^|]+ \| `([^`]+)` \|", PAGE, re.MULTILINE))
    assert {"plan", "timeout_s", "kind"} <= set(held["ctxkit"]["CompressionStrategy"]["fields"]) | set(
        held["ctxkit"]["CompressionStrategy"]["has"]
    )
    assert held["ctxkit"]["CompressionStrategy"]["has"]["plan"]["parameters"] == {
        "self": "0: ",
        "view": "1: View",
        "services": "2: Services",
    }
    assert "--examples" in held["commands"]["ctxkit plugin check"]
    assert "input_filter" in held["other modules"]["ctxkit.openai_agents"]["CtxkitSession"]["has"]


def test_nothing_in_the_snapshot_is_told_by_address() -> None:
    assert " at 0x" not in FILE.read_text(encoding="utf-8")


def test_the_version_says_that_it_is_not_yet_one() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert re.fullmatch(r"0\.\d+\.\d+", table["project"]["version"])
    assert "before 1.0" in PAGE
