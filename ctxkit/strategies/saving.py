"""What a change to one part of an item would save, and what to call a part that goes."""

from __future__ import annotations

import re
from typing import Any

from ctxkit.core.items import Item, Part
from ctxkit.core.view import View
from ctxkit.errors import PlanError

__all__ = ["described", "saved"]

_MEDIA_TYPE = re.compile(r"[\w.+-]{1,60}(?:/[\w.+-]{1,60})?", re.ASCII)


def saved(view: View, item: Item, part: int, content: Any) -> int:
    """Tokens that an item would have less with `content` for one part; 0 or less where it is not worth it, or
    the format does not permit it."""
    meter = view.setting.meter
    try:
        raw = meter.provider.with_part(item.raw, view.parts(item)[part], content)
    except PlanError:
        return 0
    return item.tokens - meter.entry(raw)


def described(media: Part) -> str:
    """The media type of a part, if it looks like one: whoever sent it wrote it."""
    return media.text if _MEDIA_TYPE.fullmatch(media.text) else "a file"
