"""Children: sessions of agents that work for another one, which keeps of them only what they return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxkit.errors import ConfigError, ConversationError
from ctxkit.sessions.records import Record
from ctxkit.sessions.store import checked_id

if TYPE_CHECKING:
    from ctxkit.sessions.session import Session

__all__ = ["Child", "begin", "children_of", "parent_of", "take_return"]


@dataclass(frozen=True, slots=True)
class Child:
    """A session that was begun for another.

    Attributes:
        id: its id, in the same store.
        purpose: what it was begun for, "" where nobody said, and after the parent was cleared.
        returned: whether the parent has what came of it.
    """

    id: str
    purpose: str
    returned: bool


def children_of(session: Session) -> list[Child]:
    """The children of a session as far as it was read, in the order in which they were begun."""
    known = session._log.book.children.items()
    return [Child(id, told["purpose"], told["returned"]) for id, told in known]


async def begin(session: Session, id: str, purpose: str, settings: dict[str, Any]) -> Session:
    """A child of a session: a new one, or the one that was begun before under this id.

    The parent names it first: a child that nobody names is never left behind by a crash.

    Raises:
        ConversationError: there is a session with that id that is no child of this one.
        ConfigError: an id or a setting that cannot be right.
    """
    if checked_id(id) == session.id:
        raise ConfigError("a session is no child of its own", path="id")
    if not isinstance(purpose, str):
        raise ConfigError(f"a purpose is a text, not {purpose!r:.60}", path="purpose")
    child = await session._opened_beside(id, **settings)
    _check_parent(child, session.id)

    def named(at: float) -> Record | None:
        known = id in session._log.book.children
        return None if known else Record("child", at, data={"child": id, "purpose": purpose})

    def begun(at: float) -> Record | None:
        _check_parent(child, session.id)
        return None if child.position else Record("begun", at, data={"purpose": purpose})

    await session._log.write(named)
    child._log.parent = session.id
    await child._log.write(begun)
    child._parent = session
    return child


def _check_parent(child: Session, parent: str) -> None:
    if child.position and child._log.book.parent != parent:
        raise ConversationError(f"there is a session {child.id!r} already, and it is no child of {parent!r}")


async def take_return(session: Session, child: Session | str, messages: object) -> bool:
    """Add what came of a child (or of the one with an id), unless it has returned before; whether it was added now.

    Raises:
        ConversationError: the session has no such child.
        ProviderFormatError: it is not of the format of the session; nothing is added.
    """
    id = child if isinstance(child, str) else getattr(child, "id", child)
    added = session.preparation.added(messages)

    def made(at: float) -> Record | None:
        known = session._log.book.children.get(id) if isinstance(id, str) else None
        if known is None:
            raise ConversationError(f"session {session.id!r} has no child {id!r:.200}")
        return None if known["returned"] else session._items(added, at, {"returned": id})

    return await session._log.write(made) is not None


async def parent_of(child: Session) -> Session:
    """The session that a child was begun for.

    Raises:
        ConversationError: it was begun for none, or that one is not there any more.
        ConfigError: the parent has another format: open it, and use `returned`.
    """
    if child._parent is not None:
        return child._parent
    await child.refresh()
    name = child._log.book.parent
    if not name or await child.store.info(name) is None:
        raise ConversationError(f"session {child.id!r} has no parent to return to")
    parent = type(child)(name, child.store, child.preparation.again(), clock=child._clock)
    await parent._log.open()
    return parent
