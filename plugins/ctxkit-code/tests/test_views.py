"""How views of source files are told from other results, on recorded ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ctxkit_code.views import Call, call_of, view_in

RECORDED = {
    each["name"]: each
    for each in map(
        json.loads,
        (Path(__file__).parent / "data" / "results.jsonl").read_text(encoding="utf-8").splitlines(),
    )
}


def asked(**arguments: Any) -> Call:
    return call_of(json.dumps(arguments))


@pytest.mark.parametrize(
    ("name", "path", "language", "first", "last"),
    [
        ("openhands-view", "/workspace/astropy__astropy__1.3/astropy/units/core.py", "python", 1744, 1819),
        ("sweagent-open", "/django__django/django/utils/dateparse.py", "python", 1, 100),
        ("sweagent-edit", "/django__django/django/utils/dateparse.py", "python", 54, 153),
        ("mini-sed", "src/marshmallow/schema.py", "python", 850, 920),
        (
            "pi-read",
            "/Users/dev/workspaces/pi-mono/packages/coding-agent/src/main.ts",
            "typescript",
            640,
            709,
        ),
        ("openhands-edit", "/workspace/astropy__astropy__5.0/astropy/io/ascii/html.py", "python", 345, 361),
    ],
)
def test_recorded_views(name: str, path: str, language: str, first: int, last: int) -> None:
    view = view_in(RECORDED[name]["result"], call_of(RECORDED[name]["arguments"]))
    assert view is not None
    assert (view.path, view.language, view.first, view.last) == (path, language, first, last)


@pytest.mark.parametrize("name", ["mini-cat", "mini-pytest", "openhands-traceback", "pi-tsc"])
def test_recorded_results_that_are_no_views(name: str) -> None:
    assert view_in(RECORDED[name]["result"], call_of(RECORDED[name]["arguments"])) is None


@pytest.mark.parametrize(
    ("command", "path", "first"),
    [
        ("cat a/b.py", "a/b.py", 1),
        ("cd /testbed && sed -n '20,40p' src/x.ts", "src/x.ts", 20),
        ("cat src/x.go | head -50", "src/x.go", 1),
        ("cat src/x.go | sed -n '7,9p'", "src/x.go", 7),
        ("tail -n +30 x.rs", "x.rs", 30),
        ("nl -ba x.c", "x.c", 1),
        ("tail -20 x.py", "", 1),
        ("sed -i 's/a/b/' x.py", "", 1),
        ("cat > x.py << 'EOF'", "", 1),
        ("cat a.py b.py", "", 1),
        ("python x.py", "", 1),
    ],
)
def test_commands_that_show_a_file(command: str, path: str, first: int) -> None:
    call = asked(command=command)
    assert (call.path, call.first) == (path, first)


def test_what_a_reading_tool_is_asked() -> None:
    assert asked(file_path="a.py", offset=40) == Call("a.py", 40)
    assert asked(path="a.py", view_range=[5, 9]) == Call("a.py", 5)
    assert call_of("not JSON") == call_of("[1]") == call_of("[" * 100_000) == Call()


@pytest.mark.parametrize("sign", ["\t", "→", ":", " | "])
def test_numbers_of_any_tool(sign: str) -> None:
    text = "\n".join(f"{number:6}{sign}def f{number}(): pass" for number in range(31, 51))
    view = view_in(text, asked(path="a.py"))
    assert view is not None
    assert (view.first, view.last, view.lines[0]) == (31, 50, "def f31(): pass")


def test_lines_that_a_search_found_are_no_view() -> None:
    text = "\n".join(f"{number * 7}:def f{number}(): pass" for number in range(20))
    assert view_in(text, asked(command="grep -n def a.py")) is None


def test_a_source_without_a_name_is_told_by_its_looks() -> None:
    view = view_in("import os\n" + "def f(a):\n    return a\n\n" * 6, Call())
    assert view is not None
    assert (view.path, view.language, view.first) == ("", "python", 1)


def test_prose_is_none() -> None:
    assert view_in("The class is in the file.\nWe import what we need.\n" * 20, Call()) is None


def test_a_file_that_there_is_no_parser_for_is_none() -> None:
    assert view_in("line\n" * 40, asked(path="README.md")) is None
