"""The tables in docs/architecture.md against every import in ctxkit/ and plugins/, and how long modules and functions are."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
FILES = sorted((ROOT / "ctxkit").rglob("*.py"))


@dataclass(frozen=True)
class Import:
    """One import: of which module, and whether it is made late (in a function, or for types)."""

    module: str
    late: bool


def imports(path: Path) -> Iterator[Import]:
    yield from _inside(ast.parse(path.read_text(encoding="utf-8")), late=False)


def _inside(node: ast.AST, *, late: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import():
                yield from (Import(alias.name, late) for alias in child.names)
            case ast.ImportFrom(module=str(module), level=0):
                yield from (Import(name, late) for name in _modules(module, child.names))
            case ast.ImportFrom():
                raise AssertionError(f"relative import in line {child.lineno}")
        yield from _inside(child, late=late or _is_late(child))


def _modules(module: str, names: list[ast.alias]) -> list[str]:
    """`from ctxkit import core` imports `ctxkit.core`."""
    return [f"ctxkit.{each.name}" for each in names] if module == "ctxkit" else [module]


def _is_late(node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return True
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def part_of(path: Path) -> str:
    return path.relative_to(ROOT / "ctxkit").with_suffix("").parts[0]


def rows(heading: str) -> list[list[str]]:
    """The rows of the table under a heading, without its head."""
    section = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def named(cell: str) -> tuple[set[str], set[str]]:
    """What a cell names, and what of it in brackets."""
    return set(re.findall(r"`(\w+)`", cell)), set(re.findall(r"\(`(\w+)`\)", cell))


PARTS = {row[0].strip("`"): named(row[2]) for row in rows("Who may import whom")}
OUTSIDE = {row[0].strip("`"): named(row[1]) for row in rows("What is imported from outside")}


def test_the_table_names_every_part_once_and_no_other() -> None:
    there = {part_of(path) for path in FILES} - {"__init__"}
    assert set(PARTS) == there
    assert len(rows("Who may import whom")) == len(there)


def test_the_table_allows_no_circle_of_early_imports() -> None:
    done: set[str] = set()
    while ready := {part for part, (all_, late) in PARTS.items() if part not in done and all_ - late <= done}:
        done |= ready
    assert done == set(PARTS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT / "ctxkit")))
def test_imports_inside_ctxkit(path: Path) -> None:
    part = part_of(path)
    for each in imports(path):
        if not each.module.startswith("ctxkit."):
            continue
        other = each.module.split(".")[1]
        if part == "__init__":
            assert each.late, f"ctxkit/__init__.py imports {each.module} at once"
        elif other != part:
            allowed, only_late = PARTS[part]
            assert other in allowed, f"{part} imports {other}"
            assert each.late or other not in only_late, f"{part} imports {other} early"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT / "ctxkit")))
def test_imports_from_outside(path: Path) -> None:
    part = part_of(path)
    for each in imports(path):
        package = each.module.split(".")[0]
        if package == "ctxkit" or package in sys.stdlib_module_names:
            continue
        assert package in OUTSIDE, f"{part} imports {package}"
        allowed, only_late = OUTSIDE[package]
        assert part in allowed, f"{part} imports {package}"
        assert each.late or part not in only_late, f"{part} imports {package} early"


def test_the_tables_allow_nothing_that_is_not_used() -> None:
    allowed = {(part, other): other in late for part, (all_, late) in PARTS.items() for other in all_}
    allowed |= {(part, other): part in late for other, (all_, late) in OUTSIDE.items() for part in all_}
    made: dict[tuple[str, str], bool] = {}
    for path in FILES:
        for each in imports(path):
            package, _, rest = each.module.partition(".")
            pair = part_of(path), rest.split(".")[0] if package == "ctxkit" else package
            made[pair] = made.get(pair, True) and each.late
    assert sorted(allowed.items() - made.items()) == []


def test_the_core_imports_from_what_stands_before() -> None:
    line = PAGE.split("imports only from those before it:")[1].split("##")[0]
    order = re.findall(r"`(\w+)`", line)
    assert set(order) == {path.stem for path in (ROOT / "ctxkit" / "core").glob("*.py")} - {"__init__"}
    for at, name in enumerate(order):
        for each in imports(ROOT / "ctxkit" / "core" / f"{name}.py"):
            if each.module.startswith("ctxkit.core."):
                assert each.module.split(".")[2] in order[:at], f"core.{name} imports {each.module}"


def test_the_core_is_pure() -> None:
    impure = {"asyncio", "datetime", "io", "os", "pathlib", "random", "socket", "threading", "time", "uuid"}
    for path in (ROOT / "ctxkit" / "core").glob("*.py"):
        found = {each.module.split(".")[0] for each in imports(path)} & impure
        assert not found, f"{path.name} imports {found}"
        assert "await " not in path.read_text(encoding="utf-8")


def test_plugins_import_public_names_alone() -> None:
    public = {"ctxkit", "ctxkit.testing"}
    for path in (ROOT / "plugins").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        froms = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        plain = [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
        for module in (*froms, *plain):
            if module is not None and module.split(".")[0] == "ctxkit":
                assert module in public, f"{path.relative_to(ROOT)} imports {module}"


LONGEST_MODULE, LONGEST_FUNCTION = 500, 60
"""Lines."""


def test_no_module_and_no_function_is_long() -> None:
    found: list[str] = []
    for path in (*FILES, *(ROOT / "plugins").rglob("*.py")):
        text, name = path.read_text(encoding="utf-8"), path.relative_to(ROOT)
        if (lines := text.count("\n")) > LONGEST_MODULE:
            found.append(f"{name} has {lines} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                found += [f"{name}: {node.name} has {lines} lines"] * (lines > LONGEST_FUNCTION)
    assert found == []
