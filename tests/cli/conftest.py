"""What the tests of the command line share."""

from __future__ import annotations

import io

import pytest


class _Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal() -> io.TextIOWrapper:
    """A stream that says it is a terminal; what is written to it is in its `buffer`."""
    return _Terminal(io.BytesIO(), "utf-8")
