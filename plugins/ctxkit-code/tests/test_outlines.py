"""Outlines of nine languages, of pieces of files, and of texts that are no source."""

from __future__ import annotations

import pytest
from ctxkit_code.languages import Parsing
from ctxkit_code.outlines import outline
from hypothesis import given
from hypothesis import strategies as st

SOURCES = {
    "python": (
        'import os\n\nLIMIT: int = 3\n\n\nclass Box(Base):\n    """A box."""\n\n    size = 1\n\n    @property\n'
        '    def name(self) -> str:\n        # a comment\n        return "x"\n\n\nasync def go(a: int, *, b: str = "") -> None:\n    pass\n    pass',
        [
            "1:import os",
            "3:LIMIT: int = 3",
            "6:class Box(Base):",
            "9:    size = 1",
            "11:    @property",
            "12:    def name(self) -> str: 14",
            '17:async def go(a: int, *, b: str = "") -> None: 19',
        ],
    ),
    "javascript": (
        'const a = require("a");\nclass A extends B {\n  run(x) {\n    go();\n  }\n}\nexport const f = async (x) => {\n  return x;\n};',
        [
            '1:const a = require("a");',
            "2:class A extends B {",
            "3:  run(x) { 5",
            "7:export const f = async (x) => { 9",
        ],
    ),
    "typescript": (
        "export interface P<T> {\n  run(a: number): Promise<T>;\n}\nexport type U = 1 | 2;\nfunction g(a: string): void {\n  a;\n}",
        [
            "1:export interface P<T> {",
            "2:  run(a: number): Promise<T>;",
            "4:export type U = 1 | 2;",
            "5:function g(a: string): void { 7",
        ],
    ),
    "tsx": (
        "export function App(p: Props): JSX.Element {\n  return <b>{p.x}</b>;\n}",
        ["1:export function App(p: Props): JSX.Element { 3"],
    ),
    "go": (
        'package lru\n\nimport (\n\t"fmt"\n)\n\ntype Cache struct {\n\tn int\n}\n\nfunc (c *Cache) Get(k int) (int, bool) {\n\treturn 0, false\n}',
        [
            "1:package lru",
            "3:import (",
            '4:\t"fmt"',
            "5:)",
            "7:type Cache struct {",
            "8:\tn int",
            "9:}",
            "11:func (c *Cache) Get(k int) (int, bool) { 13",
        ],
    ),
    "java": (
        "package a.b;\nimport java.util.*;\npublic class A {\n  static final int X = 1;\n  @Override\n  public int f(int a,\n      int b) {\n    return 1;\n  }\n}",
        [
            "1:package a.b;",
            "2:import java.util.*;",
            "3:public class A {",
            "4:  static final int X = 1;",
            "5:  @Override",
            "6:  public int f(int a,",
            "7:      int b) { 9",
        ],
    ),
    "rust": (
        "use std::fmt;\npub struct S {\n    a: u8,\n}\nimpl S {\n    pub fn new(a: u8) -> Self {\n        S { a }\n    }\n}",
        [
            "1:use std::fmt;",
            "2:pub struct S {",
            "3:    a: u8,",
            "5:impl S {",
            "6:    pub fn new(a: u8) -> Self { 8",
        ],
    ),
    "c": (
        "#include <stdio.h>\n#ifdef X\n#define N 3\n#endif\nstatic int f(int a,\n             char *b)\n{\n  return 1;\n}",
        [
            "1:#include <stdio.h>",
            "3:#define N 3",
            "5:static int f(int a,",
            "6:             char *b) 9",
        ],
    ),
    "cpp": (
        "namespace lru {\ntemplate <typename K>\nclass Cache {\n  bool get(K key) const {\n    return true;\n  }\n};\n}",
        [
            "1:namespace lru {",
            "2:template <typename K>",
            "3:class Cache {",
            "4:  bool get(K key) const { 6",
        ],
    ),
}


def shown(text: str, language: str) -> list[str]:
    lines = outline(text.split("\n"), language, Parsing())
    return [
        f"{line.at + 1}:{line.text}" + (f" {line.until + 1}" if line.until >= 0 else "") for line in lines
    ]


@pytest.mark.parametrize("language", SOURCES)
def test_what_is_declared_stays_and_bodies_go(language: str) -> None:
    source, expected = SOURCES[language]
    assert shown(source, language) == expected


def test_a_piece_that_begins_inside_a_method_has_the_methods_that_follow() -> None:
    piece = "        value = 1\n        return value\n\n    def next(self) -> int:\n        return 2\n\n\ndef last():\n    pass\n    pass"
    assert shown(piece, "python") == ["4:    def next(self) -> int: 5", "8:def last(): 10"]


def test_a_piece_of_a_body_declares_nothing() -> None:
    assert (
        shown("        value = 1\n        if value:\n            other = 2\n        return other", "python")
        == []
    )


def test_declarations_behind_an_error_are_found() -> None:
    assert "4:def good(a): 6" in shown("x = = 1\n)\n\ndef good(a):\n    b = a\n    return b", "python")


@pytest.mark.parametrize(
    "text",
    [
        "total 144\ndrwxr-xr-x 1 root root 4096 May 6 .git\n" * 9,
        "我对青霉素过敏。\n" * 20,
        "# Notes\n\n- one\n- two\n" * 9,
    ],
)
def test_what_is_no_source_declares_nothing(text: str) -> None:
    assert shown(text, "python") == []


def test_a_long_constant_is_its_first_line() -> None:
    assert shown("TABLE = {\n" + '    "a": 1,\n' * 9 + "}\n", "python") == ["1:TABLE = { 11"]


@given(
    st.text(alphabet="(){}[]<>:;,.=\n \"'#ab1defclasifn过", max_size=300), st.sampled_from(sorted(SOURCES))
)
def test_whatever_the_text_lines_are_those_of_the_source(text: str, language: str) -> None:
    lines = text.split("\n")
    found = outline(lines, language, Parsing())
    assert [line.at for line in found] == sorted({line.at for line in found})
    assert all(lines[line.at].rstrip() == line.text for line in found)
    assert all(line.until == -1 or line.at < line.until < len(lines) for line in found)


def test_a_text_that_traps_the_parser_is_given_up_on() -> None:
    parsing = Parsing()
    assert parsing.tree(b"/* " * 6_000, "go") is None
    assert parsing.tree(b"package a\n", "go") is not None


def test_many_such_texts_use_up_what_there_is() -> None:
    parsing = Parsing(steps=600)
    for _ in range(4):
        assert parsing.tree(b"/* " * 6_000, "go") is None
    assert parsing.tree(b"package a\n", "go") is None


def test_a_source_that_is_too_large_is_not_parsed() -> None:
    assert Parsing().tree(b"x = 1\n" * 200_000, "python") is None
