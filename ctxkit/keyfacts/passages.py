"""Passages: what binds in whole sentences of English and Chinese text, over the ends of lines, with the lists and the
rows of tables that they introduce, and with the sentences before them on which they lean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from ctxkit.keyfacts.words import leans
from ctxkit.literals import HAN
from ctxkit.summaries.cues import is_small_talk
from ctxkit.summaries.prose import fenced_lines, pieces_of, sentences_of

__all__ = ["LONGEST_WHOLE", "Passage", "is_stub", "passages"]

LONGEST_WHOLE = 1_100
"""Characters of a sentence above which a passage of it is cut."""

MOST_LISTED = 64
"""Lines of a list that are taken along with what introduces it."""

LONGEST_LISTED = 2_000
"""Characters of a list that are taken along."""

MOST_BEFORE = 3
"""Sentences that are taken along because the one behind them leans on them."""

LISTED = 80
"""Characters of the longest line of a list without bullets whose lines stand apart."""

NEAR = 3
"""Line ends between two lines of which the first may still be about the second."""

FEWEST_WORDS, FEWEST_HAN = 3, 4
"""Words and Chinese characters of a line that is whole though nothing ends it."""

WRAPPED, WRAPPED_HAN = 60, 30
"""Characters of a line from which on it was wrapped, when nothing ends it."""

_QUOTED = re.compile(r"(?:[ \t]{0,3}>){1,9}")
_MARK = re.compile(
    r"(?P<heading>#{1,6})[ \t]+|(?:[-*+•·‣▪▫●○◦■□–—✓✔✗✘>]|\d{1,3}[.)]|[a-z][.)]|[（(]?[A-Za-z][)）])[ \t]+"
    r"|[（(]?\d{1,3}[)）、]|[（(]?[一二三四五六七八九十]{1,3}[)）、]|[①-⑳]"
)
"""What stands before an item of a list, or a heading."""

_ENDED = re.compile(r"""[.!?。！？…;；:：]["'”’」』）)\]*]*\Z""")
_OF_CODE = re.compile(r"[>|{}\\]\Z|\A[<|{}@$]")
"""Lines of markup, tables and code, whose ends are ends."""

_INTRODUCES = re.compile(r"[:：👇⬇↓][*_\s\ufe0f👇⬇↓]{0,6}(?:</\w{1,9}>){0,3}\Z")
_JOINS = re.compile(
    r"(?:[,，、(（/]|(?:^|\s)(?:to|of|the|an?|and|or|nor|with|without|for|in|on|at|by|from|before|after|until|till|unless|if|when"
    r"|that|which|than|any|all|my|our|your|their|not|no|never|must|is|are|be|do|don['’]t|please)"
    r"|[对對和與与及或在把给給被于於是的为為向從从跟请請别別勿]|不[要能可许許准準]|禁止|必[须須]|[务務]必|所以|因[为為]|但是|如果|而且|[还還]有)"
    r"[*_]{0,3}\Z",
    re.IGNORECASE,
)
"""How a line ends whose sentence goes on in the next."""

_LACKS = re.compile(
    r"(?:[:：👇⬇↓,，、(（/]|(?:^|\s)(?:to|of|the|an?|and|or|nor|with|without|for|from|until|till|unless|if|when|which|than|my|our"
    r"|your|their|is|are|be|must(?: not| never)?|do not|don['’]t)|(?<![绝絕不])[对對]|[和與与及或把被于於为為向從从请請])"
    r"[*_\s\ufe0f]{0,6}(?:</\w{1,9}>){0,3}\Z",
    re.IGNORECASE,
)
"""How a text ends that leaves out what it is about; "never do that" and "not in there" do not."""

_COLUMNS = (
    re.compile(r"\t"),
    re.compile(r"\|"),
    re.compile(r"[^\s.!?:;,] {2,}\S"),
    re.compile(r"\A(?!.*,\s)(?=.*(?:[^\s\d],\S|\S,[^\s\d])).*[^.!?。！？]\Z"),
)
"""What rows of a table have between their cells: tabs, strokes, wide gaps, commas without a blank."""

_CELL = re.compile(r"<(?:t[hdr]|d[td])\b", re.IGNORECASE)

_WORD = re.compile(rf"[^\W_{HAN}]{{1,40}}(?:['’][A-Za-z]{{1,4}})?")
_HAN_RUN = re.compile(f"[{HAN}]+")


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence, and the same with what it leans on and with the list that it introduces, as they stand; whether some
    of it is cut off; and whether it leans, and more was said before than was taken along."""

    sentence: str
    whole: str
    is_cut: bool
    may_lack: bool


def passages(text: str, wanted: Callable[[str], bool]) -> Iterator[Passage]:
    """The sentences of prose that are wanted, those that go over the ends of lines whole, with their lists and with the
    sentences that they lean on. Items of lists are sentences too, but for those in the list of one that was given.
    Linear time."""
    lines = _placed_lines(text)
    said: list[_Piece] = []
    given = 0
    for at, last, broken in _paragraphs(lines):
        pieces = _placed_pieces(text, lines[at].start, lines[last].end, at)
        in_table = _is_in_table(lines, at)
        for number, first in enumerate(pieces):
            if first.start >= given and wanted(first.text):
                begins, out_of_reach = _opening(lines, said, first, given)
                end = _last_of(pieces, number)
                after = len(pieces) - 1 - end
                listed, list_cut = 0, False
                if after == 0 or (after == 1 and _INTRODUCES.search(pieces[-1].text)):
                    listed, list_cut = _list_of(lines, last)
                cut = list_cut or out_of_reach or (broken and after == 0) or in_table
                given = max(pieces[end].end, listed)
                is_cut = cut or any(piece.is_cut for piece in pieces[number : end + 1])
                may_lack = begins < first.start and begins > said[0].start
                yield Passage(first.text, text[begins:given], is_cut, may_lack)
            said.append(first)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sentence: where it begins and ends, the line at which its paragraph begins, and whether it is but a part of
    one."""

    text: str
    start: int
    end: int
    line: int
    is_cut: bool


def _placed_pieces(text: str, place: int, end: int, line: int) -> list[_Piece]:
    found = []
    for piece, is_cut in pieces_of(text[place:end], LONGEST_WHOLE):
        start = text.index(piece, place)
        place = start + len(piece)
        found.append(_Piece(piece, start, place, line, is_cut))
    return found


def _opening(
    lines: Sequence[_Line], said: Sequence[_Piece], sentence: _Piece, given: int
) -> tuple[int, bool]:
    """Where what a sentence leans on begins, as far as it was not given yet, and whether some of it is out of reach:
    too far, in a list, in code."""
    first, left = sentence, list(said[-MOST_BEFORE:])
    while leans(first.text) or (left and _goes_on_in(left[-1], first)):
        if first.line and not (left and left[-1].line == first.line):
            above = lines[first.line - 1]
            if lines[first.line].kind is _Kind.ITEM or above.end <= given:
                break
            if above.kind in (_Kind.ITEM, _Kind.CODE):
                return first.start, True
        if not left:
            return first.start, len(said) > MOST_BEFORE
        if left[-1].start < given or _is_greeting(left[-1].text):
            break
        if sentence.end - left[-1].start > LONGEST_WHOLE:
            return first.start, True
        first = left.pop()
    return first.start, False


def _goes_on_in(before: _Piece, after: _Piece) -> bool:
    """Whether the mark between two pieces of a paragraph ends no sentence: a small letter follows, where sentences begin
    with capital ones."""
    return before.line == after.line and after.text[:1].islower() and before.text[:1].isupper()


def _is_greeting(sentence: str) -> bool:
    return len(_WORD.findall(sentence)) <= FEWEST_WORDS and is_small_talk(sentence)


def _last_of(pieces: Sequence[_Piece], first: int) -> int:
    """The last piece of the sentence that begins with one."""
    last = first
    for following in pieces[first + 1 : first + 1 + MOST_BEFORE]:
        if not _goes_on_in(pieces[first], following):
            break
        last += 1
    return last


def is_stub(text: str) -> bool:
    """Whether a text breaks off before it says what it is about, as far as its end and its length tell."""
    if _LACKS.search(text):
        return True
    if "\n" in text or _ENDED.search(text):
        return False
    han = sum(map(len, _HAN_RUN.findall(text)))
    return han + len(_WORD.findall(text)) < (FEWEST_HAN if han else FEWEST_WORDS)


class _Kind(Enum):
    PLAIN, ITEM, HEADING, CODE = range(4)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of prose without its bullet and the marks of a quotation: where it begins and ends, how many lines stand
    before it, what it is, how many blanks stand before it and its bullet, and the level of a heading."""

    text: str
    start: int
    end: int
    number: int
    kind: _Kind
    indent: int
    level: int


def _placed_lines(text: str) -> list[_Line]:
    found: list[_Line] = []
    lines = text.splitlines(keepends=True)
    quoted = [match.end() if (match := _QUOTED.match(line)) else 0 for line in lines]
    code = fenced_lines([line[skip:] for line, skip in zip(lines, quoted, strict=True)])
    begins = 0
    for number, (line, skip) in enumerate(zip(lines, quoted, strict=True)):
        said = line[skip:].strip()
        if said:
            start = line.index(said, skip)
            mark = _MARK.match(said) if number not in code else None
            level = len(mark["heading"] or "") if mark else 0
            kind = _Kind.CODE if number in code else _Kind.ITEM if mark else _Kind.PLAIN
            inner = said[mark.end() :].strip() if mark else said
            end = begins + start + len(said)
            found.append(
                _Line(
                    inner,
                    end - len(inner),
                    end,
                    number,
                    _Kind.HEADING if level else kind,
                    start - skip,
                    level,
                )
            )
        begins += len(line)
    return found


def _paragraphs(lines: Sequence[_Line]) -> Iterator[tuple[int, int, bool]]:
    """The first and the last of lines over which sentences go on, and whether the last goes on but is too long."""
    at = 0
    while at < len(lines):
        if lines[at].kind is _Kind.CODE:
            at += 1
            continue
        last, broken = _end_of_paragraph(lines, at)
        yield at, last, broken
        at = last + 1


def _end_of_paragraph(lines: Sequence[_Line], at: int) -> tuple[int, bool]:
    """The last of the lines over which sentences go on from one, none longer than `LONGEST_WHOLE` by it, and whether
    one would be."""
    opened, last = lines[at].start, at
    while last + 1 < len(lines) and _goes_on(lines[last], lines[last + 1]):
        first, *more = sentences_of(lines[last + 1].text)
        if lines[last + 1].start + len(first) - opened > LONGEST_WHOLE:
            return last, True
        last += 1
        if more:
            opened = lines[last].end - len(more[-1])
    return last, False


def _goes_on(line: _Line, following: _Line) -> bool:
    """Whether the sentence at the end of a line goes on in the next, or behind blank lines."""
    apart = following.number - line.number
    if following.kind is not _Kind.PLAIN or apart > NEAR or _are_rows(line, following):
        return False
    if _ENDED.search(line.text) or _OF_CODE.search(line.text) or following.text[:1] in "<{}[|#@$=&/\\":
        return False
    joins = _JOINS.search(line.text)
    if apart > 1:
        return joins is not None and (following.text[:1].islower() or joins.group().strip()[:1].isalpha())
    if following.text[:1].islower() or joins:
        return True
    if line.kind is _Kind.ITEM and following.indent > line.indent:
        return True
    return len(line.text) >= (WRAPPED_HAN if _HAN_RUN.search(line.text) else WRAPPED)


def _list_of(lines: Sequence[_Line], at: int) -> tuple[int, bool]:
    """Where the list ends that a line introduces, or the line after it; 0 for none; and whether it is cut."""
    last, cut = _end_of_list(lines, at)
    if last == at and at + 1 < len(lines) and _is_next(lines[at], lines[at + 1]):
        after, broken = _end_of_paragraph(lines, at + 1)
        introduces = lines[at + 1].kind is lines[at].kind and _INTRODUCES.search(lines[after].text)
        if introduces and not broken:
            last, cut = _end_of_list(lines, after)
            return (lines[last].end, cut) if last > after else (0, False)
    return (lines[last].end if last > at else 0), cut


def _end_of_list(lines: Sequence[_Line], at: int) -> tuple[int, bool]:
    """The last line of the list that a line introduces, the line itself for none, and whether the list is cut."""
    if at + 1 == len(lines):
        return at, False
    opening, first = lines[at], lines[at + 1]
    if _are_rows(opening, first):
        return (at, False) if _is_in_table(lines, at) else _taken(lines, at, _in_rows)
    introduces = _INTRODUCES.search(opening.text) is not None
    joins = opening.kind is not _Kind.ITEM and _JOINS.search(opening.text) is not None
    match first.kind:
        case _Kind.CODE if introduces or joins:
            return _taken(lines, at, lambda before, line, after: line.kind is _Kind.CODE)
        case _Kind.ITEM if introduces or joins or _is_over_items(lines, at):
            nested = opening.kind is _Kind.ITEM and first.indent > opening.indent
            return _taken(lines, at, _listed(first, opening.indent if nested else -1))
        case _Kind.HEADING if opening.level < first.level and (introduces or opening.level):
            return _taken(lines, at, _listed(first, -1, above=opening.level))
        case _Kind.PLAIN if (introduces or opening.level) and first.number - opening.number <= NEAR:
            last, cut = _taken(lines, at, _in_block(opening, first))
            ends = last + 1 == len(lines) or not _is_next(lines[last], lines[last + 1])
            return last, cut or not (ends or lines[last + 1].kind is _Kind.HEADING)
    return at, False


def _is_over_items(lines: Sequence[_Line], at: int) -> bool:
    """Whether items stand below a line that neither a colon nor a joining word ends, as those of its list."""
    opening, first = lines[at], lines[at + 1]
    if opening.kind is _Kind.ITEM:
        return first.indent > opening.indent and _is_next(opening, first)
    if opening.level or not _ENDED.search(opening.text):
        return first.number - opening.number <= NEAR
    several = at + 2 < len(lines) and lines[at + 2].kind is _Kind.ITEM
    return several and _is_next(opening, first) and not opening.text.endswith(("?", "？"))


_Belongs = Callable[[_Line, _Line, _Line | None], bool]
"""Whether a line belongs to a list, by the line before it and the line after it."""


def _taken(lines: Sequence[_Line], at: int, belongs: _Belongs) -> tuple[int, bool]:
    """The last of the lines below one that belong to its list, and whether there are more than are taken."""
    last = at
    while last + 1 < len(lines):
        line = lines[last + 1]
        if not belongs(lines[last], line, lines[last + 2] if last + 2 < len(lines) else None):
            break
        if last - at == MOST_LISTED or line.end - lines[at].end > LONGEST_LISTED:
            return last, True
        last += 1
    return last, False


def _listed(first: _Line, outer: int, above: int | None = None) -> _Belongs:
    """Items that are indented more than `outer`, with the lines in which they go on and the notes below them; with
    `above`, headings below that level too."""

    def belongs(before: _Line, line: _Line, after: _Line | None) -> bool:
        if line.kind is _Kind.ITEM:
            return line.indent > outer
        if line.kind is _Kind.HEADING:
            return above is not None and line.level > above
        if line.indent > first.indent:
            return line.number - before.number <= NEAR
        if line.kind is _Kind.CODE:
            return False
        is_between = after is not None and after.kind is _Kind.ITEM and _is_next(line, after)
        return _goes_on(before, line) or (is_between and _is_next(before, line))

    return belongs


def _in_block(opening: _Line, first: _Line) -> _Belongs:
    """Lines without bullets; when the first stands apart, the short ones that stand apart after it too."""
    apart = not _is_next(opening, first)

    def belongs(before: _Line, line: _Line, after: _Line | None) -> bool:
        if line.kind in (_Kind.HEADING, _Kind.CODE) or _INTRODUCES.search(line.text):
            return False
        if line is first or _is_next(before, line):
            return True
        if not apart or line.number - before.number > NEAR or len(line.text) > LISTED:
            return False
        return not (_ENDED.search(before.text) or _ENDED.search(line.text))

    return belongs


def _is_next(line: _Line, following: _Line) -> bool:
    return following.number == line.number + 1


def _are_rows(line: _Line, following: _Line) -> bool:
    """Whether two lines are rows of one table."""
    if not _is_next(line, following) or line.kind is not _Kind.PLAIN or following.kind is not _Kind.PLAIN:
        return False
    return any(cells.search(line.text) and cells.search(following.text) for cells in _COLUMNS)


def _in_rows(before: _Line, line: _Line, after: _Line | None) -> bool:
    """The rows of a table."""
    return _are_rows(before, line)


def _is_in_table(lines: Sequence[_Line], at: int) -> bool:
    """Whether a line is a row of a table of which another row says what it is about."""
    return _CELL.search(lines[at].text) is not None or (at > 0 and _are_rows(lines[at - 1], lines[at]))
