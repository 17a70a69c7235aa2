"""ctxkit decides what a language model sees: conversations in the provider's own JSON, made to fit a budget.

    from ctxkit import Budget, ContextManager

    context = ContextManager("openai-chat", Budget(window=8_000, reply=1_000), "hybrid")
    context.add({"role": "user", "content": "Hello"})
    request = context.prepare_sync()

Names are imported when they are first used, so that `import ctxkit` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ctxkit.core.budget import Budget, Region
    from ctxkit.core.conversation import Turn, Unit
    from ctxkit.core.edits import (
        Close,
        Drop,
        Edit,
        Pin,
        Plan,
        Remember,
        Replace,
        Retract,
        Shorten,
        Strip,
        Unpin,
    )
    from ctxkit.core.facts import Fact, Speaker
    from ctxkit.core.items import Item, Part, PartKind, Role
    from ctxkit.core.marks import marked
    from ctxkit.core.view import View
    from ctxkit.errors import (
        BudgetExceededError,
        ConfigError,
        ConflictError,
        ConversationError,
        CtxkitError,
        ModelCallError,
        OpenCallsError,
        PlanError,
        PlanRejected,
        ProviderFormatError,
        SessionError,
        SessionLimitError,
        SplitSessionError,
        StoreError,
        StrategyError,
        UnknownHandleError,
        UnknownPluginError,
    )
    from ctxkit.explain import Explanation
    from ctxkit.hooks import hook
    from ctxkit.manager import ContextManager, Request
    from ctxkit.models.question import Answer, Question
    from ctxkit.models.settings import ModelSettings
    from ctxkit.report import Report
    from ctxkit.restoring import restore_tool
    from ctxkit.sessions.children import Child
    from ctxkit.sessions.drafts import Draft
    from ctxkit.sessions.handoff import Handoff
    from ctxkit.sessions.recalled import Moment
    from ctxkit.sessions.retention import Retention, Swept, sweep
    from ctxkit.sessions.session import Session
    from ctxkit.sessions.store import Limits, SessionInfo, Store
    from ctxkit.sessions.stores import open_store
    from ctxkit.sessions.stores.encrypted import EncryptedStore
    from ctxkit.sessions.stores.memory import MemoryStore
    from ctxkit.sessions.stores.postgres import PostgresStore
    from ctxkit.sessions.stores.redis import RedisStore
    from ctxkit.sessions.stores.sqlite import SQLiteStore
    from ctxkit.sessions.stores.tiered import TieredStore
    from ctxkit.strategy import CompressionStrategy, Services
    from ctxkit.summaries.cues import binds
    from ctxkit.summaries.prose import sentences

    __version__: str

_HOMES = {
    "ctxkit.core.budget": ("Budget", "Region"),
    "ctxkit.core.conversation": ("Turn", "Unit"),
    "ctxkit.core.edits": (
        "Close", "Drop", "Edit", "Pin", "Plan", "Remember", "Replace", "Retract", "Shorten", "Strip", "Unpin",
    ),
    "ctxkit.core.facts": ("Fact", "Speaker"),
    "ctxkit.core.items": ("Item", "Part", "PartKind", "Role"),
    "ctxkit.core.marks": ("marked",),
    "ctxkit.core.view": ("View",),
    "ctxkit.errors": (
        "BudgetExceededError", "ConfigError", "ConflictError", "ConversationError", "CtxkitError", "ModelCallError",
        "OpenCallsError", "PlanError", "PlanRejected", "ProviderFormatError", "SessionError", "SessionLimitError",
        "SplitSessionError", "StoreError", "StrategyError", "UnknownHandleError", "UnknownPluginError",
    ),
    "ctxkit.explain": ("Explanation",),
    "ctxkit.hooks": ("hook",),
    "ctxkit.manager": ("ContextManager", "Request"),
    "ctxkit.models.question": ("Answer", "Question"),
    "ctxkit.models.settings": ("ModelSettings",),
    "ctxkit.report": ("Report",),
    "ctxkit.restoring": ("restore_tool",),
    "ctxkit.sessions.children": ("Child",),
    "ctxkit.sessions.handoff": ("Handoff",),
    "ctxkit.sessions.recalled": ("Moment",),
    "ctxkit.sessions.retention": ("Retention", "Swept", "sweep"),
    "ctxkit.sessions.drafts": ("Draft",),
    "ctxkit.sessions.session": ("Session",),
    "ctxkit.sessions.store": ("Limits", "SessionInfo", "Store"),
    "ctxkit.sessions.stores": ("open_store",),
    "ctxkit.sessions.stores.encrypted": ("EncryptedStore",),
    "ctxkit.sessions.stores.memory": ("MemoryStore",),
    "ctxkit.sessions.stores.postgres": ("PostgresStore",),
    "ctxkit.sessions.stores.redis": ("RedisStore",),
    "ctxkit.sessions.stores.sqlite": ("SQLiteStore",),
    "ctxkit.sessions.stores.tiered": ("TieredStore",),
    "ctxkit.strategy": ("CompressionStrategy", "Services"),
    "ctxkit.summaries.cues": ("binds",),
    "ctxkit.summaries.prose": ("sentences",),
}  # fmt: skip

_MODULES = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Answer",
    "Budget",
    "BudgetExceededError",
    "Child",
    "Close",
    "CompressionStrategy",
    "ConfigError",
    "ConflictError",
    "ContextManager",
    "ConversationError",
    "CtxkitError",
    "Draft",
    "Drop",
    "Edit",
    "EncryptedStore",
    "Explanation",
    "Fact",
    "Handoff",
    "Item",
    "Limits",
    "MemoryStore",
    "ModelCallError",
    "ModelSettings",
    "Moment",
    "OpenCallsError",
    "Part",
    "PartKind",
    "Pin",
    "Plan",
    "PlanError",
    "PlanRejected",
    "PostgresStore",
    "ProviderFormatError",
    "Question",
    "RedisStore",
    "Region",
    "Remember",
    "Replace",
    "Report",
    "Request",
    "Retention",
    "Retract",
    "Role",
    "SQLiteStore",
    "Services",
    "Session",
    "SessionError",
    "SessionInfo",
    "SessionLimitError",
    "Shorten",
    "Speaker",
    "SplitSessionError",
    "Store",
    "StoreError",
    "StrategyError",
    "Strip",
    "Swept",
    "TieredStore",
    "Turn",
    "Unit",
    "UnknownHandleError",
    "UnknownPluginError",
    "Unpin",
    "View",
    "__version__",
    "binds",
    "hook",
    "marked",
    "open_store",
    "restore_tool",
    "sentences",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name != "__version__" and name not in _MODULES:
        raise AttributeError(f"module 'ctxkit' has no attribute {name!r}")
    value = _version() if name == "__version__" else getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def _version() -> str:
    """The version of the distribution that is installed."""
    from importlib.metadata import version

    return version("ctxkit-core")


def __dir__() -> list[str]:
    return __all__
