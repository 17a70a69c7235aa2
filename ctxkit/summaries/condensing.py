"""Condensing: the older part of a summary told in fewer words, checked before it takes the place of what it tells.

What was condensed before is among the older part of the next time, and is told in fewer words again. So a summary has what
is new in full, what is older in less detail, and what is oldest as an outline.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

from ctxkit.summaries.answers import BLANK, faults
from ctxkit.summaries.attribution import directs, seizes
from ctxkit.summaries.cues import binds
from ctxkit.summaries.exact import absent_lines, locked
from ctxkit.summaries.language import Language, language_of
from ctxkit.summaries.origins import Origins
from ctxkit.summaries.prose import normal, stems
from ctxkit.summaries.salience import Said, unlabelled
from ctxkit.summaries.sections import SECTIONS, Sections, parse, written
from ctxkit.summaries.superseding import named
from ctxkit.summaries.support import is_unverified
from ctxkit.summaries.validation import read, refused

__all__ = ["Aged", "Condensed", "by_age", "condensed"]

CONDENSED = ("facts", "decisions", "done")
"""Sections whose old lines are condensed. Goals and exact values stay as they are. So do open items: who finishes one
writes it again in the words that it has."""

CROWDED_SHARE = 0.5
"""Of the room: earlier notes that take less are not condensed. What crowds is the new part then, and goes by worth."""

OLD_SHARE = 0.8
"""Of a section, by tokens: what counts as its older part."""

LEAST_SHARE = 0.2
"""Of the room: a smaller older part is not condensed. Steps are large so that they are few: each rewrites notes that a
provider's cache has."""

LENGTH_SHARE = 0.4
"""Of the older part: as long as it is to become."""

MOST_LEFT_SHARE = 0.75
"""Of the older part: when more than this would be left, with the values that have to stay, it was not worth it."""

LEAST_LEFT_SHARE = 0.15
"""Of the older part: an answer below this is no outline of it."""

SUPPORTED_SHARE = 0.6
"""Of the stems of a sentence that tells somebody what to do: as many the older part has to have."""


@dataclass(frozen=True, slots=True)
class Aged:
    """A summary in its older part, which is to be condensed, and the rest, which stays as it is."""

    old: Sections
    rest: Sections

    @property
    def words(self) -> str:
        """What the older part says, without labels."""
        return "\n".join(unlabelled(line)[1] for _, line in self.old.lines())

    @property
    def language(self) -> Language:
        """The language of the older part."""
        return language_of(self.words)

    @property
    def text(self) -> str:
        """The older part as a text."""
        return written(self.old, self.language)

    @property
    def names(self) -> tuple[str, ...]:
        """The sections that the older part has."""
        return tuple(name for name in SECTIONS if self.old.of(name))


@dataclass(frozen=True, slots=True)
class Condensed:
    """A summary whose older part was condensed.

    Attributes:
        sections: the whole of it.
        notes: what was done, and what was left out, one sentence each; for the report.
    """

    sections: Sections
    notes: tuple[str, ...]


def by_age(
    earlier: str, *, max_tokens: int, count: Callable[[str], int], held: Callable[[str], bool]
) -> Aged | None:
    """A summary by age; None when condensing it would gain too little.

    Goals, open items, exact values, what binds, `name: value` (a newer value takes the place of an older one) and
    what is held stays as it is, however old.

    Args:
        earlier: the summary.
        max_tokens: the room of the next one.
        held: whether a line has to stay for another reason.
    """
    if count(earlier) <= CROWDED_SHARE * max_tokens:
        return None
    notes = parse(earlier)
    old, rest = dict[str, tuple[str, ...]](), dict[str, tuple[str, ...]]()
    for name in SECTIONS:
        lines = notes.of(name)
        free = [line for line in lines if name in CONDENSED and not (_stays(line) or held(line))]
        older = _older(free, count)
        old[name], rest[name] = older, tuple(line for line in lines if line not in older)
    aged = Aged(Sections(**old), Sections(**rest))
    return aged if count(aged.text) >= LEAST_SHARE * max_tokens else None


def _stays(line: str) -> bool:
    by, said = unlabelled(line)
    return bool(named(line)) or (by != "tool" and binds(said))


def _older(lines: list[str], count: Callable[[str], int]) -> tuple[str, ...]:
    """The lines in front that take at most `OLD_SHARE` of all."""
    sizes = [count(f"- {line}\n") for line in lines]
    room, older = OLD_SHARE * sum(sizes), []
    for line, size in zip(lines, sizes, strict=True):
        room -= size
        if room < 0:
            break
        older.append(line)
    return tuple(older)


def condensed(
    answer: str,
    aged: Aged,
    *,
    count: Callable[[str], int],
    complete: bool = True,
    ignore: Collection[str] = (),
    instructions: str = "",
    request: str = "",
) -> Condensed:
    """The summary with what a model made of its older part, which is checked as a summary is.

    The older lines are all that it may tell. Values that they have not are marked, what tools said stays theirs, what
    nothing supports is marked as unverified, and what binds or orders somebody and is not theirs is left out. A value
    of theirs that has to survive verbatim and is not there gets its line among the exact values.

    Args:
        answer: as the model wrote it.
        aged: see `by_age`. The rest stays as it is, to the letter and in its order.
        count: tokens of a text.
        complete: False when the model was stopped before it came to an end.
        ignore: lines that are no content, as of a request that some models repeat.
        instructions: what the model was told to do, where that is known.
        request: the digest of the question, for the error.

    Raises:
        ModelCallError: the answer is refused: it is no summary, leaves out a section, says next to nothing, or is not
            shorter; the message has every reason.
    """
    size = count(aged.text)
    text, new = read(answer, max_tokens=size, ignore=ignore, request=request)
    sources = [Said("assistant", line) for _, line in aged.old.lines()]
    reasons = faults(text, new, sources, aged.words, complete=complete, instructions=instructions)
    if reasons:
        raise refused(reasons, request, transient=reasons == [BLANK], what="outline")
    new, told = Origins((), aged.old, aged.language).cleaned(new)
    new, orders = _placed(new, aged)
    must = locked((), aged.old, aged.language)
    kept = tuple(dict.fromkeys(absent_lines(_joined(new, aged.rest), must)))
    left = count(written(new, aged.language))
    moved = sum(count(f"- {line}\n") for line in kept)
    reasons = list(_losses(new, aged, left, moved, size))
    if reasons:
        raise refused(reasons, request, what="outline")
    notes = [f"old notes were condensed, from {size} to {left + moved} tokens", *told, *orders]
    rest = replace(aged.rest, exact=(*aged.rest.exact, *kept))
    return Condensed(_joined(new, rest), tuple(notes))


def _losses(new: Sections, aged: Aged, left: int, moved: int, size: int) -> Iterator[str]:
    """Why what is left of an answer does not stand for the older part."""
    gone = [name for name in aged.names if not new.of(name)]
    if gone:
        yield f"nothing is left under {', '.join(gone)}"
    if left < LEAST_LEFT_SHARE * size:
        yield f"its {left} tokens say next to nothing of {size}"
    if left + moved > MOST_LEFT_SHARE * size:
        beside = f", and {moved} with the values that it left out" if moved else ""
        yield f"it is too long: {left} tokens of {size}{beside}"


def _joined(new: Sections, rest: Sections) -> Sections:
    """The condensed lines before the others of their section."""
    return Sections(**{name: (*new.of(name), *rest.of(name)) for name in SECTIONS})


def _placed(new: Sections, aged: Aged) -> tuple[Sections, tuple[str, ...]]:
    """The lines of an answer under the sections that they come from, each once, without orders that the older part does
    not give; and one sentence on each line that was left out for such an order."""
    stems_in = {name: _stems(aged.old.of(name)) for name in aged.names}
    of_tools, own = _by_origin(aged.old)
    said = {normal(line) for _, line in aged.rest.lines()}
    lines, told = [], []
    for section, line in new.lines():
        by, text = unlabelled(line)
        if _is_new_order(by, text, of_tools if by == "tool" else own):
            told.append(f"left out, no older note tells anybody to: {line!r:.120}")
        elif normal(line) not in said:
            said.add(normal(line))
            lines.append((_section_of(section, line, stems_in), line))
    return Sections.gathered(lines), tuple(told)


def _by_origin(old: Sections) -> tuple[frozenset[str], frozenset[str]]:
    """What the lines of tools are about, and what the others are."""
    lines = [line for _, line in old.lines()]
    of_tools = [line for line in lines if unlabelled(line)[0] == "tool"]
    return _stems(of_tools), _stems([line for line in lines if line not in of_tools])


def _is_new_order(by: str, text: str, source: frozenset[str]) -> bool:
    """Whether a line tells somebody what to do, and no older one does: what binds was not among these, tools' aside."""
    if seizes(text) or (by != "tool" and binds(text)):
        return True
    if not directs(text):
        return False
    about = stems(text)
    return len(about & source) < SUPPORTED_SHARE * len(about)


def _section_of(section: str, line: str, stems_in: dict[str, frozenset[str]]) -> str:
    """Where a line belongs: what is a fact stays one, all else stands where most of its words stood."""
    if section == "facts" and section in stems_in:
        return section
    doubtful = unlabelled(line)[0] == "tool" or is_unverified(line)
    names = [name for name in stems_in if not (doubtful and name == "decisions")]
    about = _stems([line])
    shares = {name: len(about & stems_in[name]) for name in names}
    return max(names, key=lambda name: (shares[name], name == section), default="facts")


def _stems(lines: Collection[str]) -> frozenset[str]:
    return frozenset().union(*(stems(unlabelled(line)[1]) for line in lines))
