"""Outlines: what a source file declares, with line numbers, without bodies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxkit_code.languages import Parsing

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["Line", "outline"]

MOST_BROKEN_SHARE = 0.4
"""Of a source: what the parser may make nothing of."""

MOST_HEAD_LINES = 12
"""Lines of a signature."""

MOST_CONSTANT_LINES = 3
"""Lines of a constant that is kept whole."""

MOST_TYPE_LINES = 30
"""Lines of a type declaration that is kept: its fields are what one looks up."""

LONGEST = 200
"""Characters of a line."""

MOST_DEPTH = 12
"""Declarations inside declarations that are looked into."""


def _kinds(words: str) -> frozenset[str]:
    return frozenset(words.split())


_IMPORTS = _kinds(
    "import_statement import_from_statement future_import_statement import_declaration package_clause package_declaration "
    "use_declaration extern_crate_declaration preproc_include using_declaration"
)
_CONTAINERS = _kinds(
    "class_definition class_declaration abstract_class_declaration interface_declaration enum_declaration record_declaration "
    "annotation_type_declaration internal_module module impl_item trait_item mod_item foreign_mod_item struct_item enum_item "
    "union_item class_specifier struct_specifier union_specifier enum_specifier namespace_definition"
)
_FUNCTIONS = _kinds(
    "function_definition function_declaration generator_function_declaration method_definition method_declaration "
    "constructor_declaration compact_constructor_declaration function_item macro_definition"
)
_TYPES = _kinds("type_declaration type_alias_declaration type_definition type_item alias_declaration")
_CONSTANTS = _kinds(
    "lexical_declaration variable_declaration const_declaration var_declaration const_item static_item declaration "
    "preproc_def preproc_function_def field_definition public_field_definition property_signature method_signature "
    "abstract_method_signature function_signature function_signature_item call_signature index_signature field_declaration "
    "enum_constant enum_assignment enum_variant enumerator assignment type_alias_statement"
)
_WRAPPERS = _kinds(
    "decorated_definition export_statement template_declaration ambient_declaration expression_statement"
)
_BLOCKS = _kinds(
    "if_statement else_clause try_statement except_clause with_statement block ERROR preproc_ifdef preproc_if preproc_else "
    "preproc_elif linkage_specification declaration_list enum_body_declarations"
)
_HOLDS_FUNCTION = _kinds("arrow_function function_expression generator_function class")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an outline.

    Attributes:
        at: index of the line of the source that it stands in.
        text: the line as it stands there, but for its length.
        until: index of the last line of what was left out behind it, -1 for nothing.
    """

    at: int
    text: str
    until: int = -1


def outline(lines: Sequence[str], language: str, parsing: Parsing) -> list[Line]:
    """What the lines of a source, or of a piece of one, declare: imports, classes, signatures, types, constants.

    Nothing for a text that is none of the language, or declares nothing. A piece may begin and end anywhere.
    """
    opened = _opened(lines) if language == "python" else []
    source = "\n".join((*opened, *lines)).encode("utf-8", "replace")
    tree = parsing.tree(source, language)
    if tree is None or _broken(tree.root_node) > MOST_BROKEN_SHARE * len(source):
        return []
    found = _Reader(source.split(b"\n"), len(opened)).declared(tree.root_node, 0)
    once = {line.at: line for line in found if line.at >= len(opened)}
    shift = len(opened)
    return [Line(line.at - shift, line.text, max(-1, line.until - shift)) for _, line in sorted(once.items())]


def _opened(lines: Sequence[str]) -> list[str]:
    """Lines to put before a piece of Python that begins inside a block, one for each block that it leaves."""
    levels: list[int] = []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if line.strip() and (not levels or indent < levels[-1]):
            levels.append(indent)
            if not indent:
                break
    inside = sorted(level for level in levels if level)
    return [" " * level + "if 1:" for level in [0, *inside][: len(inside)]]


def _broken(root: Node) -> int:
    """Bytes that the parser made nothing of."""
    if root.type == "ERROR":
        return root.end_byte - root.start_byte
    return sum(node.end_byte - node.start_byte for node in root.children if node.type == "ERROR")


class _Reader:
    """Reads declarations off the nodes of a tree."""

    def __init__(self, lines: list[bytes], opened: int) -> None:
        self._lines, self._opened = lines, opened

    def declared(self, node: Node, depth: int) -> Iterator[Line]:
        """The lines of all that is declared right inside a node."""
        if depth <= MOST_DEPTH:
            vague = _VAGUE if node.type == "ERROR" else ()
            for child in (each for each in node.named_children if each.type not in vague):
                yield from self._read(child, child, depth)

    def _read(self, node: Node, outer: Node, depth: int) -> Iterator[Line]:
        """The lines of a declaration; `outer` begins with its decorators, or what else stands before it."""
        kind = node.type
        if kind in _WRAPPERS:
            for child in node.named_children:
                yield from self._read(child, outer if child.type not in _IMPORTS else child, depth)
        elif kind in _IMPORTS:
            yield from self._whole(node, MOST_HEAD_LINES)
        elif kind in _BLOCKS:
            if not self._is_opened(node) or self._is_class_body(node):
                yield from self.declared(node, depth + 1)
        elif kind in _TYPES:
            yield from self._whole(outer, MOST_TYPE_LINES)
        else:
            body = _body(node)
            if body is None or node.start_point.row == node.end_point.row:
                yield from self._whole(outer, MOST_CONSTANT_LINES) if kind in _KNOWN else ()
            elif kind in _CONTAINERS:
                yield from self._head(outer, body, -1)
                yield from self.declared(body, depth + 1)
            elif kind in _KNOWN:
                yield from self._head(outer, body, node.end_point.row)

    def _is_opened(self, node: Node) -> bool:
        """Whether it is a block of Python that began before the piece that is read."""
        return node.type == "block" and node.parent is not None and node.parent.start_point.row < self._opened

    def _is_class_body(self, block: Node) -> bool:
        """Whether such a block declares functions, or leads to one that does."""
        return any(
            child.type in _LEADS or child.start_point.row < self._opened for child in block.named_children
        )

    def _whole(self, node: Node, most: int) -> Iterator[Line]:
        """A node as it stands, up to a number of lines."""
        first, last = node.start_point.row, _last_row(node)
        if last - first < most:
            yield from (Line(row, self._text(row)) for row in range(first, last + 1))
        else:
            yield Line(first, self._text(first), last)

    def _head(self, outer: Node, body: Node, until: int) -> Iterator[Line]:
        """What stands before a body, and that it was left out up to a line."""
        first = outer.start_point.row
        last = min(_head_end(body), first + MOST_HEAD_LINES - 1)
        yield from (Line(row, self._text(row)) for row in range(first, last))
        yield Line(last, self._text(last), until if until > last else -1)

    def _text(self, row: int) -> str:
        text = self._lines[row].decode("utf-8", "replace").rstrip()
        return text if len(text) <= LONGEST else text[:LONGEST] + "…"


_LEADS = _FUNCTIONS | _CONTAINERS | {"decorated_definition"}
_VAGUE = _CONSTANTS | {"expression_statement"}
"""What, where the parser lost its way, need not be a declaration."""

_KNOWN = _CONTAINERS | _FUNCTIONS | _CONSTANTS


def _body(node: Node) -> Node | None:
    """The body of a declaration: its own, or that of the function that it gives a name."""
    body = node.child_by_field_name("body")
    if body is not None or node.type not in _CONSTANTS:
        return body
    named = next((child for child in node.named_children if child.type == "variable_declarator"), node)
    value = named.child_by_field_name("value")
    return value.child_by_field_name("body") if value is not None and value.type in _HOLDS_FUNCTION else None


def _head_end(body: Node) -> int:
    """The last line of what stands before a body, comments aside."""
    beside = body.parent.children if body.parent is not None else []
    before = [each for each in beside if each.end_byte <= body.start_byte and "comment" not in each.type]
    return before[-1].end_point.row if before else body.start_point.row


def _last_row(node: Node) -> int:
    """The last line that a node has a character on."""
    end = node.end_point
    return max(node.start_point.row, end.row - (1 if end.column == 0 else 0))
