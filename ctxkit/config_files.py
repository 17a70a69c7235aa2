"""Config files: TOML, YAML, JSON and `[tool.ctxkit]` of a pyproject.toml, read into and written from plain tables."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from ctxkit.config_error import brief
from ctxkit.config_tree import check_tree
from ctxkit.errors import ConfigError, without_extra

__all__ = ["FileFormat", "Table", "read_table", "write_table"]

FileFormat = Literal["toml", "yaml", "json"]

PYPROJECT = "pyproject.toml"


@dataclass(frozen=True, slots=True)
class Table:
    """Settings, the file they are from, and the dotted path under which they stand in it ("tool.ctxkit")."""

    settings: dict[str, Any]
    file: Path
    path: str = ""


def read_table(file: Path) -> Table:
    """The settings in a file.

    Args:
        file: a .toml, .yaml, .yml or .json file, or a directory with a pyproject.toml.

    Raises:
        ConfigError: there is no such file, it is not of its format, or it holds no table.
    """
    file = file / PYPROJECT if file.is_dir() else file
    read = _READERS.get(file.suffix.lower())
    if read is None:
        raise ConfigError(f"{file}: a config file ends in {', '.join(_READERS)}")
    try:
        value = read(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror or error}") from error
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None
    except ValueError as error:
        raise ConfigError(f"{file} is no {file.suffix[1:].upper()}: {error}") from None
    except RecursionError:
        raise ConfigError(f"{file}: nested too deeply for a config") from None
    if not isinstance(value, dict):
        raise ConfigError(f"{file}: a config is a table of settings, not {brief(value)}")
    return _tool_table(value, file) if file.name == PYPROJECT else Table(value, file)


def _tool_table(value: dict[str, Any], file: Path) -> Table:
    tools = value.get("tool")
    found = tools.get("ctxkit") if isinstance(tools, dict) else None
    if not isinstance(found, dict):
        raise ConfigError(f"{file} has no table [tool.ctxkit]")
    return Table(found, file, "tool.ctxkit")


def _from_json(text: str) -> Any:
    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is no JSON number")

    return json.loads(text, object_pairs_hook=_without_doubles, parse_constant=refuse)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _refuse_double([key for key, _ in pairs], "")
    return dict(pairs)


def _refuse_double(names: list[str], where: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{where}the key {brief(name)} stands twice in one table")
        seen.add(name)


def _from_yaml(text: str) -> Any:
    yaml = _yaml()
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        check_tree(node, inside=_inside_node)
        return None if node is None else loader.construct_document(node)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    finally:
        loader.dispose()


def _inside_node(node: Any) -> Iterable[Any]:
    """What a YAML node is made of, before aliases and `<<` merges multiply it."""
    value = getattr(node, "value", None)
    if not isinstance(value, list):
        return ()
    if not value or not isinstance(value[0], tuple):
        return value
    names = [key.value for key, _ in value if isinstance(key.value, str)]
    _refuse_double(names, f"line {node.start_mark.line + 1}: ")
    return [each for pair in value for each in pair]


def _yaml() -> ModuleType:
    try:
        import yaml
    except ImportError:
        raise without_extra("YAML needs PyYAML", "yaml") from None
    return yaml


_READERS: dict[str, Callable[[str], Any]] = {
    ".toml": tomllib.loads,
    ".yaml": _from_yaml,
    ".yml": _from_yaml,
    ".json": _from_json,
}


def write_table(table: Mapping[str, Any], format: FileFormat) -> str:
    """A table of plain values as the text of a config file.

    Raises:
        ConfigError: an unknown format, or a value that the format cannot hold (TOML has no null).
    """
    match format:
        case "json":
            return json.dumps(table, indent=2) + "\n"
        case "yaml":
            return str(_yaml().safe_dump(dict(table), sort_keys=False, allow_unicode=True))
        case "toml":
            return _toml(table)
        case _:
            raise ConfigError(f"a config is written as toml, yaml or json, not {brief(format)}")


def _toml(table: Mapping[str, Any]) -> str:
    """TOML with one [table] for each table at the top, all below inline."""
    flat = [f"{_key(key)} = {_inline(value, key)}" for key, value in table.items() if not _is_table(value)]
    parts = ["\n".join(flat)] if flat else []
    for name, inner in table.items():
        if _is_table(inner):
            lines = (f"{_key(key)} = {_inline(value, f'{name}.{key}')}" for key, value in inner.items())
            parts.append("\n".join([f"[{_key(name)}]", *lines]))
    return "\n\n".join(parts) + "\n"


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def _key(key: str) -> str:
    plain = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
    return key if plain else _string(key, key)


def _inline(value: Any, path: str) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _string(value, path)
        case int() | float():
            return repr(value)
        case list():
            return f"[{', '.join(_inline(each, path) for each in value)}]"
        case dict():
            pairs = (f"{_key(key)} = {_inline(each, f'{path}.{key}')}" for key, each in value.items())
            return f"{{ {', '.join(pairs)} }}" if value else "{}"
        case _:
            raise ConfigError(f"TOML cannot hold {brief(value)}; write YAML or JSON", path=path)


def _string(value: str, path: str) -> str:
    """A basic string: JSON's escapes are TOML's too, but for DEL and lone surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ConfigError("TOML cannot hold a lone surrogate; write JSON", path=path) from None
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
