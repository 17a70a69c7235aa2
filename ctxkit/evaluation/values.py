"""Values in texts: the literals of a JSON value, where they stand in a text, and under which field names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

__all__ = [
    "SHORTEST",
    "literals",
    "names_in",
    "one_spaced",
    "parsed",
    "places",
    "quoted",
    "stands_in",
    "strings",
    "text_names",
]

SHORTEST = 3
"""Characters of the shortest literal that counts: of shorter ones nobody can tell where they came from."""

_NAME = re.compile(r"([^\W\d][\w.\- ]*)[\"'*`]*[ \t]*[:=\uff1a]")
_SENTENCE = re.compile(r"[^\n.!?\u3002\uff01\uff1f]+")
_LINE = re.compile(r"[^\n]+")


def parsed(text: str) -> Any:
    """The JSON value of a text, or the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


@lru_cache(maxsize=1_024)
def one_spaced(text: str) -> str:
    """A text with each run of white space as one space, none at its ends."""
    return " ".join(text.split())


def literals(value: Any) -> Iterator[str]:
    """The strings and numbers in a JSON value, as text, of three characters and more."""
    match value:
        case dict():
            for each in value.values():
                yield from literals(each)
        case list():
            for each in value:
                yield from literals(each)
        case str() if len(value.strip()) >= SHORTEST:
            yield value.strip()
        case int() | float() if not isinstance(value, bool) and len(str(value)) >= SHORTEST:
            yield str(value)


def strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value."""
    match value:
        case dict():
            for each in value.values():
                yield from strings(each)
        case list():
            for each in value:
                yield from strings(each)
        case str():
            yield value


def stands_in(literal: str, text: str) -> bool:
    """Whether a literal stands in a text, neither end of it inside a word or number."""
    return any(True for _ in places(literal, text))


def places(literal: str, text: str) -> Iterator[int]:
    """Where a literal begins in a text, neither end of it inside a word or number."""
    at = text.find(literal)
    while at >= 0:
        end = at + len(literal)
        before = at > 0 and _joined(text[at - 1], literal[0])
        after = end < len(text) and _joined(literal[-1], text[end])
        if not (before or after):
            yield at
        at = text.find(literal, at + 1)


def _joined(left: str, right: str) -> bool:
    """Whether two neighbouring characters belong to one word; Chinese is written without spaces."""
    return left.isalnum() and right.isalnum() and left.isascii() and right.isascii()


def names_in(literal: str, value: Any, name: str = "") -> Iterator[str]:
    """The field names under which a literal stands in a JSON value.

    Args:
        name: of the value itself.
    """
    match value:
        case dict():
            for key, each in value.items():
                if stands_in(literal, key):
                    yield from (name, key)
                yield from names_in(literal, each, key)
        case list():
            for each in value:
                yield from names_in(literal, each, name)
        case str() if stands_in(literal, value):
            yield name
        case int() | float() if str(value) == literal:
            yield name


def text_names(literal: str, text: str) -> Iterator[str]:
    """The names of `name: value` pairs of plain text under which a literal stands."""
    for at in places(literal, text):
        line = text[text.rfind("\n", 0, at) + 1 : at]
        found = [match.group(1).strip() for match in _NAME.finditer(line)]
        yield from found[-1:]


def quoted(literal: str, text: str, sources: Sequence[str]) -> bool:
    """Whether the sentence of a text that holds a literal, or its line, is in one of the sources like that.

    Args:
        sources: as `one_spaced` gives them.
    """
    for pattern in (_SENTENCE, _LINE):
        for match in pattern.finditer(text):
            said = one_spaced(match.group())
            if stands_in(literal, said) and said != literal and any(said in source for source in sources):
                return True
    return literal in sources
