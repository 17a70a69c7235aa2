"""What a change to one part of an item would save, and what to call a part that goes."""

from __future__ import annotations

import re
from typing import Any

from ctxkit.core.items import Item, Part, PartKind
from ctxkit.core.view import View
from ctxkit.errors import PlanError
from ctxkit.jsons import json_text

__all__ = ["described", "saved"]

_MEDIA_TYPE = re.compile(r"[\w.+-]{1,60}(?:/[\w.+-]{1,60})?", re.ASCII)


MANY = 8
"""Parts up to which an item is weighed anew for each; of more, the parts alone, so that the time stays linear."""

DOUBT = 8
"""Tokens by which the size of a part may mislead on that of its item: quotes, escapes, braces."""


def saved(view: View, item: Item, part: int, content: Any) -> int:
    """Tokens that an item would have less with `content` for one part; 0 or less where it is not worth it, or
    the format does not permit it."""
    meter, parts = view.setting.meter, view.parts(item)
    try:
        raw = meter.provider.with_part(item.raw, parts[part], content)
    except PlanError:
        return 0
    if len(parts) <= MANY or parts[part].kind is PartKind.MEDIA:
        return item.tokens - meter.entry(raw)
    after = content if isinstance(content, str) else json_text(content)
    return view.count(parts[part].text) - view.count(after) - DOUBT


def described(media: Part) -> str:
    """The media type of a part, if it looks like one: whoever sent it wrote it."""
    return media.text if _MEDIA_TYPE.fullmatch(media.text) else "a file"
