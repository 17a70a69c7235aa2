"""Exact values: what of its sources a summary has to say verbatim, and room for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from ctxkit.summaries.answers import without_tags
from ctxkit.summaries.known import missing
from ctxkit.summaries.language import Language
from ctxkit.summaries.origins import directs
from ctxkit.summaries.prose import one_line, placed
from ctxkit.summaries.salience import Said, label, sentences, unlabelled
from ctxkit.summaries.sections import Sections, shortened, written
from ctxkit.summaries.specifics import Kind, Specific, specifics
from ctxkit.summaries.support import is_unverified

__all__ = ["Locked", "absent_lines", "fitted", "locked"]

EXACT_SHARE = 0.5
"""Of a summary: what exact values may take when the other lines need the rest."""

EXACT_FLOOR = 120
"""Tokens that they may take all the same: in a short summary values say more than prose."""

TOOLS_SHARE = 0.5
"""Of the room for exact values: what those that only tools said may take."""

LONGEST_CONTEXT = 160
"""Characters of a sentence up to which it is kept whole for the value in it."""

SHORTEST_LINE = 4
"""Tokens of a line: with less room none is looked at any more."""

ROUNDS = 4
"""Times that room is made: lines that go take values with them."""

_BARE = frozenset({Kind.AMOUNT, Kind.DATE, Kind.TIME, Kind.CONSTRAINT, Kind.COMMAND})
"""Kinds that say nothing without their sentence, or bind nobody when a tool says them."""


@dataclass(frozen=True, slots=True)
class Locked:
    """A specific that a summary must have verbatim, and the line that it gets when it has not."""

    specific: Specific
    line: str


def locked(sources: Sequence[Said], earlier: Sections, language: Language) -> tuple[Locked, ...]:
    """What must survive verbatim, in the order in which it was said: each specific of what users said; of what the
    assistant said and gave to tools, and of what tools said, the identifiers.

    A specific that both a person and a tool said counts as the person's. What an earlier summary has stays locked.
    """
    found: dict[str, Locked] = {}
    for lock in _of_earlier(earlier):
        found.setdefault(lock.specific.text, lock)
    for each in sources:
        if each.by in ("user", "system"):
            for lock in _of_person(each, language):
                found.setdefault(lock.specific.text, lock)
    for each in sources:
        if each.by in ("assistant", "tool"):
            for specific in _identifiers(each.text if each.by == "assistant" else each.call):
                found.setdefault(specific.text, Locked(specific, specific.text))
    for each in sources:
        if each.by == "tool":
            for specific in _identifiers(_undirected(each.text)):
                line = label("tool", language, each.tool) + one_line(specific.text)
                found.setdefault(specific.text, Locked(specific, line))
    return tuple(found.values())


def _identifiers(text: str) -> Iterator[Specific]:
    return (each for each in specifics(without_tags(text)) if each.kind not in _BARE)


def _of_earlier(earlier: Sections) -> Iterator[Locked]:
    """The specifics of a summary, in their lines where these are short; of what tools said and of what nothing supports
    the identifiers, for it binds nobody."""
    for _, line in earlier.lines():
        by, said = unlabelled(line)
        binding = by != "tool" and not is_unverified(line)
        for specific in specifics(said) if binding else _identifiers(said):
            short = len(line) <= LONGEST_CONTEXT
            yield Locked(specific, line if short else line[: len(line) - len(said)] + specific.text)


def _undirected(text: str) -> str:
    """The text of a tool without the sentences that tell somebody what to do: what they name is theirs to want."""
    return "\n".join(map(_without_orders, text.splitlines()))


def _without_orders(line: str) -> str:
    kept, end = [], 0
    for start, stop, sentence in placed(line):
        if directs(sentence):
            kept += [line[end:start], " "]
            end = stop
    return "".join([*kept, line[end:]])


def _of_person(said: Said, language: Language) -> Iterator[Locked]:
    """The specifics of a message, in their sentences where these are short, else in their lines:
    code has no sentences."""
    sentence_of: dict[str, str] = {}
    for sentence in chain(sentences(said.text), map(str.strip, said.text.splitlines())):
        if len(sentence) <= LONGEST_CONTEXT:
            for specific in specifics(sentence):
                sentence_of.setdefault(specific.text, sentence)
    for specific in specifics(said.text):
        line = sentence_of.get(specific.text, specific.text)
        spoken_by = label(said.by, language, writer=said.writer)
        yield Locked(specific, spoken_by + one_line(line))


def fitted(
    sections: Sections,
    must: Sequence[Locked],
    *,
    max_tokens: int,
    count: Callable[[str], int],
    language: Language,
) -> tuple[Sections, tuple[Specific, ...]]:
    """The sections with every locked value in them, shortened to `max_tokens`, and the values that found no room.

    Exact values take the place of other lines up to half of a long summary, those of tools a quarter; newer ones win.
    """
    prose, exact = replace(sections, exact=()), sections.exact
    kept = shortened(sections, max_tokens, count, language)
    absent: set[str] = set()
    for _ in range(ROUNDS):
        absent.update(absent_lines(kept, must, language))
        lines = (*exact, *(each.line for each in must if each.line in absent))
        room = max(
            int(max_tokens * EXACT_SHARE),
            min(EXACT_FLOOR, max_tokens),
            max_tokens - count(written(prose, language)),
        )
        fits = shortened(replace(prose, exact=_chosen(lines, room, count)), max_tokens, count, language)
        if fits == kept:
            break
        kept = fits
    return kept, missing(written(kept, language), [each.specific for each in must])


def absent_lines(sections: Sections, must: Sequence[Locked], language: Language) -> Iterator[str]:
    """The lines of the locked values that the sections do not have; one line may bring several."""
    absent = set(missing(written(sections, language), [each.specific for each in must]))
    brought: set[str] = set()
    for each in must:
        if each.specific in absent and each.specific.text not in brought:
            yield each.line
            brought.update(specific.text for specific in specifics(each.line))


def _chosen(lines: Sequence[str], room: int, count: Callable[[str], int]) -> tuple[str, ...]:
    """As many lines as fit: what people said before what only tools said, the newest first; in their order."""
    ranked = sorted(
        enumerate(dict.fromkeys(lines)), key=lambda each: (unlabelled(each[1])[0] == "tool", -each[0])
    )
    left, of_tools, kept = room, int(room * TOOLS_SHARE), []
    for at, line in ranked:
        tool = unlabelled(line)[0] == "tool"
        free = min(left, of_tools) if tool else left
        if free < SHORTEST_LINE:
            break
        tokens = count(f"- {line}\n")
        if tokens <= free:
            left -= tokens
            of_tools -= tokens if tool else 0
            kept.append((at, line))
    return tuple(line for _, line in sorted(kept))
