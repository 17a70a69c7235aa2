"""Cutting the middle out of a text, between characters as a reader sees them, to a number of tokens."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from ctxkit.core.marks import marked

__all__ = ["ATTEMPTS", "Count", "Note", "cut_middle", "cut_text", "level", "notes"]

ATTEMPTS = 8
"""Sizes that are tried before the middle is all that there is."""

Count = Callable[[str], int]
"""Tokens of a text."""

Note = Callable[[str], str]
"""The words that stand for what was left out, as in "12 tokens"."""

_FULL_SHARE = 0.85
"""Of the tokens that a text may have: with this much of them used it is not made longer again."""
_WINDOW = 256
"""Characters in which a place to cut is looked for before the search is widened."""
_JOINER = "\u200d"


def cut_text(text: str, tokens: int, max_tokens: int, note: Note, count: Count) -> str:
    """`text` with a note instead of its middle, of at most `max_tokens`; the note alone if that is too little.

    What stands before the note and the line break around it is a prefix of `text`, what stands behind a suffix.
    Takes time in proportion to the length of `text`.

    Args:
        text: what to cut.
        tokens: its size.
        max_tokens: tokens of the whole, note included.
        note: makes the note.
        count: the token counter.
    """
    alone = note(f"{tokens} tokens")
    room = max_tokens - count(alone) - 2
    best, fits, too_long = alone, 0, len(text)
    chars = len(text) * room // max(tokens, 1)
    for _ in range(ATTEMPTS):
        chars = min(chars, too_long - 1)
        if chars <= fits:
            break
        head, tail = cut_middle(text, chars)
        kept = count(head) + count(tail)
        whole = "\n".join(filter(None, (head, note(f"{tokens - kept} tokens"), tail)))
        if kept <= room and count(whole) <= max_tokens:
            best, fits = whole, chars
            if kept >= room * _FULL_SHARE:
                break
        else:
            too_long = chars
        chars = _between(fits, too_long, chars * room // max(kept, 1))
    return best


def _between(fits: int, too_long: int, guess: int) -> int:
    """`guess`, if it is well inside the two; else the middle between them."""
    margin = (too_long - fits) // 16
    return guess if fits + margin < guess < too_long - margin else (fits + too_long) // 2


def cut_middle(text: str, chars: int) -> tuple[str, str]:
    """The first and the last characters of a text, together about `chars` and never more than `text` has.

    No cluster of code points that a reader sees as one character is cut; for that a part may be shorter.
    """
    half = chars // 2
    start, end = _place(text, half, before=True), _place(text, len(text) - half, before=False)
    return (text[:start], text[end:]) if start < end else (text, "")


def _place(text: str, at: int, *, before: bool) -> int:
    """The place to cut at that is nearest to `at`, on that side of it; an end of the text where none is near."""
    if not 0 < at < len(text):
        return min(max(at, 0), len(text))
    certain, clusters = _patterns()
    start = _last_certain(text, at, certain)
    if at - start > _WINDOW:
        if before:
            return start
        found = certain.search(text, at)
        return found.start() if found else len(text)
    nearest = start
    for cluster in clusters.finditer(text[start : at + _WINDOW]):
        place = start + cluster.end()
        if place > at and before:
            break
        if _clean(text, place):
            nearest = place
            if place >= at and place < at + _WINDOW:
                return place
    if before:
        return nearest
    found = certain.search(text, at)
    return found.start() if found else len(text)


def _last_certain(text: str, at: int, certain: Any) -> int:
    """The last place up to `at` that is certainly between two characters; 0 where there is none."""
    width = _WINDOW
    while True:
        low = max(0, at - width)
        places = [found.start() for found in certain.finditer(text, low, min(at + 1, len(text)))]
        places = [place for place in places if low < place <= at]
        if places or not low:
            return places[-1] if places else 0
        width *= 16


def _clean(text: str, at: int) -> bool:
    """Whether neither side shows that something was joined here."""
    if at >= len(text):
        return True
    return text[at - 1] != _JOINER and text[at] != _JOINER and unicodedata.category(text[at])[0] != "M"


@cache
def _patterns() -> tuple[Any, Any]:
    """Places that are certainly between two characters, and the characters as a reader sees them.

    Source: Unicode Standard Annex 29, rules GB4 to GB999. The first holds what these rules part whatever stands
    further left, so it can be looked for anywhere; `\\X` alone is right only from a true start on, and takes
    quadratic time over a run of flags.
    """
    import regex

    left = "".join(rf"\p{{GCB={name}}}" for name in ("Other", "LV", "LVT", "SpacingMark", "Control"))
    right = "".join(rf"\p{{GCB={name}}}" for name in ("Other", "L", "LV", "LVT", "RI", "Control"))
    return regex.compile(rf"(?<=[{left}])(?=[{right}])"), regex.compile(r"\X")


def notes(handle: str) -> Note:
    """Marked notes on what was left out, with the handle of the original."""
    return lambda what: marked(f"{what} left out here; original: {handle}")


def level(sizes: Iterable[int], room: int) -> int:
    """The greatest size to which all may be cut down so that together they take no more than `room`."""
    ordered = sorted(sizes)
    for at, size in enumerate(ordered):
        share = room // (len(ordered) - at)
        if size > share:
            return max(share, 0)
        room -= size
    return max(ordered, default=0)
