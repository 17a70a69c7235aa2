"""Whose `ctxkit` package this is: other distributions install one under the same name."""

from __future__ import annotations

from importlib.metadata import distributions

__all__ = ["foreign_owners"]

OURS = "ctxkit-core"


def foreign_owners() -> list[str]:
    """Distributions beside ours that own files of a package `ctxkit`.

    It asks what `importlib.metadata.packages_distributions` would, but looks for one line in each list of files
    instead of parsing them all.
    """
    found = set()
    for each in distributions():
        record = each.read_text("RECORD") or each.read_text("installed-files.txt") or ""
        if "ctxkit/__init__.py" in record and any(_is_ours(line) for line in record.splitlines()):
            found.add(each.name)
    return sorted(found - {OURS})


def _is_ours(line: str) -> bool:
    return line.partition(",")[0].removeprefix("../") == "ctxkit/__init__.py"
