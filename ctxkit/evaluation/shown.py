"""What a request shows: its texts, told apart by whether they are as they were received."""

from __future__ import annotations

from collections.abc import Iterable

from ctxkit.core.items import Role
from ctxkit.evaluation.needs import Mentions
from ctxkit.evaluation.recording import Read, Recording
from ctxkit.evaluation.values import names_in, one_spaced, parsed, quoted, stands_in, strings, text_names

__all__ = ["Shown"]


class Shown:
    """The texts of a request outside its system text.

    Args:
        at: position in the recording of the entry that answers the request.
        reads: the messages of the request.
    """

    def __init__(self, recording: Recording, mentions: Mentions, at: int, reads: Iterable[Read]) -> None:
        self._mentions, self._at = mentions, at
        self._received: set[str] = set()
        self._edited: dict[str, None] = {}
        for read in reads:
            if read.shape.role is Role.SYSTEM:
                continue
            for part in read.parts:
                if recording.arrived.get(part.text, at) < at:
                    self._received.add(part.text)
                else:
                    self._edited[part.text] = None

    def holds(self, literal: str) -> bool:
        """Whether a literal is there as it was received; or, in a text that ctxkit wrote or edited, beside a field
        name that it had before or in the sentence that it was said in."""
        if not self._received.isdisjoint(self._mentions.texts(literal)):
            return True
        edited = [text for text in self._edited if stands_in(literal, text)]
        if not edited:
            return False
        origins = self._mentions.origins(literal, self._at)
        names = frozenset(name for origin in origins for name in origin.names)
        sources = [origin.source for origin in origins if origin.source]
        return any(_beside(literal, text, names) or quoted(literal, text, sources) for text in edited)

    def says(self, sentence: str) -> bool:
        """Whether a sentence is there word for word; each run of white space counts as one space.

        In JSON that ctxkit wrote it may stand as a string, with whatever that has to be escaped.
        """
        if any(sentence in one_spaced(text) for text in self._received):
            return True
        return any(
            sentence in one_spaced(string)
            for text in self._edited
            for string in (text, *strings(parsed(text)))
        )


def _beside(literal: str, text: str, names: frozenset[str]) -> bool:
    """Whether a literal stands in a text beside one of the field names."""
    value = parsed(text)
    if isinstance(value, dict | list):
        return not names.isdisjoint(names_in(literal, value))
    return not names.isdisjoint(text_names(literal, text))
