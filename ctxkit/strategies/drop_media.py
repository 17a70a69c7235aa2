"""`drop-media`: old images, audio and files become a described stub."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ctxkit.core.edits import Plan, Shorten
from ctxkit.core.items import PartKind
from ctxkit.core.marks import marked
from ctxkit.core.view import View
from ctxkit.strategies.saving import described, saved
from ctxkit.strategy import CompressionStrategy, Services

__all__ = ["DropMedia"]


class DropMedia(CompressionStrategy):
    """Replace images, audio, video and files by a line that says what was there; the newest `keep` stay.

    The line names the handle of the original. What is smaller than that line stays too.
    """

    kind: Literal["drop-media"] = "drop-media"
    keep: int = Field(default=1, ge=0)

    def plan(self, view: View, services: Services) -> Plan:
        changeable = {item.id for item in view.changeable()}
        media = [
            (item, index, part)
            for item in view.state.items
            if not item.synthetic
            for index, part in enumerate(view.parts(item))
            if part.kind is PartKind.MEDIA
        ]
        edits = []
        for item, index, part in media[: max(0, len(media) - self.keep)]:
            stub = marked(f"{described(part)} left out; original: {view.handle(item)}")
            if item.id in changeable and saved(view, item, index, stub) > 0:
                edits.append(Shorten(item.id, index, stub, "old media"))
        return Plan.of(*edits)
