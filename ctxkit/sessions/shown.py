"""Shown: what earlier requests held, so that the record of the next one names it instead of holding it again.

An entry of a request is named by a reference: an original by its id, anything else by the position of the record that
holds it and its place there, (0, place) in the record itself. In JSON neighbours are runs: `[from, to]` of ids,
`[position, from, to]` of places.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ctxkit.sessions.changes import Json, span_from
from ctxkit.sessions.outgoing import ASIDE, FRESH
from ctxkit.sessions.records import to_bytes

__all__ = ["Ref", "Shown", "flat", "key_of", "runs"]

Ref = int | tuple[int, int]
"""Names one entry: the id of an original, or a position and a place."""

KEY_BYTES = 16
"""Bytes of a SHA-256 by which contents are told apart within one request."""


def key_of(content: Mapping[str, Any]) -> str:
    """What tells a content from others: of which item it is, as what, and its JSON."""
    named = [content.get(name) for name in ("part", "id", "made", "edited", "raw")]
    return hashlib.sha256(to_bytes(named)).hexdigest()[: 2 * KEY_BYTES]


def runs(refs: Iterable[Ref]) -> list[list[int]]:
    """References as JSON."""
    told: list[list[int]] = []
    for ref in refs:
        front, at = ([], ref) if isinstance(ref, int) else ([ref[0]], ref[1])
        last = told[-1] if told else []
        if len(last) == len(front) + 2 and last[:-2] == front and last[-1] == at:
            last[-1] += 1
        else:
            told.append([*front, at, at + 1])
    return told


def flat(told: Iterable[Sequence[int]], position: int) -> list[Ref]:
    """The references that `runs` wrote; `position` is that of the record they are in."""
    refs: list[Ref] = []
    for *front, start, stop in told:
        span = span_from((start, stop))
        if front:
            refs.extend((front[0] or position, place) for place in span)
        else:
            refs.extend(span)
    return refs


@dataclass
class Shown:
    """What the log says of requests, as far as the next one may refer to it.

    Attributes:
        base: position of the last request that was written in full, 0 for none; later ones say how they differ from it.
        entries: the references of that request, as runs.
        contents: where the contents are that requests held since, by what tells them apart: position and place.
    """

    base: int = 0
    entries: list[list[int]] = field(default_factory=list)
    contents: dict[str, list[int]] = field(default_factory=dict)

    def refs(self) -> list[Ref]:
        """The entries of the request at `base`."""
        return flat(self.entries, self.base)

    def fold(self, data: Json, position: int) -> None:
        """Take in one more request."""
        for place, content in enumerate(data.get("new", ())):
            if content.get("made") not in (FRESH, ASIDE):  # nothing refers to those, which go by themselves
                self.contents[key_of(content)] = [position, place]
        if "base" not in data:
            refs = flat(data["entries"], position)
            self.base, self.entries = position, runs(refs)
            beside = flat([data[part] for part in ("system", "tools") if part in data], position)
            used = {ref for ref in (*refs, *beside) if not isinstance(ref, int)}
            self.contents = {key: at for key, at in self.contents.items() if (at[0], at[1]) in used}

    def forget(self, position: int) -> None:
        """Do without what was recorded from a position on: something of it was taken out."""
        if self.base >= position:
            self.base, self.entries = 0, []
        self.contents = {key: at for key, at in self.contents.items() if at[0] < position}

    def to_json(self) -> Json:
        """As JSON, for a checkpoint."""
        return dict(vars(self))
