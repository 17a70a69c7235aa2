"""Languages: which one a file or a text is in, and the parser for it."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Tree

__all__ = ["Parsing", "guessed", "language_of"]

MOST_BYTES = 64_000
"""Bytes of a source that are parsed; what is larger stays as it is."""

LEAST_STEPS, STEPS_PER_KB = 60, 20
"""Steps (the parser's progress reports) after which it is stopped, and that it has for each KB more. 640 recorded
views took up to 11 a KB. Texts that are made to trap its error recovery take many more, each the slower the larger
the text is."""

BROKEN_COSTS, BROKEN_BYTES = 4, 16_000
"""What a step counts in which the parser is recovering from an error, and the size from which on it counts more.
Recorded views, pieces of files mostly, had up to 3 such steps a KB."""

MOST_STEPS = 6_000
"""Steps for all sources of one plan: 500 to 800 KB of real files."""

CHUNK = 4_096
"""Bytes that the parser is handed at a time."""

LEAST_SIGNS = 3
"""Lines that look like a language, from which a text of unknown name is taken for it."""

MOST_LINES = 400
"""Lines that are looked at for that."""

_GRAMMARS = {
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "java": ("tree_sitter_java", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
}

_ENDINGS = {
    "python": "py pyi pyx",
    "javascript": "js mjs cjs jsx",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "go": "go",
    "java": "java",
    "rust": "rs",
    "c": "c",
    "cpp": "h cc cpp cxx hpp hh hxx",
}
_BY_ENDING = {ending: language for language, endings in _ENDINGS.items() for ending in endings.split()}

_SIGNS = {
    "python": r"(?:async )?def \w+\(.*|class \w+.*:$|from [\w.]+ import .|import \w[\w., ]*$|@\w[\w.]*",
    "typescript": r"(?:export )?(?:interface|type|enum) \w+.*[={]|(?:export )?(?:async )?function \w+.*\)\s?:.*\{$|import .* from ['\"]",
    "javascript": r"(?:async )?function \w+\(.*\{$|(?:const|let|var) \w+ = .|module\.exports|(?:const|var) .*require\(",
    "go": r"package \w+$|func (?:\(\w+ \S+\) )?\w+\(.*\{$|type \w+ (?:struct|interface) \{$",
    "java": r"package [\w.]+;|import [\w.]+;|(?:public|private|protected) .*[({]$",
    "rust": r"(?:pub(?:\(\w+\))? )?(?:fn|struct|enum|impl|trait|mod)\b.*[{;]$|use [\w:]+.*;|#\[\w+",
    "cpp": r"#include [<\"]|namespace \w+ ?\{|template ?<|(?:class|struct) \w+.*\{$|\w[\w:*& <>]* [*&]?\w+\(.{0,200}\) ?\{$",
}
_LOOKS = {language: re.compile(rf"\s{{0,40}}(?:{signs})") for language, signs in _SIGNS.items()}


def language_of(path: str) -> str:
    """The language of a file by the ending of its name, "" where that says none of ours."""
    return _BY_ENDING.get(path.rpartition(".")[2].lower(), "")


def guessed(lines: list[str]) -> str:
    """The language that most of the first lines look like, "" where hardly any does."""
    first = [line[:300] for line in islice((line for line in lines if line.strip()), MOST_LINES)]
    signs = {
        language: sum(looks.match(line) is not None for line in first) for language, looks in _LOOKS.items()
    }
    best = max(signs, key=lambda language: signs[language])
    return best if signs[best] >= LEAST_SIGNS else ""


class Parsing:
    """Parses sources until its steps are used up; a source at which it is stopped takes most of what is left.

    Steps are the parser's own, not seconds: the same texts are given up on everywhere.

    Args:
        steps: of all sources together.
    """

    def __init__(self, steps: int = MOST_STEPS) -> None:
        self._left = steps

    def tree(self, source: bytes, language: str) -> Tree | None:
        """The syntax tree of a source; None for one that is too large, or that the parser makes no headway with."""
        from tree_sitter import Parser

        if len(source) > MOST_BYTES or self._left <= 0:
            return None
        least = self._left - LEAST_STEPS - STEPS_PER_KB * len(source) // 1_000
        broken = BROKEN_COSTS * max(1, len(source) // BROKEN_BYTES)

        def stop(offset: int, has_error: bool) -> bool:
            self._left -= broken if has_error else 1
            return self._left < max(0, least)

        parser = Parser(_language(language))
        try:
            return parser.parse(lambda at, point: source[at : at + CHUNK], progress_callback=stop)
        except ValueError:  # "Parsing failed": what it says when it was stopped
            self._left //= 4
            return None


@cache
def _language(name: str) -> Language:
    from tree_sitter import Language

    module, function = _GRAMMARS[name]
    return Language(getattr(import_module(module), function)())
