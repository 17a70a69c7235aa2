"""Hooks: what every installed plugin may implement, all of them called in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from ctxkit.report import Report

__all__ = ["GROUP", "Hooks", "hook", "tell_observers"]

GROUP = "ctxkit"
"""The entry point group of plugins with hooks."""

_specification = pluggy.HookspecMarker(GROUP)

hook = pluggy.HookimplMarker(GROUP)
"""Marks a function of a plugin module as an implementation of a hook."""


class Hooks:
    """The hooks. A plugin names its module in the entry point group `ctxkit`."""

    @_specification
    def ctxkit_compacted(self, report: Report) -> None:
        """A compaction was committed. Whatever this raises is put in the report and goes no further."""


@dataclass
class _Loaded:
    """The plugins that could be loaded, and why the others could not."""

    manager: pluggy.PluginManager
    broken: list[tuple[str, str]] = field(default_factory=list)


@cache
def _loaded() -> _Loaded:
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(Hooks)
    loaded = _Loaded(manager)
    for point in entry_points(group=GROUP):
        try:
            plugin = point.load()
            manager.register(plugin, name=point.name)
            manager.check_pending()
        except Exception as error:  # noqa: BLE001 - the boundary to plugins: a broken one breaks only itself
            if manager.has_plugin(point.name):
                manager.unregister(name=point.name)
            loaded.broken.append((f"hooks of {point.name}", f"{type(error).__name__}: {error}"))
    return loaded


def tell_observers(tell: Callable[[], Report]) -> list[tuple[str, str]]:
    """Tell every observer of a compaction; returns those that are broken or raised, and why.

    Without observers no report is written.
    """
    loaded = _loaded()
    failures = list(loaded.broken)
    for implementation in loaded.manager.hook.ctxkit_compacted.get_hookimpls():
        try:
            implementation.function(*[tell() for name in implementation.argnames if name == "report"])
        except Exception as error:  # noqa: BLE001 - the boundary to plugins: an observer never breaks a request
            failures.append((f"observer {implementation.plugin_name}", f"{type(error).__name__}: {error}"))
    return failures
