"""Explain: where each entry of a conversation is now, and why."""

from __future__ import annotations

from dataclasses import dataclass

from ctxkit.archive import Archive
from ctxkit.core.edits import Replace
from ctxkit.core.kernel import Applied
from ctxkit.core.view import View

__all__ = ["Explanation", "explain"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The fate of one entry.

    Attributes:
        position: where it stands in the input, counted from 0.
        fate: "present", "pinned", "shortened", "summarised" or "dropped".
        why: the reason on record.
        by: the kind of the strategy that decided, "" for none.
        handle: the name under which the original can be read, "" for what is present as it arrived.
    """

    position: int
    fate: str
    why: str = ""
    by: str = ""
    handle: str = ""


def explain(view: View, archive: Archive) -> list[Explanation]:
    """One explanation for each entry that ever arrived, in order."""
    last: dict[int, Applied] = {}
    for applied in (each for edits in archive.applied for each in edits if each.handle):
        last.update({id: applied for span in applied.ids for id in span})
    there = {item.id: item for item in view.state.items}
    merged = {id for item in view.state.items if item.id >= 0 for span in item.stands_for for id in span}
    explanations = []
    for item in archive.log:
        now = there.get(item.id)
        edit = last.get(item.id)
        if now is None and item.id not in merged and edit is not None:
            fate = "summarised" if isinstance(edit.edit, Replace) else "dropped"
            explanations.append(_told(item.id, fate, edit))
        elif now is not None and now.edited and now.raw is not item.raw and edit is not None:
            explanations.append(_told(item.id, "shortened", edit))
        elif item.unit in view.fixed:
            explanations.append(Explanation(item.id, "pinned", "nothing may change it"))
        else:
            explanations.append(Explanation(item.id, "present", "as it arrived"))
    return explanations


def _told(position: int, fate: str, applied: Applied) -> Explanation:
    return Explanation(position, fate, applied.edit.why, applied.edit.by, applied.handle)
