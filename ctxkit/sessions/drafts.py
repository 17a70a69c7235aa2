"""Drafts: answers on record that count as said once they were delivered."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxkit.core.flaws import check_flaws
from ctxkit.core.provider import Entry
from ctxkit.errors import ConversationError
from ctxkit.history import Added
from ctxkit.sessions.changes import Json
from ctxkit.sessions.paging import records
from ctxkit.sessions.records import Record
from ctxkit.sessions.store import checked_key

if TYPE_CHECKING:
    from ctxkit.sessions.session import Session

__all__ = ["Draft", "reply", "undelivered"]


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer on record that is not delivered yet.

    Attributes:
        id: its name in the log.
        entries: the answer, in the provider's own JSON.
    """

    id: str
    entries: list[Entry]
    _session: Session

    @property
    def waits(self) -> bool:
        """Whether it is neither delivered nor discarded, as far as the session was read: what `reply` gives for a key
        that was used before may have reached the user already."""
        return self._is_known()

    async def delivered(self) -> None:
        """It has reached the user: it is part of the conversation from now on. A second time changes nothing.

        Raises:
            ConversationError: it was discarded, or taken out with `clear`.
        """
        session, added = self._session, Added(self.entries)

        def made(at: float) -> Record | None:
            return session._items(added, at, {"draft": self.id}) if self._is_known() else None

        if await session._log.write(made) is None and await _told_of(session, self.id, "items") is None:
            raise ConversationError(
                f"the answer {self.id!r:.80} was discarded or taken out; what reached the user all the same is put in "
                "with add()"
            )

    async def discard(self) -> None:
        """It will not be delivered; it stays on record, and no request holds it."""

        def made(at: float) -> Record | None:
            return Record("discarded", at, data={"draft": self.id}) if self._is_known() else None

        await self._session._log.write(made)

    def _is_known(self) -> bool:
        return self.id in self._session._log.book.drafts


async def reply(session: Session, messages: object, key: str) -> Draft:
    """See `Session.reply`."""
    added = session.preparation.added(messages)
    check_flaws(added.entries, session.preparation.provider, mended=False)
    draft = checked_key(key) or uuid.uuid4().hex
    data = {"draft": draft, "entries": added.entries}
    written = await session._log.write(
        lambda at: Record("draft", at, data=data), key=f"reply {key}" if key else ""
    )
    if written is not None:
        return Draft(draft, added.entries, session)
    told = await _told_of(session, draft, "draft")
    if told is None or "erased" in told["data"]:
        raise ConversationError(
            f"the answer of the key {key!r:.80} was taken back; give another one another key"
        )
    return Draft(draft, told["data"]["entries"], session)


def undelivered(session: Session) -> list[Draft]:
    """See `Session.undelivered`."""
    return [Draft(draft, entries, session) for draft, entries in session._log.book.drafts.items()]


async def _told_of(session: Session, draft: str, kind: str) -> Json | None:
    """The record of a kind that is about an answer, None for none; reads the log."""
    async for _, told in records(session.store, session.id, upto=session.position):
        if told["kind"] == kind and told.get("data", {}).get("draft") == draft:
            return told
    return None
