"""Passages: what binds in whole sentences of English and Chinese text, over the ends of lines, with the lists and the
rows of tables that they introduce, and with the sentences before them on which they lean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from ctxkit.keyfacts.adding import adds, is_bare, is_numbered, is_part, labels, may_add, openings
from ctxkit.keyfacts.lines import Kind, Line, is_next, placed_lines
from ctxkit.keyfacts.words import leans
from ctxkit.literals import HAN
from ctxkit.summaries.cues import is_small_talk
from ctxkit.summaries.prose import pieces_of, sentences_of

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

_ENDED = re.compile(r"""[.!?。！？…;；:：]["'”’」』）)\]*]*\Z""")
_OF_CODE = re.compile(r"[>|{}\\]\Z|\A[<|{}@$]")
"""Lines of markup, tables and code, whose ends are ends."""

_INTRODUCES = re.compile(
    r"(?:[:：👇⬇↓]|(?:as follows|the following|(?:listed|given|named|shown) below|如下|以下|下列)[.。…]?)"
    r"[*_\s\ufe0f👇⬇↓]{0,6}(?:</\w{1,9}>){0,3}\Z",
    re.IGNORECASE,
)
_JOINS = re.compile(
    r"(?:[,，、(（/]|(?:^|\s)(?:to|of|the|an?|and|or|nor|with|without|for|in|on|at|by|from|before|after|until|till|unless|if|when"
    r"|that|which|than|any|all|my|our|your|their|not|no|never|must|is|are|be|do|don['’]t|please)"
    r"|[对對和與与及或在把给給被于於的为為向從从跟请請别別勿]|(?<!也)是|不[要能可许許准準]|禁止|必[须須]|[务務]必|所以|因[为為]|但是|如果|而且|[还還]有)"
    r"[*_]{0,3}\Z",
    re.IGNORECASE,
)
"""How a line ends whose sentence goes on in the next."""

_LACKS = re.compile(
    r"(?:[:：👇⬇↓,，、(（/\[{]|(?:^|\s)(?:to|of|the|an?|and|or|nor|with|without|for|from|until|till|unless|if|when|which|than|my|our"
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
    """The sentences of prose that are wanted, those that go over the ends of lines whole, with their lists, with the
    sentences that they lean on and with those that only add to them. Items of lists are sentences too, but for those
    in the list of one that was given. Linear time."""
    lines = placed_lines(text, wanted)
    pieces = _placed_pieces(text, lines)
    given = 0
    for at, first in enumerate(pieces):
        if first.start >= given and wanted(first.text):
            begins, out_of_reach = _opening(lines, pieces, at, given)
            opened = any(wanted(first.text[:end]) for end in islice(openings(first.text), MOST_BEFORE))
            ending = _ending(lines, pieces, at, opened)
            given = ending.place
            is_cut = out_of_reach or ending.is_cut or _is_in_table(lines, first.line)
            leans_on_more = pieces[0].start < begins < first.start
            yield Passage(first.text, text[begins:given], is_cut, leans_on_more or ending.may_lack)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sentence: where it begins and ends, whether it is but a part of one; the lines at which its paragraph begins and
    ends, whether that goes on, and how many pieces of it stand behind."""

    text: str
    start: int
    end: int
    is_cut: bool
    line: int
    last_line: int
    is_broken: bool
    left: int


@dataclass(frozen=True, slots=True)
class _Ending:
    """Where what a sentence says ends, whether some of it is cut off, and whether more may be about the same."""

    place: int
    is_cut: bool
    may_lack: bool


def _placed_pieces(text: str, lines: Sequence[Line]) -> list[_Piece]:
    """The sentences of all paragraphs, in order."""
    found: list[_Piece] = []
    for at, last, broken in _paragraphs(lines):
        place = lines[at].start
        pieces = list(pieces_of(text[place : lines[last].end], LONGEST_WHOLE))
        for number, (piece, is_cut) in enumerate(pieces, 1):
            start = text.index(piece, place)
            place = start + len(piece)
            found.append(_Piece(piece, start, place, is_cut, at, last, broken, len(pieces) - number))
    return found


def _ending(lines: Sequence[Line], pieces: Sequence[_Piece], at: int, opened: bool) -> _Ending:
    """How far what a sentence says goes: to the end of its list, also of one that it opened in its own line, and of what
    is added behind."""
    last, cut = at, False
    while True:
        last = _last_of(pieces, last)
        place, list_cut = _end_with_list(lines, pieces, last)
        cut = cut or list_cut
        after = last + 1
        while after < len(pieces) and pieces[after].start < place:
            after += 1
        if after == len(pieces) or not _belongs(lines, pieces, after, opened, after - 1 == at):
            break
        if pieces[after].end - pieces[at].start > LONGEST_WHOLE:
            cut = True
            break
        last = after
    cut = cut or any(piece.is_cut for piece in pieces[at : last + 1])
    return _Ending(place, cut, after < len(pieces) and _may_belong(lines, pieces, after, opened))


def _end_with_list(lines: Sequence[Line], pieces: Sequence[_Piece], at: int) -> tuple[int, bool]:
    """Where a piece ends, or the list below it when its paragraph ends with it, and whether some of it is cut off."""
    piece = pieces[at]
    if piece.left > 1 or (piece.left and not _INTRODUCES.search(pieces[at + 1].text)):
        return piece.end, False
    listed, cut = _list_of(lines, piece.last_line)
    return max(piece.end, listed), cut or (piece.is_broken and not piece.left)


def _belongs(lines: Sequence[Line], pieces: Sequence[_Piece], at: int, opened: bool, is_second: bool) -> bool:
    """Whether a piece is about what was said before it: one of a list that was opened in the same line, or what only
    adds to it."""
    before, piece = pieces[at - 1], pieces[at]
    if before.line == piece.line:
        if before.text.endswith(("；", ";")):
            return opened or not is_numbered(piece.text)
        if opened and any(is_numbered(each.text) for each in _of_line(pieces, at)):
            return True
        if opened and is_part(piece.text) and labels(piece.text) <= max(0, labels(before.text) - is_second):
            return True
    elif not _is_near(lines, piece):
        return False
    return adds(piece.text)


def _may_belong(lines: Sequence[Line], pieces: Sequence[_Piece], at: int, opened: bool) -> bool:
    """Whether a piece that was not taken along may be about the same all the same."""
    before, piece = pieces[at - 1], pieces[at]
    if before.line != piece.line:
        listed = opened and _is_near(lines, piece) and _ENDED.search(before.text) is not None
        return listed and is_part(piece.text) and not labels(piece.text)
    if labels(piece.text):
        return False
    nearest = _of_line(pieces, at)[: 2 if opened else 1]
    return may_add(piece.text) or any(is_bare(each.text) for each in nearest)


def _of_line(pieces: Sequence[_Piece], at: int) -> Sequence[_Piece]:
    """A piece and the next few of its paragraph."""
    return pieces[at : at + 1 + min(pieces[at].left, MOST_BEFORE)]


def _is_near(lines: Sequence[Line], piece: _Piece) -> bool:
    """Whether a paragraph, no item and no heading, stands not far below the line before it."""
    line, above = lines[piece.line], lines[max(0, piece.line - 1)]
    return line.kind is Kind.PLAIN and line.number - above.number <= NEAR


def _opening(lines: Sequence[Line], pieces: Sequence[_Piece], at: int, given: int) -> tuple[int, bool]:
    """Where what a sentence leans on begins, as far as it was not given yet, and whether some of it is out of reach:
    too far, in a list, in code."""
    first, left = pieces[at], list(pieces[max(0, at - MOST_BEFORE) : at])
    while leans(first.text) or (left and _goes_on_in(left[-1], first)):
        if first.line and not (left and left[-1].line == first.line):
            above = lines[first.line - 1]
            if lines[first.line].kind is Kind.ITEM or above.end <= given:
                break
            if above.kind in (Kind.ITEM, Kind.CODE):
                return first.start, True
        if not left:
            return first.start, at > MOST_BEFORE
        if left[-1].start < given or _is_greeting(left[-1].text):
            break
        if pieces[at].end - left[-1].start > LONGEST_WHOLE:
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
    if _LACKS.search(text) or _INTRODUCES.search(text):
        return True
    if "\n" in text or _ENDED.search(text):
        return False
    han = sum(map(len, _HAN_RUN.findall(text)))
    return han + len(_WORD.findall(text)) < (FEWEST_HAN if han else FEWEST_WORDS)


def _paragraphs(lines: Sequence[Line]) -> Iterator[tuple[int, int, bool]]:
    """The first and the last of lines over which sentences go on, and whether the last goes on but is too long."""
    at = 0
    while at < len(lines):
        if lines[at].kind is Kind.CODE:
            at += 1
            continue
        last, broken = _end_of_paragraph(lines, at)
        yield at, last, broken
        at = last + 1


def _end_of_paragraph(lines: Sequence[Line], at: int) -> tuple[int, bool]:
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


def _goes_on(line: Line, following: Line) -> bool:
    """Whether the sentence at the end of a line goes on in the next, or behind blank lines."""
    apart = following.number - line.number
    if following.kind is not Kind.PLAIN or apart > NEAR or _are_rows(line, following):
        return False
    if _ENDED.search(line.text) or _OF_CODE.search(line.text) or following.text[:1] in "<{}[|#@$=&/\\":
        return False
    joins = _JOINS.search(line.text)
    if apart > 1:
        return joins is not None and (following.text[:1].islower() or joins.group().strip()[:1].isalpha())
    if following.text[:1].islower() or joins or line.breaks:
        return True
    if line.kind is Kind.ITEM and following.indent > line.indent:
        return True
    return len(line.text) >= (WRAPPED_HAN if _HAN_RUN.search(line.text) else WRAPPED)


def _list_of(lines: Sequence[Line], at: int) -> tuple[int, bool]:
    """Where the list ends that a line introduces, or the line after it; 0 for none; and whether it is cut."""
    last, cut = _end_of_list(lines, at)
    if last == at and at + 1 < len(lines) and is_next(lines[at], lines[at + 1]):
        after, broken = _end_of_paragraph(lines, at + 1)
        introduces = lines[at + 1].kind is lines[at].kind and _INTRODUCES.search(lines[after].text)
        if introduces and not broken:
            last, cut = _end_of_list(lines, after)
            return (lines[last].end, cut) if last > after else (0, False)
    return (lines[last].end if last > at else 0), cut


def _end_of_list(lines: Sequence[Line], at: int) -> tuple[int, bool]:
    """The last line of the list that a line introduces, the line itself for none, and whether the list is cut."""
    if at + 1 == len(lines):
        return at, False
    opening, first = lines[at], lines[at + 1]
    if _are_rows(opening, first):
        return (at, False) if _is_in_table(lines, at) else _taken(lines, at, _in_rows)
    introduces = _INTRODUCES.search(opening.text) is not None
    joins = opening.kind is not Kind.ITEM and _JOINS.search(opening.text) is not None
    match first.kind:
        case Kind.CODE if introduces or joins:
            return _taken(lines, at, lambda before, line, after: line.kind is Kind.CODE)
        case Kind.ITEM if introduces or joins or _is_over_items(lines, at):
            nested = opening.kind is Kind.ITEM and first.indent > opening.indent
            return _taken(lines, at, _listed(first, opening.indent if nested else -1))
        case Kind.HEADING if opening.level < first.level and (introduces or opening.level):
            return _taken(lines, at, _listed(first, -1, above=opening.level))
        case Kind.PLAIN if (introduces or opening.level) and first.number - opening.number <= NEAR:
            last, cut = _taken(lines, at, _in_block(opening, first))
            ends = last + 1 == len(lines) or not is_next(lines[last], lines[last + 1])
            return last, cut or not (ends or lines[last + 1].kind is Kind.HEADING)
    return at, False


def _is_over_items(lines: Sequence[Line], at: int) -> bool:
    """Whether items stand below a line that neither a colon nor a joining word ends, as those of its list."""
    opening, first = lines[at], lines[at + 1]
    if opening.kind is Kind.ITEM:
        return first.indent > opening.indent and is_next(opening, first)
    if opening.level or not _ENDED.search(opening.text):
        return first.number - opening.number <= NEAR
    several = at + 2 < len(lines) and lines[at + 2].kind is Kind.ITEM
    return several and is_next(opening, first) and not opening.text.endswith(("?", "？"))


_Belongs = Callable[[Line, Line, Line | None], bool]
"""Whether a line belongs to a list, by the line before it and the line after it."""


def _taken(lines: Sequence[Line], at: int, belongs: _Belongs) -> tuple[int, bool]:
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


def _listed(first: Line, outer: int, above: int | None = None) -> _Belongs:
    """Items that are indented more than `outer`, with the lines in which they go on and the notes below them; with
    `above`, headings below that level too."""

    def belongs(before: Line, line: Line, after: Line | None) -> bool:
        if line.kind is Kind.ITEM:
            return line.indent > outer
        if line.kind is Kind.HEADING:
            return above is not None and line.level > above
        if line.indent > first.indent:
            return line.number - before.number <= NEAR
        if line.kind is Kind.CODE:
            return False
        is_between = after is not None and after.kind is Kind.ITEM and is_next(line, after)
        return _goes_on(before, line) or (is_between and is_next(before, line))

    return belongs


def _in_block(opening: Line, first: Line) -> _Belongs:
    """Lines without bullets; when the first stands apart, the short ones that stand apart after it too."""
    apart = not is_next(opening, first)

    def belongs(before: Line, line: Line, after: Line | None) -> bool:
        if line.kind in (Kind.HEADING, Kind.CODE) or _INTRODUCES.search(line.text):
            return False
        if line is first or is_next(before, line):
            return True
        if not apart or line.number - before.number > NEAR or len(line.text) > LISTED:
            return False
        ended = _ENDED.search(before.text) or _ENDED.search(line.text)
        return not ended or (is_bare(before.text) and is_bare(line.text))

    return belongs


def _are_rows(line: Line, following: Line) -> bool:
    """Whether two lines are rows of one table."""
    if not is_next(line, following) or line.kind is not Kind.PLAIN or following.kind is not Kind.PLAIN:
        return False
    return any(cells.search(line.text) and cells.search(following.text) for cells in _COLUMNS)


def _in_rows(before: Line, line: Line, after: Line | None) -> bool:
    """The rows of a table."""
    return _are_rows(before, line)


def _is_in_table(lines: Sequence[Line], at: int) -> bool:
    """Whether a line is a row of a table of which another row says what it is about."""
    return _CELL.search(lines[at].text) is not None or (at > 0 and _are_rows(lines[at - 1], lines[at]))
