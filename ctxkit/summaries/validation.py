"""Validation: what a model wrote as a summary, made safe to stand for what it was made from, or refused."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from ctxkit.errors import ModelCallError
from ctxkit.summaries.answers import BLANK, content_of, faults, words_said
from ctxkit.summaries.exact import fitted, locked
from ctxkit.summaries.language import Language, language_of
from ctxkit.summaries.origins import Origins
from ctxkit.summaries.prose import LONGEST, content, normal
from ctxkit.summaries.salience import Said, label, sentences
from ctxkit.summaries.sections import SECTIONS, Sections, merged, parse, written

__all__ = ["LEAST_TOKENS", "Checked", "checked", "read", "refused"]

LEAST_TOKENS = 24
"""Tokens of the shortest text that says anything."""

LONGEST_ANSWER = 64_000
"""Characters of an answer, a model's thoughts left aside, above which it is not looked at any closer."""

CHARACTERS_A_TOKEN = 16
"""The same for each token of `max_tokens`, where that is more: four times what a token of English has."""

TELLING = 2
"""Words of four letters, values and pairs of Chinese characters in a sentence that says something."""

NAMED = 24
"""Values without room that are named one by one; of the others only the number is told."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A summary that may stand for its sources.

    Attributes:
        text: what to write.
        notes: what was taken out, moved or found no room, one sentence each; for the report.
        too_long: what the model wrote was above `max_tokens`, and lines of it had to go.
        crowded: lines of the model's or of the earlier summary's had to go.
    """

    text: str
    notes: tuple[str, ...] = ()
    too_long: bool = False
    crowded: bool = False


def checked(
    answer: str,
    *,
    sources: Sequence[Said],
    max_tokens: int,
    count: Callable[[str], int],
    complete: bool = True,
    earlier: str = "",
    words: str | None = None,
    sent: str | None = None,
    required: Collection[str] = (),
    ignore: Collection[str] = (),
    instructions: str = "",
    request: str = "",
) -> Checked:
    """The summary in a model's answer, fit to stand for what was said.

    An answer that is no summary is refused: blank, a refusal, the text of an error, its instructions, cut off, in
    another language, made from less than it stands for, of more than 64,000 characters and more than 16 for each of
    `max_tokens`. One that is, is mended: see `Origins.cleaned` for what is marked, moved and left out. Then every value that
    has to survive verbatim is there, and whole lines go until it is short enough.

    Args:
        answer: as the model wrote it.
        sources: all that it is to stand for; see `ctxkit.summaries.salience.said`.
        max_tokens: of the text.
        count: tokens of a text.
        complete: False when the model was stopped before it came to an end.
        earlier: the summary that it goes on from. Its lines stay; the answer adds to them.
        words: what people said, which tells the language; by default what they said in `sources`.
        sent: what the model was shown, where that is known: every line of the sources has to be in it, in order.
        required: sections (names in `SECTIONS`) that must have a line at the end.
        ignore: lines that are no content, as of a request that some models repeat.
        instructions: what the model was told to do, where that is known.
        request: the digest of the question, for the error.

    Raises:
        ModelCallError: the answer is refused; the message has every reason.
    """
    words = words_said(sources) if words is None else words
    language = language_of(words or earlier)
    text, new = read(answer, max_tokens=max_tokens, ignore=ignore, request=request)
    reasons = faults(text, new, sources, words, complete=complete, instructions=instructions)
    if sent is not None and not _was_sent(sources, sent):
        reasons.append("it was made from less than it would stand for")
    if reasons:
        raise refused(reasons, request, transient=reasons == [BLANK])
    before = parse(earlier)
    new, told = Origins(sources, before, language).cleaned(new)
    whole = _with_goal(merged(before, new), sources, language)
    must = locked(sources, before, language)
    kept, lost = fitted(whole, must, max_tokens=max_tokens, count=count, language=language)
    absent = [name for name in SECTIONS if name in required and not kept.of(name)]
    if not (new and kept) or absent:
        raise refused([_left(new, absent, max_tokens)], request)
    there = set(kept.lines())
    gone = [f'"{line:.120}"' for section, line in whole.lines() if (section, line) not in there]
    values = [f"{value.text:.120}" for value in lost]
    notes = (*told, *(_no_room(each) for each in (values, gone) if each))
    return Checked(written(kept, language), notes, count(text) > max_tokens, bool(gone))


def read(answer: str, *, max_tokens: int, ignore: Collection[str], request: str) -> tuple[str, Sections]:
    """What an answer says, as text and by section, its long lines in sentences and each sentence once.

    Raises:
        ModelCallError: it is far too long to be looked at.
    """
    text = content_of(answer, ignore)
    if len(text) > max(LONGEST_ANSWER, CHARACTERS_A_TOKEN * max_tokens):
        raise refused([f"its {len(text)} characters are no summary in {max_tokens} tokens"], request)
    return text, _plain(parse(text))


def refused(
    reasons: Sequence[str], request: str, *, transient: bool = False, what: str = "summary"
) -> ModelCallError:
    """The error for an answer that is not taken; `transient` when the same question may do better."""
    return ModelCallError(
        f"its {what} was refused: {'; '.join(reasons)}", transient=transient, request=request
    )


def _left(new: Sections, absent: Sequence[str], max_tokens: int) -> str:
    if not new:
        return "nothing in it comes from the conversation"
    return f"nothing is left under {', '.join(absent) or 'any heading'} in {max_tokens} tokens"


def _no_room(left: Sequence[str]) -> str:
    """What had no room, the first of it by name."""
    more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
    return f"no room for {', '.join(left[:NAMED])}{more}"


def _plain(sections: Sections) -> Sections:
    """The sections with long lines in sentences, and each sentence once."""
    lines, seen = [], set[str]()
    for section, line in sections.lines():
        for piece in (tuple(sentences(line)) or (line,)) if len(line) > LONGEST else (line,):
            if normal(piece) not in seen:
                seen.add(normal(piece))
                lines.append((section, piece))
    return Sections.gathered(lines)


def _with_goal(sections: Sections, sources: Sequence[Said], language: Language) -> Sections:
    """The sections with a goal: the first sentence of a user that says something, when the model named none."""
    if sections.goal:
        return sections
    for each in sources:
        for sentence in sentences(each.text) if each.by == "user" else ():
            if len(content(sentence)) >= TELLING:
                spoken_by = label("user", language, writer=each.writer)
                return replace(sections, goal=(spoken_by + sentence,))
    return sections


def _was_sent(sources: Iterable[Said], sent: str) -> bool:
    """Whether every line of the sources stands in what was sent, in order."""
    at = 0
    for line in (line for each in sources for text in (each.call, each.text) for line in text.splitlines()):
        found = sent.find(line.strip(), at) if line.strip() else at
        if found < 0:
            return False
        at = found
    return True
