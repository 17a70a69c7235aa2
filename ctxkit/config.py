"""Config: what a ContextManager is made from, read from a file or a dict."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic.json_schema import models_json_schema

from ctxkit.config_error import brief, config_error, models_in, moved, placed
from ctxkit.config_files import FileFormat, read_table, write_table
from ctxkit.config_tree import check_tree
from ctxkit.core.budget import REGIONS, Budget, Region
from ctxkit.errors import ConfigError
from ctxkit.providers import FormatName
from ctxkit.registry import SCHEMA_FORMAT, AnyStrategy, installed, strategy_class
from ctxkit.strategy import CompressionStrategy

if TYPE_CHECKING:
    from ctxkit.manager import ContextManager

__all__ = ["Config", "dump", "dumps", "load", "schema"]

SESSION_ARGUMENTS = ("background", "clock", "snapshots")
"""What `Session.open` takes in Python beside what a `ContextManager` takes."""

PUT_IN = "; put it in [strategy]"


class Config(BaseModel):
    """The settings of a `ContextManager`, under the names that it has for them.

    Attributes:
        format: the wire format of the messages.
        model: picks the token counter, and how the model treats its reasoning.
        budget: tokens that a request may take. What it leaves out, or all of it, comes from the model's preset.
        strategy: a kind name, or a table with `kind` and parameters.
        reasoning, repair, strict, plugins: as in `ContextManager`.
        store: address of the store that `Session.from_config` keeps its sessions in; see `open_store`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: FormatName = "openai-chat"
    model: str | None = None
    budget: Budget
    strategy: AnyStrategy = Field(default=cast(Any, "hybrid"), validate_default=True)
    reasoning: Literal["strip", "keep", "refuse"] | None = None
    repair: bool = False
    strict: bool = False
    plugins: list[str] | None = None
    store: str | None = None

    @field_validator("plugins", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return list(value) if isinstance(value, tuple) else value

    @model_validator(mode="before")
    @classmethod
    def _window_of_model(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        try:
            return {**value, "budget": _with_window(value.get("budget", {}), value.get("model"))}
        except ConfigError:
            if value.keys() <= cls.model_fields.keys():
                raise
            return value  # an unknown key is told instead: it may be the window

    def manager(self, **overrides: Any) -> ContextManager:
        """A manager with these settings; `overrides` win, and may have a `counter` too."""
        from ctxkit.manager import ContextManager

        return ContextManager(**{**self.settings(), **overrides})

    def settings(self) -> dict[str, Any]:
        """The arguments of a `ContextManager`."""
        return {name: getattr(self, name) for name in type(self).model_fields if name != "store"}


def _with_window(budget: Any, model: Any) -> Any:
    """The budget, what it leaves out taken from the model."""
    if not isinstance(budget, Mapping) or "window" in budget:
        return budget
    if isinstance(model, str):
        return {**_limits(model), **budget}
    if not budget:
        raise ConfigError("missing; give its `window` and `reply`, or a `model` that is known", path="budget")
    return budget


def _limits(model: str) -> dict[str, int]:
    try:
        known = Budget.for_model(model)
    except ConfigError as error:
        raise moved(error, "model") from None
    return {"window": known.window, "reply": known.reply}


def load(source: str | Path | Mapping[str, Any], *, overrides: Mapping[str, Any] | None = None) -> Config:
    """The config in a file or a dict.

    Args:
        source: a path (.toml, .yaml, .yml, .json; a `pyproject.toml` with `[tool.ctxkit]`, or the directory that it
            is in), or the settings themselves.
        overrides: settings that win over those of the source; tables are merged, but for `strategy`.

    Raises:
        ConfigError: the file cannot be read, or a setting in it cannot be right. `path` is where in the file.
    """
    if isinstance(source, Mapping):
        return _parsed({**source, **_merged(source, overrides or {})})
    if not isinstance(source, str | Path):
        raise ConfigError(f"a config is a path or a dict, not {brief(source)}")
    found = read_table(Path(source))
    try:
        return _parsed({**found.settings, **_merged(found.settings, overrides or {})})
    except ConfigError as error:
        here = error.path == "budget" and (overrides or {}).get("budget")
        given = ", ".join(f"{name} = {brief(value)}" for name, value in here.items()) if here else ""
        beside = f"; {given} comes from the options, everything else from the file" if given else ""
        raise moved(error, found.path, note=f" (in {found.file}{beside})") from None


def _merged(table: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(overrides)
    below = table.get("budget")
    if isinstance(overrides.get("budget"), Mapping) and isinstance(below, Mapping):
        merged["budget"] = {**below, **overrides["budget"]}
    return merged


def _parsed(table: Mapping[str, Any]) -> Config:
    check_tree(table)
    try:
        return Config.model_validate(table)
    except ValidationError as error:
        raise placed(config_error(error, model=Config, value=table), _place) from None


def _place(path: str, hint: str) -> str:
    """Where a key belongs that is unknown at `path`, "" when nowhere; its `hint` is of use beside other strategies."""
    key, in_strategy = path.rpartition(".")[2], path.startswith("strategy.")
    kinds = ", ".join(kind for kind, model in _kinds().items() if key in model.model_fields)
    places = [_outside_of_strategies()[key]] if key in _outside_of_strategies() else []
    if kinds and key not in CompressionStrategy.model_fields:
        places.append(f"it is a parameter of {kinds}{hint if in_strategy else PUT_IN}")
    return "; " + ", or ".join(places) if places else ""


@cache
def _outside_of_strategies() -> Mapping[str, str]:
    """Where a key belongs that is no parameter of a strategy."""
    from ctxkit.manager import ContextManager

    in_models = {
        key: f"it belongs to the `{name}` of {kind}"
        for kind, strategy in _kinds().items()
        for name, field in strategy.model_fields.items()
        for model in models_in(field.annotation)
        if not issubclass(model, CompressionStrategy)
        for key in model.model_fields
    }
    in_python = "it is an argument of {} in Python, and cannot stand in a config"
    return {
        **in_models,
        **dict.fromkeys(CompressionStrategy.model_fields, f"every strategy has it{PUT_IN}"),
        **dict.fromkeys(SESSION_ARGUMENTS, in_python.format("Session.open")),
        **dict.fromkeys(
            signature(ContextManager).parameters, in_python.format("ContextManager and Session.open")
        ),
        **dict.fromkeys(Region.model_fields, "it belongs to a region in [budget.regions]"),
        **dict.fromkeys(REGIONS, "it is a region: it belongs into [budget.regions]"),
        **dict.fromkeys(Budget.model_fields, "it belongs into [budget]"),
        **dict.fromkeys(Config.model_fields, "it belongs at the top, above all tables"),
    }


def _kinds() -> dict[str, type[CompressionStrategy]]:
    """The strategies that are installed and can be imported."""
    return {each.kind: strategy_class(each.kind) for each in installed() if not each.error}


def dump(config: Config) -> dict[str, Any]:
    """What was set in the config, as plain JSON values; `load` gives an equal one back."""
    table: dict[str, Any] = _set_in(config, config.model_dump(mode="json", exclude_unset=True))
    return table


def dumps(config: Config, format: FileFormat = "toml") -> str:
    """The config as the text of a file.

    Raises:
        ConfigError: an unknown format, one that is not installed, or a value that it cannot hold.
    """
    return write_table(dump(config), format)


def _set_in(value: Any, dumped: Any) -> Any:
    """`dumped`, what was set in `value`, with the kind of each strategy and without a None that is the default."""
    match value, dumped:
        case BaseModel(), dict():
            fields = type(value).model_fields
            unset = {name for name, field in fields.items() if dumped.get(name) is None is field.default}
            kind = {"kind": value.kind} if isinstance(value, CompressionStrategy) else {}
            set_ = {key: _set_in(getattr(value, key, None), each) for key, each in dumped.items()}
            return {**kind, **{key: each for key, each in set_.items() if key not in unset}}
        case ((list() | tuple()), list()) if len(value) == len(dumped):
            return [_set_in(*pair) for pair in zip(value, dumped, strict=True)]
        case dict(), dict() if [str(key) for key in value] == list(dumped):  # in files all keys are texts
            return {str(key): _set_in(each, dumped[str(key)]) for key, each in value.items()}
        case _:
            return dumped


def schema() -> dict[str, Any]:
    """The JSON Schema of a config, with the parameters of every strategy that is installed and can be imported."""
    kinds = _kinds()
    models: list[type[BaseModel]] = [Config, *kinds.values()]
    names, made = models_json_schema([(model, "validation") for model in models])
    definitions = made["$defs"]
    references = {kind: names[(each, "validation")] for kind, each in kinds.items()}
    for kind, reference in references.items():
        strategy = definitions[reference["$ref"].rpartition("/")[2]]
        strategy["properties"]["kind"] = {"const": kind}
        strategy["required"] = sorted({"kind", *strategy.get("required", ())})
    whole = definitions.pop("Config")
    _as_written(whole, definitions)
    definitions["Strategy"] = {"oneOf": [{"enum": list(kinds)}, *references.values()]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_with_strategies(whole),
        "$defs": _with_strategies(definitions),
    }


def _as_written(whole: dict[str, Any], definitions: dict[str, Any]) -> None:
    """What validators accept beside the fields' own types: a known model instead of a window, bare numbers as regions."""
    whole.pop("required", None)
    windows = {"required": ["budget"], "properties": {"budget": {"required": ["window"]}}}
    whole["anyOf"] = [{"required": ["model"]}, windows]
    definitions["Budget"].pop("required", None)
    regions = definitions["Budget"]["properties"]["regions"]
    bare = definitions["Region"]["properties"]["max"]["anyOf"]
    regions["additionalProperties"] = {"anyOf": [regions["additionalProperties"], *bare]}


def _with_strategies(value: Any) -> Any:
    """A schema with a reference wherever a strategy may stand."""
    if isinstance(value, dict):
        if value.get("format") == SCHEMA_FORMAT:
            return {"$ref": "#/$defs/Strategy"}
        return {key: _with_strategies(each) for key, each in value.items()}
    return [_with_strategies(each) for each in value] if isinstance(value, list) else value
