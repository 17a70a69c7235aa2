"""`ctxkit strategies`: what is installed, and what the parameters of one are."""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from ctxkit.cli.outputs import say
from ctxkit.cli.render import Style, plain, steps_of
from ctxkit.registry import SCHEMA_FORMAT, Installed, installed, strategy_class
from ctxkit.strategy import CompressionStrategy

__all__ = ["HELP", "add", "run"]

HELP = "list the installed strategies, or the parameters of one"

MOST = 500
"""Characters of what is said of a parameter."""

TYPES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "boolean": "true or false",
    "object": "a table",
}
"""Types of JSON in words."""

BOUNDS = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "up to", "exclusiveMaximum": "below"}


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="tell the parameters of this one")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0, also when some cannot be used: they are listed with the reason.

    Raises:
        ConfigError: nothing of the name is installed, or it cannot be used.
    """
    style = Style.of(sys.stdout)
    if args.name is not None:
        _tell(strategy_class(args.name), as_json=args.json, style=style)
        return 0
    found = installed()
    if args.json:
        say(json.dumps([asdict(each) for each in found], indent=2))
        return 0
    width = max((len(each.kind) for each in found), default=0)
    for each in found:
        say(f"{style.bold(f'{plain(each.kind):{width}}')}  {_said(each, style)}")
    if not found:
        say("no strategy is installed; install ctxkit-core with pip, which registers its own")
    return 0


def _said(each: Installed, style: Style) -> str:
    what = style.bad(f"cannot be used: {plain(each.error)}") if each.error else plain(each.summary)
    return f"{what} {style.dim(f'({plain(each.origin)} {plain(each.version)})')}"


def _tell(found: type[CompressionStrategy], *, as_json: bool, style: Style) -> None:
    kind = found.model_fields["kind"].default
    (entry,) = (each for each in installed() if each.kind == kind)
    schemas = found.model_json_schema()["properties"]
    common = {name: schemas.pop(name) for name in CompressionStrategy.model_fields}
    del common["kind"]
    schemas |= common
    if as_json:
        say(json.dumps({**asdict(entry), "parameters": schemas}, indent=2))
        return
    say(f"{style.bold(plain(kind))}  {_said(entry, style)}")
    meanings = dict(_meanings(found))
    for name, schema in schemas.items():
        default = _default(found.model_fields[name])
        say(f"  {style.bold(plain(name))}  {plain(_type(schema), MOST)}; {plain(default, MOST)}")
        if name in meanings:
            say(style.dim(f"      {plain(meanings[name], MOST)}"))


def _meanings(found: type[CompressionStrategy]) -> Iterator[tuple[str, str]]:
    """What the docstrings of a strategy and of every strategy say of their parameters."""
    for each in (CompressionStrategy, found):
        listed = inspect.cleandoc(each.__doc__ or "").partition("\nAttributes:\n")[2].split("\n\n")[0]
        for names, said in re.findall(r"^ {4}(\w[\w, ]*): (.*(?:\n {5,}.*)*)", listed, re.MULTILINE):
            yield from ((name, " ".join(said.split())) for name in names.split(", "))


def _default(field: Any) -> str:
    if field.is_required():
        return "has to be given"
    value = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(value, CompressionStrategy):
        return f"by default {steps_of(value.model_dump())}"
    if isinstance(value, set | frozenset):
        value = sorted(value)
    return "nothing by default" if value in (None, "", (), []) else f"by default {_json(value)}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _type(schema: dict[str, Any]) -> str:
    """What a value may be, in words."""
    if schema.get("format") == SCHEMA_FORMAT:
        return "a strategy"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(filter(None, map(_type, schema["anyOf"]))))
    if "enum" in schema:
        return " or ".join(map(_json, schema["enum"]))
    if schema.get("type") == "array":
        return f"a list, each {_type(schema.get('items', {}))}"
    bounds = (f" {words} {schema[name]:g}" for name, words in BOUNDS.items() if name in schema)
    return TYPES.get(schema.get("type", "object"), "") + "".join(bounds)
