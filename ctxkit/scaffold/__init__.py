"""Packages of plugins: a new one written, and the strategies of one that is not installed found."""

from __future__ import annotations

from ctxkit.scaffold.folder import importable, named_in
from ctxkit.scaffold.new import Names, names_of, write

__all__ = ["Names", "importable", "named_in", "names_of", "write"]
