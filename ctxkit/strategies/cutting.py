"""Cutting the middle out of a text, between characters as a reader sees them, to a number of tokens."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

__all__ = ["ATTEMPTS", "FULL_SHARE", "Count", "Note", "between", "cut_middle", "cut_text", "level", "some"]

ATTEMPTS = 8
"""Sizes that are tried before the middle is all that there is."""

Count = Callable[[str], int]
"""Tokens of a text."""

Note = Callable[[str], str]
"""The words that stand for what was left out, as in "12 tokens"."""

FULL_SHARE = 0.85
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
    alone = note(some(tokens, "token"))
    room = max_tokens - count(alone) - 2
    best, fits, too_long = alone, 0, len(text)
    chars = len(text) * room // max(tokens, 1)
    for _ in range(ATTEMPTS):
        chars = min(chars, too_long - 1)
        if chars <= fits:
            break
        head, tail = cut_middle(text, chars)
        if not head and not tail:
            break
        kept = count(head) + count(tail)
        whole = "\n".join(filter(None, (head, note(some(tokens - kept, "token")), tail)))
        if kept <= room and count(whole) <= max_tokens:
            best, fits = whole, chars
            if kept >= room * FULL_SHARE:
                break
        else:
            too_long = chars
        chars = between(fits, too_long, chars * room // max(kept, 1))
    return best


def between(fits: int, too_long: int, guess: int) -> int:
    """The next size to try: `guess`, if it is well inside what fits and what is too long; else their middle."""
    margin = (too_long - fits) // 16
    return guess if fits + margin < guess < too_long - margin else (fits + too_long) // 2


def cut_middle(text: str, chars: int) -> tuple[str, str]:
    """The first and the last characters of a text, together at most `chars`.

    No cluster of code points that a reader sees as one character is cut; a part is rather shorter, or empty.
    """
    half = chars // 2
    start, end = _place_before(text, half), _place_after(text, len(text) - half)
    return text[:start], text[max(start, end) :]


def _place_before(text: str, at: int) -> int:
    """The last place up to `at` where a text may be cut."""
    if at <= 0:
        return 0
    start = _certain_before(text, at)
    at = min(at, start + _WINDOW)
    return max((end for end in _cluster_ends(text, start, at) if end <= at), default=start)


def _place_after(text: str, at: int) -> int:
    """The first place from `at` on where a text may be cut."""
    if at >= len(text):
        return len(text)
    start = _certain_before(text, at)
    if at == start:
        return at
    ends = _cluster_ends(text, start, at + _WINDOW) if at - start <= _WINDOW else iter(())
    near = next((end for end in ends if end >= at), None)
    if near is not None:
        return near
    return next((place for place in _certain(text, at, len(text)) if place >= at), len(text))


def _certain_before(text: str, at: int) -> int:
    """The last place up to `at` that is certainly between two characters; 0 where there is none."""
    width = _WINDOW
    while True:
        low = max(0, at - width)
        place = max((place for place in _certain(text, low, at + 1) if low < place <= at), default=0)
        if place or not low:
            return place
        width *= 16


def _certain(text: str, low: int, high: int) -> Iterator[int]:
    """Places between two characters that are certain whatever stands further left."""
    certain, _ = _patterns()
    found = certain.finditer(text, low, min(high, len(text)))
    return (each.start() for each in found if _clean(text, each.start()))


def _cluster_ends(text: str, start: int, last: int) -> Iterator[int]:
    """Ends of the characters behind `start`, which is between two, up to `last`."""
    _, cluster = _patterns()
    stop = min(last + 1, len(text))
    ends = (start + found.end() for found in cluster.finditer(text[start:stop]))
    return (end for end in ends if (end < stop or end == len(text)) and _clean(text, end))


def _clean(text: str, at: int) -> bool:
    """Whether neither side looks as if something had been joined here."""
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


def some(number: int, what: str) -> str:
    """As in "1 token", "2 tokens"."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def level(sizes: Iterable[int], room: int) -> int:
    """The greatest size to which all may be cut down so that together they take no more than `room`."""
    ordered = sorted(sizes)
    for at, size in enumerate(ordered):
        share = room // (len(ordered) - at)
        if size > share:
            return max(share, 0)
        room -= size
    return max(ordered, default=0)
