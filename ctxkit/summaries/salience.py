"""Salience: which sentences of a conversation a summary keeps, who said them, and where they belong."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from ctxkit.core.conversation import Unit
from ctxkit.core.items import NOBODY, Item, Part, PartKind, Role, Writer
from ctxkit.core.marks import is_marked
from ctxkit.core.pairing import Awaited
from ctxkit.core.view import View
from ctxkit.summaries import cues
from ctxkit.summaries.cues import binds as binding
from ctxkit.summaries.labels import Speaker, author_of, called, label, unlabelled, who
from ctxkit.summaries.language import Language
from ctxkit.summaries.prose import LONGEST, content, is_prose, normal, one_line, sentences
from ctxkit.summaries.results import LONGEST_LINE, result_pieces
from ctxkit.summaries.returned import returned
from ctxkit.summaries.specifics import Kind, carried, identifies

__all__ = [
    "Said",
    "Salient",
    "Speaker",
    "binding",
    "called",
    "label",
    "said",
    "salient",
    "sentences",
    "unlabelled",
    "who",
    "worth",
]


@dataclass(frozen=True, slots=True)
class Said:
    """A text and who it is from.

    Attributes:
        by: "user", "assistant", "tool", or "system" for system text in the middle of a conversation.
        text: as it arrived.
        tool: the tool's name.
        call: the arguments that the tool was given, as JSON text.
        writer: who of several people or agents it is from, where and when it was written, as far as somebody said.
    """

    by: Speaker
    text: str
    tool: str = ""
    call: str = ""
    writer: Writer = NOBODY


@dataclass(frozen=True, slots=True)
class Salient:
    """A labelled line for a summary: its section, and what it is worth."""

    section: str
    line: str
    worth: float


_ASKED = re.compile(r"\([^()]{1,100}\) ")
WORTH_OF: dict[str, float] = {"user": 3.0, "": 2.5, "system": 2.5, "assistant": 2.0, "tool": 1.0}
"""What a line is worth by who said it; "" is a line that names nobody."""

WORTH_IN: dict[str, float] = {"goal": 1.5, "decisions": 1.5, "done": 1.0, "open": 1.0, "exact": 6.0}
"""And more for the section in which it stands."""

BINDING_WORTH = 4.5
"""And more for what binds, if a person said it; half of it for the assistant, nothing for tools."""

SPECIFIC_WORTH = 0.5
MOST_SPECIFICS_WORTH = 1.5
"""And more for each identifier, amount, date, path and the like in it, up to this."""

IDENTIFYING_WORTH = 4.5
"""And more for an identifier, an address or a path in it, if a person said it: it is asked for later, and cannot be
guessed."""

REPEATED_WORTH = 2.0
"""And less when all of its content was said before."""

TELLING_CONTENT = 8
"""Words of content that are worth one point; fewer are worth less, more are not."""

WORTHLESS_LENGTH = 300
"""Characters that cost a line one point: what it takes away from others."""

MOST_LINES: dict[Speaker, int] = {"user": 8, "system": 8, "assistant": 4}
"""Lines of one message: a long answer has no more to say than several short ones."""

CHAT_SENTENCES = 3
"""Sentences of an answer up to which it is one of a chat, in which the assistant's plain statements count."""

MOST_SENTENCES = 400
"""Sentences of one message that are read."""

MOST_APART = 3
"""Lines of one message for identifiers that stand in no sentence of it, and `LONGEST_APART` characters of each: of a
pasted file the first are enough."""

LONGEST_APART = 160
BEFORE = 60
"""Characters that are kept before an identifier in a line that is longer."""

LONGEST_QUESTION = 400
"""Characters at the end of a message in which its question is looked for."""

BETWEEN = "; "
"""What stands between the records of one result."""

ASKED: dict[Language, str] = {"en": ' (asked: "{}")', "zh": "（问：“{}”）"}
"""What stands behind a short answer."""
_ANSWERED = re.compile(r' \(asked: ".{1,500}"\)\Z|（问：“.{1,500}”）\Z')

LEAST_CONTENT = 3
"""Words of content that a user's statement has to have when nothing else speaks for it."""


def said(view: View, units: Sequence[Unit]) -> tuple[Said, ...]:
    """What users, the assistant and tools said in units, from the originals, in order; calls go with their results.

    Reasoning and what ctxkit wrote is left out.
    """
    return tuple(each for unit in units for each in _said_in(view, unit))


def _said_in(view: View, unit: Unit) -> Iterator[Said]:
    asked = Awaited[Part]()
    for item in unit.items:
        if item.synthetic:
            continue
        for part in _parts_of(view, item):
            match part.reads_as:
                case PartKind.ARGUMENTS:
                    asked.add(part, part)
                case PartKind.RESULT:
                    call = asked.take(part) or _UNASKED
                    yield Said("tool", part.text, part.name or call.name, call.text)
                case PartKind.TEXT if _speaker(item) == "user" and is_marked(part.text):
                    yield from (Said(by, each) for by, each in returned(part.text) or ())
                case PartKind.TEXT if part.text.strip():
                    yield Said(_speaker(item), part.text, writer=item.writer)


def _parts_of(view: View, item: Item) -> Iterator[Part]:
    for entry in view.originals(item):
        yield from view.setting.meter.read(entry)[1]


_UNASKED = Part((), PartKind.ARGUMENTS, None)
"""The arguments of a call that is not there."""


def _speaker(item: Item) -> Speaker:
    if item.document:
        return "tool"
    match item.shape.role:
        case Role.USER:
            return "user"
        case Role.TOOL:
            return "user" if item.shape.words else "tool"
        case Role.SYSTEM:
            return "system"
        case _:
            return "assistant"


def salient(
    spoken: Sequence[Said],
    language: Language,
    known: Collection[str] = (),
    *,
    longest_result: int = LONGEST_LINE,
) -> tuple[Salient, ...]:
    """Labelled lines worth keeping, in the order in which they were said.

    Args:
        spoken: see `said`.
        language: of the labels.
        known: lines of an earlier summary; what they say is not said again.
        longest_result: characters that the line of one tool result may have.
    """
    heard = _Heard(known)
    lines: list[Salient] = []
    goal_known, asked = bool(known), ""
    for each in spoken:
        if each.by == "tool":
            lines.extend(_of_tool(each, language, heard, longest_result))
            continue
        told = list(_of_person(each, language, heard, asked=asked, first=not goal_known))
        goal_known = goal_known or any(line.section == "goal" for line in told)
        lines.extend(_best(told, MOST_LINES[each.by]))
        asked = _question(each) if each.by == "assistant" else ""
    return tuple(lines)


def _best(lines: Sequence[Salient], most: int) -> list[Salient]:
    """The lines of most worth, in their order."""
    ranked = sorted(range(len(lines)), key=lambda at: (-lines[at].worth, at))
    return [lines[at] for at in sorted(ranked[:most])]


_IDENTIFYING = frozenset({Kind.IDENTIFIER, Kind.EMAIL, Kind.PHONE, Kind.URL, Kind.PATH, Kind.HOST})


@lru_cache(maxsize=4096)
def worth(line: str, section: str) -> float:
    """What a labelled line in a section is worth beside others, higher is better; age left aside."""
    by, text = unlabelled(line)
    value = WORTH_OF[by] + WORTH_IN.get(section, 0.0)
    if by != "tool" and binding(text):
        value += BINDING_WORTH if by in ("user", "") else BINDING_WORTH / 2
    if by in ("user", "") and cues.prefers(text):
        value += 1.0
    found = carried(text)
    if by in ("user", "") and any(each.kind in _IDENTIFYING for each in found):
        value += IDENTIFYING_WORTH
    value += min(MOST_SPECIFICS_WORTH, SPECIFIC_WORTH * len(found))
    if cues.asks(_ANSWERED.sub("", text)) and section != "goal":
        value -= 1.5
    return value + min(1.0, len(content(text)) / TELLING_CONTENT) - len(text) / WORTHLESS_LENGTH


class _Heard:
    """What was said before: words, pairs and identifiers of lines, whole lines, and what exact values people gave.

    Where people have names, what one of them said is not said yet when another says it; but it is for those without.
    """

    def __init__(self, known: Collection[str]) -> None:
        self._words: defaultdict[str, set[str]] = defaultdict(set)
        self._lines: defaultdict[str, set[str]] = defaultdict(set)
        self._given = set[str]()
        for line in known:
            by, text = unlabelled(line)
            for piece in _ASKED.sub("", text).split(BETWEEN) if by == "tool" else (text,):
                self.add(piece, author_of(line), by_tool=by == "tool")

    def add(self, text: str, author: str = "", *, by_tool: bool = False) -> None:
        """Remember what a text says."""
        for each in (author, _ANYBODY):
            self._lines[each].add(normal(text))
            self._words[each].update(content(text))
        if not by_tool:
            self._given.update(value.text for value in carried(text))

    def has_value(self, value: str) -> bool:
        """Whether somebody gave an exact value, tools left aside."""
        return value in self._given

    def has(self, text: str, author: str = "") -> bool:
        """Whether the very same was said."""
        return any(normal(text) in self._lines[each] for each in _heard_by(author))

    def novelty(self, text: str, author: str = "") -> float:
        """The share of its content that was not said; 0 for a text without any."""
        words, said_by = content(text), _heard_by(author)
        new = sum(not any(word in self._words[each] for each in said_by) for word in words)
        return new / len(words) if words else 0.0


_ANYBODY = "\n"
"""No name: what anybody said."""


def _heard_by(author: str) -> tuple[str, ...]:
    """Whose words count as said already when an author says them."""
    return (author, "") if author else (_ANYBODY,)


LEAST_NOVELTY = 0.25
"""Of the content of a sentence: with less that is new it is not kept, unless it binds."""


def _of_person(
    each: Said, language: Language, heard: _Heard, *, asked: str, first: bool
) -> Iterator[Salient]:
    """What a person or the assistant said, sentence by sentence; a short answer with the question before it."""
    told = list(islice(sentences(each.text), MOST_SENTENCES))
    if each.by == "user" and asked and _is_answer(each.text, told):
        answer = _answer(each, asked, language, heard)
        if answer is not None:
            yield answer
            return
    chat = len(told) <= CHAT_SENTENCES
    for sentence in told:
        line = _line(each, sentence, language, heard, first=first and each.by == "user", chat=chat)
        if line is not None:
            yield line
    if each.by in ("user", "system"):
        yield from _apart(each, language, heard)


def _apart(each: Said, language: Language, heard: _Heard) -> Iterator[Salient]:
    """The identifiers that a person gives in no sentence, in code, a table, JSON, a list, an address, a line without an end,
    each as it stands in its line; those of several short lines together."""
    author, pieces = called(each.writer.author), list[str]()
    for piece in _pieces_apart(each.text, heard, author):
        if pieces and len(pieces[-1]) + len(BETWEEN) + len(piece) <= LONGEST_APART:
            pieces[-1] += BETWEEN + piece
        elif len(pieces) < MOST_APART:
            pieces.append(piece)
        else:
            break
    for piece in pieces:
        line = _label(each, language) + piece
        yield Salient("facts", line, worth(line, "facts"))


def _pieces_apart(text: str, heard: _Heard, author: str) -> Iterator[str]:
    """What is to be kept of the lines of a text that have identifiers which were not said yet."""
    for line in map(str.strip, text.splitlines()):
        for value in carried(line):
            if identifies(value) and len(value.text) <= LONGEST and not heard.has_value(value.text):
                piece = line if len(line) <= LONGEST_APART else _with_words_before(value.text, line)
                heard.add(piece, author)
                yield piece


def _with_words_before(value: str, line: str) -> str:
    """A value in a line with what stands right before it."""
    at = line.index(value)
    before = line[max(0, at - BEFORE) : at]
    cut = before.find(" ") + 1 if at > BEFORE else 0
    return before[cut:] + value


def _is_answer(text: str, told: Sequence[str]) -> bool:
    """Whether a message says little without the question before it."""
    if len(told) > 2 or len(content(text)) >= 2 * LEAST_CONTENT:
        return False
    speaks = any(cues.requests(each) or cues.decides(each) or binding(each) for each in told)
    return cues.assents(text) or not speaks


def _question(each: Said) -> str:
    """The question on which a message of the assistant ends, "" when it ends on none."""
    last = ""
    for sentence in sentences(each.text[-LONGEST_QUESTION:]):
        last = sentence if cues.wonders(sentence) and is_prose(sentence) else last
    return one_line(last)


def _answer(each: Said, asked: str, language: Language, heard: _Heard) -> Salient | None:
    """A short answer with its question: without it nobody knows what the yes was for."""
    said, author = one_line(each.text), called(each.writer.author)
    thanks = cues.is_small_talk(said) and not cues.assents(said)
    if thanks or cues.asks(said) or heard.has(f"{said} {asked}", author):
        return None
    agrees = cues.assents(said) and cues.offers(asked)
    if not (agrees or content(asked)):
        return None
    heard.add(f"{said} {asked}", author)
    section = "decisions" if agrees else "facts"
    line = f"{_label(each, language)}{said}{ASKED[language].format(asked)}"
    return Salient(section, line, worth(line, section))


def _label(each: Said, language: Language) -> str:
    return label(each.by, language, writer=each.writer)


def _line(
    each: Said, sentence: str, language: Language, heard: _Heard, *, first: bool, chat: bool
) -> Salient | None:
    """A sentence as a line, None when it is not worth one."""
    by, author = each.by, called(each.writer.author)
    if heard.has(sentence, author) or sentence.rstrip("*_ ").endswith((":", "：")) or not is_prose(sentence):
        return None
    section = _of_assistant(sentence, chat=chat) if by == "assistant" else _section(sentence, first=first)
    novelty = heard.novelty(sentence, author)
    if not section or (novelty < LEAST_NOVELTY and not binding(sentence)):
        return None
    heard.add(sentence, author)
    line = _label(each, language) + one_line(sentence)
    repeated = 0.0 if binding(sentence) else REPEATED_WORTH * (1 - novelty)
    return Salient(section, line, worth(line, section) - repeated)


def _section(sentence: str, *, first: bool) -> str:
    """Where a user's sentence belongs, "" when it carries nothing."""
    carries = bool(carried(sentence))
    if cues.decides(sentence):
        return "decisions"
    if cues.reports_done(sentence):
        return "done"
    if cues.requests(sentence) and (first or carries or cues.prefers(sentence) or not cues.asks(sentence)):
        return "goal"
    if cues.reports_open(sentence):
        return "open"
    if carries or binding(sentence) or cues.prefers(sentence):
        return "facts"
    least = 2 * LEAST_CONTENT if cues.is_small_talk(sentence) else LEAST_CONTENT
    return "" if cues.asks(sentence) or len(content(sentence)) < least else "facts"


def _of_assistant(sentence: str, *, chat: bool) -> str:
    """Where a sentence of the assistant belongs, "" when it carries nothing; in a chat its plain answers do."""
    if cues.is_small_talk(sentence) or cues.asks(sentence) or cues.narrates(sentence):
        return ""
    carries = bool(carried(sentence))
    tells = carries or len(content(sentence)) >= LEAST_CONTENT
    if cues.commits(sentence):
        return "decisions"
    if cues.reports_done(sentence):
        return "done" if tells else ""
    if cues.reports_open(sentence):
        return "open"
    return "facts" if carries or binding(sentence) or (chat and tells) else ""


def _of_tool(each: Said, language: Language, heard: _Heard, longest: int) -> Iterator[Salient]:
    """One line for a result, with the records or sentences in it that are likely to be needed and were not said."""
    asked, told = result_pieces(each.text, each.call, heard.has, longest)
    for piece in told:
        heard.add(piece, by_tool=True)
    if told:
        line = label("tool", language, each.tool) + asked + BETWEEN.join(told)
        yield Salient("facts", line, worth(line, "facts"))
