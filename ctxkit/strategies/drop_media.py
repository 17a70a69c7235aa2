"""`drop-media`: old images, audio and files become a described stub."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ctxkit.core.edits import Plan, Shorten
from ctxkit.core.items import PartKind
from ctxkit.core.marks import marked
from ctxkit.core.view import View
from ctxkit.strategy import CompressionStrategy, Services

__all__ = ["DropMedia"]


class DropMedia(CompressionStrategy):
    """Replace images, audio, video and files by a line that says what was there; the newest `keep` stay.

    The line names the handle of the original.
    """

    kind: Literal["drop-media"] = "drop-media"
    keep: int = Field(default=1, ge=0)

    def plan(self, view: View, services: Services) -> Plan:
        media = [
            (item, index, part)
            for item in view.changeable()
            for index, part in enumerate(view.parts(item))
            if part.kind is PartKind.MEDIA
        ]
        old = media[: len(media) - self.keep]
        return Plan.of(
            *(
                Shorten(item.id, index, marked(f"{part.text or 'file'} left out; original: {view.handle(item)}"), why)
                for item, index, part in old
                for why in ("old media",)
            )
        )
