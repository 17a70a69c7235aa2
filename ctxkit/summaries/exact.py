"""Exact values: what of its sources a summary has to say verbatim, and room for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import chain

from ctxkit.summaries.answers import without_tags
from ctxkit.summaries.attribution import PERSONS, directs, quoted
from ctxkit.summaries.held import BARE, Must
from ctxkit.summaries.language import Language
from ctxkit.summaries.prose import one_line, placed
from ctxkit.summaries.salience import Said, called, label, sentences, unlabelled
from ctxkit.summaries.sections import Sections, shortened, written
from ctxkit.summaries.specifics import Kind, Specific, specifics
from ctxkit.summaries.support import is_unverified

__all__ = ["absent_lines", "fitted", "locked"]

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


def locked(sources: Sequence[Said], earlier: Sections, language: Language) -> Must:
    """What must survive verbatim, in the order in which it was said: each specific of what users said; of what the
    assistant said and gave to tools, and of what tools said, the identifiers.

    A specific that both a person and a tool said counts as the person's. What an earlier summary has stays locked. What
    binds is each person's own, though others say it in the same words.
    """
    must = Must()
    for section, line in earlier.lines():
        _of_earlier(section, line, must)
    for each in sources:
        if each.by in PERSONS:
            _of_person(each, language, must)
    for each in sources:
        if each.by in ("assistant", "tool"):
            for specific in _given(each.text if each.by == "assistant" else each.call, "assistant", must):
                must.lock(specific, specific.text, ("assistant", ""))
    for each in sources:
        if each.by == "tool":
            for specific in _given(_undirected(each.text), "tool", must):
                must.lock(
                    specific, label("tool", language, each.tool) + one_line(specific.text), ("tool", "")
                )
    return must


def _given(text: str, by: str, must: Must) -> Iterator[Specific]:
    """The identifiers of what the assistant or a tool said; that it gave the other values is remembered."""
    for specific in specifics(without_tags(text)):
        if specific.kind in BARE:
            must.given(specific, (by, ""))
        else:
            yield specific


def _of_earlier(section: str, line: str, must: Must) -> None:
    """The specifics of a line of a summary, with the line where it is short; of what tools said and of what nothing
    supports the identifiers, for it binds nobody. Neither does what is done."""
    quote = quoted(line)
    who = quote.by, quote.author
    sure = quote.by != "tool" and not is_unverified(line)
    if sure:
        must.said(quote.said, who)
    for specific in specifics(quote.said):
        binds = specific.kind is Kind.CONSTRAINT
        if specific.kind not in BARE or (sure and not (binds and section == "done")):
            short = len(line) <= LONGEST_CONTEXT
            must.lock(specific, line if short else line[: len(line) - len(quote.said)] + specific.text, who)


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


def _of_person(said: Said, language: Language, must: Must) -> None:
    """The specifics of a message, in their sentences where these are short, else in their lines:
    code has no sentences."""
    who, spoken_by = (said.by, called(said.writer.author)), label(said.by, language, writer=said.writer)
    must.said(said.text, who)
    sentence_of: dict[str, str] = {}
    for sentence in chain(sentences(said.text), map(str.strip, said.text.splitlines())):
        if len(sentence) <= LONGEST_CONTEXT:
            for specific in specifics(sentence):
                sentence_of.setdefault(specific.text, sentence)
    for specific in specifics(said.text):
        line = sentence_of.get(specific.text, specific.text)
        must.lock(specific, spoken_by + one_line(line), who)


def fitted(
    sections: Sections,
    must: Must,
    *,
    max_tokens: int,
    count: Callable[[str], int],
    language: Language,
) -> tuple[Sections, tuple[Specific, ...]]:
    """The sections with every locked value in them, shortened to `max_tokens`, and the values that found no room.

    Exact values take the place of other lines up to half of a long summary, those of tools a quarter; what binds comes
    first, of the rest newer ones win.
    """
    prose, exact = replace(sections, exact=()), sections.exact
    kept = shortened(sections, max_tokens, count, language)
    absent: set[str] = set()
    most = max_tokens - count(written(Sections(exact=("x",)), language))
    for _ in range(ROUNDS):
        absent.update(absent_lines(kept, must))
        lines = (*exact, *(each.line for each in must.locks if each.line in absent))
        beside = max_tokens - count(written(prose, language))
        room = min(most, max(int(max_tokens * EXACT_SHARE), EXACT_FLOOR, beside))
        chosen = _chosen(lines, room, count, binding=must.binding)
        fits = shortened(replace(prose, exact=chosen), max_tokens, count, language)
        if fits == kept:
            break
        kept = fits
    return kept, tuple(dict.fromkeys(each.specific for each in must.absent(kept)))


def absent_lines(sections: Sections, must: Must) -> Iterator[str]:
    """The lines of the locked values that the sections do not have; one line may bring several."""
    brought: set[str] = set()
    for each in must.absent(sections):
        if each.specific.kind is Kind.CONSTRAINT or each.specific.text not in brought:
            yield each.line
            brought.update(specific.text for specific in specifics(unlabelled(each.line)[1]))


def _chosen(
    lines: Sequence[str], room: int, count: Callable[[str], int], *, binding: Set[str]
) -> tuple[str, ...]:
    """As many lines as fit: what binds, what people said, what only tools said, of each the newest first; in their
    order."""
    ranked = sorted(
        enumerate(dict.fromkeys(lines)),
        key=lambda each: (each[1] not in binding, unlabelled(each[1])[0] == "tool", -each[0]),
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
