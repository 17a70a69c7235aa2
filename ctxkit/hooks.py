"""Hooks: what every installed plugin may implement, all of them called in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from ctxkit.report import Report

__all__ = ["Hooks", "hook"]

_specification = pluggy.HookspecMarker("ctxkit")

hook = pluggy.HookimplMarker("ctxkit")
"""Marks a function of a plugin module as an implementation of a hook."""


class Hooks:
    """The hooks. A plugin names its module in the entry point group `ctxkit`."""

    @_specification
    def ctxkit_compacted(self, report: Report) -> None:
        """A compaction was committed. Whatever this raises is put in the report and goes no further."""
