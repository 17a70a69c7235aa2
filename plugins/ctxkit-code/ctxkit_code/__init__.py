"""For coding agents: old file views become outlines; tests, errors, commands and files become facts."""

from ctxkit_code.strategy import OutlineFileViews

__all__ = ["OutlineFileViews"]
