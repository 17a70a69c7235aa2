"""Showing: values of others' code as text, without running any of that code."""

from __future__ import annotations

__all__ = ["shown"]

_PLAIN = (bool, int, float, str, bytes, type(None))
"""Types whose values can be shown without running anybody's code."""


def shown(value: object, longest: int) -> str:
    """A value in so many characters, or what type it is of."""
    if type(value) not in _PLAIN:
        return f"a {type(value).__name__}"
    try:
        return f"{value!r:.{longest}}"
    except ValueError:  # Python writes no int of thousands of digits
        return f"a long {type(value).__name__}"
